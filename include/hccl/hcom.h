/**
 * @file hcom.h
 * Communicators by group name, as graph engines call them.
 *
 * A process has one world for each of its devices: that of the group `hccl_world_group`, which NULL
 * stands for too. Groups are made of ranks of the world. Every communicator of the process that has a
 * name can be used as a group by threads of its device, and by threads without a device where no
 * other device has one of that name.
 *
 * All calls: HCCL_E_PTR for NULL where a pointer is needed, HCCL_E_PARA for a group that there is
 * not or a value outside its range. Operators return what those of hccl.h do.
 */
#ifndef HCCL_HCOM_H_
#define HCCL_HCOM_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HCCL_WORLD_GROUP "hccl_world_group"

/** For what operators are called. */
typedef enum {
    HCCL_WORKFLOW_MODE_OPS_KERNEL_INFO_LIB = 0, /**< for a graph */
    HCCL_WORKFLOW_MODE_OP_BASE = 1,             /**< alone */
    HCCL_WORKFLOW_MODE_RESERVED = 255
} HcclWorkflowMode;

/** How a world works; there is the first. */
typedef enum {
    HCCL_MODE_NORMAL = 0,
    HCCL_MODE_ANY = 1,
    HCCL_MODE_PS = 2,
    HCCL_MODE_AI_CPU = 3,
    HCCL_MODE_SCHED_OS = 4
} WorkMode;

/** Wishes for a world. NULL texts wish for nothing. */
typedef struct HcomInitConfig {
    char *algo;        /**< in the grammar of HCCL_ALGO */
    char *execTimeOut; /**< seconds, written out; 0 waits for ever */
    uint8_t deterministic;
} HcomInitConfig;

/** An operator of a graph. */
typedef struct HcomOpParam {
    char *group;
    char *opType; /**< such as `HcomAllReduce` */
    HcclDataType dataType;
    HcclReduceOp reduceOp;
    uint8_t geDeterministic;
    uint32_t aivCoreLimit;
    char *socVersion;
    char *rankTable;
    uint32_t *groupList;
    uint32_t groupListSize;
    uint64_t count;
    uint64_t rankSize;
    struct {
        HcclDataType sendType;
        HcclDataType recvType;
        void *sendCounts;
        void *recvCounts;
        void *sendDispls;
        void *recvDispls;
        void *sendCountMatrix;
    } All2AllDataDes;
    uint8_t reserved[128];
} HcomOpParam;

/** What an operator of a graph needs. */
typedef struct HcomResResponse {
    uint64_t streamNum; /**< streams beside its own */
    uint64_t taskNum;
    uint64_t opMemSize; /**< bytes of scratch memory */
} HcomResResponse;

/**
 * Joins the world of a rank table as rank `rankId`, with the current device, as
 * HcclCommInitClusterInfo does. @param rankTable path of the table
 * @return HCCL_E_PARA when the device has a world; else what HcclCommInitClusterInfo returns.
 */
HcclResult HcomInitByRankTable(const char *rankTable, uint32_t rankId);

/**
 * The same for a table that is given as text.
 * @param identify    the own rank, written out
 * @param commWorkMode HCCL_MODE_NORMAL; HCCL_E_NOT_SUPPORT for the others
 */
HcclResult HcomInitByString(const char *rankTableM, const char *identify, WorkMode commWorkMode,
                            HcomInitConfig *initConfig);

/**
 * Joins a world whose ranks are the devices 0 to `rankSize` - 1 of this host, each the rank of its
 * number, with the current device. All arguments but the last are numbers and addresses, written
 * out; they are equal on all ranks except for `rankIp`. The k-th world that a process makes so meets
 * the k-th world of the others.
 * @return HCCL_E_PARA for a text that is none of that, or when the device has a world; HCCL_E_UNAVAIL
 *         when another process has come as rank 0; HCCL_E_NOT_SUPPORT for a device beyond the ranks;
 *         HCCL_E_TIMEOUT when ranks are missing after HCCL_CONNECT_TIMEOUT.
 */
HcclResult HcomInitByMasterInfo(const char *masterIp, const char *masterPort,
                                const char *masterDeviceId, const char *rankSize,
                                const char *rankIp, HcomInitConfig *initConfig);

/**
 * Ends the world of the current device, after its groups; those of all devices on a thread that uses
 * none. Success where there is nothing.
 */
HcclResult HcomDestroy(void);

/** Whether the current device (on a thread without: any device) has a world that a call here made. */
HcclResult HcomGetInitStatus(bool *initiated);

/**
 * Makes a group of `rankNum` ranks of the world, in the order of the list. Its members call it with
 * the same arguments, and none else.
 * @param group 1 to 127 characters; not HCCL_WORLD_GROUP
 * @return HCCL_E_PARA for a list that cannot be or is without the own rank, or a name that is taken.
 */
HcclResult HcomCreateGroup(const char *group, uint32_t rankNum, uint32_t *rankIds);

/** Ends a group that HcomCreateGroup made. */
HcclResult HcomDestroyGroup(const char *group);

/** Whether there is a group of a name. */
bool HcomFindGroup(const char *group);
HcclResult HcomGetCommHandleByGroup(const char *group, HcclComm *commHandle);

HcclResult HcomGetRankSize(const char *group, uint32_t *rankSize);
HcclResult HcomGetRankId(const char *group, uint32_t *rankId);

