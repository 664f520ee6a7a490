/**
 * @file hccl_mc2.h
 * Arguments of operators that compute and communicate in one kernel.
 *
 * Programs can make and fill them. A software NPU has no such kernels, so HcclCreateOpResCtx checks
 * what it is given and returns HCCL_E_NOT_SUPPORT. NULL gives HCCL_E_PTR; arguments that were freed,
 * or a value outside its range, HCCL_E_PARA.
 */
#ifndef HCCL_HCCL_MC2_H_
#define HCCL_HCCL_MC2_H_

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes arguments that say nothing. */
HcclResult HcclKfcAllocOpArgs(void **opArgs);
HcclResult HcclKfcFreeOpArgs(void *opArgs);

/** Types of what goes in and comes out, as numbers of HcclDataType. */
HcclResult HcclKfcOpArgsSetSrcDataType(void *opArgs, uint8_t srcDataType);
HcclResult HcclKfcOpArgsSetDstDataType(void *opArgs, uint8_t dstDataType);

/** The reduction, as a number of HcclReduceOp. */
HcclResult HcclKfcOpArgsSetReduceType(void *opArgs, uint32_t reduceType);

/** Elements, at most 0x7FFFFFFFF. */
HcclResult HcclKfcOpArgsSetCount(void *opArgs, uint64_t count);

/** The algorithm in words; at most 127 characters, copied. */
HcclResult HcclKfcOpArgsSetAlgConfig(void *opArgs, char *algConfig);

/** Who communicates, as a number of CommEngine. */
HcclResult HcclKfcOpArgsSetCommEngine(void *opArgs, uint8_t commEngine);

/**
 * Would make what a kernel needs to communicate. @param opType a number of HcclCMDType, 1 to 21
 * @return HCCL_E_NOT_SUPPORT when asked rightly.
 */
HcclResult HcclCreateOpResCtx(HcclComm comm, uint8_t opType, void *opArgs, void **opResCtx);

/** The same, under the name by which another `libhccl.so` finds it in a `libhcomm.so`. */
HcclResult HcclCreateOpResCtxInner(HcclComm comm, uint8_t opType, void *opArgs, void **opResCtx);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_MC2_H_ */
