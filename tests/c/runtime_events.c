/**
 * @file runtime_events.c
 * The three kinds of events, across streams, and the time between them.
 *
 * Kind a is made by aclrtCreateEvent, kind b (a level) by aclrtCreateEventWithFlag, kind c (a mark) by
 * aclrtCreateEventExWithFlag.
 */
#include "check.h"

#define MIB ((size_t)1 << 20)

static aclrtStream one, two;

static void need_streams(void)
{
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&one));
    NEED(aclrtCreateStream(&two));
}

static aclrtEvent gate(aclrtStream stream)
{
    aclrtEvent event = NULL;
    NEED(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    NEED(aclrtStreamWaitEvent(stream, event));
    return event;
}

static int busy(aclrtStream stream)
{
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_NOT_READY;
}

static void bad_creations(void)
{
    aclrtEvent event = NULL;
    CODE(107002, aclrtCreateEvent(&event));
    need_streams();
    CODE(100000, aclrtCreateEvent(NULL));
    CODE(100000, aclrtCreateEventWithFlag(NULL, ACL_EVENT_SYNC));
    CODE(100000, aclrtCreateEventExWithFlag(NULL, ACL_EVENT_SYNC));
    CODE(107000, aclrtCreateEventWithFlag(&event, 0));
    CODE(107000, aclrtCreateEventWithFlag(&event, 0x40));
    CODE(107000, aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC));
    CODE(107000, aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL));
    CODE(107000, aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC));
    CODE(100000, aclrtDestroyEvent(NULL));
    CODE(100000, aclrtRecordEvent(NULL, one));
    CODE(100000, aclrtStreamWaitEvent(one, NULL));
    CODE(100000, aclrtSynchronizeEvent(NULL));
}

static void stale_events(void)
{
    aclrtEvent event = NULL;
    aclrtEventRecordedStatus status;
    need_streams();
    OK(aclrtCreateEvent(&event));
    OK(aclrtDestroyEvent(event));
    CODE(107017, aclrtDestroyEvent(event));
    CODE(107017, aclrtRecordEvent(event, one));
    CODE(107017, aclrtStreamWaitEvent(one, event));
    CODE(107017, aclrtSynchronizeEvent(event));
    CODE(107017, aclrtQueryEventStatus(event, &status));
    CODE(107017, aclrtSynchronizeEvent((aclrtEvent)(uintptr_t)8));
    CODE(107017, aclrtSynchronizeEvent((aclrtEvent)one));
}

static void kind_a(void)
{
    aclrtEvent event = NULL, held = NULL;
    aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    aclrtEventWaitStatus waited = ACL_EVENT_WAIT_STATUS_RESERVED;
    need_streams();
    OK(aclrtCreateEvent(&event));
    CODE(107000, aclrtStreamWaitEvent(two, event));
    OK(aclrtQueryEventStatus(event, &recorded));
    THAT(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CODE(207000, aclrtResetEvent(event, one));
    held = gate(one);
    OK(aclrtRecordEvent(event, one));
    OK(aclrtQueryEvent(event, &status));
    THAT(status == ACL_EVENT_STATUS_NOT_READY);
    OK(aclrtStreamWaitEvent(two, event));
    OK(aclrtQueryEventWaitStatus(event, &waited));
    THAT(waited == ACL_EVENT_WAIT_STATUS_NOT_READY);
    THAT(busy(two));
    OK(aclrtRecordEvent(held, NULL));
    OK(aclrtSynchronizeStream(two));
    OK(aclrtQueryEvent(event, &status));
    THAT(status == ACL_EVENT_STATUS_COMPLETE);
    OK(aclrtQueryEventStatus(event, &recorded));
    THAT(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtQueryEventWaitStatus(event, &waited));
    THAT(waited == ACL_EVENT_WAIT_STATUS_COMPLETE);
    OK(aclrtRecordEvent(event, two));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(held));
}

static void kind_b(void)
{
    aclrtEvent event = NULL;
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    need_streams();
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtQueryEventStatus(event, &recorded));
    THAT(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    /* Waits first, and goes on when the record comes. */
    OK(aclrtStreamWaitEvent(one, event));
    OK(aclrtResetEvent(event, one));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(one, 50));
    OK(aclrtRecordEvent(event, two));
    OK(aclrtSynchronizeStream(one));
    /* The level is down again. */
    OK(aclrtStreamWaitEvent(one, event));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(one, 50));
    OK(aclrtRecordEvent(event, two));
    OK(aclrtSynchronizeStream(one));
    /* Without a reset it stays up. */
    OK(aclrtStreamWaitEvent(one, event));
    OK(aclrtSynchronizeStreamWithTimeout(one, 10000));
    OK(aclrtDestroyEvent(event));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE));
    CODE(207000, aclrtStreamWaitEvent(one, event));
    OK(aclrtDestroyEvent(event));
}

