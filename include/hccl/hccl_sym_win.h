/**
 * @file hccl_sym_win.h
 * Symmetric windows: memory of all ranks of a communicator that each rank can reach.
 */
#ifndef HCCL_HCCL_SYM_WIN_H_
#define HCCL_HCCL_SYM_WIN_H_

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a window of `size` bytes of device memory of every rank. All ranks call it together, with
 * the same size; each gives memory of its own, in one piece.
 * @param flag 1
 * @return HCCL_E_PARA for another flag, a size of 0 or above hcclSymWinMaxMemSizePerRank, sizes
 *         that differ, or when a rank's memory is not there.
 */
HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                  HcclCommSymWindow *winHandle, uint32_t flag);

/** Ends a window, on all ranks, before the communicator. The memory stays the caller's. */
HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);

/**
 * The window that `size` bytes from `ptr` on lie in, and where: `offset` bytes from its beginning.
 * Where there is none the window is NULL.
 */
HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *winHandle,
                             size_t *offset);

/**
 * Where byte `offset` of a window is on rank `peerRank`, as an address that this process (and every
 * operator on its software NPUs) can read and write.
 */
HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank,
                                    void **ptr);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_SYM_WIN_H_ */
