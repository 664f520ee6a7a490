/**
 * @file reduce_scatter.cc
 * HcclReduceScatter: every rank has the numbers 0 to N-1, and rank r gets the sum of all numbers in
 * place r: N times r.
 */
#include "common/sample.h"

namespace {

int reduce_scatter(sample::Rank *rank)
{
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::ascending(rank->size)));
    SAMPLE_CHECK(output.allocate(1));

    const uint64_t recvCount = 1;
    HCCL_CHECK(HcclReduceScatter(input.address(), output.address(), recvCount,
                                 HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank->comm, rank->stream));
    return sample::show(rank, output, sample::same(1, rank->size * rank->id));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, reduce_scatter);
}
