/**
 * @file runtime_streams.c
 * Streams: order, waiting, time-outs, stale handles, threads.
 */
#include "check.h"

#define MIB ((size_t)1 << 20)

static void need_device(void)
{
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
}

/** Holds up a stream until `open_gate`: a level event that nobody has recorded. */
static aclrtEvent gate(aclrtStream stream)
{
    aclrtEvent event = NULL;
    NEED(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    NEED(aclrtStreamWaitEvent(stream, event));
    return event;
}

static void open_gate(aclrtEvent event, aclrtStream other)
{
    OK(aclrtRecordEvent(event, other));
}

static void bad_creations(void)
{
    aclrtStream stream = NULL;
    uint32_t value = 99;
    CODE(107002, aclrtCreateStream(&stream));
    CODE(107002, aclrtSynchronizeStream(NULL));
    CODE(107002, aclrtSynchronizeDevice());
    need_device();
    CODE(100000, aclrtCreateStream(NULL));
    CODE(100000, aclrtCreateStreamWithConfig(NULL, 0, 0));
    CODE(100000, aclrtDestroyStream(NULL));
    CODE(100000, aclrtDestroyStreamForce(NULL));
    OK(aclrtCreateStreamWithConfig(&stream, 99, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    OK(aclrtStreamGetPriority(stream, &value));
    THAT(value == 7);
    OK(aclrtStreamGetFlags(stream, &value));
    THAT(value == 3);
    CODE(100000, aclrtStreamGetPriority(stream, NULL));
    CODE(100000, aclrtStreamGetFlags(stream, NULL));
    CODE(100000, aclrtStreamGetId(stream, NULL));
    CODE(100000, aclrtStreamQuery(stream, NULL));
    OK(aclrtDestroyStream(stream));
    OK(aclrtCreateStream(&stream));
    OK(aclrtStreamGetPriority(stream, &value));
    THAT(value == 0);
    OK(aclrtStreamGetFlags(stream, &value));
    THAT(value == 0);
    OK(aclrtDestroyStream(stream));
}

static void numbers_of_streams(void)
{
    aclrtStream streams[8];
    int32_t ids[9];
    need_device();
    OK(aclrtStreamGetId(NULL, &ids[8]));
    for (int i = 0; i < 8; ++i) {
        OK(aclrtCreateStream(&streams[i]));
        OK(aclrtStreamGetId(streams[i], &ids[i]));
    }
    for (int i = 0; i < 9; ++i) {
        for (int j = 0; j < i; ++j) {
            THAT(ids[i] != ids[j]);
        }
    }
    for (int i = 0; i < 8; ++i) {
        OK(aclrtDestroyStream(streams[i]));
    }
}

static void stale_streams(void)
{
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclrtStreamStatus status;
    int32_t id = 0;
    int local = 0;
    void *p = NULL;
    need_device();
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateStream(&stream));
    OK(aclrtDestroyStream(stream));
    CODE(107017, aclrtDestroyStream(stream));
    CODE(107017, aclrtDestroyStreamForce(stream));
    CODE(107017, aclrtSynchronizeStream(stream));
    MESSAGE("stream");
    CODE(107017, aclrtSynchronizeStreamWithTimeout(stream, 100));
    CODE(107017, aclrtStreamQuery(stream, &status));
    CODE(107017, aclrtStreamGetId(stream, &id));
    CODE(107017, aclrtMemsetAsync(p, 64, 0, 64, stream));
    CODE(107017, aclrtRecordEvent(event, stream));
    CODE(107017, aclrtStreamWaitEvent(stream, event));
    CODE(107017, aclrtSynchronizeStream((aclrtStream)&local));
    CODE(107017, aclrtSynchronizeStream((aclrtStream)(uintptr_t)1));
    CODE(107017, aclrtSynchronizeStream((aclrtStream)UINTPTR_MAX));
    /* A handle of another kind is no stream. */
    CODE(107017, aclrtSynchronizeStream((aclrtStream)event));
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(p));
}

static void a_stream_is_a_queue(void)
{
    enum { N = 200 };
    aclrtStream stream = NULL;
    aclrtEvent held = NULL;
    unsigned char *host = NULL;
    char *p = NULL;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&p, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, N));
    memset(host, 0xff, N);
    held = gate(stream);
    for (int i = 0; i < N; ++i) {
        OK(aclrtMemsetAsync(p, MIB, i, 4096, stream));
        OK(aclrtMemcpyAsync(host + i, 1, p + 4095, 1, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    }
    sleep_ms(50);
    for (int i = 0; i < N; ++i) {
        THAT(host[i] == 0xff);
    }
    open_gate(held, NULL);
    OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < N; ++i) {
        THAT(host[i] == (unsigned char)i);
    }
    OK(aclrtFree(p));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyEvent(held));
}

