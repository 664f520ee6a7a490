/**
 * @file alltoallv.cc
 * HcclAlltoAllV: as HcclAlltoAll, where a rank says for each other how many elements go to it and come
 * from it, and where they lie. Here that is one element each, side by side.
 */
#include "common/sample.h"

namespace {

int all_to_all_v(sample::Rank *rank)
{
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::same(rank->size, rank->id)));
    SAMPLE_CHECK(output.allocate(rank->size));

    // Host memory, read during the call.
    const std::vector<uint64_t> counts(rank->size, 1);
    std::vector<uint64_t> displacements;
    for (uint32_t i = 0; i < rank->size; ++i) {
        displacements.push_back(i);
    }
    HCCL_CHECK(HcclAlltoAllV(input.address(), counts.data(), displacements.data(),
                             HCCL_DATA_TYPE_FP32, output.address(), counts.data(),
                             displacements.data(), HCCL_DATA_TYPE_FP32, rank->comm,
                             rank->stream));
    return sample::show(rank, output, sample::ascending(rank->size));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, all_to_all_v);
}
