/**
 * @file ranks.h
 * Ranks as threads: each on a device of its own, with a communicator of all and a stream.
 */
#ifndef TESTS_C_RANKS_H_
#define TESTS_C_RANKS_H_

#include "check.h"

#include "hccl/hccl.h"

#define RANKS_MAX 8

/** What a thread needs to be a rank. */
typedef struct Rank {
    uint32_t rank; /* also its device */
    uint32_t ranks;
    HcclRootInfo *root;
    pthread_barrier_t *barrier;
    HcclComm comm;
    aclrtStream stream;
    void (*body)(struct Rank *rank);
} Rank;

/** A configuration that wishes for nothing. */
static inline HcclCommConfig default_config(void)
{
    HcclCommConfig config;
    memset(&config, 0, sizeof config);
    HcclCommConfigInit(&config);
    return config;
}

/** All ranks wait for each other. */
static inline void meet(Rank *rank)
{
    AT("meeting the other threads");
    pthread_barrier_wait(rank->barrier);
}

static inline void *ranks_thread(void *argument)
{
    Rank *rank = argument;
    NEED(aclrtSetDevice((int32_t)rank->rank));
    if (rank->root != NULL) {
        NEED(HcclCommInitRootInfo(rank->ranks, rank->root, rank->rank, &rank->comm));
    }
    NEED(aclrtCreateStream(&rank->stream));
    rank->body(rank);
    OK(aclrtDestroyStream(rank->stream));
    if (rank->root != NULL) {
        OK(HcclCommDestroy(rank->comm));
    }
    return NULL;
}

static inline void ranks_start(uint32_t count, HcclRootInfo *root, void (*body)(Rank *rank))
{
    pthread_barrier_t barrier;
    pthread_t threads[RANKS_MAX];
    Rank ranks[RANKS_MAX];
    pthread_barrier_init(&barrier, NULL, count);
    for (uint32_t i = 0; i < count; ++i) {
        ranks[i] = (Rank){.rank = i, .ranks = count, .root = root, .barrier = &barrier, .body = body};
        if (pthread_create(&threads[i], NULL, ranks_thread, &ranks[i]) != 0) {
            perror("pthread_create");
            _exit(2);
        }
    }
    for (uint32_t i = 0; i < count; ++i) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
}

/** Runs a body on so many ranks that have a communicator. */
static inline void on_ranks(uint32_t count, void (*body)(Rank *rank))
{
    static HcclRootInfo root;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&root));
    ranks_start(count, &root, body);
}

/** As on_ranks, for ranks that make a communicator themselves. */
static inline void on_devices(uint32_t count, void (*body)(Rank *rank))
{
    NEED(aclInit(NULL));
    ranks_start(count, NULL, body);
}

/** Device memory with the numbers first, first + step, ... */
static inline float *numbers(uint32_t count, float first, float step)
{
    void *memory = NULL;
    float values[1024];
    NEED(aclrtMalloc(&memory, count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint32_t i = 0; i < count; ++i) {
        values[i] = first + step * (float)i;
    }
    const size_t bytes = count * sizeof(float);
    NEED(aclrtMemcpy(memory, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return memory;
}

/** Whether device memory has the numbers first, first + step, ...; frees it. */
static inline int has_numbers(float *memory, uint32_t count, float first, float step)
{
    float values[1024];
    const size_t bytes = count * sizeof(float);
    NEED(aclrtMemcpy(values, bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    NEED(aclrtFree(memory));
    for (uint32_t i = 0; i < count; ++i) {
        if (values[i] != first + step * (float)i) {
            fprintf(stderr, "element %u is %g, expected %g\n", i, (double)values[i],
                    (double)(first + step * (float)i));
            return 0;
        }
    }
    return 1;
}

#define WORKS_COUNT 100

/** An all-reduce on a communicator of `ranks` ranks: rank r gives r + 1 for each element. */
static inline int works(HcclComm comm, uint32_t rank, uint32_t ranks, aclrtStream stream)
{
    float *input = numbers(WORKS_COUNT, (float)(rank + 1), 1);
    float *output = numbers(WORKS_COUNT, -1, 0);
    const float n = (float)ranks;
    OK(HcclAllReduce(input, output, WORKS_COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                     stream));
    OK(aclrtSynchronizeStream(stream));
    return has_numbers(input, WORKS_COUNT, (float)(rank + 1), 1) &&
           has_numbers(output, WORKS_COUNT, n * (n + 1) / 2, n);
}

#endif /* TESTS_C_RANKS_H_ */
