/**
 * @file layout.c
 * Includes every header, in C and in C++, and asserts sizes, offsets and numbers of the ABI.
 */
#include <stddef.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "hccl/hccl.h"
#include "hccl/hccl_tuner.h"
#include "hccl/hccl_graph_mode.h"
#include "hccl/hccl_inner.h"
#include "hccl/hccl_launch.h"
#include "hccl/hccl_mc2.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_res.h"
#include "hccl/hcom.h"
#include "hccl/hcomm_primitives.h"
#include "softnpu/softnpu.h"

#ifdef __cplusplus
#define ASSERT(condition) static_assert(condition, #condition)
#define ALIGN_OF alignof
#else
#define ASSERT(condition) _Static_assert(condition, #condition)
#define ALIGN_OF _Alignof
#endif

#define SIZE(type, size, align)                                                                    \
    ASSERT(sizeof(type) == (size));                                                                \
    ASSERT(ALIGN_OF(type) == (align))
#define AT(type, member, offset) ASSERT(offsetof(type, member) == (offset))

ASSERT(sizeof(void *) == 8);
SIZE(aclError, 4, 4);
SIZE(aclFloat16, 2, 2);
SIZE(aclDataType, 4, 4);
SIZE(aclFormat, 4, 4);
SIZE(aclMemType, 4, 4);
SIZE(aclLogLevel, 4, 4);
SIZE(aclrtMemMallocPolicy, 4, 4);
SIZE(aclrtDevAttr, 4, 4);
SIZE(aclCompileOpt, 4, 4);
SIZE(aclrtStream, 8, 8);

