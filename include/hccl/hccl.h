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

/**
 * As HcclAllGather for data that differs in length: that of rank i comes to `recvCounts[i]` elements
 * from element `recvDispls[i]` on. The arrays are host memory with a u64 a rank, equal on all ranks,
 * and are read during the call. @return 1 when `recvCounts` of the own rank is not `sendCount`, or
 * for equal buffers.
 */
HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm,
                          aclrtStream stream);

/**
 * As HcclReduceScatter for blocks that differ in length: block r is `sendCounts[r]` elements from
 * element `sendDispls[r]` of `sendBuf` on. The arrays are host memory with a u64 a rank; the counts
 * are equal on all ranks; they are read during the call. @return 1 when `sendCounts` of the own
 * rank is not `recvCount`, or for equal buffers.
 */
HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls,
                              void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm, aclrtStream stream);

/** Rank r receives block r of the root's `sendBuf`, which may be NULL on all others. */
HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                       uint32_t root, HcclComm comm, aclrtStream stream);

/** Block j of rank i's `sendBuf` goes to block i of rank j's `recvBuf`. Counts are for one peer. */
HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream);

/**
 * As HcclAlltoAll, with counts of its own for each pair: `sendCounts[j]` elements from element
 * `sdispls[j]` of `sendBuf` go to rank j, which must expect as many. The arrays are host memory
 * with an entry a rank and are read during the call. A buffer may be NULL if all its counts are 0.
 */
HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
                         HcclDataType sendType, const void *recvBuf, const void *recvCounts,
                         const void *rdispls, HcclDataType recvType, HcclComm comm,
                         aclrtStream stream);

/**
 * As HcclAlltoAllV for data without gaps: entry i * ranks + j of the u64 matrix (host memory) is
 * how many elements rank i sends to rank j. The matrix is the same on all ranks.
 */
HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
                          const void *recvBuf, HcclDataType recvType, HcclComm comm,
                          aclrtStream stream);

/**
 * Gives elements to rank `destRank`; done when its matching HcclRecv has them. The k-th send from
 * one rank to another meets the k-th receive there. @return 5 for the own rank.
 */
HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                    HcclComm comm, aclrtStream stream);

/** Takes elements from rank `srcRank`. */
HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                    HcclComm comm, aclrtStream stream);

/**
 * Sends and receives side by side, none waiting for another. Items with a NULL buffer are passed
 * over; items with the own rank pair up as copies.
 */
HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm,
                             aclrtStream stream);

/** The stream goes on when all ranks have come to this call. */
HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_H_ */
