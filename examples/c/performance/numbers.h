/**
 * @file numbers.h
 * Data types and reductions, and the numbers that ranks put into their buffers: 1 and 2, so that all
 * results are whole numbers that every type has exactly.
 */
#ifndef PERFORMANCE_NUMBERS_H_
#define PERFORMANCE_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "hccl/hccl.h"

/** The entry of a table by its name, or NULL. */
template <typename Entry, size_t N>
const Entry *find(const Entry (&table)[N], const std::string &name)
{
    for (const Entry &entry : table) {
        if (name == entry.name) {
            return &entry;
        }
    }
    return nullptr;
}

/** Writes a whole number as an element. */
template <typename T> void put(uint64_t number, void *element)
{
    const T value = static_cast<T>(number);
    std::memcpy(element, &value, sizeof value);
}

/** The upper half of a float: exact for numbers of up to eight bits, and for powers of two. */
inline void put_bfp16(uint64_t number, void *element)
{
    const float value = static_cast<float>(number);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    put<uint16_t>(bits >> 16, element);
}

/** Exact up to 2048 and for powers of two up to 2^15; infinite from 2^16 on. */
inline void put_fp16(uint64_t number, void *element)
{
    const float value = static_cast<float>(number);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint32_t exponent = (bits >> 23) - 127 + 15;
    const uint32_t half = exponent > 30 ? 31u << 10 : exponent << 10 | (bits >> 13 & 0x3ff);
    put<uint16_t>(number == 0 ? 0 : half, element);
}

struct DataType {
    const char *name;
    HcclDataType code;
    uint32_t size; // bytes
    void (*put)(uint64_t number, void *element);
};

static const DataType DATA_TYPES[] = {
    {"int8", HCCL_DATA_TYPE_INT8, 1, put<int8_t>},
    {"int16", HCCL_DATA_TYPE_INT16, 2, put<int16_t>},
    {"int32", HCCL_DATA_TYPE_INT32, 4, put<int32_t>},
    {"int64", HCCL_DATA_TYPE_INT64, 8, put<int64_t>},
    {"uint64", HCCL_DATA_TYPE_UINT64, 8, put<uint64_t>},
    {"fp16", HCCL_DATA_TYPE_FP16, 2, put_fp16},
    {"bfp16", HCCL_DATA_TYPE_BFP16, 2, put_bfp16},
    {"fp32", HCCL_DATA_TYPE_FP32, 4, put<float>},
    {"fp64", HCCL_DATA_TYPE_FP64, 8, put<double>},
};

struct Reduction {
    const char *name;
    HcclReduceOp code;
    uint64_t (*combine)(uint64_t a, uint64_t b);
};

static const Reduction REDUCTIONS[] = {
    {"sum", HCCL_REDUCE_SUM, [](uint64_t a, uint64_t b) { return a + b; }},
    {"prod", HCCL_REDUCE_PROD, [](uint64_t a, uint64_t b) { return a * b; }},
    {"max", HCCL_REDUCE_MAX, [](uint64_t a, uint64_t b) { return std::max(a, b); }},
    {"min", HCCL_REDUCE_MIN, [](uint64_t a, uint64_t b) { return std::min(a, b); }},
};

/** Element `i` of the input of a rank. */
inline uint64_t input_of(uint32_t rank, uint64_t i)
{
    return (rank + i) % 3 == 0 ? 2 : 1;
}

/** Element `i` of the reduction of all inputs. */
inline uint64_t reduced(const Reduction &reduction, uint32_t ranks, uint64_t i)
{
    uint64_t result = input_of(0, i);
    for (uint32_t rank = 1; rank < ranks; ++rank) {
        result = reduction.combine(result, input_of(rank, i));
    }
    return result;
}

#endif
