/**
 * @file acl_base.h
 * Types that all parts of the AscendCL interface share; tensor descriptors and data buffers; logs.
 */
#ifndef ACL_ACL_BASE_H_
#define ACL_ACL_BASE_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles. None of them may be looked into or kept after the call that destroys it. */
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtContext;
typedef void *aclrtDrvMemHandle;
typedef void *aclrtNotify;
typedef void *aclrtCntNotify;
typedef void *aclrtLabel;
typedef void *aclrtLabelList;
typedef void *aclrtBinary;
typedef void *aclrtBinHandle;
typedef void *aclrtFuncHandle;
typedef void *aclrtArgsHandle;
typedef void *aclrtParamHandle;

/** Processes of one device of a pod. */
typedef struct aclrtServerPid {
    uint32_t sdid; /**< ACL_DEV_ATTR_SUPER_POD_DEVICE_ID of the device that they use */
    int32_t *pid;
    size_t num;
} aclrtServerPid;

/** Bits of an IEEE half precision number. */
typedef uint16_t aclFloat16;

typedef struct aclTensorDesc aclTensorDesc;
typedef struct aclDataBuffer aclDataBuffer;

/** Element types. */
typedef enum {
    ACL_DT_UNDEFINED = -1,
    ACL_FLOAT = 0,
    ACL_FLOAT16 = 1,
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,
    ACL_BOOL = 12,
    ACL_STRING = 13,
    ACL_COMPLEX64 = 16,
    ACL_COMPLEX128 = 17,
    ACL_BF16 = 27,
    ACL_INT4 = 29,
    ACL_UINT1 = 30,
    ACL_COMPLEX32 = 33,
    ACL_HIFLOAT8 = 34,
    ACL_FLOAT8_E5M2 = 35,
    ACL_FLOAT8_E4M3FN = 36,
    ACL_FLOAT8_E8M0 = 37,
    ACL_FLOAT6_E3M2 = 38,
    ACL_FLOAT6_E2M3 = 39,
    ACL_FLOAT4_E2M1 = 40,
    ACL_FLOAT4_E1M2 = 41
} aclDataType;

/** Orders of dimensions in memory. */
typedef enum {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_NHWC = 1,
    ACL_FORMAT_ND = 2,
    ACL_FORMAT_NC1HWC0 = 3,
    ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_NC1HWC0_C04 = 12,
    ACL_FORMAT_HWCN = 16,
    ACL_FORMAT_NDHWC = 27,
    ACL_FORMAT_FRACTAL_NZ = 29,
    ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NDC1HWC0 = 32,
    ACL_FRACTAL_Z_3D = 33,
    ACL_FORMAT_NC = 35,
    ACL_FORMAT_NCL = 47,
    ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
    ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
    ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
    ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
    ACL_FORMAT_FRACTAL_NZ_C0_8 = 54
} aclFormat;

/** Where the data of a tensor lies. */
typedef enum {
    ACL_MEMTYPE_DEVICE = 0,
    ACL_MEMTYPE_HOST = 1,
    ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2
} aclMemType;

typedef enum {
    ACL_DEBUG = 0,
    ACL_INFO = 1,
    ACL_WARNING = 2,
    ACL_ERROR = 3
} aclLogLevel;

/** Questions of aclGetCannAttribute. */
typedef enum {
    ACL_CANN_ATTR_UNDEFINED = -1,
    ACL_CANN_ATTR_INF_NAN = 0,
    ACL_CANN_ATTR_BF16 = 1,
    ACL_CANN_ATTR_JIT_COMPILE = 2
} aclCannAttr;

/** Questions of aclGetDeviceCapability. */
typedef enum {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
    ACL_DEVICE_INFO_L2_SIZE = 2 /**< bytes */
} aclDeviceInfo;

#if defined(__GNUC__)
#define ACL_PRINTF_LIKE_(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define ACL_PRINTF_LIKE_(fmt, first)
#endif

/**
 * Writes one line to the application log. Nothing is written when the level is filtered out or
 * when `func`, `file` or `fmt` is NULL. Text that is too long is cut and marked.
 */
void aclAppLog(aclLogLevel logLevel, const char *func, const char *file, uint32_t line,
               const char *fmt, ...) ACL_PRINTF_LIKE_(5, 6);

#define ACL_APP_LOG(level, ...) aclAppLog(level, __FUNCTION__, __FILE__, __LINE__, __VA_ARGS__)

