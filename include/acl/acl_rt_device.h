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

/** Waits for all streams of the current device. @return the failure of a task, if one failed. */
aclError aclrtSynchronizeDevice(void);

/** @return 507046 when the time is over; the tasks go on. */
aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/** Name of the system on chip, for example Ascend910B1. A static text. */
const char *aclrtGetSocName(void);

/** @return 107001 for a device that does not exist; 107000 for a question that is not known. */
aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value);

/** 7 and 0: the smaller number is the more urgent. */
aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority);

/** Sets the overflow mode of the current device. */
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

/** Limit of a kernel's run time in seconds; 0 for the largest. For the whole process. */
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/** The same in microseconds. @param actualTimeout receives what was set: at least `timeout` */
aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/** The step of these limits in microseconds: usable are 1 to 254 steps. */
aclError aclrtGetOpTimeOutInterval(uint64_t *interval);

/** The limit that is set, in milliseconds. */
aclError aclrtGetOpExecuteTimeout(uint32_t *timeoutMs);

/** Limit of a stream's wait for an event in seconds; 0 waits for ever. For the whole process. */
aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/**
 * Throws away what is queued on a device. Who waits gets 107022, and so does new work until the
 * device has recovered.
 * @param timeout milliseconds; 0 waits for ever
 */
aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_DEVICE_H_ */
