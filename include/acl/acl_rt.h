/**
 * @file acl_rt.h
 * Contexts, streams, events and callbacks; devices, memory and notifies by inclusion.
 *
 * Where nothing else is said a call returns 0 on success, 100000 when a pointer that it needs is
 * NULL, and 107002 when it needs a context and the calling thread has none. Times are in
 * milliseconds and sizes in bytes. A time-out of -1 waits for ever; 0 and values below -1 are
 * refused with 107000. A NULL stream means the default stream of the current context.
 */
#ifndef ACL_ACL_RT_H_
#define ACL_ACL_RT_H_

#include "acl/acl_base.h"
#include "acl/acl_rt_device.h"
#include "acl/acl_rt_kernel.h"
#include "acl/acl_rt_memory.h"
#include "acl/acl_rt_notify.h"

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

typedef enum {
    ACL_RT_STREAM_WORK_ADDR_PTR = 0,
    ACL_RT_STREAM_WORK_SIZE = 1,
    ACL_RT_STREAM_FLAG = 2,
    ACL_RT_STREAM_PRIORITY = 3
} aclrtStreamConfigAttr;

/** What a stream is to be like. Made and read by calls only; an object has no such memory. */
typedef struct aclrtStreamConfigHandle {
    void *workptr;
    size_t workSize;
    size_t flag;
    uint32_t priority;
} aclrtStreamConfigHandle;

typedef enum {
    ACL_RT_STREAM_STATE_CREATE_POST = 1,
    ACL_RT_STREAM_STATE_DESTROY_PRE = 2
} aclrtStreamState;

typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void *args);

/** A task that failed; what it was is asked by calls. */
typedef struct aclrtExceptionInfo aclrtExceptionInfo;
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *exceptionInfo);

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

/** Whose last error is meant. */
typedef enum {
    ACL_RT_THREAD_LEVEL = 0
} aclrtLastErrLevel;

/** An event as another process opens it. */
typedef struct aclrtIpcEventHandle {
    char reserved[64];
} aclrtIpcEventHandle;

typedef void (*aclrtCallback)(void *userData);
typedef void (*aclrtHostFunc)(void *args);

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

/** An object with which to describe a stream. @return NULL when there are too many. */
aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);

/** @return 107017 for a stale object. */
aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle);

/**
 * Sets one thing in a description: flags (size_t), priority (uint32_t), work memory (void *) or its
 * size (size_t). Work memory is not used.
 * @param valueSize size of the value's type, else 100000
 */
aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr,
                                 const void *attrValue, size_t valueSize);

/** As aclrtCreateStreamWithConfig, as described. */
aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle);

/**
 * Waits for the stream's tasks and destroys it.
 * @return 100000 for NULL, for the default stream and for a stale handle 107017.
 */
aclError aclrtDestroyStream(aclrtStream stream);

/** Destroys a stream without waiting: what has not started is thrown away. */
aclError aclrtDestroyStreamForce(aclrtStream stream);

/**
 * Waits until all tasks have run. Streams with ACL_STREAM_PERSISTENT, _CPU_SCHEDULE or
 * _DEVICE_USE_ONLY are not waited for.
 * @return the failure of a task, if one failed.
 */
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

/** Throws queued tasks away; who waits for the stream gets 107023, once. Then it works as before. */
aclError aclrtStreamAbort(aclrtStream stream);

/**
 * Has a function called after a stream is made and before it is destroyed.
 * @param regName not empty; unique among these callbacks, else 107000
 * @param callback NULL takes the function of that name away, 107000 if there is none
 */
aclError aclrtRegStreamStateCallback(const char *regName, aclrtStreamStateCallback callback,
                                     void *args);

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

/** @return 207000 for an event that processes share. */
aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/**
 * What another process of this host opens the event by.
 * @return 107000 for an event that was not made by aclrtCreateEventExWithFlag with ACL_EVENT_IPC.
 */
aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle);

/**
 * Opens an event of another process: recorded in one, it can be waited for, queried and
 * synchronized in the other. It wants its aclrtDestroyEvent. A wait for a record whose process has
 * ended before it got there fails with 507022.
 * @return 107000 for a handle that leads nowhere or that this process made.
 */
aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event);

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

/** As aclrtSubscribeReport, for functions that a device calls by itself. Devices here call none. */
aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream);

/** Waits for such functions: 507012 when the time is over. Other codes as aclrtProcessReport. */
aclError aclrtProcessHostFunc(int32_t timeout);

/** @return 107011 or 107012 when there is no such pair. */
aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name Who is told of tasks that failed, on a thread of the runtime @{ */

/** Sets the one function of the process; NULL for none. */
aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/** Adds a function. @return 107000 for one that is registered already. */
aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback);

/** @return 107000 for a function that is not registered. */
aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback);

/** Number of the task in its stream. @return 0xFFFFFFFF for NULL, as the calls below. */
uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Number of the stream, as aclrtStreamGetId gives it. */
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** The thread (gettid) that gave the stream its last task. */
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** The device. */
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** The code that a wait for the stream returns. */
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

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