SIZE(aclrtMemLocation, 8, 4);
AT(aclrtMemLocation, id, 0);
AT(aclrtMemLocation, type, 4);
SIZE(aclrtPtrAttributes, 28, 4);
AT(aclrtPtrAttributes, location, 0);
AT(aclrtPtrAttributes, pageSize, 8);
AT(aclrtPtrAttributes, rsv, 12);
SIZE(aclrtPhysicalMemProp, 32, 8);
AT(aclrtPhysicalMemProp, handleType, 0);
AT(aclrtPhysicalMemProp, allocationType, 4);
AT(aclrtPhysicalMemProp, memAttr, 8);
AT(aclrtPhysicalMemProp, location, 12);
AT(aclrtPhysicalMemProp, reserve, 24);
SIZE(aclrtStreamAttrValue, 16, 8);
SIZE(aclrtUuid, 16, 1);
SIZE(aclrtMallocAttrValue, 8, 4);
SIZE(aclrtMallocAttribute, 12, 4);
AT(aclrtMallocAttribute, attr, 0);
AT(aclrtMallocAttribute, value, 4);
SIZE(aclrtMallocConfig, 16, 8);
AT(aclrtMallocConfig, attrs, 0);
AT(aclrtMallocConfig, numAttrs, 8);
SIZE(aclrtMemUsageInfo, 112, 8);
AT(aclrtMemUsageInfo, name, 0);
AT(aclrtMemUsageInfo, curMemSize, 32);
AT(aclrtMemUsageInfo, memPeakSize, 40);
AT(aclrtMemUsageInfo, reserved, 48);
SIZE(aclrtMemcpyBatchAttr, 32, 4);
AT(aclrtMemcpyBatchAttr, dstLoc, 0);
AT(aclrtMemcpyBatchAttr, srcLoc, 8);
AT(aclrtMemcpyBatchAttr, rsv, 16);
SIZE(aclrtUtilizationInfo, 24, 8);
AT(aclrtUtilizationInfo, cubeUtilization, 0);
AT(aclrtUtilizationInfo, vectorUtilization, 4);
AT(aclrtUtilizationInfo, aicpuUtilization, 8);
AT(aclrtUtilizationInfo, memoryUtilization, 12);
AT(aclrtUtilizationInfo, utilizationExtend, 16);
SIZE(aclrtMemUceInfo, 128, 8);
AT(aclrtMemUceInfo, addr, 0);
AT(aclrtMemUceInfo, len, 8);
AT(aclrtMemUceInfo, reserved, 16);
SIZE(aclrtErrorInfo, 2576, 8);
AT(aclrtErrorInfo, tryRepair, 0);
AT(aclrtErrorInfo, hasDetail, 1);
AT(aclrtErrorInfo, reserved, 2);
AT(aclrtErrorInfo, errorType, 4);
AT(aclrtErrorInfo, detail, 8);
AT(aclrtErrorInfo, detail.uceInfo.memUceInfoArray, 16);
SIZE(aclrtStreamConfigHandle, 32, 8);
AT(aclrtStreamConfigHandle, workptr, 0);
AT(aclrtStreamConfigHandle, workSize, 8);
AT(aclrtStreamConfigHandle, flag, 16);
AT(aclrtStreamConfigHandle, priority, 24);
SIZE(aclrtBinaryLoadOption, 20, 4);
AT(aclrtBinaryLoadOption, type, 0);
AT(aclrtBinaryLoadOption, value, 4);
SIZE(aclrtBinaryLoadOptions, 16, 8);
AT(aclrtBinaryLoadOptions, options, 0);
AT(aclrtBinaryLoadOptions, numOpt, 8);
SIZE(aclrtLaunchKernelAttr, 20, 4);
AT(aclrtLaunchKernelAttr, id, 0);
AT(aclrtLaunchKernelAttr, value, 4);
SIZE(aclrtLaunchKernelCfg, 16, 8);
AT(aclrtLaunchKernelCfg, attrs, 0);
AT(aclrtLaunchKernelCfg, numAttrs, 8);
SIZE(aclrtPlaceHolderInfo, 8, 4);
AT(aclrtPlaceHolderInfo, addrOffset, 0);
AT(aclrtPlaceHolderInfo, dataOffset, 4);
SIZE(aclrtIpcEventHandle, 64, 1);
SIZE(aclrtMemFabricHandle, 128, 1);
SIZE(aclrtMemAccessDesc, 24, 4);
AT(aclrtMemAccessDesc, flags, 0);
AT(aclrtMemAccessDesc, location, 4);
AT(aclrtMemAccessDesc, rsv, 12);
SIZE(aclrtServerPid, 24, 8);
AT(aclrtServerPid, sdid, 0);
AT(aclrtServerPid, pid, 8);
AT(aclrtServerPid, num, 16);
SIZE(aclrtCntNotifyRecordInfo, 8, 4);
AT(aclrtCntNotifyRecordInfo, mode, 0);
AT(aclrtCntNotifyRecordInfo, value, 4);
SIZE(aclrtCntNotifyWaitInfo, 16, 4);
AT(aclrtCntNotifyWaitInfo, mode, 0);
AT(aclrtCntNotifyWaitInfo, value, 4);
AT(aclrtCntNotifyWaitInfo, timeout, 8);
AT(aclrtCntNotifyWaitInfo, isClear, 12);
SIZE(aclCANNPackageVersion, 512, 1);
AT(aclCANNPackageVersion, version, 0);
AT(aclCANNPackageVersion, majorVersion, 128);
AT(aclCANNPackageVersion, minorVersion, 192);
AT(aclCANNPackageVersion, releaseVersion, 256);
AT(aclCANNPackageVersion, patchVersion, 320);
AT(aclCANNPackageVersion, reserved, 384);

ASSERT(ACL_FLOAT == 0 && ACL_FLOAT16 == 1 && ACL_INT64 == 9 && ACL_BOOL == 12 && ACL_BF16 == 27);
ASSERT(ACL_FORMAT_ND == 2 && ACL_FORMAT_NCDHW == 30 && ACL_FORMAT_FRACTAL_NZ_C0_8 == 54);
ASSERT(ACL_HOST == 1 && ACL_MEMCPY_DEVICE_TO_DEVICE == 3 && ACL_HBM_MEM == 1);
ASSERT(ACL_EVENT_STATUS_COMPLETE == 0 && ACL_EVENT_RECORDED_STATUS_COMPLETE == 1);
ASSERT(ACL_EVENT_TIME_LINE == 8 && ACL_EVENT_IPC == 0x40);
ASSERT(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE == 4 && ACL_VALUE_WAIT_NOR == 3);
ASSERT(ACL_ERROR_RT_MEMORY_ALLOCATION == 207001 && ACL_ERROR_RT_FEATURE_NOT_SUPPORT == 207000);

