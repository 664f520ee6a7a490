/**
 * @file hccl_comm.h
 * Communicators: making, asking, destroying.
 *
 * NULL where a pointer is needed gives HCCL_E_PTR. aclGetRecentErrMsg tells the reason of a
 * failure in words.
 */
#ifndef HCCL_HCCL_COMM_H_
#define HCCL_HCCL_COMM_H_

#include <string.h>

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Fills a config with its header and the "not set" values. Text fields become empty; their tails
 * are left as they are. NULL is ignored.
 */
static inline void HcclCommConfigInit(HcclCommConfig *config)
{
    struct {
        size_t size;
        uint32_t magic;
        uint32_t version;
        uint64_t zero;
    } header;

    if (config == NULL) {
        return;
    }
    header.size = sizeof(HcclCommConfig);
    header.magic = HCCL_COMM_CONFIG_MAGIC_WORD;
    header.version = HCCL_COMM_CONFIG_VERSION;
    header.zero = 0;
    memcpy(config->reserved, &header, HCCL_COMM_CONFIG_INFO_BYTES);
    config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
    config->hcclCommName[0] = '\0';
    config->hcclUdi[0] = '\0';
    config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
    config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
    config->hcclWorldRankID = 0;
    config->hcclJobID = 0;
    config->aclGraphZeroCopyEnable = 0;
    config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
    config->hcclAlgo[0] = '\0';
    config->hcclRetryEnable[0] = '\0';
    config->hcclRetryParams[0] = '\0';
    config->hcclBufferName[0] = '\0';
    config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
    config->hcclSymWinMaxMemSizePerRank = HCCL_COMM_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
    config->hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
}

/** Number of config fields that this library knows; see HcclCommConfigCapability. */
uint32_t HcclGetCommConfigCapability(void);

/**
 * Called by the root rank only, on its device, before it joins: starts the meeting point and
 * describes it. One for each communicator.
 * @return HCCL_E_PARA for a bad environment variable; HCCL_E_UNAVAIL when no port is free.
 */
HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

/**
 * Joins a communicator as rank `rank` of `nRanks`, with the current device. Returns when all
 * ranks have come.
 * @return HCCL_E_PARA for `nRanks` 0, `rank` not below `nRanks`, or a root info that is none;
 *         HCCL_E_TIMEOUT when ranks are missing after HCCL_CONNECT_TIMEOUT.
 */
HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                HcclComm *comm);

/**
 * As HcclCommInitRootInfo, with wishes. The config may be of an older or newer version of its
 * structure: the size and version in its header count.
 * @return HCCL_E_PARA for a wrong magic word or a field outside its range.
 */
HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                      uint32_t rank, const HcclCommConfig *config,
                                      HcclComm *comm);

/**
 * Makes a communicator over devices of this process: rank i is `devices[i]`.
 * @param comms receives `ndev` handles
 * @return HCCL_E_PARA for `ndev` 0 or a device that comes twice.
 */
HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/**
 * Destroys a communicator; its streams must have been synchronised. NULL succeeds.
 * @return HCCL_E_PARA for a handle that is not, or no longer, a communicator; HCCL_E_AGAIN while
 *         a call on it is running.
 */
HcclResult HcclCommDestroy(HcclComm comm);

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

/** @param commName at least COMM_NAME_MAX_LENGTH bytes */
HcclResult HcclGetCommName(HcclComm comm, char *commName);

/** What went wrong behind the calls: HCCL_SUCCESS when nothing did. */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

/** A static text for every number. */
const char *HcclGetErrorString(HcclResult code);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_COMM_H_ */
