/**
 * @file hccl_operators.c
 * The operators by value, as C programs call them.
 */
#include "ranks.h"

#define COUNT 100

/** Device memory with `count` numbers, all of which the operator must write. */
static float *unwritten(uint32_t count)
{
    return numbers(count, -1000, 0);
}

/* ---- with a root ---- */

static void reduce_to_each(Rank *rank)
{
    for (uint32_t root = 0; root < rank->ranks; ++root) {
        float *input = numbers(COUNT, (float)(rank->rank + 1), 1);
        float *output = unwritten(COUNT);
        OK(HcclReduce(input, output, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, root, rank->comm,
                      rank->stream));
        /* Only the root needs a place for the result. */
        if (rank->rank != root) {
            OK(HcclReduce(input, NULL, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, root,
                          rank->comm, rank->stream));
        } else {
            OK(HcclReduce(input, output, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, root,
                          rank->comm, rank->stream));
        }
        OK(aclrtSynchronizeStream(rank->stream));
        const float n = (float)rank->ranks;
        THAT(has_numbers(input, COUNT, (float)(rank->rank + 1), 1));
        if (rank->rank == root) {
            THAT(has_numbers(output, COUNT, n * (n + 1) / 2, n));
        } else {
            THAT(has_numbers(output, COUNT, -1000, 0));
        }
    }
}

static void reduce(void)
{
    on_ranks(3, reduce_to_each);
}

/* ---- all to all ---- */