static void kind_c(void)
{
    aclrtEvent event = NULL, held = NULL, later = NULL;
    aclrtEventStatus status;
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    aclrtEventWaitStatus waited;
    need_streams();
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtQueryEventStatus(event, &recorded));
    THAT(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtStreamWaitEvent(one, event));
    OK(aclrtSynchronizeStreamWithTimeout(one, 10000));
    CODE(207000, aclrtResetEvent(event, one));
    CODE(207000, aclrtQueryEvent(event, &status));
    CODE(207000, aclrtQueryEventWaitStatus(event, &waited));
    /* A wait means the record at the time of the call, not one that comes later. */
    held = gate(one);
    OK(aclrtRecordEvent(event, one));
    OK(aclrtStreamWaitEvent(two, event));
    OK(aclrtRecordEvent(event, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtQueryEventStatus(event, &recorded));
    THAT(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    THAT(busy(two));
    /* And not a record that came before it. */
    OK(aclrtRecordEvent(held, NULL));
    OK(aclrtSynchronizeStream(two));
    later = gate(one);
    OK(aclrtRecordEvent(event, NULL));
    OK(aclrtStreamWaitEvent(two, event));
    OK(aclrtRecordEvent(event, one));
    OK(aclrtSynchronizeStreamWithTimeout(two, 10000));
    OK(aclrtRecordEvent(later, NULL));
    OK(aclrtSynchronizeStream(one));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(held));
    OK(aclrtDestroyEvent(later));
}

static void an_event_carries_data_across_streams(void)
{
    enum { ROUNDS = 100 };
    aclrtEvent ready = NULL, done = NULL;
    unsigned char *host = NULL;
    char *p = NULL;
    need_streams();
    OK(aclrtCreateEventExWithFlag(&ready, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_SYNC));
    OK(aclrtMalloc((void **)&p, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, ROUNDS));
    for (int i = 0; i < ROUNDS; ++i) {
        OK(aclrtStreamWaitEvent(one, done));
        OK(aclrtMemsetAsync(p, MIB, i, 65536, one));
        OK(aclrtRecordEvent(ready, one));
        OK(aclrtStreamWaitEvent(two, ready));
        OK(aclrtMemcpyAsync(host + i, 1, p + 65535, 1, ACL_MEMCPY_DEVICE_TO_HOST, two));
        OK(aclrtRecordEvent(done, two));
    }
    OK(aclrtSynchronizeStream(two));
    for (int i = 0; i < ROUNDS; ++i) {
        THAT(host[i] == (unsigned char)i);
    }
    OK(aclrtDestroyEvent(ready));
    OK(aclrtDestroyEvent(done));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(host));
}

static void a_queued_wait_survives_its_event(void)
{
    aclrtEvent event = NULL, held = NULL;
    need_streams();
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    held = gate(one);
    OK(aclrtRecordEvent(event, one));
    OK(aclrtStreamWaitEvent(two, event));
    OK(aclrtDestroyEvent(event));
    THAT(busy(two));
    OK(aclrtRecordEvent(held, NULL));
    OK(aclrtSynchronizeStream(two));
    OK(aclrtDestroyEvent(held));
}

static void waiting_on_the_host(void)
{
    aclrtEvent event = NULL, held = NULL;
    double begin = 0;
    need_streams();
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtSynchronizeEvent(event));
    CODE(107000, aclrtSynchronizeEventWithTimeout(event, 0));
    CODE(107000, aclrtSynchronizeEventWithTimeout(event, -2));
    OK(aclrtSynchronizeEventWithTimeout(event, -1));
    held = gate(one);
    OK(aclrtRecordEvent(event, one));
    begin = now_ms();
    CODE(507047, aclrtSynchronizeEventWithTimeout(event, 80));
    THAT(now_ms() - begin >= 79);
    OK(aclrtRecordEvent(held, NULL));
    OK(aclrtSynchronizeEventWithTimeout(event, 10000));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(held));
}

