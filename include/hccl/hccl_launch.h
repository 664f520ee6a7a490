/**
 * @file hccl_launch.h
 * Kernels on the AI CPU, for operators that a program brings itself. A software NPU has no AI CPU.
 */
#ifndef HCCL_HCCL_LAUNCH_H_
#define HCCL_HCCL_LAUNCH_H_

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HCCL_OP_DESC_OP_NAME_MAX_LEN 256
#define HCCL_KERNEL_SO_NAME_MAX_LEN 256
#define HCCL_KERNEL_FUNC_NAME_MAX_LEN 256
#define HCCL_KERNEL_PARAM_MAX_LEN 8192

/** A send or a receive. */
typedef struct HcclOpP2pDesc {
    void *buffer;
    uint8_t reserved[8];
    HcclCMDType cmdType;
    HcclDataType dataType;
    uint64_t count;
    uint32_t remoteRank;
    void *unfoldStream;
} HcclOpP2pDesc;

/** An operator; `opDescType` 1 says that it is a send or a receive. Begin with HcclOpDescInit. */
typedef struct HcclOpDesc {
    CommAbiHeader header;
    uint32_t opDescType;
    char opName[HCCL_OP_DESC_OP_NAME_MAX_LEN];
    union {
        uint8_t raws[76];
        HcclOpP2pDesc p2p;
    };
} HcclOpDesc;

/** A function of a kernel, and what it is called with. */
typedef struct HcclKernelFuncInfo {
    char kernelSoName[HCCL_KERNEL_SO_NAME_MAX_LEN];
    char kernelFuncName[HCCL_KERNEL_FUNC_NAME_MAX_LEN];
    void *args;
    uint32_t argSize;
} HcclKernelFuncInfo;

/** How a kernel is launched. Begin with HcclKernelLaunchCfgInit. */
typedef struct HcclKernelLaunchCfg {
    CommAbiHeader header;
    uint64_t timeOut; /**< seconds */
    uint8_t reserved[104];
} HcclKernelLaunchCfg;

/** What a kernel for a send or a receive gets. */
typedef struct HcclP2pKernelParam {
    ThreadHandle sendRecvStream;
    uint8_t opParams[HCCL_KERNEL_PARAM_MAX_LEN];
} HcclP2pKernelParam;

#define HCCL_OPDESC_MAGIC_WORD 0x0f0f0f0fU
#define HCCL_OPDESC_VERSION 1
#define HCCL_KERNEL_LAUNCH_CFG_MAGIC_WORD 0x0f0f0f0fU
#define HCCL_KERNEL_LAUNCH_CFG_VERSION 1

/** Prepares a description that says nothing. @return HCCL_E_PTR for NULL. */
static inline HcclResult HcclOpDescInit(HcclOpDesc *opDesc)
{
    if (opDesc == NULL) {
        return HCCL_E_PTR;
    }
    memset(opDesc, 0xff, sizeof *opDesc);
    opDesc->header.version = HCCL_OPDESC_VERSION;
    opDesc->header.magicWord = HCCL_OPDESC_MAGIC_WORD;
    opDesc->header.size = (uint32_t)sizeof *opDesc;
    opDesc->header.reserved = 0;
    return HCCL_SUCCESS;
}

/** Prepares a configuration that says nothing. @return HCCL_E_PTR for NULL. */
static inline HcclResult HcclKernelLaunchCfgInit(HcclKernelLaunchCfg *cfg)
{
    if (cfg == NULL) {
        return HCCL_E_PTR;
    }
    memset(cfg, 0xff, sizeof *cfg);
    cfg->header.version = HCCL_KERNEL_LAUNCH_CFG_VERSION;
    cfg->header.magicWord = HCCL_KERNEL_LAUNCH_CFG_MAGIC_WORD;
    cfg->header.size = (uint32_t)sizeof *cfg;
    cfg->header.reserved = 0;
    return HCCL_SUCCESS;
}

/**
 * Would run a kernel on the AI CPU. @return HCCL_E_NOT_SUPPORT when asked rightly; HCCL_E_PTR for
 * NULL; HCCL_E_PARA for a structure that was not initialised.
 */
HcclResult HcclAicpuKernelLaunch(HcclComm comm, const HcclOpDesc *opInfo,
                                 const HcclKernelFuncInfo *kernelFuncInfo, ThreadHandle thread,
                                 aclrtStream stream, const HcclKernelLaunchCfg *kernelLaunchCfg);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_LAUNCH_H_ */
