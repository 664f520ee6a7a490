/**
 * @file reduce.cc
 * HcclReduce: every rank has the numbers 0 to N-1, and the root alone gets the sums over all ranks. The
 * buffers of the others stay as they were: fresh memory, which is 0.
 */
#include "common/sample.h"

namespace {

int reduce(sample::Rank *rank)
{
    const uint32_t count = rank->size;
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::ascending(count)));
    SAMPLE_CHECK(output.allocate(count));

    HCCL_CHECK(HcclReduce(input.address(), output.address(), count, HCCL_DATA_TYPE_FP32,
                          HCCL_REDUCE_SUM, rank->root, rank->comm, rank->stream));
    const uint32_t step = rank->id == rank->root ? rank->size : 0;
    return sample::show(rank, output, sample::multiples(count, step));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, reduce);
}
