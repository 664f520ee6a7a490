/**
 * @file hccl_comm.h
 * Communicators: making, asking, destroying.
 *
 * NULL where a pointer is needed gives HCCL_E_PTR. aclGetRecentErrMsg tells the reason of a
 * failure in words.
 */
#ifndef HCCL_HCCL_COMM_H_
#define HCCL_HCCL_COMM_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <string.h>

#include "acl/acl_rt.h"
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
 * As HcclGetRootInfo, on one of several roots.
 */
HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo);

/**
 * As HcclCommInitRootInfoConfig, with several roots: their root infos in a list that is equal on all
 * ranks. The ranks meet at the first; the others close unused.
 * @return HCCL_E_PARA when there are no roots, or more than ranks.
 */
HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot,
                                        const HcclRootInfo *rootInfoList, uint32_t rank,
                                        uint32_t nExtRoot, const HcclCommConfig *config,
                                        HcclComm *comm);

/**
 * Joins the communicator of a rank table as rank `rank`, with the current device, which must be the
 * one that the table gives this rank. Returns when all ranks have come.
 * @param clusterInfo path of the rank table, a JSON file; at most 4095 characters
 * @return HCCL_E_OPEN_FILE_FAILURE or HCCL_E_PARA for a file that cannot be read or is no rank table
 *         (EI0004, EI0014, EI0017 tell the key); HCCL_E_PARA for a rank that is not in it;
 *         HCCL_E_UNAVAIL when another process has come as rank 0; HCCL_E_TIMEOUT when ranks are
 *         missing after HCCL_CONNECT_TIMEOUT.
 */
HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);

/** As HcclCommInitClusterInfo, with wishes. */
HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank,
                                         HcclCommConfig *config, HcclComm *comm);

/**
 * Makes a communicator over devices of this process: rank i is `devices[i]`.
 * @param comms receives `ndev` handles
 * @return HCCL_E_PARA for `ndev` 0 or a device that comes twice.
 */
HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/**
 * Makes a communicator of some ranks of another. Members call it with the same arguments, except
 * for their place; ranks that are no members need not call it, or call it with NULL for `rankIds`
 * and 0xFFFFFFFF for `subCommId`, which succeeds and makes nothing. Its name is the one in the
 * config, or that of the parent followed by `_sub_` and `subCommId`.
 * @param comm          points to the handle of the parent, which must not be a sub communicator
 * @param rankIds       `rankNum` ranks of the parent, in the order of the new ranks
 * @param subCommRankId place of the own rank in `rankIds`
 * @return HCCL_E_PARA for lists and places that cannot be, or a name that is taken; HCCL_E_TIMEOUT
 *         when members are missing after HCCL_CONNECT_TIMEOUT; HCCL_E_NETWORK when the process of a
 *         member has ended.
 */
HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
                                   uint64_t subCommId, uint32_t subCommRankId,
                                   HcclCommConfig *config, HcclComm *subComm);

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

/**
 * The communicator that has a name. Where several devices of the process have one of that name,
 * that of the current device.
 * @return HCCL_E_PARA when there is none.
 */
HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);

/** What went wrong behind the calls: HCCL_SUCCESS when nothing did. */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

/** Whether the communicator of a name takes operators. @return HCCL_E_PARA when there is none. */
HcclResult HcclCommGetStatus(const char *commName, HcclCommStatus *status);

/**
 * What acts on a communicator: by its config, the environment, or the product's default.
 * @param cfgType HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, where `infoLen` is 4 and `info` becomes an
 *                HcclOpExpansionMode; or HCCL_CONFIG_TYPE_HCCL_ALGO, where `infoLen` is at least
 *                1600 and `info` becomes a text, which is empty when algorithms are chosen freely
 * @return HCCL_E_PARA for another type or length.
 */
HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void *info);

/**
 * Has `callback(comm, phase, args)` called before and after HcclCommDestroy and HcclCommResume of
 * any communicator, by the thread that calls these. The same name again replaces the callback.
 * @param regName at most 160 bytes
 */
HcclResult HcclCommRegCommStateCallback(const char *regName, HcclCommStateCallback callback,
                                        void *args);

