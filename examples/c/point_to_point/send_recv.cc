/**
 * @file send_recv.cc
 * HcclSend and HcclRecv: each even rank sends its number to the rank after it, as many times as there
 * are ranks. The odd ranks print what they received.
 */
#include "common/sample.h"

namespace {

int send_recv(sample::Rank *rank)
{
    const uint32_t count = rank->size;
    sample::DeviceFloats buffer;

    if (rank->id % 2 == 0) {
        SAMPLE_CHECK(buffer.allocate(sample::same(count, rank->id)));
        HCCL_CHECK(HcclSend(buffer.address(), count, HCCL_DATA_TYPE_FP32, rank->id + 1, rank->comm,
                            rank->stream));
        ACL_CHECK(aclrtSynchronizeStream(rank->stream));
        return 0;
    }
    SAMPLE_CHECK(buffer.allocate(count));
    HCCL_CHECK(HcclRecv(buffer.address(), count, HCCL_DATA_TYPE_FP32, rank->id - 1, rank->comm,
                        rank->stream));
    return sample::show(rank, buffer, sample::same(count, rank->id - 1));
}

} // namespace

int main(int argc, char **argv)
{
    return sample::run(argc, argv, send_recv, sample::Sizes::EVEN);
}