ASSERT(ACL_RT_ERROR_OTHERS == 0xFFFF && ACL_REG_TYPE_OTHER == 0xFFFF);
ASSERT(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM == 10 && ACL_PROF_GE_API_L1 == 0x1000000);

SIZE(HcclResult, 4, 4);
SIZE(HcclDataType, 4, 4);
SIZE(HcclReduceOp, 4, 4);
SIZE(HcclConfigValue, 4, 4);
SIZE(HcclComm, 8, 8);
SIZE(HcclRootInfo, 4108, 1);
SIZE(HcclSendRecvItem, 32, 8);
AT(HcclSendRecvItem, sendRecvType, 0);
AT(HcclSendRecvItem, buf, 8);
AT(HcclSendRecvItem, count, 16);
AT(HcclSendRecvItem, dataType, 24);
AT(HcclSendRecvItem, remoteRank, 28);
SIZE(hcclTunerFuncs_v1_t, 24, 8);
AT(hcclTunerFuncs_v1_t, init, 0);
AT(hcclTunerFuncs_v1_t, getCollInfo, 8);
AT(hcclTunerFuncs_v1_t, structSize, 16);
SIZE(hcclTunerCommInfo_t, 48, 8);
AT(hcclTunerCommInfo_t, nRanks, 0);
AT(hcclTunerCommInfo_t, nNpusPerServer, 4);
AT(hcclTunerCommInfo_t, nServers, 8);
AT(hcclTunerCommInfo_t, nPods, 12);
AT(hcclTunerCommInfo_t, nSuperPods, 16);
AT(hcclTunerCommInfo_t, commName, 24);
AT(hcclTunerCommInfo_t, bufferSize, 32);
AT(hcclTunerCommInfo_t, structSize, 40);
SIZE(hcclTunerCollInfo_t, 24, 8);
AT(hcclTunerCollInfo_t, collType, 0);
AT(hcclTunerCollInfo_t, nBytes, 8);
AT(hcclTunerCollInfo_t, dataType, 16);
AT(hcclTunerCollInfo_t, structSize, 20);
SIZE(hcclTunerAlgoEntry_t, 40, 8);
AT(hcclTunerAlgoEntry_t, algName, 0);
AT(hcclTunerAlgoEntry_t, engineName, 8);
AT(hcclTunerAlgoEntry_t, executorName, 16);
AT(hcclTunerAlgoEntry_t, templateName, 24);
AT(hcclTunerAlgoEntry_t, cost, 32);
AT(hcclTunerAlgoEntry_t, structSize, 36);
SIZE(hcclTunerHostFunctions_t, 40, 8);
AT(hcclTunerHostFunctions_t, ctxCreate, 0);
AT(hcclTunerHostFunctions_t, ctxGet, 8);
AT(hcclTunerHostFunctions_t, ctxDestroy, 16);
AT(hcclTunerHostFunctions_t, logFunction, 24);
AT(hcclTunerHostFunctions_t, structSize, 32);
ASSERT(HCCL_TUNER_LOG_ERROR == 0 && HCCL_TUNER_LOG_DEBUG == 3);
ASSERT(HCCL_CMD_ALLREDUCE == 2 && HCCL_CMD_ALLTOALLVC == 9 && HCCL_CMD_REDUCE_SCATTER_V == 17);
SIZE(HcclCommConfig, 2248, 8);
AT(HcclCommConfig, reserved, 0);
AT(HcclCommConfig, hcclBufferSize, 24);
AT(HcclCommConfig, hcclDeterministic, 28);
AT(HcclCommConfig, hcclCommName, 32);
AT(HcclCommConfig, hcclUdi, 160);
AT(HcclCommConfig, hcclOpExpansionMode, 288);
AT(HcclCommConfig, hcclRdmaTrafficClass, 292);
AT(HcclCommConfig, hcclRdmaServiceLevel, 296);
AT(HcclCommConfig, hcclWorldRankID, 300);
AT(HcclCommConfig, hcclJobID, 304);
AT(HcclCommConfig, aclGraphZeroCopyEnable, 312);
AT(HcclCommConfig, hcclExecTimeOut, 316);
AT(HcclCommConfig, hcclAlgo, 320);
AT(HcclCommConfig, hcclRetryEnable, 1920);
AT(HcclCommConfig, hcclRetryParams, 1970);
AT(HcclCommConfig, hcclBufferName, 2098);
AT(HcclCommConfig, hcclQos, 2228);
AT(HcclCommConfig, hcclSymWinMaxMemSizePerRank, 2232);
AT(HcclCommConfig, hcclChannelSqDepth, 2240);
ASSERT(HCCL_DATA_TYPE_BFP16 == 11 && HCCL_DATA_TYPE_HIF8 == 14 && HCCL_DATA_TYPE_FP8E8M0 == 17);
ASSERT(HCCL_REDUCE_MIN == 3 && HCCL_E_OOM == 24 && HCCL_E_RESERVED == 1042);
ASSERT(HCCL_COMM_CONFIG_RESERVED == 12 && HCCL_CMD_HALF_ALLTOALLV == 20 && HCCL_CMD_MAX == 104);