static void all_to_all_of(Rank *rank)
{
    const uint32_t n = rank->ranks;
    float *input = numbers(n * COUNT, 1000 * (float)rank->rank, 1);
    float *output = unwritten(n * COUNT);
    OK(HcclAlltoAll(input, COUNT, HCCL_DATA_TYPE_FP32, output, COUNT, HCCL_DATA_TYPE_FP32,
                    rank->comm, rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    THAT(has_numbers(input, n * COUNT, 1000 * (float)rank->rank, 1));
    const size_t bytes = COUNT * sizeof(float);
    for (uint32_t from = 0; from < n; ++from) {
        float *block = unwritten(COUNT);
        OK(aclrtMemcpy(block, bytes, output + from * COUNT, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
        THAT(has_numbers(block, COUNT, 1000 * (float)from + COUNT * (float)rank->rank, 1));
    }
    OK(aclrtFree(output));
}

static void all_to_all(void)
{
    on_ranks(3, all_to_all_of);
}

/* ---- lengths by rank ---- */

/** Rank r gives r + 2 numbers; what the arrays hold after the call does not matter. */
static void all_gather_v_of(Rank *rank)
{
    uint64_t counts[RANKS_MAX], places[RANKS_MAX], next = 0;
    float *input = numbers(rank->rank + 2, 100 * (float)rank->rank, 1);
    for (uint32_t i = 0; i < rank->ranks; ++i) {
        counts[i] = i + 2;
        places[i] = next;
        next += counts[i];
    }
    float *output = unwritten((uint32_t)next);
    OK(HcclAllGatherV(input, rank->rank + 2, output, counts, places, HCCL_DATA_TYPE_FP32,
                      rank->comm, rank->stream));
    memset(counts, 0xff, sizeof counts);
    memset(places, 0xff, sizeof places);
    OK(aclrtSynchronizeStream(rank->stream));
    THAT(has_numbers(input, rank->rank + 2, 100 * (float)rank->rank, 1));
    float *at = output;
    for (uint32_t i = 0; i < rank->ranks; ++i) {
        float *block = unwritten(i + 2);
        const size_t bytes = (i + 2) * sizeof(float);
        OK(aclrtMemcpy(block, bytes, at, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
        THAT(has_numbers(block, i + 2, 100 * (float)i, 1));
        at += i + 2;
    }
    OK(aclrtFree(output));
}

static void all_gather_v(void)
{
    on_ranks(4, all_gather_v_of);
}

/* ---- nothing, and very much ---- */

static void nothing_of(Rank *rank)
{
    uint64_t none[RANKS_MAX] = {0};
    HcclComm comm = rank->comm;
    aclrtStream stream = rank->stream;
    OK(HcclAllReduce(NULL, NULL, 0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    OK(HcclReduce(NULL, NULL, 0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, comm, stream));
    OK(HcclBroadcast(NULL, 0, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    OK(HcclAllGather(NULL, NULL, 0, HCCL_DATA_TYPE_FP32, comm, stream));
    OK(HcclReduceScatter(NULL, NULL, 0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    OK(HcclScatter(NULL, NULL, 0, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    OK(HcclAlltoAll(NULL, 0, HCCL_DATA_TYPE_FP32, NULL, 0, HCCL_DATA_TYPE_FP32, comm, stream));
    OK(HcclAlltoAllV(NULL, none, none, HCCL_DATA_TYPE_FP32, NULL, none, none, HCCL_DATA_TYPE_FP32,
                     comm, stream));
    OK(HcclAllGatherV(NULL, 0, NULL, none, none, HCCL_DATA_TYPE_FP32, comm, stream));
    OK(HcclReduceScatterV(NULL, none, none, NULL, 0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                          stream));
    OK(aclrtSynchronizeStream(stream));
    THAT(works(comm, rank->rank, rank->ranks, stream));
}

static void nothing(void)
{
    on_ranks(2, nothing_of);
}

/** More bytes than 31 bits count, of which some are looked at. */
#define MUCH (((uint64_t)1 << 31) + 11)
#define LOOKED_AT 8

/** Where they begin: the first ones, those on both sides of 2^31, and the last ones. */
static const uint64_t looked_at[] = {0, ((uint64_t)1 << 31) - LOOKED_AT / 2, MUCH - LOOKED_AT};
#define LOOKS (sizeof looked_at / sizeof *looked_at)

static atomic_int without_room;

/** What is at a place afterwards; it is never 0, as memory is that nobody has written. */
static uint8_t much_at(uint64_t place)
{
    return (uint8_t)(1 + place % 251);
}

static void much_of(Rank *rank)
{
    const uint32_t root = 1;
    void *memory = NULL;
    uint8_t bytes[LOOKED_AT];
    if (aclrtMalloc(&memory, MUCH, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
        memory = NULL;
        atomic_store(&without_room, 1);
    }
    meet(rank);
    if (!atomic_load(&without_room)) {
        for (size_t i = 0; i < LOOKS; ++i) {
            for (uint64_t j = 0; j < LOOKED_AT; ++j) {
                bytes[j] = rank->rank == root ? much_at(looked_at[i] + j) : 0;
            }
            OK(aclrtMemcpy((uint8_t *)memory + looked_at[i], LOOKED_AT, bytes, LOOKED_AT,
                           ACL_MEMCPY_HOST_TO_DEVICE));
        }
        OK(HcclBroadcast(memory, MUCH, HCCL_DATA_TYPE_UINT8, root, rank->comm, rank->stream));
        OK(aclrtSynchronizeStream(rank->stream));
        for (size_t i = 0; i < LOOKS; ++i) {
            OK(aclrtMemcpy(bytes, LOOKED_AT, (uint8_t *)memory + looked_at[i], LOOKED_AT,
                           ACL_MEMCPY_DEVICE_TO_HOST));
            for (uint64_t j = 0; j < LOOKED_AT; ++j) {
                THAT(bytes[j] == much_at(looked_at[i] + j));
            }
        }
    }
    meet(rank);
    if (memory != NULL) {
        OK(aclrtFree(memory));
    }
}

static void more_than_31_bits_count(void)
{
    setenv("SOFTNPU_DEVICES", "2", 1);
    setenv("SOFTNPU_MEMORY", "3G", 1);
    on_ranks(2, much_of);
    if (atomic_load(&without_room)) {
        skip("this host has no room for twice 2 GiB of device memory");
    }
}

int main(void)
{
    RUN(reduce);
    RUN(all_to_all);
    RUN(all_gather_v);
    RUN(nothing);
    RUN_LONG(more_than_31_bits_count, 300);
    return check_end();
}