static void work_goes_on_without_anybody_waiting(void)
{
    aclrtStream stream = NULL;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    void *p = NULL;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&p, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 20; ++i) {
        OK(aclrtMemsetAsync(p, MIB, i, MIB, stream));
    }
    while (status != ACL_STREAM_STATUS_COMPLETE) {
        sleep_ms(1);
        OK(aclrtStreamQuery(stream, &status));
    }
    OK(aclrtFree(p));
    OK(aclrtDestroyStream(stream));
}

static void time_outs(void)
{
    aclrtStream stream = NULL;
    aclrtEvent held = NULL;
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    double begin = 0;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
    CODE(107000, aclrtSynchronizeStreamWithTimeout(stream, 0));
    MESSAGE("0");
    CODE(107000, aclrtSynchronizeStreamWithTimeout(stream, -2));
    MESSAGE("-2");
    CODE(107000, aclrtSynchronizeDeviceWithTimeout(0));
    CODE(107000, aclrtSynchronizeDeviceWithTimeout(-2));
    held = gate(stream);
    OK(aclrtStreamQuery(stream, &status));
    THAT(status == ACL_STREAM_STATUS_NOT_READY);
    begin = now_ms();
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 100));
    THAT(now_ms() - begin >= 99);
    MESSAGE("100");
    CODE(507046, aclrtSynchronizeDeviceWithTimeout(50));
    OK(aclrtSynchronizeStreamWithTimeout(NULL, 1000));
    open_gate(held, NULL);
    OK(aclrtSynchronizeDeviceWithTimeout(10000));
    OK(aclrtStreamQuery(stream, &status));
    THAT(status == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtSynchronizeStreamWithTimeout(stream, 1));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyEvent(held));
}

