/**
 * @file runtime_observers.c
 * Functions that are called when AscendCL begins and ends, when devices and streams come and go,
 * when tasks are aborted, and when one fails.
 */
#include <sys/syscall.h>

#include "check.h"

static char events[256];
static int32_t refuse;

static void note(const char *what)
{
    strncat(events, what, sizeof events - strlen(events) - 1);
}

static aclError on_init(const char *config, size_t length, void *data)
{
    THAT(config != NULL && strlen(config) == length);
    note((const char *)data);
    return 0;
}

static aclError on_init_failing(const char *config, size_t length, void *data)
{
    (void)config;
    (void)length;
    (void)data;
    return 500001;
}

static aclError on_finalize(void *data)
{
    note((const char *)data);
    return 0;
}

static void begin_and_end(void)
{
    uint64_t left = 0;
    CODE(100000, aclInitCallbackRegister(ACL_REG_TYPE_OTHER, NULL, NULL));
    CODE(100000, aclInitCallbackRegister((aclRegisterCallbackType)8, on_init, NULL));
    CODE(100000, aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init));
    CODE(100000, aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, NULL));
    OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, (void *)"a"));
    CODE(100000, aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, (void *)"a"));
    CODE(100000, aclFinalizeCallbackRegister(ACL_REG_TYPE_ACL_DVPP, NULL, NULL));
    CODE(100000, aclFinalizeCallbackRegister((aclRegisterCallbackType)-1, on_finalize, NULL));
    OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_ACL_DVPP, on_finalize, (void *)"z"));
    THAT(strcmp(events, "") == 0);
    OK(aclInit(NULL));
    THAT(strcmp(events, "a") == 0);
    /* Registered after the beginning: called at once. */
    OK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_MODEL, on_init, (void *)"b"));
    THAT(strcmp(events, "ab") == 0);
    CODE(100002, aclInit(NULL));
    OK(aclFinalizeReference(&left));
    THAT(strcmp(events, "ab") == 0);
    OK(aclFinalizeReference(&left));
    THAT(strcmp(events, "abz") == 0);
    OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_MODEL, on_init));
    OK(aclInit(NULL));
    OK(aclFinalize());
    THAT(strcmp(events, "abzaz") == 0);
    OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_finalize));
    CODE(100000, aclFinalizeCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_finalize));
    CODE(100000, aclFinalizeCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, NULL));
    OK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_RETR, on_init_failing, NULL));
    CODE(500001, aclInit(NULL));
    OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_RETR, on_init_failing));
    OK(aclInit(NULL));
    OK(aclFinalize());
}

static void on_device(uint32_t device, aclrtDeviceState state, void *data)
{
    char text[8];
    THAT(data == events);
    snprintf(text, sizeof text, "%u%c", device, "ABCD"[state]);
    note(text);
}

static void devices(void)
{
    CODE(100000, aclrtRegDeviceStateCallback(NULL, on_device, NULL));
    CODE(100000, aclrtRegDeviceStateCallback("", on_device, NULL));
    CODE(107000, aclrtRegDeviceStateCallback("mine", NULL, NULL));
    OK(aclrtRegDeviceStateCallback("mine", on_device, events));
    CODE(107000, aclrtRegDeviceStateCallback("mine", on_device, events));
    CODE(107001, aclrtSetDevice(99));
    NEED(aclrtSetDevice(1));
    NEED(aclrtSetDevice(1));
    THAT(strcmp(events, "1A1B") == 0);
    OK(aclrtResetDevice(1));
    THAT(strcmp(events, "1A1B") == 0);
    OK(aclrtResetDevice(1));
    THAT(strcmp(events, "1A1B1C1D") == 0);
    events[0] = 0;
    NEED(aclrtSetDevice(0));
    NEED(aclrtSetDevice(0));
    OK(aclrtResetDeviceForce(0));
    THAT(strcmp(events, "0A0B0C0D") == 0);
    OK(aclrtRegDeviceStateCallback("mine", NULL, NULL));
    NEED(aclrtSetDevice(0));
    THAT(strcmp(events, "0A0B0C0D") == 0);
}