SIZE(CommAbiHeader, 16, 4);
AT(CommAbiHeader, magicWord, 4);
AT(CommAbiHeader, size, 8);
AT(CommAbiHeader, reserved, 12);
SIZE(HcclOpP2pDesc, 48, 8);
AT(HcclOpP2pDesc, reserved, 8);
AT(HcclOpP2pDesc, cmdType, 16);
AT(HcclOpP2pDesc, dataType, 20);
AT(HcclOpP2pDesc, count, 24);
AT(HcclOpP2pDesc, remoteRank, 32);
AT(HcclOpP2pDesc, unfoldStream, 40);
SIZE(HcclOpDesc, 360, 8);
AT(HcclOpDesc, opDescType, 16);
AT(HcclOpDesc, opName, 20);
AT(HcclOpDesc, raws, 280);
AT(HcclOpDesc, p2p, 280);
SIZE(HcclKernelFuncInfo, 528, 8);
AT(HcclKernelFuncInfo, kernelFuncName, 256);
AT(HcclKernelFuncInfo, args, 512);
AT(HcclKernelFuncInfo, argSize, 520);
SIZE(HcclKernelLaunchCfg, 128, 8);
AT(HcclKernelLaunchCfg, timeOut, 16);
AT(HcclKernelLaunchCfg, reserved, 24);
SIZE(HcclP2pKernelParam, 8200, 8);
AT(HcclP2pKernelParam, opParams, 8);
SIZE(CommAddr, 40, 4);
AT(CommAddr, raws, 4);
SIZE(EndpointLoc, 64, 4);
AT(EndpointLoc, raws, 4);
SIZE(EndpointLocDevice, 16, 4);
SIZE(EndpointDesc, 160, 4);
AT(EndpointDesc, commAddr, 4);
AT(EndpointDesc, loc, 44);
AT(EndpointDesc, raws, 108);
SIZE(CommMem, 24, 8);
AT(CommMem, addr, 8);
AT(CommMem, size, 16);
SIZE(CommLink, 464, 4);
AT(CommLink, srcEndpointDesc, 16);
AT(CommLink, dstEndpointDesc, 176);
AT(CommLink, linkAttr, 336);
AT(CommLink, linkAttr.hop, 340);
SIZE(HcclChannelDesc, 496, 8);
AT(HcclChannelDesc, remoteRank, 16);
AT(HcclChannelDesc, channelProtocol, 20);
AT(HcclChannelDesc, localEndpoint, 24);
AT(HcclChannelDesc, remoteEndpoint, 184);
AT(HcclChannelDesc, notifyNum, 344);
AT(HcclChannelDesc, memHandles, 352);
AT(HcclChannelDesc, memHandleNum, 360);
AT(HcclChannelDesc, raws, 364);
AT(HcclChannelDesc, roceAttr.tc, 376);
AT(HcclChannelDesc, roceAttr.sl, 377);
SIZE(ThreadConfig, 32, 4);
AT(ThreadConfig, notifyNumPerThread, 16);
AT(ThreadConfig, reserved, 18);
SIZE(ChannelHandle, 8, 8);
SIZE(ThreadHandle, 8, 8);
SIZE(HcommResult, 4, 4);
ASSERT(COMM_ENGINE_RESERVED == -1 && COMM_ENGINE_AICPU_TS == 3 && COMM_ENGINE_CCU == 5);
ASSERT(COMM_PROTOCOL_SIO == 3 && COMM_PROTOCOL_UBC_CTP == COMM_PROTOCOL_UB_CTP);
ASSERT(COMM_PROTOCOL_UBC_TP == 5 && COMM_PROTOCOL_UB_MEM == 6 && COMM_PROTOCOL_UBOE == 7);
ASSERT(COMM_PROTOCOL_HCCS_ONLY == 8 && COMM_PROTOCOL_UB_RTP == 9 && COMM_PROTOCOL_UBG == 9);
ASSERT(COMM_ADDR_TYPE_RESERVED == -1 && COMM_ADDR_TYPE_EID == 3);
ASSERT(ENDPOINT_LOC_TYPE_DEVICE == 0 && ENDPOINT_LOC_TYPE_HOST == 1);
ASSERT(COMM_MEM_TYPE_INVALID == -1 && COMM_MEM_TYPE_HOST == 1);
ASSERT(COMM_TOPO_CLOS == 0 && COMM_TOPO_910_93 == 2 && COMM_TOPO_CUSTOM == 5);
ASSERT(HCCL_HETEROG_MODE_INVALID == -1 && HCCL_HETEROG_MODE_MIX_A2_A3 == 1);
ASSERT(ENDPOINT_ATTR_BW_COEFF == 0 && ENDPOINT_ATTR_LOCATION == 2);
ASSERT(HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_DEVICE == 5);
ASSERT(THREAD_TYPE_TS == 0 && THREAD_RES_TYPE_STREAM == 0);
ASSERT(HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG == 1 && HCCL_RES_TAG_MAX_LEN == 255);

SIZE(HcomInitConfig, 24, 8);
AT(HcomInitConfig, execTimeOut, 8);
AT(HcomInitConfig, deterministic, 16);
SIZE(HcomOpParam, 256, 8);
AT(HcomOpParam, opType, 8);
AT(HcomOpParam, dataType, 16);
AT(HcomOpParam, aivCoreLimit, 28);
AT(HcomOpParam, groupListSize, 56);
AT(HcomOpParam, count, 64);
AT(HcomOpParam, All2AllDataDes, 80);
AT(HcomOpParam, reserved, 128);
SIZE(HcomResResponse, 24, 8);
AT(HcomResResponse, opMemSize, 16);
ASSERT(HCCL_WORKFLOW_MODE_OP_BASE == 1 && HCCL_WORKFLOW_MODE_RESERVED == 255);

SIZE(softnpuWake, 24, 8);
SIZE(softnpuTask, 40, 8);
SIZE(softnpuMemory, 64, 8);
AT(softnpuMemory, allocation, 32);
AT(softnpuMemory, offset, 48);
AT(softnpuMemory, epoch, 56);

int layout(void);
int layout(void)
{
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    return config.reserved[0];
}