/** Ranks of a group that are on the own server, and the own place among them. */
HcclResult HcomGetLocalRankSize(const char *group, uint32_t *localRankSize);
HcclResult HcomGetLocalRankId(const char *group, uint32_t *localRankId);

/** Ranks of a group as ranks of the world, and the other way round. */
HcclResult HcomGetWorldRankFromGroupRank(const char *group, uint32_t groupRank,
                                         uint32_t *worldRank);
HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char *group,
                                         uint32_t *groupRank);

/**
 * The operators. A tag is a text of 1 to 512 characters; calls run in the order in which they are
 * made, whatever their tags.
 */
HcclResult HcomAllGather(const char *tag, void *inputPtr, void *outputPtr, uint64_t inputCount,
                         HcclDataType dataType, const char *group, aclrtStream stream);
HcclResult HcomAllGatherV(const char *tag, const void *sendBuf, uint64_t sendCount,
                          const void *recvBuf, const void *recvCounts, const void *rdispls,
                          HcclDataType dataType, const char *group, aclrtStream stream);
HcclResult HcomAllReduce(const char *tag, void *inputPtr, void *outputPtr, uint64_t count,
                         HcclDataType dataType, HcclReduceOp op, const char *group,
                         aclrtStream stream);
HcclResult HcomReduce(const char *tag, void *inputPtr, void *outputPtr, uint64_t count,
                      HcclDataType dataType, HcclReduceOp op, uint32_t root, const char *group,
                      aclrtStream stream);
HcclResult HcomBroadcast(const char *tag, void *ptr, uint64_t count, HcclDataType dataType,
                         uint32_t root, const char *group, aclrtStream stream);
HcclResult HcomReduceScatter(const char *tag, void *inputPtr, void *outputPtr, uint64_t count,
                             HcclDataType dataType, HcclReduceOp op, const char *group,
                             aclrtStream stream);
HcclResult HcomReduceScatterV(const char *tag, void *sendBuf, const void *sendCounts,
                              const void *sdispls, void *recvBuf, uint64_t recvCount,
                              HcclDataType dataType, HcclReduceOp op, const char *group,
                              aclrtStream stream);

/**
 * A message. Between two ranks the k-th send meets the k-th receive, and both must give the same
 * `srTag`: where they do not, the receiver's stream fails, and EI0005 tells both.
 */
HcclResult HcomSend(const char *tag, void *inputPtr, uint64_t count, HcclDataType dataType,
                    uint32_t destRank, uint32_t srTag, const char *group, aclrtStream stream);
HcclResult HcomReceive(const char *tag, void *outputPtr, uint64_t count, HcclDataType dataType,
                       uint32_t srcRank, uint32_t srTag, const char *group, aclrtStream stream);

/** In these the tag comes last. */
HcclResult HcomAllToAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                        const char *group, aclrtStream stream, const char *tag);
HcclResult HcomAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
                         HcclDataType sendType, const void *recvBuf, const void *recvCounts,
                         const void *rdispls, HcclDataType recvType, const char *group,
                         aclrtStream stream, const char *tag);
HcclResult HcomAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
                          const void *recvBuf, HcclDataType recvType, const char *group,
                          aclrtStream stream, const char *tag);

/** Says for what operators are called, and what was said last. They do the same for both. */
HcclResult HcomSetWorkflowMode(HcclWorkflowMode mode);
HcclWorkflowMode HcomGetWorkflowMode(void);

/**
 * What an operator needs: no streams, one task, no memory.
 * @return HCCL_E_NOT_SUPPORT for an `opType` that graphs do not have.
 */
HcclResult HcomCalcOpOnline(HcomOpParam *hcomOpParam, HcomResResponse *hcomResResponse);
HcclResult HcomCalcOpResOffline(HcomOpParam *hcomOpParam, HcomResResponse *hcomResResponse);

/** Bring streams and memory, which are left alone; a length of 0 goes with NULL. */
HcclResult HcomSetWorkspaceResource(const char *tag, const char *group, aclrtStream *stream,
                                    int32_t len, void *memPtr, uint64_t maxSize);
HcclResult HcomSetAttachedStream(const char *group, uint32_t graphId, const aclrtStream *stream,
                                 int32_t len);
HcclResult HcomSetGlobalWorkSpace(const char *group, void **globalWorkSpaceAddr, uint32_t len);

/** A limit above 0 for the vector cores of operators, which use none. */
HcclResult HcomSetAivCoreLimit(const char *group, uint32_t aivCoreLimit);

/** Gives up what is kept for the operators of a tag, which is nothing. */
HcclResult HcomUnloadTask(const char *group, const char *tag);

/** Reductions have the same result every time: true. */
HcclResult HcomSupportDeterministicOptim(const char *group, bool *isDeterministicOptim);

/** Servers of the world; devices of the largest; and how many of them are linked alike, all. */
HcclResult HcomGetServerNumAndDeviceNumPerServer(uint32_t *serverNum, uint32_t *deviceNumPerServer,
                                                 uint32_t *deviceNumPerAggregation);

/** The two halves of the buffer of HcclGetHcclBuffer, taken by the first of these calls. */
HcclResult HcomCreateCommCCLbuffer(const char *group);
HcclResult HcomGetInCCLbuffer(const char *group, void **buffer, uint64_t *size);
HcclResult HcomGetOutCCLbuffer(const char *group, void **buffer, uint64_t *size);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCOM_H_ */
