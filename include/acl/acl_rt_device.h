/**
 * @file acl_rt_device.h
 * Devices: which there are, which is used, what they can do. Part of acl_rt.h.
 *
 * What acl_rt.h says of codes, times and NULL streams holds here too.
 */
#ifndef ACL_ACL_RT_DEVICE_H_
#define ACL_ACL_RT_DEVICE_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ACL_DEVICE = 0,
    ACL_HOST = 1
} aclrtRunMode;

typedef enum {
    ACL_RT_DEVICE_STATUS_NORMAL = 0,
    ACL_RT_DEVICE_STATUS_ABNORMAL = 1,
    ACL_RT_DEVICE_STATUS_END = 0xFFFF
} aclrtDeviceStatus;

/** What floating point arithmetic does beyond its range. */
typedef enum {
    ACL_RT_OVERFLOW_MODE_SATURATION = 0,
    ACL_RT_OVERFLOW_MODE_INFNAN = 1,
    ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;

/** Questions of aclrtGetDeviceInfo. */
typedef enum {
    ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
    ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
    ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
    ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
    ACL_DEV_ATTR_WARP_SIZE = 202,
    ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE = 203,
    ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE = 204,
    ACL_DEV_ATTR_MAX_GRID_DIM_X = 205,
    ACL_DEV_ATTR_MAX_GRID_DIM_Y = 206,
    ACL_DEV_ATTR_MAX_GRID_DIM_Z = 207,
    ACL_DEV_ATTR_MAX_BLOCK_PER_GRID = 208,
    ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK = 209,
    ACL_DEV_ATTR_MAX_BLOCK_DIM_X = 210,
    ACL_DEV_ATTR_MAX_BLOCK_DIM_Y = 211,
    ACL_DEV_ATTR_MAX_BLOCK_DIM_Z = 212,
    ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301, /**< bytes */
    ACL_DEV_ATTR_L2_CACHE_SIZE = 302,         /**< bytes */
    ACL_DEV_ATTR_SMP_ID = 401,
    ACL_DEV_ATTR_PHY_CHIP_ID = 402,
    ACL_DEV_ATTR_SUPER_POD_DEVICE_ID = 403,
    ACL_DEV_ATTR_SUPER_POD_SERVER_ID = 404,
    ACL_DEV_ATTR_SUPER_POD_ID = 405,
    ACL_DEV_ATTR_CUST_OP_PRIVILEGE = 406,
    ACL_DEV_ATTR_MAINBOARD_ID = 407,
    ACL_DEV_ATTR_HD_CONNECT_TYPE = 408,
    ACL_DEV_ATTR_DEVICE_FORM_FACTOR = 409,
    ACL_DEV_ATTR_IS_VIRTUAL = 501,
    ACL_DEV_ATTR_NPU_ARCH = 601
} aclrtDevAttr;

/** Kinds of cores that can be limited. */
typedef enum {
    ACL_RT_DEV_RES_CUBE_CORE = 0,
    ACL_RT_DEV_RES_VECTOR_CORE = 1
} aclrtDevResLimitType;

/** @name What lies between two devices @{ */
#define ACL_RT_DEVS_TOPOLOGY_HCCS 0x01ULL
#define ACL_RT_DEVS_TOPOLOGY_PIX 0x02ULL
#define ACL_RT_DEVS_TOPOLOGY_PIB 0x04ULL
#define ACL_RT_DEVS_TOPOLOGY_PHB 0x08ULL
#define ACL_RT_DEVS_TOPOLOGY_SYS 0x10ULL
#define ACL_RT_DEVS_TOPOLOGY_SIO 0x20ULL
#define ACL_RT_DEVS_TOPOLOGY_HCCS_SW 0x40ULL
/** @} */

/** Percentages; -1 for what is not measured. */
typedef struct aclrtUtilizationInfo {
    int32_t cubeUtilization;
    int32_t vectorUtilization;
    int32_t aicpuUtilization;
    int32_t memoryUtilization;
    void *utilizationExtend; /**< NULL */
} aclrtUtilizationInfo;

#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20

/** A piece of memory with an error that cannot be corrected. */
typedef struct aclrtMemUceInfo {
    void *addr;
    size_t len;
    size_t reserved[14];
} aclrtMemUceInfo;

typedef enum {
    ACL_RT_NO_ERROR = 0,
    ACL_RT_ERROR_MEMORY = 1,
    ACL_RT_ERROR_L2 = 2,
    ACL_RT_ERROR_AICORE = 3,
    ACL_RT_ERROR_LINK = 4,
    ACL_RT_ERROR_L3_PORT = 5,
    ACL_RT_ERROR_OTHERS = 0xFFFF
} aclrtErrorType;

typedef enum {
    ACL_RT_AICORE_ERROR_UNKNOWN = 0,
    ACL_RT_AICORE_ERROR_SW = 1,
    ACL_RT_AICORE_ERROR_HW_LOCAL = 2
} aclrtAicoreErrorType;

typedef struct aclrtMemUceInfoArray {
    size_t arraySize;
    aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

typedef union aclrtErrorInfoDetail {
    aclrtMemUceInfoArray uceInfo;
    aclrtAicoreErrorType aicoreErrType;
} aclrtErrorInfoDetail;

/** What is wrong with a device. */
typedef struct aclrtErrorInfo {
    uint8_t tryRepair;
    uint8_t hasDetail;
    uint8_t reserved[2];
    aclrtErrorType errorType;
    aclrtErrorInfoDetail detail;
} aclrtErrorInfo;

typedef enum {
    ACL_RT_DEVICE_STATE_SET_PRE = 0,
    ACL_RT_DEVICE_STATE_SET_POST = 1,
    ACL_RT_DEVICE_STATE_RESET_PRE = 2,
    ACL_RT_DEVICE_STATE_RESET_POST = 3
} aclrtDeviceState;

typedef enum {
    ACL_RT_DEVICE_TASK_ABORT_PRE = 0,
    ACL_RT_DEVICE_TASK_ABORT_POST = 1
} aclrtDeviceTaskAbortStage;

typedef void (*aclrtDeviceStateCallback)(uint32_t devId, aclrtDeviceState state, void *args);

/** A result other than 0 refuses the abort. */
typedef int32_t (*aclrtDeviceTaskAbortCallback)(uint32_t devId, aclrtDeviceTaskAbortStage stage,
                                                uint32_t timeout, void *args);

typedef struct aclrtUuid {
    char bytes[16];
} aclrtUuid;

/* ------------------------------------------------------------------------------------------- */
/** @name Devices @{ */

/**
 * Retains the device and makes its primary context the calling thread's context. Every call
 * counts and wants its aclrtResetDevice.
 * @return 107001 for a device that does not exist; 507033 when it cannot be started.
 */
aclError aclrtSetDevice(int32_t deviceId);

/**
 * Takes back one aclrtSetDevice. The last one waits for running tasks and frees everything that
 * this process has on the device.
 * @return 107001 for a device that does not exist; 507007 when the device is not in use.
 */
aclError aclrtResetDevice(int32_t deviceId);

/** As the last aclrtResetDevice, whatever the count. */
aclError aclrtResetDeviceForce(int32_t deviceId);

/** Device of the calling thread's context. @return 107002 without a context. */
aclError aclrtGetDevice(int32_t *deviceId);

/**
 * Number of devices that this process sees.
 * @return 207004 when ASCEND_RT_VISIBLE_DEVICES shows none.
 */
aclError aclrtGetDeviceCount(uint32_t *count);

/** ACL_HOST for programs that run beside the devices. */
aclError aclrtGetRunMode(aclrtRunMode *runMode);

/** @return 107001 for a device that does not exist. */
aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus);

/**
 * Waits for all streams of the current device, but those that aclrtSynchronizeStream does not wait for.
 * @return the failure of a task, if one failed.
 */
aclError aclrtSynchronizeDevice(void);

/** @return 507046 when the time is over; the tasks go on. */
aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/** Name of the system on chip, for example Ascend910B1. A static text. */
const char *aclrtGetSocName(void);

/** @return 107001 for a device that does not exist; 107000 for a question that is not known. */
aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value);

