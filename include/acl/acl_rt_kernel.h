/**
 * @file acl_rt_kernel.h
 * Device binaries, labels and described copies. Part of acl_rt.h.
 *
 * The software NPU has no cores that could run device code. Whatever begins with it returns 207000;
 * calls on handles that only such a beginning could give return 107017, and 100000 for NULL.
 */
#ifndef ACL_ACL_RT_KERNEL_H_
#define ACL_ACL_RT_KERNEL_H_

#include "acl/acl_base.h"
#include "acl/acl_rt_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_BINARY_MAGIC_ELF_AICORE 0x43554245U
#define ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE 0x41415246U
#define ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE 0x41494343U

typedef enum {
    ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD = 1,
    ACL_RT_BINARY_LOAD_OPT_MAGIC = 2,
    ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE = 3
} aclrtBinaryLoadOptionType;

typedef union aclrtBinaryLoadOptionValue {
    uint32_t isLazyLoad;
    uint32_t magic;
    int32_t cpuKernelMode;
    uint32_t rsv[4];
} aclrtBinaryLoadOptionValue;

typedef struct aclrtBinaryLoadOption {
    aclrtBinaryLoadOptionType type;
    aclrtBinaryLoadOptionValue value;
} aclrtBinaryLoadOption;

typedef struct aclrtBinaryLoadOptions {
    aclrtBinaryLoadOption *options;
    size_t numOpt;
} aclrtBinaryLoadOptions;

typedef enum {
    ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE = 1,
    ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE = 2,
    ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE = 3,
    ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET = 4,
    ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH = 5,
    ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP = 6,
    ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT = 7,    /**< seconds */
    ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US = 8, /**< microseconds */
    ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING = 9
} aclrtLaunchKernelAttrId;

typedef union aclrtLaunchKernelAttrValue {
    uint32_t rsv[4];
} aclrtLaunchKernelAttrValue;

typedef struct aclrtLaunchKernelAttr {
    aclrtLaunchKernelAttrId id;
    aclrtLaunchKernelAttrValue value;
} aclrtLaunchKernelAttr;

typedef struct aclrtLaunchKernelCfg {
    aclrtLaunchKernelAttr *attrs;
    size_t numAttrs;
} aclrtLaunchKernelCfg;

typedef struct aclrtPlaceHolderInfo {
    uint32_t addrOffset;
    uint32_t dataOffset;
} aclrtPlaceHolderInfo;

/** @name Binaries, arguments and kernels @{ */

/** An object of a device binary. @return NULL for no data. */
aclrtBinary aclrtCreateBinary(const void *data, size_t dataLen);

/** @return 107017 for a stale object. */
aclError aclrtDestroyBinary(aclrtBinary binary);

/** Would load a binary. @return 207000 */
aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle *binHandle);

/** Would load a binary from a file. @return 207000 */
aclError aclrtBinaryLoadFromFile(const char *binPath, aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *binHandle);

/** Would load a binary from memory. @return 207000 */
aclError aclrtBinaryLoadFromData(const void *data, size_t length,
                                 const aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle);

/** Would unload a binary. @return 107017 */
aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle);

/** Would find a kernel in a binary. @return 107017 */
aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char *kernelName,
                                aclrtFuncHandle *funcHandle);

/** Would begin a list of arguments. @return 107017 */
aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle);

/** Would end a list of arguments. @return 107017 */
aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle);

/** Would add an argument. @return 107017 */
aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void *param, size_t paramSize,
                               aclrtParamHandle *paramHandle);

/** Would add a place for an argument. @return 107017 */
aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle,
                                          aclrtParamHandle *paramHandle);

/** Would give the memory of such a place. @return 107017 */
aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle,
                                             aclrtParamHandle paramHandle, size_t dataSize,
                                             void **bufferAddr);

/** Would change an argument. @return 107017 */
aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
                                   void *param, size_t paramSize);

/** Would run a kernel with arguments in device memory. @return 107017 */
aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,
                           size_t argsSize, aclrtStream stream);

/** The same with a configuration. @return 107017 */
aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,
                             size_t argsSize, aclrtLaunchKernelCfg *cfg, aclrtStream stream);

/** Would run a kernel with a list of arguments. @return 107017 */
aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks,
                                     aclrtStream stream, aclrtLaunchKernelCfg *cfg,
                                     aclrtArgsHandle argsHandle, void *reserve);

/** Would run a kernel with arguments in host memory. @return 107017 */
aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks,
                                       aclrtStream stream, aclrtLaunchKernelCfg *cfg,
                                       void *hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo *placeHolderArray,
                                       size_t placeHolderNum);

/** @} */
/** @name Streams and labels of models @{ */

typedef enum {
    ACL_RT_EQUAL = 0,
    ACL_RT_NOT_EQUAL = 1,
    ACL_RT_GREATER = 2,
    ACL_RT_GREATER_OR_EQUAL = 3,
    ACL_RT_LESS = 4,
    ACL_RT_LESS_OR_EQUAL = 5
} aclrtCondition;

typedef enum {
    ACL_RT_SWITCH_INT32 = 0,
    ACL_RT_SWITCH_INT64 = 1
} aclrtCompareDataType;

/** Would let a stream of a model run. @return 207000 */
aclError aclrtActiveStream(aclrtStream activeStream, aclrtStream stream);

/** Would go on with one of two streams of a model. @return 207000 */
aclError aclrtSwitchStream(void *leftValue, aclrtCondition cond, void *rightValue,
                           aclrtCompareDataType dataType, aclrtStream trueStream,
                           aclrtStream falseStream, aclrtStream stream);

/** Would stop a stream whose work never ends. @return 207000 */
aclError aclrtStreamStop(aclrtStream stream);

/** Would throw away the tasks of such a stream. @return 207000 */
aclError aclrtPersistentTaskClean(aclrtStream stream);

/** Would make a label. @return 207000 */
aclError aclrtCreateLabel(aclrtLabel *label);

/** Would set a label. @return 107017 */
aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream);

/** Would end a label. @return 107017 */
aclError aclrtDestroyLabel(aclrtLabel label);

/** Would make a list of labels. @return 207000 */
aclError aclrtCreateLabelList(aclrtLabel *labels, size_t num, aclrtLabelList *labelList);

/** Would end a list of labels. @return 107017 */
aclError aclrtDestroyLabelList(aclrtLabelList labelList);

/** Would go on at one of several labels. @return 107017 */
aclError aclrtSwitchLabelByIndex(void *ptr, uint32_t maxValue, aclrtLabelList labelList,
                                 aclrtStream stream);

/** @} */
/** @name Copies that device memory tells of @{ */

/** Would copy between places that device memory tells of. @return 207000 */
aclError aclrtMemcpyAsyncWithOffset(void **dst, size_t destMax, size_t dstDataOffset,
                                    const void **src, size_t count, size_t srcDataOffset,
                                    aclrtMemcpyKind kind, aclrtStream stream);

/** Would tell the size of a description of a copy. @return 207000 */
aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t *descSize);

/** Would write a description of a copy. @return 207000 */
aclError aclrtSetMemcpyDesc(void *desc, aclrtMemcpyKind kind, void *srcAddr, void *dstAddr,
                            size_t count, void *config);

/** Would copy as a description says. @return 207000 */
aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind, aclrtStream stream);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_KERNEL_H_ */
