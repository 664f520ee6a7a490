/**
 * @file expected.h
 * What operators make of the values of world.h, element by element.
 */
#ifndef TESTS_C_EXPECTED_H_
#define TESTS_C_EXPECTED_H_

#include "world.h"

/** Elements that a rank has for each rank. */
#define BLOCK 64

static inline int32_t own(const struct rank *rank, uint32_t i) { return value_of(rank->number, i); }
static inline int32_t first(const struct rank *rank, uint32_t i) { (void)rank; return value_of(0, i); }
static inline int32_t untouched(const struct rank *rank, uint32_t i) { (void)rank; (void)i; return -1; }
static inline int32_t before(const struct rank *rank, uint32_t i)
{
    return value_of((rank->number + rank->ranks - 1) % rank->ranks, i);
}
static inline int32_t sum(const struct rank *rank, uint32_t i)
{
    int32_t all = 0;
    for (uint32_t r = 0; r < rank->ranks; ++r) {
        all += value_of(r, i);
    }
    return all;
}
static inline int32_t own_of_sum(const struct rank *rank, uint32_t i)
{
    return sum(rank, rank->number * BLOCK + i);
}
static inline int32_t gathered(const struct rank *rank, uint32_t i)
{
    (void)rank;
    return value_of(i / BLOCK, i % BLOCK);
}
static inline int32_t exchanged(const struct rank *rank, uint32_t i)
{
    return value_of(i / BLOCK, rank->number * BLOCK + i % BLOCK);
}
static inline int32_t scattered(const struct rank *rank, uint32_t i)
{
    return value_of(0, rank->number * BLOCK + i);
}

/** Counts and displacements of blocks of equal length. */
struct blocks {
    uint64_t counts[WORLD_RANKS];
    uint64_t displacements[WORLD_RANKS];
    uint64_t matrix[WORLD_RANKS * WORLD_RANKS];
};

static inline void equal_blocks(struct blocks *blocks)
{
    for (uint64_t i = 0; i < WORLD_RANKS; ++i) {
        blocks->counts[i] = BLOCK;
        blocks->displacements[i] = i * BLOCK;
    }
    for (uint64_t i = 0; i < WORLD_RANKS * WORLD_RANKS; ++i) {
        blocks->matrix[i] = BLOCK;
    }
}

#endif /* TESTS_C_EXPECTED_H_ */
