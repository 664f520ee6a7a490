/**
 * @file batch_send_recv_ring.cc
 * HcclBatchSendRecv: the ranks are a ring, and each sends its number to the next one and receives that
 * of the one before, in a single call.
 */
#include "common/sample.h"

namespace {

int ring(sample::Rank *rank)
{
    const uint32_t count = rank->size;
    const uint32_t next = (rank->id + 1) % rank->size;
    const uint32_t previous = (rank->id + rank->size - 1) % rank->size;
    sample::DeviceFloats input;
    sample::DeviceFloats output;
    SAMPLE_CHECK(input.allocate(sample::same(count, rank->id)));
    SAMPLE_CHECK(output.allocate(count));

    HcclSendRecvItem items[] = {
        {HCCL_SEND, input.address(), count, HCCL_DATA_TYPE_FP32, next},
        {HCCL_RECV, output.address(), count, HCCL_DATA_TYPE_FP32, previous},
    };
    HCCL_CHECK(HcclBatchSendRecv(items, 2, rank->comm, rank->stream));
    return sample::show(rank, output, sample::same(count, previous));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, ring);
}
