/*
 * What used to crash, hang, or give wrong values without a word: resets and ends while others are
 * at work, failures that others depend on, many threads on one object, calls at the very end.
 */
#include "check.h"

#include "hccl/hccl.h"
#include "softnpu/softnpu.h"

enum { COUNT = 1 << 20, THREADS = 3 };

struct rank {
    const HcclRootInfo *root;
    uint32_t ranks;
    uint32_t number;
    HcclComm comm;
    aclrtStream stream;
    float *buffer;
};

/** Joins on the device of its number, with a stream and a buffer that holds number + 1. */
static void join(struct rank *rank)
{
    static float values[COUNT];
    const size_t bytes = COUNT * sizeof(float);
    for (size_t i = 0; i < COUNT; ++i) {
        values[i] = 1.0f;
    }
    NEED(aclrtSetDevice((int32_t)rank->number));
    NEED(aclrtCreateStream(&rank->stream));
    NEED(aclrtMalloc((void **)&rank->buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMemcpy(rank->buffer, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    NEED(HcclCommInitRootInfo(rank->ranks, rank->root, rank->number, &rank->comm));
}

static HcclResult reduce(struct rank *rank, uint64_t count)
{
    return HcclAllReduce(rank->buffer, rank->buffer, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                         rank->comm, rank->stream);
}

/** Runs a function for two ranks, each on a thread. */
static void two_ranks(void *(*body)(void *))
{
    static HcclRootInfo root;
    pthread_t threads[2];
    struct rank ranks[2];
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&root));
    for (uint32_t i = 0; i < 2; ++i) {
        ranks[i] = (struct rank){ &root, 2, i, NULL, NULL, NULL };
        pthread_create(&threads[i], NULL, body, &ranks[i]);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
}

/* ---- a device that is reset while others look at its memory ---- */

static void *resets_in_the_middle(void *argument)
{
    struct rank *rank = argument;
    join(rank);
    for (int i = 0; i < 50; ++i) {
        if (reduce(rank, COUNT) != 0) {
            break;
        }
        if (rank->number == 1 && i == 10) {
            OK(aclrtResetDeviceForce(1));
            break;
        }
        /* The other rank is told at some time, and nobody reads what is not there. */
        AT("aclrtSynchronizeStream of a rank whose peer resets");
        if (aclrtSynchronizeStream(rank->stream) != 0) {
            break;
        }
    }
    return NULL;
}

static void a_reset_in_the_middle_of_a_collective(void) { two_ranks(resets_in_the_middle); }

static void *copies_for_a_while(void *argument)
{
    static char host[1 << 20];
    void *device = argument;
    NEED(aclrtSetDevice(1));
    for (int i = 0; i < 2000; ++i) {
        AT("aclrtMemcpy beside resets");
        /* Refused or done, as the memory is there or not. */
        (void)aclrtMemcpy(device, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
        forget_messages();
    }
    return NULL;
}

static void a_reset_beside_copies(void)
{
    pthread_t thread;
    void *memory = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    pthread_create(&thread, NULL, copies_for_a_while, memory);
    for (int i = 0; i < 200; ++i) {
        OK(aclrtResetDeviceForce(0));
        OK(aclrtSetDevice(0));
        OK(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    pthread_join(thread, NULL);
}

static void *goes_on_after_a_reset(void *argument)
{
    struct rank *rank = argument;
    const size_t bytes = COUNT * sizeof(float);
    float value = 0, two = 2;
    join(rank);
    OK(reduce(rank, COUNT));
    OK(aclrtSynchronizeStream(rank->stream));
    if (rank->number == 1) {
        OK(aclrtResetDeviceForce(1));
        OK(aclrtSetDevice(1));
        OK(aclrtCreateStream(&rank->stream));
        OK(aclrtMalloc((void **)&rank->buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        /* Fresh memory is zero, also where it was used before. */
        OK(aclrtMemcpy(&value, sizeof value, rank->buffer, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
        THAT(value == 0);
    }
    OK(aclrtMemcpy(rank->buffer, sizeof two, &two, sizeof two, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(reduce(rank, 1));
    OK(aclrtSynchronizeStream(rank->stream));
    OK(aclrtMemcpy(&value, sizeof value, rank->buffer, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(value == 4);
    return NULL;
}

static void a_communicator_after_a_reset(void) { two_ranks(goes_on_after_a_reset); }

/* ---- failures reach whoever depends on them ---- */

/** The two ranks reduce different counts; what depends on the result must fail too. */
static void depends_on_a_failure(struct rank *rank, uint64_t mode)
{
    aclrtStream other = NULL;
    aclrtEvent event = NULL;
    char host[64];
    join(rank);
    OK(aclrtSetStreamFailureMode(rank->stream, mode));
    OK(aclrtCreateStream(&other));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(reduce(rank, 1000 + rank->number));
    /* In the stop mode the failure may be there already. */
    if (aclrtRecordEvent(event, rank->stream) == 0 && aclrtStreamWaitEvent(other, event) == 0) {
        FAILS(aclrtSynchronizeEvent(event));
        MESSAGE("EI0005", "1000", "1001");
    }
    FAILS(aclrtSynchronizeStream(other));
    FAILS(aclrtSynchronizeStream(rank->stream));
    forget_messages();
    if (mode == 1) {
        /* One failure stops every stream of the context, and each call says why. */
        FAILS(aclrtSynchronizeDevice());
        MESSAGE("EI0005");
        FAILS(aclrtMemsetAsync(rank->buffer, 64, 0, 64, other));
        THAT(softnpuPendingTasks > 0);
    } else {
        OK(aclrtMemsetAsync(rank->buffer, 64, 7, 64, other));
        OK(aclrtSynchronizeStream(other));
        OK(aclrtMemcpy(host, 64, rank->buffer, 64, ACL_MEMCPY_DEVICE_TO_HOST));
        THAT(host[63] == 7);
    }
}

static void *depends_and_continues(void *rank)
{
    depends_on_a_failure(rank, 0);
    return NULL;
}

static void *depends_and_stops(void *rank)
{
    depends_on_a_failure(rank, 1);
    return NULL;
}

static void a_failure_passes_through_events(void) { two_ranks(depends_and_continues); }
static void a_failure_stops_all_streams(void) { two_ranks(depends_and_stops); }

/* ---- many threads on one object ---- */

static struct rank shared;

static void *reduces_for_a_while(void *nothing)
{
    (void)nothing;
    NEED(aclrtSetDevice(0));
    for (int i = 0; i < 3000; ++i) {
        OK(reduce(&shared, 8));
        OK(aclrtSynchronizeStreamWithTimeout(shared.stream, 20000));
    }
    return NULL;
}

static void many_threads_on_one_communicator(void)
{
    static HcclRootInfo root;
    pthread_t threads[THREADS];
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&root));
    shared = (struct rank){ &root, 1, 0, NULL, NULL, NULL };
    join(&shared);
    for (int i = 0; i < THREADS; ++i) {
        pthread_create(&threads[i], NULL, reduces_for_a_while, NULL);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
}

static _Atomic(aclrtStream) victim;
static atomic_int finished;

static void *submits_to_whatever_is_there(void *memory)
{
    NEED(aclrtSetDevice(0));
    while (!atomic_load(&finished)) {
        (void)aclrtMemsetAsync(memory, 64, 1, 64, atomic_load(&victim));
        forget_messages();
    }
    return NULL;
}

static void streams_that_end_while_others_submit(void)
{
    pthread_t threads[2];
    void *memory = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    aclrtStream stream = NULL;
    NEED(aclrtCreateStream(&stream));
    atomic_store(&victim, stream);
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, submits_to_whatever_is_there, memory);
    }
    for (int i = 0; i < 5000; ++i) {
        aclrtStream next = NULL;
        OK(aclrtCreateStream(&next));
        stream = atomic_exchange(&victim, next);
        OK(aclrtDestroyStreamForce(stream));
    }
    atomic_store(&finished, 1);
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    OK(aclrtSynchronizeDevice());
    THAT(softnpuPendingTasks == 0);
}

/* ---- the very end ---- */

static void at_the_end(void)
{
    int32_t device = 0;
    /* Whatever they answer: thread-local data may be gone, and nothing may break for it. */
    (void)aclrtGetDevice(&device);
    (void)aclrtSynchronizeDevice();
    (void)aclrtFree((void *)3);
    (void)HcclCommDestroy((HcclComm)5);
    (void)aclGetRecentErrMsg();
    (void)aclrtSetDevice(0);
}

static void *fails_once(void *nothing)
{
    FAILS(aclrtFree((void *)3));
    return nothing;
}

static void calls_at_the_very_end(void)
{
    pthread_t thread;
    atexit(at_the_end);
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    FAILS(aclrtFree((void *)3));
    pthread_create(&thread, NULL, fails_once, NULL);
    pthread_join(thread, NULL);
    if (atomic_load(&check_failures) == 0) {
        /* The handler runs now, on this thread, and its end is the section's. */
        exit(0);
    }
}

int main(void)
{
    RUN(a_reset_in_the_middle_of_a_collective);
    RUN(a_reset_beside_copies);
    RUN(a_communicator_after_a_reset);
    RUN(a_failure_passes_through_events);
    RUN(a_failure_stops_all_streams);
    RUN(many_threads_on_one_communicator);
    RUN(streams_that_end_while_others_submit);
    RUN(calls_at_the_very_end);
    return check_end();
}
