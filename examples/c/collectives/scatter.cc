/**
 * @file scatter.cc
 * HcclScatter: the root has the numbers 0 to N-1, and rank r gets number r. Only the root has something
 * to send; the others give NULL.
 */
#include "common/sample.h"

namespace {

int scatter(sample::Rank *rank)
{
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    if (rank->id == rank->root) {
        SAMPLE_CHECK(input.allocate(sample::ascending(rank->size)));
    }
    SAMPLE_CHECK(output.allocate(1));

    const uint64_t recvCount = 1;
    HCCL_CHECK(HcclScatter(input.address(), output.address(), recvCount, HCCL_DATA_TYPE_FP32,
                           rank->root, rank->comm, rank->stream));
    return sample::show(rank, output, sample::same(1, rank->id));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, scatter);
}