static void the_default_stream(void)
{
    aclrtStream handle = NULL, other = NULL;
    aclrtEvent held = NULL;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    unsigned char value = 0;
    void *p = NULL;
    need_device();
    OK(aclrtCtxGetCurrentDefaultStream(&handle));
    THAT(handle != NULL);
    CODE(100000, aclrtCtxGetCurrentDefaultStream(NULL));
    FAILS(aclrtDestroyStream(handle));
    FAILS(aclrtDestroyStreamForce(handle));
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemsetAsync(p, 64, 7, 64, NULL));
    OK(aclrtSynchronizeStream(handle));
    OK(aclrtMemcpy(&value, 1, p, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(value == 7);
    /* It does not wait for other streams, nor they for it. */
    OK(aclrtCreateStream(&other));
    held = gate(other);
    OK(aclrtMemsetAsync(p, 64, 8, 64, NULL));
    OK(aclrtSynchronizeStreamWithTimeout(NULL, 10000));
    OK(aclrtStreamQuery(NULL, &status));
    THAT(status == ACL_STREAM_STATUS_COMPLETE);
    open_gate(held, NULL);
    OK(aclrtDestroyStream(other));
    OK(aclrtDestroyEvent(held));
    OK(aclrtFree(p));
}

static void destroying_waits_and_forcing_does_not(void)
{
    aclrtStream stream = NULL;
    aclrtEvent held = NULL;
    unsigned char value = 0;
    void *p = NULL;
    need_device();
    OK(aclrtMalloc(&p, 8 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(p, 8 * MIB, 0, 8 * MIB));
    OK(aclrtCreateStream(&stream));
    for (int i = 1; i <= 10; ++i) {
        OK(aclrtMemsetAsync(p, 8 * MIB, i, 8 * MIB, stream));
    }
    OK(aclrtDestroyStream(stream));
    OK(aclrtMemcpy(&value, 1, (char *)p + 8 * MIB - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(value == 10);
    OK(aclrtCreateStream(&stream));
    held = gate(stream);
    OK(aclrtMemsetAsync(p, 8 * MIB, 99, 8 * MIB, stream));
    OK(aclrtDestroyStreamForce(stream));
    OK(aclrtMemcpy(&value, 1, p, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(value == 10);
    OK(aclrtDestroyEvent(held));
    OK(aclrtFree(p));
}

static void *waits_for_a_stream(void *stream)
{
    NEED(aclrtSetDevice(0));
    CODE(107023, aclrtSynchronizeStream(stream));
    return NULL;
}

static void aborting_releases_who_waits(void)
{
    aclrtStream stream = NULL;
    aclrtEvent held = NULL;
    pthread_t thread;
    need_device();
    CODE(107017, aclrtStreamAbort((aclrtStream)(uintptr_t)1));
    OK(aclrtCreateStream(&stream));
    held = gate(stream);
    pthread_create(&thread, NULL, waits_for_a_stream, stream);
    sleep_ms(100);
    OK(aclrtStreamAbort(stream));
    pthread_join(thread, NULL);
    OK(aclrtDestroyStreamForce(stream));
    OK(aclrtDestroyEvent(held));
}

static void settings(void)
{
    aclrtStream stream = NULL;
    aclrtStreamAttrValue value;
    uint32_t overflow = 9;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    CODE(207000, aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    FAILS(aclrtSetStreamFailureMode(stream, 2));
    OK(aclrtGetStreamOverflowSwitch(stream, &overflow));
    THAT(overflow == 0);
    OK(aclrtSetStreamOverflowSwitch(stream, 1));
    OK(aclrtGetStreamOverflowSwitch(stream, &overflow));
    THAT(overflow == 1);
    CODE(100000, aclrtSetStreamOverflowSwitch(stream, 2));
    CODE(100000, aclrtGetStreamOverflowSwitch(stream, NULL));
    memset(&value, 0, sizeof value);
    value.userCustomTag = 77;
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    memset(&value, 0, sizeof value);
    OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    THAT(value.userCustomTag == 77);
    CODE(107000, aclrtSetStreamAttribute(stream, (aclrtStreamAttr)99, &value));
    CODE(107000, aclrtGetStreamAttribute(stream, (aclrtStreamAttr)99, &value));
    CODE(100000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, NULL));
    OK(aclrtDestroyStream(stream));
}

static void streams_of_another_context(void)
{
    aclrtContext primary = NULL, own = NULL;
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    void *p = NULL;
    need_device();
    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateContext(&own, 0));
    OK(aclrtCreateEvent(&event));
    CODE(107003, aclrtMemsetAsync(p, 64, 0, 64, stream));
    CODE(107003, aclrtMemcpyAsync(p, 64, (char *)p + 32, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CODE(107003, aclrtRecordEvent(event, stream));
    CODE(107003, aclrtStreamWaitEvent(stream, event));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyContext(own));
    OK(aclrtSetCurrentContext(primary));
    OK(aclrtMemsetAsync(p, 64, 0, 64, stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(p));
}

static void too_many_streams(void)
{
    enum { LIMIT = 1984 };
    static aclrtStream streams[LIMIT + 1];
    int count = 0;
    long code = 0;
    need_device();
    AT("making streams up to the limit");
    while (count <= LIMIT && (code = aclrtCreateStream(&streams[count])) == 0) {
        ++count;
    }
    CODE(207008, code);
    /* The default stream is one of them. */
    THAT(count == LIMIT - 1);
    for (int i = 0; i < count; ++i) {
        OK(aclrtDestroyStream(streams[i]));
    }
    OK(aclrtCreateStream(&streams[0]));
    OK(aclrtDestroyStream(streams[0]));
}

static void *works_on_a_device(void *argument)
{
    const int32_t device = (int32_t)(intptr_t)argument;
    aclrtStream stream = NULL;
    unsigned char *host = NULL;
    void *p = NULL;
    int32_t found = -1;
    NEED(aclrtSetDevice(device));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&p, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, MIB));
    for (int i = 0; i < 100; ++i) {
        const unsigned char value = (unsigned char)(i + 100 * device);
        OK(aclrtMemsetAsync(p, MIB, value, MIB, stream));
        OK(aclrtMemcpyAsync(host, MIB, p, MIB, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        OK(aclrtSynchronizeStream(stream));
        THAT(host[0] == value && host[MIB - 1] == value);
        OK(aclrtGetDevice(&found));
        THAT(found == device);
    }
    OK(aclrtFree(p));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(device));
    return NULL;
}

static void two_threads_on_two_devices(void)
{
    pthread_t threads[2];
    NEED(aclInit(NULL));
    for (intptr_t i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, works_on_a_device, (void *)i);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    OK(aclFinalize());
}

static void *uses_a_stream_of_the_device(void *stream)
{
    void *p = NULL;
    /* The primary context belongs to the process: its streams serve every thread. */
    NEED(aclrtSetDevice(0));
    OK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 200; ++i) {
        OK(aclrtMemsetAsync(p, 4096, i, 4096, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtFree(p));
    OK(aclrtResetDevice(0));
    return NULL;
}

static void many_threads_on_one_stream(void)
{
    pthread_t threads[4];
    aclrtStream stream = NULL;
    need_device();
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 4; ++i) {
        pthread_create(&threads[i], NULL, uses_a_stream_of_the_device, stream);
    }
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
    }
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
}

static void the_end_with_work_left(void)
{
    aclrtStream stream = NULL;
    void *p = NULL;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&p, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    (void)gate(stream);
    OK(aclrtMemsetAsync(p, MIB, 1, MIB, stream));
    /* The process ends without waiting; it must not hang. */
}

int main(void)
{
    RUN(bad_creations);
    RUN(numbers_of_streams);
    RUN(stale_streams);
    RUN(a_stream_is_a_queue);
    RUN(work_goes_on_without_anybody_waiting);
    RUN(time_outs);
    RUN(the_default_stream);
    RUN(destroying_waits_and_forcing_does_not);
    RUN(aborting_releases_who_waits);
    RUN(settings);
    RUN(streams_of_another_context);
    RUN(too_many_streams);
    RUN(two_threads_on_two_devices);
    RUN(many_threads_on_one_stream);
    RUN(the_end_with_work_left);
    return check_end();
}
