/**
 * @file allgather.cc
 * HcclAllGather: every rank gives its number, and gets those of all.
 */
#include "common/sample.h"

namespace {

int all_gather(sample::Rank *rank)
{
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::same(1, rank->id)));
    SAMPLE_CHECK(output.allocate(rank->size));

    const uint64_t sendCount = 1;
    HCCL_CHECK(HcclAllGather(input.address(), output.address(), sendCount, HCCL_DATA_TYPE_FP32,
                             rank->comm, rank->stream));
    return sample::show(rank, output, sample::ascending(rank->size));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, all_gather);
}
