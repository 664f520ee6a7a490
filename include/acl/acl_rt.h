/**
 * @file acl_rt.h
 * Devices, contexts, streams, events, memory and callbacks.
 *
 * Where nothing else is said a call returns 0 on success, 100000 when a pointer that it needs is
 * NULL, and 107002 when it needs a context and the calling thread has none. Times are in
 * milliseconds and sizes in bytes. A time-out of -1 waits for ever; 0 and values below -1 are
 * refused with 107000. A NULL stream means the default stream of the current context.
 */
#ifndef ACL_ACL_RT_H_
#define ACL_ACL_RT_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- */
/** @name Flags of streams @{ */
#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U
/** @} */

/** @name What a stream does after one of its tasks failed @{ */
#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U
/** @} */

/** @name Flags of events @{ */
#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U
/** @} */

/** @name Flags of aclrtHostRegisterV2 @{ */
#define ACL_HOST_REG_MAPPED 0x00000002U
#define ACL_HOST_REG_IOMEMORY 0x00000004U
#define ACL_HOST_REG_READONLY 0x00000008U
#define ACL_HOST_REG_PINNED 0x10000000U
/** @} */

/** Do not tie an exported memory handle to a list of processes. */
#define ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x00000001ULL

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

/** Options of a context (aclrtCtx...) or of the process (aclrtSetSysParamOpt). */
typedef enum {
    ACL_OPT_DETERMINISTIC = 0, /**< 0 to 3 */
    ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
    ACL_OPT_STRONG_CONSISTENCY = 2,
    ACL_OPT_ENABLE_KERNEL_EARLY_START = 3 /**< of the process only */
} aclSysParamOpt;

typedef enum {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED = 0xFFFF
} aclrtStreamStatus;

typedef enum {
    ACL_STREAM_ATTR_FAILURE_MODE = 1,
    ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
    ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
    ACL_STREAM_ATTR_CACHE_OP_INFO = 4,
    ACL_STREAM_ATTR_PRIORITY = 5
} aclrtStreamAttr;

/** Value of a stream attribute; which member counts follows from the attribute. */
typedef union {
    uint64_t failureMode;
    uint32_t overflowSwitch;
    uint32_t userCustomTag;
    uint32_t cacheOpInfoSwitch;
    uint32_t streamPriority;
    uint32_t reserve[4];
} aclrtStreamAttrValue;

/** Answer of aclrtQueryEvent. */
typedef enum {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

/** Answer of aclrtQueryEventStatus; mind that the numbers run the other way. */
typedef enum {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

/** Answer of aclrtQueryEventWaitStatus. */
typedef enum {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF
} aclrtEventWaitStatus;

/** Does a callback hold up its stream? */
typedef enum {
    ACL_CALLBACK_NO_BLOCK = 0,
    ACL_CALLBACK_BLOCK = 1
} aclrtCallbackBlockType;

/** Direction of a copy. Advice only: where the pointers lie decides. */
typedef enum {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7
} aclrtMemcpyKind;

/** Pages of device memory: 2 MiB first, only, or never; P2P for memory that peers reach. */
typedef enum {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

/** Kinds of device memory. */
typedef enum {
    ACL_DDR_MEM = 0,
    ACL_HBM_MEM = 1,
    ACL_DDR_MEM_HUGE = 2,
    ACL_DDR_MEM_NORMAL = 3,
    ACL_HBM_MEM_HUGE = 4,
    ACL_HBM_MEM_NORMAL = 5,
    ACL_DDR_MEM_P2P_HUGE = 6,
    ACL_DDR_MEM_P2P_NORMAL = 7,
    ACL_HBM_MEM_P2P_HUGE = 8,
    ACL_HBM_MEM_P2P_NORMAL = 9,
    ACL_HBM_MEM_HUGE1G = 10,
    ACL_HBM_MEM_P2P_HUGE1G = 11,
    ACL_MEM_NORMAL = 12,
    ACL_MEM_HUGE = 13,
    ACL_MEM_HUGE1G = 14,
    ACL_MEM_P2P_NORMAL = 15,
    ACL_MEM_P2P_HUGE = 16,
    ACL_MEM_P2P_HUGE1G = 17
} aclrtMemAttr;

typedef enum {
    ACL_MEM_LOCATION_TYPE_HOST = 0, /**< pinned or registered host memory */
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2, /**< memory that the runtime does not know */
    ACL_MEM_LOCATION_TYPE_MANAGED = 3,
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4
} aclrtMemLocationType;

typedef enum {
    ACL_MEM_HANDLE_TYPE_NONE = 0,
    ACL_MEM_HANDLE_TYPE_POSIX = 2
} aclrtMemHandleType;

typedef enum {
    ACL_MEM_ALLOCATION_TYPE_PINNED = 0
} aclrtMemAllocationType;

typedef enum {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF
} aclrtMemGranularityOptions;

typedef enum {
    ACL_HOST_REGISTER_MAPPED = 0,
    ACL_HOST_REGISTER_IOMEMORY = 4,
    ACL_HOST_REGISTER_READONLY = 8
} aclrtHostRegisterType;

typedef enum {
    ACL_RT_CMO_TYPE_PREFETCH = 0,
    ACL_RT_CMO_TYPE_WRITEBACK = 1,
    ACL_RT_CMO_TYPE_INVALID = 2,
    ACL_RT_CMO_TYPE_FLUSH = 3
} aclrtCmoType;

/** Whose last error is meant. */
typedef enum {
    ACL_RT_THREAD_LEVEL = 0
} aclrtLastErrLevel;

/** A place where memory can lie. Mind the order of the members. */
typedef struct aclrtMemLocation {
    uint32_t id; /**< user device id; 0 for host memory */
    aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize; /**< bytes */
    uint32_t rsv[4];
} aclrtPtrAttributes;

typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;
    aclrtMemAllocationType allocationType;
    aclrtMemAttr memAttr;
    aclrtMemLocation location;
    uint64_t reserve;
} aclrtPhysicalMemProp;

typedef struct aclrtUuid {
    char bytes[16];
} aclrtUuid;

typedef void (*aclrtCallback)(void *userData);
typedef void (*aclrtHostFunc)(void *args);

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
/* ------------------------------------------------------------------------------------------- */
/** @name Contexts @{ */

/**
 * Makes a context with a default stream of its own, and makes it current for this thread.
 * @return 107001 for a device that does not exist.
 */
aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/** @return 107002 for a primary context, which goes with its device; 107017 for a stale handle. */
aclError aclrtDestroyContext(aclrtContext context);

/** Switches context and device of this thread. @return 107017 for a stale handle. */
aclError aclrtSetCurrentContext(aclrtContext context);

aclError aclrtGetCurrentContext(aclrtContext *context);

/**
 * Is the primary context of a device in use?
 * @param flags NULL
 * @param active receives 1 or 0
 */
aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active);

/** The default stream of the current context as a handle. */
aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream);

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** @return 107021 for an option that was not set in this context. */
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/** Options of the process; 0 unless set. */
aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name Streams: queues whose tasks run one after the other @{ */

/** Makes a stream in the current context. @return 207008 when there are too many. */
aclError aclrtCreateStream(aclrtStream *stream);

/**
 * @param priority 0 (most urgent) to 7; larger values count as 7
 * @param flag ACL_STREAM_...; bits that are not known are ignored
 */
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);

