/**
 * @file hccl_graph_mode.h
 * Operators as a graph engine calls them: those of hccl.h, on a communicator that is known by name,
 * with streams and memory that the engine brings along.
 *
 * They check, do and return what the operators of hccl.h do. `group` is the name of a communicator of
 * this process (NULL: `hccl_world_group`) on the current device; a thread that uses none means the
 * only one of that name. `tag` is a text of 1 to 512 characters; calls run in the order in which
 * they are made, whatever their tags. No operator needs streams beside its own or scratch memory
 * here, so these may be NULL with a length of 0, and are left alone.
 *
 * Results beside those of hccl.h: HCCL_E_PTR for a NULL tag, or NULL with a length above 0;
 * HCCL_E_PARA for a tag that is empty or too long, and for a group that there is not.
 */
#ifndef HCCL_HCCL_GRAPH_MODE_H_
#define HCCL_HCCL_GRAPH_MODE_H_

#include "acl/acl.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

HcclResult HcclAllReduceGraphMode(void *sendBuf, void *recvBuf, uint64_t count,
                                  HcclDataType dataType, HcclReduceOp op, const char *group,
                                  aclrtStream stream, const char *tag, void **streams,
                                  size_t streamCount, void *scratchMemAddr,
                                  uint64_t scratchMemSize);

HcclResult HcclReduceGraphMode(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                               HcclReduceOp op, uint32_t root, const char *group,
                               aclrtStream stream, const char *tag, void **streams,
                               size_t streamCount, void *scratchMemAddr, uint64_t scratchMemSize);

HcclResult HcclReduceScatterGraphMode(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                      HcclDataType dataType, HcclReduceOp op, const char *group,
                                      aclrtStream stream, const char *tag, void **streams,
                                      size_t streamCount, void *scratchMemAddr,
                                      uint64_t scratchMemSize);

HcclResult HcclReduceScatterVGraphMode(void *sendBuf, const void *sendCounts,
                                       const void *sendDispls, void *recvBuf, uint64_t recvCount,
                                       HcclDataType dataType, HcclReduceOp op, const char *group,
                                       aclrtStream stream, const char *tag, void **streams,
                                       size_t streamCount, void *scratchMemAddr,
                                       uint64_t scratchMemSize);

HcclResult HcclBroadcastGraphMode(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                  const char *group, aclrtStream stream, const char *tag,
                                  void **streams, size_t streamCount, void *scratchMemAddr,
                                  uint64_t scratchMemSize);

HcclResult HcclAllGatherGraphMode(void *sendBuf, void *recvBuf, uint64_t sendCount,
                                  HcclDataType dataType, const char *group, aclrtStream stream,
                                  const char *tag, void **streams, size_t streamCount,
                                  void *scratchMemAddr, uint64_t scratchMemSize);

HcclResult HcclAllGatherVGraphMode(void *sendBuf, uint64_t sendCount, void *recvBuf,
                                   const void *recvCounts, const void *recvDispls,
                                   HcclDataType dataType, const char *group, aclrtStream stream,
                                   const char *tag, void **streams, size_t streamCount,
                                   void *scratchMemAddr, uint64_t scratchMemSize);

HcclResult HcclAlltoAllGraphMode(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                                 const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                                 const char *group, aclrtStream stream, const char *tag,
                                 void **streams, size_t streamCount, void *scratchMemAddr,
                                 uint64_t scratchMemSize);

HcclResult HcclAlltoAllVGraphMode(const void *sendBuf, const void *sendCounts, const void *sdispls,
                                  HcclDataType sendType, const void *recvBuf,
                                  const void *recvCounts, const void *rdispls,
                                  HcclDataType recvType, const char *group, aclrtStream stream,
                                  const char *tag, void **streams, size_t streamCount,
                                  void *scratchMemAddr, uint64_t scratchMemSize);

HcclResult HcclAlltoAllVCGraphMode(const void *sendBuf, const void *sendCountMatrix,
                                   HcclDataType sendType, const void *recvBuf,
                                   HcclDataType recvType, const char *group, aclrtStream stream,
                                   const char *tag, void **streams, size_t streamCount,
                                   void *scratchMemAddr, uint64_t scratchMemSize);

HcclResult HcclSendGraphMode(void *sendBuf, uint64_t count, HcclDataType dataType,
                             uint32_t destRank, const char *group, aclrtStream stream,
                             const char *tag, void **streams, size_t streamCount,
                             void *scratchMemAddr, uint64_t scratchMemSize);

HcclResult HcclRecvGraphMode(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                             const char *group, aclrtStream stream, const char *tag, void **streams,
                             size_t streamCount, void *scratchMemAddr, uint64_t scratchMemSize);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_GRAPH_MODE_H_ */