/** 7 and 0: the smaller number is the more urgent. */
aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority);

/**
 * Sets the overflow mode of the current device.
 * @return 207000 for a mode that the product does not have: saturation is missing on the 950 series,
 *         infinities on 910, 310P and 310B.
 */
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);
aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);

/** 16 bytes that name a device and stay the same. */
aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid);

/** The process id that other processes of the host know this process by. */
aclError aclrtDeviceGetBareTgid(int32_t *pid);

/** 1 when `deviceId` can reach memory of `peerDeviceId`. @return 100000 for the same device. */
aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId);

/**
 * Opens memory of a peer to the current device, in this direction only.
 * @param flags 0; anything else gives 200006
 */
aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);
aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/** 1 when access from `deviceId` to `peerDeviceId` is open, else 0. */
aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t *status);

/*
 * A device has three numbers: physical, logic (the driver's) and user (its place in the list of
 * visible devices, which all other calls take). An id outside its range gives 107001.
 */
aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevId);
aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevId, int32_t *const logicDevId);
aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t *const logicDevId);
aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t *const phyDevId);
aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t *const userDevId);
aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t *const phyDevId);

/**
 * Limit of a kernel's run time in seconds; 0 for the largest, which is 254 steps of
 * aclrtGetOpTimeOutInterval and where it starts. For the whole process.
 */
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/** The same in milliseconds. */
aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout);

