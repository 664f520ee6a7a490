/**
 * @file world.h
 * Communicators over several devices of one process, with a thread a rank, for tests whose ranks all
 * do the same: each rank has its communicator, a stream, and two buffers, and looks at values.
 */
#ifndef TESTS_C_WORLD_H_
#define TESTS_C_WORLD_H_

#include "check.h"

#include "hccl/hccl.h"

#define WORLD_RANKS 4
/** Elements of a buffer. */
#define WORLD_ELEMENTS 4096

/** What one rank has. */
struct rank {
    uint32_t number;
    uint32_t ranks;
    HcclComm comm;
    aclrtStream stream;
    int32_t *send;
    int32_t *receive;
    void (*body)(struct rank *);
};

/** What rank `number` has as element `index` of its data. */
static inline int32_t value_of(uint32_t number, uint32_t index)
{
    return (int32_t)(1000 * (number + 1) + index);
}

/** Fills the first buffer with the own values, and the second with -1. */
static inline void fill(struct rank *rank)
{
    int32_t host[WORLD_ELEMENTS];
    for (uint32_t i = 0; i < WORLD_ELEMENTS; ++i) {
        host[i] = value_of(rank->number, i);
    }
    NEED(aclrtMemcpy(rank->send, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE));
    memset(host, 0xff, sizeof host);
    NEED(aclrtMemcpy(rank->receive, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE));
}

/** Waits for the stream, then compares elements of a buffer with what `expected` says. */
static inline void compare(const char *place, struct rank *rank, const int32_t *buffer,
                           uint32_t count, int32_t (*expected)(const struct rank *, uint32_t))
{
    int32_t host[WORLD_ELEMENTS];
    NEED(aclrtSynchronizeStream(rank->stream));
    NEED(aclrtMemcpy(host, sizeof host, buffer, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST));
    for (uint32_t i = 0; i < count; ++i) {
        const int32_t wanted = expected(rank, i);
        if (host[i] != wanted) {
            fprintf(stderr, "%s: rank %u of %u: element %u is %d, expected %d\n", place,
                    rank->number, rank->ranks, i, host[i], wanted);
            atomic_fetch_add(&check_failures, 1);
            return;
        }
    }
}

#define COMPARE(rank, buffer, count, expected)                                                     \
    compare(__FILE__ ":" CHECK_TEXT(__LINE__), rank, buffer, count, expected)

static inline void *world_thread(void *argument)
{
    struct rank *rank = argument;
    const size_t bytes = WORLD_ELEMENTS * sizeof(int32_t);
    NEED(aclrtSetDevice((int32_t)rank->number));
    NEED(aclrtCreateStream(&rank->stream));
    NEED(aclrtMalloc((void **)&rank->send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMalloc((void **)&rank->receive, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    rank->body(rank);
    OK(aclrtSynchronizeStream(rank->stream));
    OK(aclrtFree(rank->send));
    OK(aclrtFree(rank->receive));
    OK(aclrtDestroyStream(rank->stream));
    return NULL;
}

/** Runs a body on a thread for each rank; `comms` may be NULL. */
static inline void on_ranks(uint32_t ranks, HcclComm *comms, void (*body)(struct rank *))
{
    struct rank all[WORLD_RANKS];
    pthread_t threads[WORLD_RANKS];
    memset(all, 0, sizeof all);
    for (uint32_t i = 0; i < ranks; ++i) {
        all[i].number = i;
        all[i].ranks = ranks;
        all[i].comm = comms == NULL ? NULL : comms[i];
        all[i].body = body;
        if (pthread_create(&threads[i], NULL, world_thread, &all[i]) != 0) {
            perror("pthread_create");
            _exit(2);
        }
    }
    for (uint32_t i = 0; i < ranks; ++i) {
        pthread_join(threads[i], NULL);
    }
}

/** Name that the communicators of `in_world` have; all devices have one of the name. */
#define WORLD_NAME "world of tests"

static HcclRootInfo world_root;

static inline void world_joins(struct rank *rank)
{
    void (*const body)(struct rank *) = *(void (**)(struct rank *))rank->comm;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "%s", WORLD_NAME);
    NEED(HcclCommInitRootInfoConfig(rank->ranks, &world_root, rank->number, &config, &rank->comm));
    body(rank);
    OK(aclrtSynchronizeStream(rank->stream));
    OK(HcclCommDestroy(rank->comm));
}

/** Runs a body on a thread for each rank of a communicator of that name. */
static inline void in_world(uint32_t ranks, void (*body)(struct rank *))
{
    HcclComm bodies[WORLD_RANKS];
    for (uint32_t i = 0; i < ranks; ++i) {
        bodies[i] = &body;
    }
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&world_root));
    on_ranks(ranks, bodies, world_joins);
}

#endif /* TESTS_C_WORLD_H_ */
