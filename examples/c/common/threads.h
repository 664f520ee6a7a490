/**
 * @file threads.h
 * One process for all ranks: a thread for each device.
 */
#ifndef COMMON_THREADS_H_
#define COMMON_THREADS_H_

#include <cstdlib>
#include <thread>
#include <vector>

#include "common/life.h"
#include "common/turn.h"

namespace sample {

inline void thread_of_rank(const HcclRootInfo *rootInfo, Rank *rank, Operation operation,
                           Turn *turn)
{
    if (live(rootInfo, rank, operation) != 0) {
        // The other ranks would wait for this one until their time-outs; the reason is printed.
        std::_Exit(EXIT_FAILURE);
    }
    turn->print(rank->id, rank->output);
}

/** Runs all ranks in threads; the root info is in memory that they share. */
inline int run_threads(uint32_t size, Operation operation)
{
    void *rootInfoBuf = nullptr;
    ACL_CHECK(aclrtSetDevice(0));
    ACL_CHECK(aclrtMallocHost(&rootInfoBuf, sizeof(HcclRootInfo)));
    HcclRootInfo *rootInfo = static_cast<HcclRootInfo *>(rootInfoBuf);
    HCCL_CHECK(HcclGetRootInfo(rootInfo));

    Turn turn;
    std::vector<Rank> ranks(size);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < size; ++i) {
        ranks[i] = Rank{i, size, 0, nullptr, nullptr, "", false};
        threads.emplace_back(thread_of_rank, rootInfo, &ranks[i], operation, &turn);
    }
    int wrong = 0;
    for (uint32_t i = 0; i < size; ++i) {
        threads[i].join();
        wrong += ranks[i].isWrong ? 1 : 0;
    }

    ACL_CHECK(aclrtFreeHost(rootInfoBuf));
    ACL_CHECK(aclrtResetDevice(0));
    ACL_CHECK(aclFinalize());
    return wrong;
}

} // namespace sample

#endif