/**
 * The same in microseconds; all ones for no limit.
 * @param actualTimeout receives what was set: the next multiple of the step, or the largest
 */
aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/** The step of these limits in microseconds: usable are 1 to 254 steps. */
aclError aclrtGetOpTimeOutInterval(uint64_t *interval);

/** The limit that is set, in milliseconds. */
aclError aclrtGetOpExecuteTimeout(uint32_t *timeoutMs);

/** Limit of a stream's wait for an event in seconds; 0 waits for ever. For the whole process. */
aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/**
 * Stops what runs on a device and throws away what is queued. Who waits gets 107022, and then the
 * streams work as before.
 * @param timeout milliseconds, at most 2160000; 0 waits for ever
 * @return 107035 when a callback (aclrtSetDeviceTaskAbortCallback) refused.
 */
aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/**
 * Has a function called before and after a device comes into use and goes out of it.
 * @param regName not empty; unique among these callbacks, else 107000
 * @param callback NULL takes the function of that name away, 107000 if there is none
 */
aclError aclrtRegDeviceStateCallback(const char *regName, aclrtDeviceStateCallback callback,
                                     void *args);

/** Has a function called before and after aclrtDeviceTaskAbort. Names as above. */
aclError aclrtSetDeviceTaskAbortCallback(const char *regName,
                                         aclrtDeviceTaskAbortCallback callback, void *args);

/**
 * Address of a device as dddd:bb:dd.f. The software NPU makes one up.
 * @param len bytes at `pciBusId`: 13 or more, else 100000
 */
aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char *pciBusId, int32_t len);

/** ACL_RT_DEVS_TOPOLOGY_... of two devices. @return 100000 for the same device. */
aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t *value);

/**
 * How busy a device is. The software NPU does not measure it.
 * @return 100000 when utilizationExtend is not NULL.
 */
aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo);

/** @} */
/**
 * @name Limits of cores
 * They are kept, checked and told; the software NPU has no such cores.
 * @{
 */

/** Cores that a device may use: the product's, unless limited. */
aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value);

/** @param value 1 to the product's cores of that kind, else 107000 */
aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value);

/** Takes the limits back. */
aclError aclrtResetDeviceResLimit(int32_t deviceId);

/** Cores that a stream may use: those of its device, unless limited. */
aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value);

/** @param value 1 to the product's cores of that kind, else 107000 */
aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value);

/** Takes the limits back. */
aclError aclrtResetStreamResLimit(aclrtStream stream);

/** Lets the calling thread work under the limits of a stream. */
aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/** @return 107000 for a stream that this thread does not use. */
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

/** Cores that the calling thread may use: those of the stream that it uses, else its device's. */
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

/** @} */
/**
 * @name Faults
 * A device of the software NPU has none.
 * @{
 */

/** Memory with errors that cannot be corrected. @param retSize receives 0 */
aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize,
                            size_t *retSize);

/** @param arraySize 1 to ACL_RT_MEM_UCE_INFO_MAX_NUM, else 100000 */
aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize);

/** What is wrong with a device: ACL_RT_NO_ERROR. */
aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo);

/** @return 100000 for an error type that is not known. */
aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_DEVICE_H_ */