static void time_between_events(void)
{
    aclrtEvent start = NULL, end = NULL, plain = NULL, held = NULL;
    float ms = -1;
    uint64_t first = 0, second = 0;
    uint32_t id = 0;
    need_streams();
    OK(aclrtCreateEvent(&start));
    OK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC));
    CODE(507000, aclrtEventElapsedTime(&ms, start, end));
    OK(aclrtRecordEvent(start, one));
    OK(aclrtSynchronizeStream(one));
    sleep_ms(30);
    OK(aclrtRecordEvent(end, one));
    OK(aclrtSynchronizeStream(one));
    OK(aclrtEventElapsedTime(&ms, start, end));
    THAT(ms >= 29.0F && ms < 20000.0F);
    OK(aclrtEventElapsedTime(&ms, end, start));
    THAT(ms <= -29.0F);
    OK(aclrtEventElapsedTime(&ms, end, end));
    THAT(ms == 0.0F);
    OK(aclrtEventGetTimestamp(start, &first));
    OK(aclrtEventGetTimestamp(end, &second));
    THAT(second - first >= 29000 && second - first < 20000000);
    OK(aclrtRecordEvent(plain, one));
    OK(aclrtSynchronizeStream(one));
    CODE(107006, aclrtEventElapsedTime(&ms, start, plain));
    held = gate(one);
    OK(aclrtRecordEvent(end, one));
    CODE(107006, aclrtEventElapsedTime(&ms, start, end));
    OK(aclrtRecordEvent(held, NULL));
    OK(aclrtSynchronizeStream(one));
    CODE(100000, aclrtEventElapsedTime(NULL, start, end));
    CODE(100000, aclrtEventElapsedTime(&ms, NULL, end));
    CODE(100000, aclrtEventGetTimestamp(start, NULL));
    OK(aclrtGetEventId(start, &id));
    OK(aclrtDestroyEvent(start));
    OK(aclrtDestroyEvent(end));
    OK(aclrtDestroyEvent(plain));
    OK(aclrtDestroyEvent(held));
}

static void the_time_is_that_of_the_stream(void)
{
    aclrtEvent start = NULL, end = NULL, held = NULL;
    float ms = -1;
    need_streams();
    OK(aclrtCreateEvent(&start));
    OK(aclrtCreateEvent(&end));
    OK(aclrtRecordEvent(start, one));
    OK(aclrtSynchronizeStream(one));
    held = gate(one);
    OK(aclrtRecordEvent(end, one));
    sleep_ms(40);
    OK(aclrtRecordEvent(held, NULL));
    OK(aclrtSynchronizeStream(one));
    OK(aclrtEventElapsedTime(&ms, start, end));
    THAT(ms >= 39.0F);
    OK(aclrtDestroyEvent(start));
    OK(aclrtDestroyEvent(end));
    OK(aclrtDestroyEvent(held));
}

static void a_wait_with_a_limit(void)
{
    aclrtEvent event = NULL;
    need_streams();
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(event, two));
    OK(aclrtStreamWaitEventWithTimeout(one, event, 10000));
    OK(aclrtSynchronizeStream(one));
    CODE(100000, aclrtStreamWaitEventWithTimeout(one, NULL, 1000));
    FAILS(aclrtStreamWaitEventWithTimeout(one, event, -2));
    OK(aclrtDestroyEvent(event));
}

static void between_two_devices(void)
{
    aclrtEvent event = NULL;
    aclrtStream far = NULL;
    unsigned char *host = NULL;
    char *p = NULL;
    need_streams();
    OK(aclrtMallocHost((void **)&host, 1));
    OK(aclrtMalloc((void **)&p, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtMemsetAsync(p, MIB, 42, MIB, one));
    OK(aclrtRecordEvent(event, one));
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&far));
    OK(aclrtStreamWaitEvent(far, event));
    OK(aclrtMemcpyAsync(host, 1, p + MIB - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST, far));
    OK(aclrtSynchronizeStream(far));
    THAT(host[0] == 42);
    OK(aclrtDestroyStream(far));
    OK(aclrtSetDevice(0));
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(host));
}

int main(void)
{
    RUN(bad_creations);
    RUN(stale_events);
    RUN(kind_a);
    RUN(kind_b);
    RUN(kind_c);
    RUN(an_event_carries_data_across_streams);
    RUN(a_queued_wait_survives_its_event);
    RUN(waiting_on_the_host);
    RUN(time_between_events);
    RUN(the_time_is_that_of_the_stream);
    RUN(a_wait_with_a_limit);
    RUN(between_two_devices);
    return check_end();
}
