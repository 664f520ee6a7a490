/**
 * @file runtime_callbacks.c
 * Functions on the host in stream order: callbacks with a report thread, and host functions.
 */
#include "check.h"

static atomic_int stop_reports;
static atomic_int order;
static pthread_t report_thread;
static atomic_int report_ready;

struct call {
    int position; /* when it ran, counted from 1 */
    long wait_ms;
    pthread_t thread;
};

static void note(void *data)
{
    struct call *call = data;
    if (call->wait_ms > 0) {
        sleep_ms(call->wait_ms);
    }
    call->thread = pthread_self();
    call->position = atomic_fetch_add(&order, 1) + 1;
}

static void *reports(void *context)
{
    NEED(aclrtSetCurrentContext(context));
    atomic_store(&report_ready, 1);
    while (atomic_load(&stop_reports) == 0) {
        AT("aclrtProcessReport in the loop");
        (void)aclrtProcessReport(20);
        sleep_ms(1);
    }
    return NULL;
}

static void need_reports(void)
{
    aclrtContext context = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtGetCurrentContext(&context));
    pthread_create(&report_thread, NULL, reports, context);
    while (atomic_load(&report_ready) == 0) {
        sleep_ms(1);
    }
}

static void end_reports(void)
{
    atomic_store(&stop_reports, 1);
    pthread_join(report_thread, NULL);
}

static void callbacks_run_on_the_report_thread(void)
{
    struct call calls[20];
    aclrtStream stream = NULL;
    memset(calls, 0, sizeof calls);
    need_reports();
    OK(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport((uint64_t)report_thread, stream));
    for (int i = 0; i < 20; ++i) {
        OK(aclrtLaunchCallback(note, &calls[i], ACL_CALLBACK_BLOCK, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 20; ++i) {
        THAT(calls[i].position == i + 1);
        THAT(pthread_equal(calls[i].thread, report_thread));
    }
    OK(aclrtUnSubscribeReport((uint64_t)report_thread, stream));
    CODE(107015, aclrtLaunchCallback(note, &calls[0], ACL_CALLBACK_BLOCK, stream));
    OK(aclrtDestroyStream(stream));
    end_reports();
}

static void a_blocking_callback_holds_the_stream(void)
{
    struct call slow = {0, 60, (pthread_t)0};
    aclrtStream stream = NULL;
    unsigned char *host = NULL;
    void *p = NULL;
    need_reports();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, 64));
    OK(aclrtMemset(p, 64, 5, 64));
    memset(host, 0, 64);
    OK(aclrtSubscribeReport((uint64_t)report_thread, stream));
    OK(aclrtLaunchCallback(note, &slow, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtMemcpyAsync(host, 64, p, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    sleep_ms(20);
    THAT(host[0] == 0);
    OK(aclrtSynchronizeStream(stream));
    THAT(slow.position == 1 && host[0] == 5);
    OK(aclrtUnSubscribeReport((uint64_t)report_thread, stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(host));
    end_reports();
}

static void *reports_of_another_device(void *device)
{
    NEED(aclrtSetDevice((int32_t)(intptr_t)device));
    return NULL;
}

static void bad_subscriptions(void)
{
    aclrtStream stream = NULL, other = NULL;
    struct call call = {0, 0, (pthread_t)0};
    need_reports();
    OK(aclrtCreateStream(&stream));
    CODE(107015, aclrtLaunchCallback(note, &call, ACL_CALLBACK_BLOCK, stream));
    EITHER(107011, 107012, aclrtUnSubscribeReport((uint64_t)report_thread, stream));
    OK(aclrtSubscribeReport((uint64_t)report_thread, stream));
    CODE(107011, aclrtSubscribeReport((uint64_t)report_thread, stream));
    CODE(100000, aclrtLaunchCallback(NULL, &call, ACL_CALLBACK_BLOCK, stream));
    CODE(100000, aclrtLaunchCallback(note, &call, (aclrtCallbackBlockType)2, stream));
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&other));
    CODE(107012, aclrtSubscribeReport((uint64_t)report_thread, other));
    on_thread(reports_of_another_device, (void *)1);
    OK(aclrtDestroyStream(other));
    OK(aclrtSetDevice(0));
    OK(aclrtUnSubscribeReport((uint64_t)report_thread, stream));
    EITHER(107011, 107012, aclrtUnSubscribeReport((uint64_t)report_thread, stream));
    OK(aclrtDestroyStream(stream));
    end_reports();
}

static void *processes_without_a_stream(void *argument)
{
    (void)argument;
    NEED(aclrtSetDevice(0));
    CODE(107012, aclrtProcessReport(10000));
    CODE(100000, aclrtProcessReport(0));
    CODE(100000, aclrtProcessReport(-2));
    return NULL;
}

static void processing_without_work(void)
{
    aclrtStream stream = NULL;
    double begin = 0;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    on_thread(processes_without_a_stream, NULL);
    OK(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream));
    begin = now_ms();
    CODE(507012, aclrtProcessReport(50));
    THAT(now_ms() - begin >= 49);
    OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
    OK(aclrtDestroyStream(stream));
}

static void host_functions(void)
{
    struct call calls[10];
    aclrtStream stream = NULL;
    memset(calls, 0, sizeof calls);
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    CODE(100000, aclrtLaunchHostFunc(stream, NULL, NULL));
    for (int i = 0; i < 10; ++i) {
        calls[i].wait_ms = i % 3;
        OK(aclrtLaunchHostFunc(stream, note, &calls[i]));
    }
    OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 10; ++i) {
        THAT(calls[i].position == i + 1);
    }
    OK(aclrtDestroyStream(stream));
    CODE(107017, aclrtLaunchHostFunc(stream, note, &calls[0]));
}

static void a_callback_that_nobody_will_run(void)
{
    struct call call = {0};
    aclrtStream stream = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream));
    OK(aclrtLaunchCallback(note, &call, ACL_CALLBACK_BLOCK, stream));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 50));
    OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
    CODE(107015, aclrtSynchronizeStreamWithTimeout(stream, 10000));
    THAT(call.position == 0);
    OK(aclrtDestroyStream(stream));
}

int main(void)
{
    RUN(callbacks_run_on_the_report_thread);
    RUN(a_blocking_callback_holds_the_stream);
    RUN(bad_subscriptions);
    RUN(processing_without_work);
    RUN(a_callback_that_nobody_will_run);
    RUN(host_functions);
    return check_end();
}