/**
 * Waits for the stream's tasks and destroys it.
 * @return 100000 for NULL, for the default stream and for a stale handle 107017.
 */
aclError aclrtDestroyStream(aclrtStream stream);

/** Destroys a stream without waiting: what has not started is thrown away. */
aclError aclrtDestroyStreamForce(aclrtStream stream);

/** Waits until all tasks have run. @return the failure of a task, if one failed. */
aclError aclrtSynchronizeStream(aclrtStream stream);

/** @return 507046 when the time is over; the tasks go on. */
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/** Number of the stream, unique in its device. */
aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);
aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);
aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/**
 * What the stream does after a failure.
 * @param mode ACL_CONTINUE_ON_FAILURE or ACL_STOP_ON_FAILURE; going back from stop to continue
 *        gives 207000
 */
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/** Overflow detection for later tasks. @param flag 0 or 1, else 100000 */
aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);
aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/** @return 107000 for an attribute that is not known. */
aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue *value);
aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue *value);

/** How many streams can still be made on the current device. */
aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);

/** Throws queued tasks away; who waits for the stream gets 107023. */
aclError aclrtStreamAbort(aclrtStream stream);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/**
 * @name Events
 * There are three kinds. aclrtCreateEvent makes events that must be recorded before anybody
 * waits. aclrtCreateEventWithFlag makes a level: a stream may wait first and goes on when the
 * record comes; the level stays up until aclrtResetEvent. aclrtCreateEventExWithFlag makes marks:
 * a wait means the latest record at the time of the call, and nothing at all when there is none.
 * @{
 */

/** @return 207007 when there are too many. */
aclError aclrtCreateEvent(aclrtEvent *event);

/** @param flag bits of 0x3F; 0 and anything else gives 107000 */
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/** @param flag of ACL_EVENT_SYNC, _CAPTURE_STREAM_PROGRESS, _TIME_LINE; or _IPC alone */
aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/** Does not wait. Waits that are already queued stay valid. @return 107017 for a stale handle. */
aclError aclrtDestroyEvent(aclrtEvent event);

/** Event first. @return 107003 for a stream of another context. */
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/** Clears a level in stream order. @return 207000 for the other kinds. */
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/** Stream first: later tasks of the stream wait for the event. */
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** @param timeout limit of the waiting task; a task that runs out of it fails */
aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout);

/** Has everything before the record run? @return 207000 for marks. */
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/** Same question for every kind; the numbers of the answer are the other way round. */
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status);

/** Have all waits for this event passed? @return 207000 for marks. */
aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status);

