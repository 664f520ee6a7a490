/**
 * @file main.cc
 * AllReduce over all NPUs of this machine: one process, one thread for each device.
 *
 * Every rank contributes the numbers 0 to N-1, N being the number of ranks, and must find N times
 * each number afterwards. The program ends with 0 when it does.
 *
 * Usage: all_reduce [number of devices]
 */
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

/** Lets ranks print one after the other, in the order of their numbers. */
class Turn {
public:
    /** Blocks until every rank below `rank` has passed the turn on. */
    void wait_for(uint32_t rank)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this, rank] { return next_ == rank; });
    }

    void pass_on()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ++next_;
        }
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t next_ = 0;
};

/** What a thread needs to know to become a rank. */
struct Rank {
    const HcclRootInfo *rootInfo;
    uint32_t device; // also the number of the rank
    uint32_t count;  // ranks, and elements of a buffer
    Turn *turn;
    int result; // 0, or the code of the call that failed, or -1 for a wrong value
};

int complain(const char *what, const char *file, int line, int code)
{
    std::ostringstream text;
    text << what << " interface return err " << file << ":" << line << ", retcode: " << code << " \n";
    const char *reason = aclGetRecentErrMsg();
    if (reason != nullptr) {
        text << reason << "\n";
    }
    std::cerr << text.str() << std::flush;
    return code;
}

#define ACL_CHECK(call)                                              \
    do {                                                             \
        const int code_ = static_cast<int>(call);                    \
        if (code_ != ACL_SUCCESS) {                                  \
            return complain("acl", __FILE__, __LINE__, code_);       \
        }                                                            \
    } while (0)

#define HCCL_CHECK(call)                                             \
    do {                                                             \
        const int code_ = static_cast<int>(call);                    \
        if (code_ != HCCL_SUCCESS) {                                 \
            return complain("hccl", __FILE__, __LINE__, code_);      \
        }                                                            \
    } while (0)

/** Prints the result and compares it. Returns 0, or -1 when a value is wrong. */
int show(const Rank &rank, const float *output)
{
    int result = 0;
    std::ostringstream line;
    line << "rankId: " << rank.device << ", output: [";
    for (uint32_t i = 0; i < rank.count; ++i) {
        line << " " << output[i];
    }
    line << " ]\n";
    for (uint32_t i = 0; i < rank.count; ++i) {
        const float expected = static_cast<float>(rank.count) * static_cast<float>(i);
        if (output[i] != expected) {
            line << "rankId: " << rank.device << ", element " << i << " is " << output[i]
                 << ", expected " << expected << "\n";
            result = -1;
        }
    }
    rank.turn->wait_for(rank.device);
    std::cout << line.str() << std::flush;
    rank.turn->pass_on();
    return result;
}

int run(const Rank &rank)
{
    const int32_t device = static_cast<int32_t>(rank.device);
    const size_t bytes = rank.count * sizeof(float);
    void *sendBuf = nullptr;
    void *recvBuf = nullptr;
    void *hostBuf = nullptr;
    HcclComm comm = nullptr;
    aclrtStream stream = nullptr;

    ACL_CHECK(aclrtSetDevice(device));
    ACL_CHECK(aclrtMalloc(&sendBuf, bytes, ACL_MEM_MALLOC_HUGE_ONLY));
    ACL_CHECK(aclrtMalloc(&recvBuf, bytes, ACL_MEM_MALLOC_HUGE_ONLY));
    ACL_CHECK(aclrtMallocHost(&hostBuf, bytes));
    float *input = static_cast<float *>(hostBuf);
    for (uint32_t i = 0; i < rank.count; ++i) {
        input[i] = static_cast<float>(i);
    }
    ACL_CHECK(aclrtMemcpy(sendBuf, bytes, hostBuf, bytes, ACL_MEMCPY_HOST_TO_DEVICE));

    HCCL_CHECK(HcclCommInitRootInfo(rank.count, rank.rootInfo, rank.device, &comm));
    ACL_CHECK(aclrtCreateStream(&stream));
    HCCL_CHECK(HcclAllReduce(sendBuf, recvBuf, rank.count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                             comm, stream));
    ACL_CHECK(aclrtSynchronizeStream(stream));

    void *resultBuf = nullptr;
    ACL_CHECK(aclrtMallocHost(&resultBuf, bytes));
    ACL_CHECK(aclrtMemcpy(resultBuf, bytes, recvBuf, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    const int result = show(rank, static_cast<const float *>(resultBuf));
    ACL_CHECK(aclrtFreeHost(resultBuf));

    HCCL_CHECK(HcclCommDestroy(comm));
    ACL_CHECK(aclrtFree(sendBuf));
    ACL_CHECK(aclrtFree(recvBuf));
    ACL_CHECK(aclrtFreeHost(hostBuf));
    ACL_CHECK(aclrtDestroyStream(stream));
    ACL_CHECK(aclrtResetDevice(device));
    return result;
}

void run_rank(Rank *rank)
{
    rank->result = run(*rank);
    if (rank->result > 0) {
        // The other ranks would wait for this one until their time-outs; the reason is printed.
        std::cout << std::flush;
        std::_Exit(EXIT_FAILURE);
    }
}

/** Reads the wanted number of devices; 0 when the text is no number from 1 to `available`. */
uint32_t parse_count(const char *text, uint32_t available)
{
    char *end = nullptr;
    const unsigned long count = std::strtoul(text, &end, 10);
    const bool valid = end != text && *end == '\0' && count >= 1 && count <= available;
    return valid ? static_cast<uint32_t>(count) : 0;
}

int run_all(const char *wanted)
{
    uint32_t available = 0;
    ACL_CHECK(aclInit(nullptr));
    ACL_CHECK(aclrtGetDeviceCount(&available));
    std::cout << "Found " << available << " NPU device(s) available" << std::endl;
    const uint32_t count = wanted == nullptr ? available : parse_count(wanted, available);
    if (count == 0) {
        std::cerr << "number of devices: a number from 1 to " << available << " is expected, "
                  << (wanted == nullptr ? "0" : wanted) << " was given" << std::endl;
        return EXIT_FAILURE;
    }

    void *rootInfoBuf = nullptr;
    ACL_CHECK(aclrtSetDevice(0));
    ACL_CHECK(aclrtMallocHost(&rootInfoBuf, sizeof(HcclRootInfo)));
    HcclRootInfo *rootInfo = static_cast<HcclRootInfo *>(rootInfoBuf);
    HCCL_CHECK(HcclGetRootInfo(rootInfo));

    Turn turn;
    std::vector<Rank> ranks;
    for (uint32_t i = 0; i < count; ++i) {
        ranks.push_back(Rank{rootInfo, i, count, &turn, 0});
    }
    std::vector<std::thread> threads;
    for (Rank &rank : ranks) {
        threads.emplace_back(run_rank, &rank);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    int result = 0;
    for (const Rank &rank : ranks) {
        result = result != 0 ? result : rank.result;
    }

    ACL_CHECK(aclrtFreeHost(rootInfoBuf));
    ACL_CHECK(aclrtResetDevice(0));
    ACL_CHECK(aclFinalize());
    return result;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 2) {
        std::cerr << "usage: " << argv[0] << " [number of devices]" << std::endl;
        return EXIT_FAILURE;
    }
    return run_all(argc == 2 ? argv[1] : nullptr) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