/**
 * Sets a switch for all communicators of the process. Every reduction of this library is in the
 * order of the ranks, as HCCL_DETERMINISTIC 2 asks for, so no value changes results. A set
 * environment variable HCCL_DETERMINISTIC comes first. Other switches are ignored.
 * @return HCCL_E_PARA for a value other than 0, 1, 2; HCCL_E_NOT_SUPPORT for 2 on products without.
 */
HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

/** As HcclSetConfig and HcclGetConfig; communicators have no switches of their own. */
HcclResult HcclSetCommConfig(HcclComm comm, HcclConfig config, HcclConfigValue configValue);
HcclResult HcclGetCommConfig(HcclComm comm, HcclConfig config, HcclConfigValue *configValue);

/**
 * After a fault: operators on the communicator are refused with HCCL_E_SUSPENDING until it is
 * resumed.
 */
HcclResult HcclCommSuspend(HcclComm comm);

/**
 * Makes a communicator usable again, also one that has failed. All ranks call it, after
 * aclrtDeviceTaskAbort on their devices and a synchronisation of the ranks by other means.
 * @return HCCL_E_TIMEOUT when ranks are missing after HCCL_CONNECT_TIMEOUT; HCCL_E_NETWORK when the
 *         process of one has ended.
 */
HcclResult HcclCommResume(HcclComm comm);

/**
 * Switches ranks to the network card of the other die of their NPU, or back. There are no network
 * cards here, so this succeeds and changes nothing, as on machines without RDMA links.
 */
HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks, bool *useBackup,
                                    uint32_t nRanks);

/**
 * Makes `size` bytes of reserved addresses (aclrtReserveMemAddress) known to all communicators of
 * the process. All ranks call it together. All device memory is used without copies here, so this
 * and the three calls below find out wrong uses and change nothing else.
 * @param alignment 0  @param flags 0
 * @return HCCL_E_PARA for a range that overlaps one that is set; HCCL_E_NOT_SUPPORT for a
 *         communicator with ranks in several servers.
 */
HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment,
                                  uint64_t flags);

/** Forgets a range. @return HCCL_E_PARA while a part of it is active, or for one that is not set. */
HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);

/**
 * Says that `size` bytes of a range have memory now. @param offset 0  @param flags 0
 * @return HCCL_E_PARA outside of ranges, or where memory is active.
 */
HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset,
                                      aclrtDrvMemHandle handle, uint64_t flags);

/** Says that a block has no memory any more. @param virPtr where it began when it was activated */
HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);

/**
 * Registers device memory with a communicator.
 * @return HCCL_E_PARA for a size of 0, or memory that is not of the communicator's device.
 */
HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag);
HcclResult HcclCommDeregister(HcclComm comm, void *handle);

/** Makes registered memory known to 1 to 768 ranks. */
HcclResult HcclCommExchangeMem(HcclComm comm, void *windowHandle, uint32_t *peerRanks,
                               uint32_t peerRankNum);

/**
 * Begins a group of calls of one kind on this thread: calls that make or destroy communicators, or
 * collectives that do not depend on each other, or HcclSend and HcclRecv. They are checked when
 * they are made and carried out together at the end of the outermost group, so that one thread can
 * make the communicators of all its devices, and sends may come before receives on both sides.
 * Collectives of several communicators need a stream for each, or the same order on all ranks.
 */
HcclResult HcclGroupStart(void);

/**
 * Ends a group. Handles of new communicators are written by the end of the outermost one.
 * @return HCCL_E_NOT_SUPPORT without a group; else the first failure of its calls.
 */
HcclResult HcclGroupEnd(void);
HcclResult HcclGroupStatusGet(bool *isGroup);

/**
 * Device memory of at least `size` bytes, in huge pages, that can be a symmetric window.
 * @return 1 for NULL or a size of 0; 15 when the device has no such memory.
 */
int32_t HcommMemAlloc(void **ptr, size_t size);

/** Gives memory of HcommMemAlloc back. NULL succeeds. */
int32_t HcommMemFree(void *ptr);

/** A static text for every number. */
const char *HcclGetErrorString(HcclResult code);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_COMM_H_ */