/**
 * Takes the error messages that this thread has collected since the last call.
 * @return NULL when there are none; otherwise text that is valid until the next call on this
 *         thread. What was handed out is forgotten.
 */
const char *aclGetRecentErrMsg(void);

/**
 * Size of one element in bytes. Types of less than a byte count as one; strings and the
 * undefined type have size 0; a type that is not known counts as 8.
 */
size_t aclDataTypeSize(aclDataType dataType);

/** @name Data buffers: an address and a size; the memory behind stays the caller's. @{ */

/** Makes a buffer object; (NULL, 0) stands for an input that is absent. */
aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);

/** @return 100000 for NULL. */
aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);

/** Points an existing object at other memory. @return 100000 for a NULL object. */
aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size);

/** @return NULL for a NULL object. */
void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer);

/** @return bytes, cut to 32 bits; 0 for a NULL object. */
uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer);

/** @return bytes; 0 for a NULL object. */
size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer);

/** @} */

/** @name Tensor descriptors @{ */

/**
 * Describes a tensor. The dimensions are copied.
 * @param numDims 0 with `dims` NULL for a scalar
 * @return NULL when `numDims` is negative, or positive with `dims` NULL.
 */
aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims,
                                   aclFormat format);

/** NULL is ignored. */
void aclDestroyTensorDesc(const aclTensorDesc *desc);

/** @return ACL_DT_UNDEFINED for NULL. */
aclDataType aclGetTensorDescType(const aclTensorDesc *desc);

/** @return ACL_FORMAT_UNDEFINED for NULL. */
aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc);

/** @return 0 for NULL. */
size_t aclGetTensorDescNumDims(const aclTensorDesc *desc);

/** Bytes of the whole tensor. @return 0 for NULL. */
size_t aclGetTensorDescSize(const aclTensorDesc *desc);

/** Elements of the whole tensor. @return 0 for NULL. */
size_t aclGetTensorDescElementCount(const aclTensorDesc *desc);

/** One dimension. @return -1 when the descriptor is NULL or there is no such dimension. */
int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index);

/** One dimension. @return 100000 for a NULL pointer or when there is no such dimension. */
aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize);

/** Format of the data as it lies in memory. @return 100000 for NULL. */
aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format);

/** Shape of the data as it lies in memory. @return 100000 for NULL or a negative `numDims`. */
aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** The same two under their older names. */
aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format);
aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** Format and shape that the tensor had at first. @return as the calls above. */
aclError aclSetTensorOriginFormat(aclTensorDesc *desc, aclFormat format);
aclError aclSetTensorOriginShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/**
 * Bounds of the dimensions: lower and upper, -1 for no upper bound.
 * @return 100000 for NULL or bounds that are the wrong way round.
 */
aclError aclSetTensorShapeRange(aclTensorDesc *desc, size_t dimsCount, int64_t dimsRange[][2]);

/** Bounds of one dimension; where none were set, the dimension twice. @param dimRangeNum 2 */
aclError aclGetTensorDescDimRange(const aclTensorDesc *desc, size_t index, size_t dimRangeNum,
                                  int64_t *dimRange);

/** Bounds of the values. @return as aclSetTensorShapeRange. */
aclError aclSetTensorValueRange(aclTensorDesc *desc, size_t valueCount, int64_t valueRange[][2]);

/** Says that the tensor is a constant. The data is copied. @return 100000 for NULL or length 0. */
aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length);

/** Where the copy of the constant is. @return NULL when the tensor is none. */
void *aclGetTensorDescAddress(const aclTensorDesc *desc);

/** Says which dynamic input of an operator the tensor belongs to. @return 100000 for NULL. */
aclError aclSetTensorDynamicInput(aclTensorDesc *desc, const char *dynamicInputName);

/** A description by its place. @return the description itself for 0, NULL for other places. */
aclTensorDesc *aclGetTensorDescByIndex(aclTensorDesc *desc, size_t index);

/** Descriptions in other formats are not computed. @return 207000; 100000 for NULL. */
aclError aclTransTensorDescFormat(const aclTensorDesc *srcDesc, aclFormat dstFormat,
                                  aclTensorDesc **dstDesc);

/** The name binds the tensor to an optional or repeated input of an operator. */
void aclSetTensorDescName(aclTensorDesc *desc, const char *name);

/** @return "" when no name was set or the descriptor is NULL. */
const char *aclGetTensorDescName(aclTensorDesc *desc);

/** Tells that the data lies in host memory. @return 100000 for NULL. */
aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_BASE_H_ */
