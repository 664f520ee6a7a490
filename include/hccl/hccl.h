/**
 * @file hccl.h
 * Collective operators.
 *
 * All of them are queued on a stream and return at once; they complete in stream order. Counts are
 * in elements, buffers are device memory, and all ranks of a communicator must make the same calls
 * in the same order. Reducing operators want buffers aligned to their element.
 *
 * Common results: HCCL_E_PTR when the stream, the communicator or a buffer is NULL; HCCL_E_PARA
 * when a count is beyond 0x7FFFFFFFF or the memory behind a buffer, or a root is not a rank;
 * HCCL_E_NOT_SUPPORT for a data type or reduction that the operator does not know. A count of 0
 * succeeds and queues nothing. aclGetRecentErrMsg tells what was given and what is allowed.
 */
#ifndef HCCL_HCCL_H_
#define HCCL_HCCL_H_

#include "acl/acl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Every `recvBuf` becomes the reduction of all `sendBuf`. The two may be the same. */
HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                         HcclReduceOp op, HcclComm comm, aclrtStream stream);

/** Every `buf` becomes a copy of the root's. */
HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                         HcclComm comm, aclrtStream stream);

/** Every `recvBuf` becomes all `sendBuf` one after the other: `sendCount` times the rank count. */
HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType,
                         HcclComm comm, aclrtStream stream);

/** Rank r receives block r of the reduction; `sendBuf` holds `recvCount` times the rank count. */
HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                             aclrtStream stream);

/** As HcclAllReduce, on the root only. */
HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);

/** Rank r receives block r of the root's `sendBuf`, which may be NULL on all others. */
HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                       uint32_t root, HcclComm comm, aclrtStream stream);

/** Block j of rank i's `sendBuf` goes to block i of rank j's `recvBuf`. Counts are for one peer. */
HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream);

/** The stream goes on when all ranks have come to this call. */
HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_H_ */
