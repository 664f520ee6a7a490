/**
 * @file alltoall.cc
 * HcclAlltoAll: every rank has its number once for each rank, and gets one number from each.
 */
#include "common/sample.h"

namespace {

int all_to_all(sample::Rank *rank)
{
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::same(rank->size, rank->id)));
    SAMPLE_CHECK(output.allocate(rank->size));

    const uint64_t perRank = 1;
    HCCL_CHECK(HcclAlltoAll(input.address(), perRank, HCCL_DATA_TYPE_FP32, output.address(),
                            perRank, HCCL_DATA_TYPE_FP32, rank->comm, rank->stream));
    return sample::show(rank, output, sample::ascending(rank->size));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, all_to_all);
}
