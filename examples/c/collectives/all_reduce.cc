/**
 * @file all_reduce.cc
 * HcclAllReduce: every rank has the numbers 0 to N-1, N being the number of ranks, and gets the sums
 * over all ranks: N times each number.
 */
#include "common/sample.h"

namespace {

int all_reduce(sample::Rank *rank)
{
    const uint32_t count = rank->size;
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::ascending(count)));
    SAMPLE_CHECK(output.allocate(count));

    HCCL_CHECK(HcclAllReduce(input.address(), output.address(), count, HCCL_DATA_TYPE_FP32,
                             HCCL_REDUCE_SUM, rank->comm, rank->stream));
    return sample::show(rank, output, sample::multiples(count, rank->size));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, all_reduce);
}
