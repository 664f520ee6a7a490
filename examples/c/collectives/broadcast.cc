/**
 * @file broadcast.cc
 * HcclBroadcast: the root has the numbers 0 to N-1, and all others get them.
 */
#include "common/sample.h"

namespace {

int broadcast(sample::Rank *rank)
{
    const uint32_t count = rank->size;
    sample::DeviceFloats buffer;
    if (rank->id == rank->root) {
        SAMPLE_CHECK(buffer.allocate(sample::ascending(count)));
    } else {
        SAMPLE_CHECK(buffer.allocate(count));
    }

    HCCL_CHECK(HcclBroadcast(buffer.address(), count, HCCL_DATA_TYPE_FP32, rank->root, rank->comm,
                             rank->stream));
    return sample::show(rank, buffer, sample::ascending(count));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, broadcast);
}