static aclrtStream told;

static void on_stream(aclrtStream stream, aclrtStreamState state, void *data)
{
    THAT(data == events);
    told = stream;
    note(state == ACL_RT_STREAM_STATE_CREATE_POST ? "+" : "-");
}

static void streams(void)
{
    aclrtStream stream = NULL;
    NEED(aclrtSetDevice(0));
    CODE(100000, aclrtRegStreamStateCallback(NULL, on_stream, NULL));
    CODE(107000, aclrtRegStreamStateCallback("mine", NULL, NULL));
    OK(aclrtRegStreamStateCallback("mine", on_stream, events));
    CODE(107000, aclrtRegStreamStateCallback("mine", on_stream, events));
    OK(aclrtCreateStream(&stream));
    THAT(told == stream && strcmp(events, "+") == 0);
    OK(aclrtDestroyStream(stream));
    THAT(told == stream && strcmp(events, "+-") == 0);
    OK(aclrtCreateStreamWithConfig(&stream, 0, 0));
    OK(aclrtDestroyStreamForce(stream));
    THAT(strcmp(events, "+-+-") == 0);
    OK(aclrtRegStreamStateCallback("mine", NULL, NULL));
    OK(aclrtCreateStream(&stream));
    THAT(strcmp(events, "+-+-") == 0);
}

static int32_t on_abort(uint32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout,
                        void *data)
{
    THAT(device == 0 && timeout == 500 && data == events);
    note(stage == ACL_RT_DEVICE_TASK_ABORT_PRE ? "p" : "q");
    return refuse;
}

static void aborts(void)
{
    aclrtNotify notify = NULL;
    aclrtStream stream = NULL;
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
    NEED(aclrtCreateNotify(&notify, 0));
    CODE(107001, aclrtDeviceTaskAbort(8, 0));
    CODE(107000, aclrtDeviceTaskAbort(0, 36 * 60 * 1000 + 1));
    CODE(100000, aclrtSetDeviceTaskAbortCallback(NULL, on_abort, NULL));
    OK(aclrtSetDeviceTaskAbortCallback("mine", on_abort, events));
    CODE(107000, aclrtSetDeviceTaskAbortCallback("mine", on_abort, events));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    refuse = 1;
    CODE(107035, aclrtDeviceTaskAbort(0, 500));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    refuse = 0;
    OK(aclrtDeviceTaskAbort(0, 500));
    THAT(strcmp(events, "ppq") == 0);
    CODE(107022, aclrtSynchronizeStream(stream));
    /* After that the stream works. */
    OK(aclrtRecordNotify(notify, stream));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSetDeviceTaskAbortCallback("mine", NULL, NULL));
    OK(aclrtDeviceTaskAbort(0, 0));
    CODE(107022, aclrtSynchronizeStream(stream));
}

static atomic_int exceptions;
static uint32_t found[5];

static void on_exception(aclrtExceptionInfo *info)
{
    found[0] = aclrtGetTaskIdFromExceptionInfo(info);
    found[1] = aclrtGetStreamIdFromExceptionInfo(info);
    found[2] = aclrtGetThreadIdFromExceptionInfo(info);
    found[3] = aclrtGetDeviceIdFromExceptionInfo(info);
    found[4] = aclrtGetErrorCodeFromExceptionInfo(info);
    atomic_fetch_add(&exceptions, 1);
}

static void on_exception_too(aclrtExceptionInfo *info)
{
    THAT(aclrtGetErrorCodeFromExceptionInfo(info) == 107019);
    atomic_fetch_add(&exceptions, 10);
}

/** Lets a task fail after two that do not; who wants to hear of it is told soon after. */
static void fail(aclrtStream stream, aclrtNotify notify, int told)
{
    OK(aclrtRecordNotify(notify, stream));
    OK(aclrtWaitAndResetNotify(notify, stream, 1));
    OK(aclrtWaitAndResetNotify(notify, stream, 1));
    CODE(107019, aclrtSynchronizeStream(stream));
    AT("waiting for those who are told");
    while (atomic_load(&exceptions) < told) {
        sleep_ms(1);
    }
}

