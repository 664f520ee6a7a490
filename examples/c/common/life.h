/**
 * @file life.h
 * The life of a rank around a sample: device, communicator, stream.
 */
#ifndef COMMON_LIFE_H_
#define COMMON_LIFE_H_

#include "common/rank.h"

namespace sample {

/** What a sample does as a rank. @return 0, or the code of a call that failed */
using Operation = int (*)(Rank *rank);

/** Becomes the rank `rank->id` of `rank->size`, does the operation, and ends the rank. */
inline int live(const HcclRootInfo *rootInfo, Rank *rank, Operation operation)
{
    const int32_t device = static_cast<int32_t>(rank->id);
    ACL_CHECK(aclrtSetDevice(device));
    HCCL_CHECK(HcclCommInitRootInfo(rank->size, rootInfo, rank->id, &rank->comm));
    ACL_CHECK(aclrtCreateStream(&rank->stream));

    SAMPLE_CHECK(operation(rank));
    ACL_CHECK(aclrtSynchronizeStream(rank->stream));

    HCCL_CHECK(HcclCommDestroy(rank->comm));
    ACL_CHECK(aclrtDestroyStream(rank->stream));
    ACL_CHECK(aclrtResetDevice(device));
    return 0;
}

} // namespace sample

#endif