/** Waits on the host. An event that was never recorded is passed at once. */
aclError aclrtSynchronizeEvent(aclrtEvent event);

/** @return 507047 when the time is over. */
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/**
 * Milliseconds from one record to the other; negative when `endEvent` came first.
 * @return 507000 when one was never recorded; 107006 when one keeps no time or has not been
 *         reached.
 */
aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

/** When the record was reached, in microseconds of the device clock. */
aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/** How many events can still be made on the current device. */
aclError aclrtGetEventAvailNum(uint32_t *eventCount);

aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name Memory @{ */

/**
 * Allocates device memory. The address is a multiple of 64; the contents are not defined.
 * @param size more than 0, else 100000
 * @return 207001 when the device has not that much; 107000 for a policy that is not known.
 */
aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** As aclrtMalloc, without the spare bytes behind the block. */
aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** As aclrtMalloc, for memory that the host reads through its caches. */
aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** Does not wait for tasks that use the memory. @return 107000 for an address inside a block. */
aclError aclrtFree(void *devPtr);

/** Allocates pinned host memory; the address is a multiple of 64. */
aclError aclrtMallocHost(void **hostPtr, size_t size);
aclError aclrtFreeHost(void *hostPtr);

/**
 * Copies at once and returns when the copy is complete. Does not wait for streams.
 * @param destMax room at `dst`; a larger `count` gives 107000
 * @param count 0 succeeds whatever the pointers are
 */
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                     aclrtMemcpyKind kind);

/**
 * Copies in stream order. With host memory that is not pinned the call waits for the stream and
 * copies before it returns.
 * @return 207000 for host to host.
 */
aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream);

/** Sets `count` bytes. @param maxCount room at `devPtr`; a larger `count` gives 107000 */
aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);
aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream);

/**
 * Copies `height` rows of `width` bytes.
 * @param dpitch,spitch bytes from one row to the next; `width` beyond either gives 100000
 */
aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind);
aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                            size_t width, size_t height, aclrtMemcpyKind kind,
                            aclrtStream stream);

/** Free and total memory of the current device. @return 107016 for a kind that is not known. */
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/** Where memory lies; memory that the runtime does not know is no error. Needs no context. */
aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes);

/**
 * Pins host memory and gives its address on the device.
 * @param ptr a multiple of 4096
 * @return 507910 when it is registered already.
 */
aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr);

/** @return 507911 when it is not registered. */
aclError aclrtHostUnregister(void *ptr);

/** Cache maintenance in stream order. Only prefetching is known; 207000 for the others. */
aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name Address ranges and physical memory apart @{ */

/**
 * Reserves addresses without memory behind.
 * @param alignment 0
 * @param expectPtr NULL, or the address that would be liked
 * @param flags 0, or 1 for huge pages; anything else gives 100000
 */
aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr,
                                uint64_t flags);

/** Gives a range back; everything in it must be unmapped. */
aclError aclrtReleaseMemAddress(void *virPtr);

/**
 * Allocates memory without an address.
 * @param size a multiple of the granularity
 * @param flags 0
 * @return 207001 when the device has not that much.
 */
aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                             const aclrtPhysicalMemProp *prop, uint64_t flags);

/** Takes effect once the memory is mapped nowhere. */
aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/** Maps physical memory at an address of a reserved range. @param offset 0 @param flags 0 */
aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags);

/** @param virPtr the start of one mapping */
aclError aclrtUnmapMem(void *virPtr);

/** What sizes of physical memory must be a multiple of. */
aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                          aclrtMemGranularityOptions option,
                                          size_t *granularity);

/**
 * Makes a number by which another process of this host can import the memory.
 * @param handleType ACL_MEM_HANDLE_TYPE_NONE
 * @param flags 0, or ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION
 */
aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                         uint64_t flags, uint64_t *shareableHandle);

/** Names the processes that may import. */
aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid, size_t pidNum);

/** @param handle receives a handle of its own, which wants its aclrtFreePhysical */
aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                           aclrtDrvMemHandle *handle);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name Callbacks on the host @{ */

/**
 * Names the thread that runs the callbacks of a stream.
 * @param threadId pthread_self() of a thread that calls aclrtProcessReport in a loop
 * @return 107011 when the stream has one already; 107012 when the thread serves another device.
 */
aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/** @return 107011 or 107012 when there is no such pair. */
aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/** Queues a callback. @return 107015 when no thread serves the stream. */
aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream);

/**
 * Runs all callbacks that are due on this thread.
 * @param timeout -1 or more than 0, else 100000
 * @return 507012 when none came in time; 107012 at once when the thread serves no stream.
 */
aclError aclrtProcessReport(int32_t timeout);

/** Queues a function that a thread of the runtime runs; it holds up the stream. */
aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name The last error of the runtime on this thread @{ */

/** Returns and clears it. @return 100000 for a level that is not known. */
aclError aclrtGetLastError(aclrtLastErrLevel level);

/** Returns it and leaves it. */
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_H_ */
