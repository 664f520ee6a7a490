/**
 * @file acl_op_compiler.h
 * Compile and run one operator; options of the operator compiler.
 */
#ifndef ACL_ACL_OP_COMPILER_H_
#define ACL_ACL_OP_COMPILER_H_

#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ACL_COMPILE_SYS = 0,
    ACL_COMPILE_UNREGISTERED = 1
} aclopCompileType;

/** Are operators compiled for one shape or for shapes that vary? */
typedef enum {
    ACL_OP_COMPILE_DEFAULT = 0,
    ACL_OP_COMPILE_FUZZ = 1
} aclOpCompileFlag;

typedef enum {
    ACL_PRECISION_MODE = 0,
    ACL_AICORE_NUM = 1,
    ACL_AUTO_TUNE_MODE = 2,
    ACL_OP_SELECT_IMPL_MODE = 3,
    ACL_OPTYPELIST_FOR_IMPLMODE = 4,
    ACL_OP_DEBUG_LEVEL = 5,
    ACL_DEBUG_DIR = 6,
    ACL_OP_COMPILER_CACHE_MODE = 7,
    ACL_OP_COMPILER_CACHE_DIR = 8,
    ACL_OP_PERFORMANCE_MODE = 9,
    ACL_OP_JIT_COMPILE = 10,
    ACL_OP_DETERMINISTIC = 11,
    ACL_CUSTOMIZE_DTYPES = 12,
    ACL_OP_PRECISION_MODE = 13,
    ACL_ALLOW_HF32 = 14,
    ACL_PRECISION_MODE_V2 = 15,
    ACL_OP_DEBUG_OPTION = 16
} aclCompileOpt;

/**
 * Runs one operator in stream order. Descriptors, buffers and attributes may be destroyed as soon
 * as the call has returned; the memory that the buffers point to must stay.
 * @param opPath NULL
 * @return 100000 for NULL arguments, 100024 for an operator type that is not known.
 */
aclError aclopCompileAndExecute(const char *opType, int numInputs,
                                const aclTensorDesc *const inputDesc[],
                                const aclDataBuffer *const inputs[], int numOutputs,
                                const aclTensorDesc *const outputDesc[],
                                aclDataBuffer *const outputs[], const aclopAttr *attr,
                                aclopEngineType engineType, aclopCompileType compileFlag,
                                const char *opPath, aclrtStream stream);

/** As aclopCompileAndExecute; on return the output descriptors hold the real shapes. */
aclError aclopCompileAndExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[],
                                  aclDataBuffer *inputs[], int numOutputs,
                                  aclTensorDesc *outputDesc[], aclDataBuffer *outputs[],
                                  aclopAttr *attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char *opPath,
                                  aclrtStream stream);

/** Nothing is compiled here, so both are as good. @return 100000 for another flag. */
aclError aclopSetCompileFlag(aclOpCompileFlag flag);

/** Sets an option of this process. @return 100000 for NULL or an option that is not known. */
aclError aclSetCompileopt(aclCompileOpt opt, const char *value);

/** Bytes that aclGetCompileopt needs, the NUL included; 0 for an option that is not known. */
size_t aclGetCompileoptSize(aclCompileOpt opt);

/** Copies an option's text. @return 100000 for NULL or when `length` is too small. */
aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_OP_COMPILER_H_ */