static void exceptions_are_told(void)
{
    aclrtNotify notify = NULL;
    aclrtStream stream = NULL;
    int32_t id = 0;
    NEED(aclrtSetDevice(2));
    NEED(aclrtCreateStream(&stream));
    NEED(aclrtCreateNotify(&notify, 0));
    OK(aclrtStreamGetId(stream, &id));
    OK(aclrtSetExceptionInfoCallback(on_exception));
    fail(stream, notify, 1);
    THAT(atomic_load(&exceptions) == 1);
    THAT(found[0] == 2 && found[1] == (uint32_t)id && found[3] == 2 && found[4] == 107019);
    THAT(found[2] == (uint32_t)syscall(SYS_gettid));
    OK(aclrtSetExceptionInfoCallback(NULL));
    CODE(100000, aclrtExceptionInfoCallbackRegister(NULL));
    CODE(107000, aclrtExceptionInfoCallbackUnregister(on_exception_too));
    CODE(100000, aclrtExceptionInfoCallbackUnregister(NULL));
    OK(aclrtExceptionInfoCallbackRegister(on_exception_too));
    CODE(107000, aclrtExceptionInfoCallbackRegister(on_exception_too));
    fail(stream, notify, 11);
    THAT(atomic_load(&exceptions) == 11);
    OK(aclrtExceptionInfoCallbackUnregister(on_exception_too));
    fail(stream, notify, 11);
    sleep_ms(200);
    THAT(atomic_load(&exceptions) == 11);
    THAT(aclrtGetTaskIdFromExceptionInfo(NULL) == UINT32_MAX);
    THAT(aclrtGetStreamIdFromExceptionInfo(NULL) == UINT32_MAX);
    THAT(aclrtGetThreadIdFromExceptionInfo(NULL) == UINT32_MAX);
    THAT(aclrtGetDeviceIdFromExceptionInfo(NULL) == UINT32_MAX);
    THAT(aclrtGetErrorCodeFromExceptionInfo(NULL) == UINT32_MAX);
}

static atomic_int listening;

static void *listen_for_ever(void *argument)
{
    const uint64_t own = (uint64_t)pthread_self();
    NEED(aclrtSetDevice(0));
    NEED(aclrtSubscribeHostFunc(own, *(aclrtStream *)argument));
    atomic_store(&listening, 1);
    CODE(107012, aclrtProcessHostFunc(-1));
    return NULL;
}

/** A thread that waits without a limit goes on when its subscription ends. */
static void the_end_of_a_subscription(void)
{
    pthread_t thread;
    aclrtStream stream = NULL;
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
    NEED(pthread_create(&thread, NULL, listen_for_ever, &stream));
    while (atomic_load(&listening) == 0) {
        sleep_ms(1);
    }
    sleep_ms(20);
    OK(aclrtUnSubscribeHostFunc((uint64_t)thread, stream));
    AT("waiting for the thread");
    pthread_join(thread, NULL);
}

static void functions_that_devices_call(void)
{
    const uint64_t own = (uint64_t)pthread_self();
    aclrtStream stream = NULL;
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
    CODE(107012, aclrtProcessHostFunc(10));
    CODE(107012, aclrtUnSubscribeHostFunc(own, stream));
    OK(aclrtSubscribeHostFunc(own, stream));
    CODE(107011, aclrtSubscribeHostFunc(own, stream));
    CODE(100000, aclrtProcessHostFunc(0));
    CODE(507012, aclrtProcessHostFunc(10));
    OK(aclrtUnSubscribeHostFunc(own, stream));
    CODE(107012, aclrtProcessHostFunc(10));
}

int main(void)
{
    RUN(begin_and_end);
    RUN(devices);
    RUN(streams);
    RUN(aborts);
    RUN(exceptions_are_told);
    RUN(functions_that_devices_call);
    RUN(the_end_of_a_subscription);
    return check_end();
}
