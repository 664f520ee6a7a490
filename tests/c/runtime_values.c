/**
 * @file runtime_values.c
 * Numbers in device memory that streams write and wait for.
 */
#include "check.h"

static aclrtStream streams[2];
static uint64_t *number;

static void need_number(void)
{
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&streams[0]));
    NEED(aclrtCreateStream(&streams[1]));
    NEED(aclrtMalloc((void **)&number, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMemset(number, 64, 0, 64));
}

static uint64_t get(const void *from)
{
    uint64_t value = 0;
    OK(aclrtMemcpy(&value, 8, from, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
}

static void bad_arguments(void)
{
    void *pinned = NULL;
    uint64_t local = 0;
    need_number();
    CODE(100000, aclrtValueWrite(NULL, 1, 0, streams[0]));
    CODE(100000, aclrtValueWait(NULL, 1, 0, streams[0]));
    CODE(107000, aclrtValueWrite((char *)number + 4, 1, 0, streams[0]));
    MESSAGE("multiple of 8");
    CODE(107000, aclrtValueWait((char *)number + 4, 1, 0, streams[0]));
    CODE(107000, aclrtValueWrite(number, 1, 1, streams[0]));
    CODE(107000, aclrtValueWait(number, 1, 4, streams[0]));
    CODE(107000, aclrtValueWrite(&local, 1, 0, streams[0]));
    OK(aclrtMallocHost(&pinned, 64));
    CODE(107000, aclrtValueWrite(pinned, 1, 0, streams[0]));
    CODE(107000, aclrtValueWait(pinned, 1, 0, streams[0]));
    CODE(107017, aclrtValueWrite(number, 1, 0, &local));
    OK(aclrtFreeHost(pinned));
    OK(aclrtSynchronizeDevice());
    THAT(get(number) == 0);
}

static void writes_are_in_stream_order(void)
{
    need_number();
    OK(aclrtValueWrite(number, UINT64_C(0x0123456789abcdef), 0, NULL));
    OK(aclrtValueWrite(number + 1, 7, 0, NULL));
    OK(aclrtValueWrite(number + 1, 8, 0, NULL));
    OK(aclrtSynchronizeStream(NULL));
    THAT(get(number) == UINT64_C(0x0123456789abcdef));
    THAT(get(number + 1) == 8);
    THAT(get(number + 2) == 0);
}

static void waits_compare(void)
{
    static const struct {
        uint64_t found, value;
        uint32_t flag;
        int passes;
    } cases[] = {
        {5, 5, ACL_VALUE_WAIT_GEQ, 1},          {4, 5, ACL_VALUE_WAIT_GEQ, 0},
        {0, UINT64_MAX, ACL_VALUE_WAIT_GEQ, 1}, {UINT64_MAX, 0, ACL_VALUE_WAIT_GEQ, 0},
        {7, 7, ACL_VALUE_WAIT_EQ, 1},           {8, 7, ACL_VALUE_WAIT_EQ, 0},
        {12, 6, ACL_VALUE_WAIT_AND, 1},         {12, 3, ACL_VALUE_WAIT_AND, 0},
        {0, 0, ACL_VALUE_WAIT_NOR, 1},          {UINT64_MAX - 1, 1, ACL_VALUE_WAIT_NOR, 0},
    };
    need_number();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        OK(aclrtValueWrite(number, cases[i].found, 0, streams[0]));
        OK(aclrtValueWait(number, cases[i].value, cases[i].flag, streams[0]));
        if (cases[i].passes) {
            OK(aclrtSynchronizeStream(streams[0]));
        } else {
            CODE(507046, aclrtSynchronizeStreamWithTimeout(streams[0], 20));
            OK(aclrtStreamAbort(streams[0]));
            CODE(107023, aclrtSynchronizeStream(streams[0]));
        }
    }
}

static void a_wait_holds_what_comes_after_it(void)
{
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    need_number();
    for (uint64_t i = 1; i <= 50; ++i) {
        OK(aclrtValueWait(number, i, ACL_VALUE_WAIT_GEQ, streams[0]));
        OK(aclrtValueWrite(number + 1, i, 0, streams[0]));
        if (i == 1) {
            sleep_ms(20);
            OK(aclrtStreamQuery(streams[0], &status));
            THAT(status == ACL_STREAM_STATUS_NOT_READY);
            THAT(get(number + 1) == 0);
        }
        OK(aclrtValueWrite(number, i, 0, streams[1]));
        OK(aclrtSynchronizeStream(streams[0]));
        THAT(get(number + 1) == i);
    }
}

/** A pair of write and wait as an event: the waiting stream takes the mark back. */
static void the_pattern_of_external_events(void)
{
    need_number();
    for (int i = 0; i < 50; ++i) {
        OK(aclrtValueWait(number, 1, ACL_VALUE_WAIT_EQ, streams[1]));
        OK(aclrtValueWrite(number, 0, 0, streams[1]));
        OK(aclrtValueWrite(number, 1, 0, streams[0]));
        OK(aclrtSynchronizeStream(streams[1]));
        THAT(get(number) == 0);
    }
}

/** Any store counts: here one by the host, one by a copy and one by a fill. */
static void stores_by_others_count(void)
{
    uint64_t two = 2;
    need_number();
    OK(aclrtValueWait(number, 1, ACL_VALUE_WAIT_EQ, streams[0]));
    sleep_ms(10);
    *(volatile uint64_t *)number = 1;
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtValueWait(number, 2, ACL_VALUE_WAIT_EQ, streams[0]));
    OK(aclrtMemcpy(number, 8, &two, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtValueWait(number, UINT64_MAX, ACL_VALUE_WAIT_EQ, streams[0]));
    OK(aclrtMemsetAsync(number, 8, 0xff, 8, streams[1]));
    OK(aclrtSynchronizeStream(streams[0]));
}

int main(void)
{
    RUN(bad_arguments);
    RUN(writes_are_in_stream_order);
    RUN(waits_compare);
    RUN(a_wait_holds_what_comes_after_it);
    RUN(the_pattern_of_external_events);
    RUN(stores_by_others_count);
    return check_end();
}
