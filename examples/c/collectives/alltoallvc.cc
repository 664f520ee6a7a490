/**
 * @file alltoallvc.cc
 * HcclAlltoAllVC: as HcclAlltoAllV, where all ranks know the counts of all: entry i * N + j of the
 * matrix is how many elements rank i sends to rank j. Here they are all 1.
 */
#include "common/sample.h"

namespace {

int all_to_all_vc(sample::Rank *rank)
{
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::same(rank->size, rank->id)));
    SAMPLE_CHECK(output.allocate(rank->size));

    // Host memory, read during the call.
    const std::vector<uint64_t> matrix(static_cast<size_t>(rank->size) * rank->size, 1);
    HCCL_CHECK(HcclAlltoAllVC(input.address(), matrix.data(), HCCL_DATA_TYPE_FP32,
                              output.address(), HCCL_DATA_TYPE_FP32, rank->comm, rank->stream));
    return sample::show(rank, output, sample::ascending(rank->size));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, all_to_all_vc);
}
