/**
 * @file operators.h
 * The operators as a table: what buffers they have, how they are called, what must come out.
 */
#ifndef PERFORMANCE_OPERATORS_H_
#define PERFORMANCE_OPERATORS_H_

#include "numbers.h"

/** A call of an operator, as one rank sees it. */
struct Call {
    uint32_t rank;
    uint32_t ranks;
    uint32_t root;
    void *input;
    void *output;
    uint64_t count; // elements of a block
    const DataType *type;
    const Reduction *reduction;
    HcclComm comm;
    aclrtStream stream;

    bool is_root() const { return rank == root; }
};

/** How many blocks a buffer has. */
enum class Blocks {
    ONE,
    RANKS,
};

struct Operator {
    const char *name;
    Blocks input;
    Blocks output;
    HcclResult (*run)(const Call &call);
    /** Element `i` of the output; nothing is written where it is 0. */
    uint64_t (*expected)(const Call &call, uint64_t i);
    /** What crosses the busiest link for each byte of the larger buffer. */
    double (*load)(double ranks);
};

inline double load_one(double) { return 1; }
inline double load_part(double ranks) { return (ranks - 1) / ranks; }
inline double load_twice(double ranks) { return 2 * (ranks - 1) / ranks; }

static const Operator OPERATORS[] = {
    {"all_reduce", Blocks::ONE, Blocks::ONE,
     [](const Call &c) {
         return HcclAllReduce(c.input, c.output, c.count, c.type->code, c.reduction->code, c.comm,
                              c.stream);
     },
     [](const Call &c, uint64_t i) { return reduced(*c.reduction, c.ranks, i); }, load_twice},
    {"broadcast", Blocks::ONE, Blocks::ONE,
     [](const Call &c) {
         void *buffer = c.is_root() ? c.input : c.output;
         return HcclBroadcast(buffer, c.count, c.type->code, c.root, c.comm, c.stream);
     },
     // The root's data stays in its input.
     [](const Call &c, uint64_t i) { return c.is_root() ? 0 : input_of(c.root, i); }, load_one},
    {"allgather", Blocks::ONE, Blocks::RANKS,
     [](const Call &c) {
         return HcclAllGather(c.input, c.output, c.count, c.type->code, c.comm, c.stream);
     },
     [](const Call &c, uint64_t i) {
         return input_of(static_cast<uint32_t>(i / c.count), i % c.count);
     },
     load_part},
    {"reduce_scatter", Blocks::RANKS, Blocks::ONE,
     [](const Call &c) {
         return HcclReduceScatter(c.input, c.output, c.count, c.type->code, c.reduction->code,
                                  c.comm, c.stream);
     },
     [](const Call &c, uint64_t i) {
         return reduced(*c.reduction, c.ranks, c.rank * c.count + i);
     },
     load_part},
    {"reduce", Blocks::ONE, Blocks::ONE,
     [](const Call &c) {
         return HcclReduce(c.input, c.output, c.count, c.type->code, c.reduction->code, c.root,
                           c.comm, c.stream);
     },
     [](const Call &c, uint64_t i) {
         return c.is_root() ? reduced(*c.reduction, c.ranks, i) : 0;
     },
     load_one},
    {"alltoall", Blocks::RANKS, Blocks::RANKS,
     [](const Call &c) {
         return HcclAlltoAll(c.input, c.count, c.type->code, c.output, c.count, c.type->code,
                             c.comm, c.stream);
     },
     [](const Call &c, uint64_t i) {
         return input_of(static_cast<uint32_t>(i / c.count), c.rank * c.count + i % c.count);
     },
     load_part},
    {"scatter", Blocks::RANKS, Blocks::ONE,
     [](const Call &c) {
         return HcclScatter(c.input, c.output, c.count, c.type->code, c.root, c.comm, c.stream);
     },
     [](const Call &c, uint64_t i) { return input_of(c.root, c.rank * c.count + i); }, load_part},
};

/** Elements of a buffer. */
inline uint64_t elements(Blocks blocks, const Call &call)
{
    return blocks == Blocks::RANKS ? call.count * call.ranks : call.count;
}

#endif
