/**
 * @file rank.h
 * What a sample is given, and the buffers that it works on.
 */
#ifndef COMMON_RANK_H_
#define COMMON_RANK_H_

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "common/check.h"

namespace sample {

/** A rank that has joined its communicator; its device is that of the calling thread. */
struct Rank {
    uint32_t id;         // also the number of the device
    uint32_t size;       // ranks, and elements of a buffer
    uint32_t root;       // for operators that have one
    HcclComm comm;
    aclrtStream stream;
    std::string output;  // what it prints when its turn comes
    bool isWrong;        // whether a value is not the expected one
};

/** Numbers in the memory of a device. */
class DeviceFloats {
public:
    DeviceFloats() = default;
    DeviceFloats(const DeviceFloats &) = delete;
    DeviceFloats &operator=(const DeviceFloats &) = delete;

    ~DeviceFloats()
    {
        if (address_ != nullptr) {
            (void)aclrtFree(address_);
        }
    }

    /** Memory for so many numbers, as the device gives it. @return 0, or the code of a failure */
    int allocate(uint32_t count)
    {
        count_ = count;
        ACL_CHECK(aclrtMalloc(&address_, bytes(), ACL_MEM_MALLOC_HUGE_ONLY));
        return 0;
    }

    /** Memory with these numbers in it. @return 0, or the code of a failure */
    int allocate(const std::vector<float> &numbers)
    {
        SAMPLE_CHECK(allocate(static_cast<uint32_t>(numbers.size())));
        void *host = nullptr;
        ACL_CHECK(aclrtMallocHost(&host, bytes()));
        float *values = static_cast<float *>(host);
        for (uint32_t i = 0; i < count_; ++i) {
            values[i] = numbers[i];
        }
        ACL_CHECK(aclrtMemcpy(address_, bytes(), host, bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
        ACL_CHECK(aclrtFreeHost(host));
        return 0;
    }

    /** Reads the numbers back. @return 0, or the code of a failure */
    int read(std::vector<float> *numbers) const
    {
        void *host = nullptr;
        ACL_CHECK(aclrtMallocHost(&host, bytes()));
        ACL_CHECK(aclrtMemcpy(host, bytes(), address_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST));
        const float *values = static_cast<const float *>(host);
        numbers->assign(values, values + count_);
        ACL_CHECK(aclrtFreeHost(host));
        return 0;
    }

    /** NULL where nothing was allocated. */
    void *address() const { return address_; }

private:
    size_t bytes() const { return count_ * sizeof(float); }

    void *address_ = nullptr;
    uint32_t count_ = 0;
};

/** The numbers 0 to count - 1. */
inline std::vector<float> ascending(uint32_t count)
{
    std::vector<float> numbers;
    for (uint32_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<float>(i));
    }
    return numbers;
}

/** So many times the same number. */
inline std::vector<float> same(uint32_t count, uint32_t number)
{
    return std::vector<float>(count, static_cast<float>(number));
}

/** The numbers 0, step, 2 * step ... */
inline std::vector<float> multiples(uint32_t count, uint32_t step)
{
    std::vector<float> numbers = ascending(count);
    for (float &number : numbers) {
        number *= static_cast<float>(step);
    }
    return numbers;
}

/**
 * Waits for what is queued on the stream, and prints and compares a buffer.
 * @return 0, or the code of a call that failed; a wrong value is noted in the rank
 */
inline int show(Rank *rank, const DeviceFloats &buffer, const std::vector<float> &expected)
{
    std::vector<float> found;
    ACL_CHECK(aclrtSynchronizeStream(rank->stream));
    SAMPLE_CHECK(buffer.read(&found));
    std::ostringstream text;
    text << "rankId: " << rank->id << ", output: [";
    for (float value : found) {
        text << " " << value;
    }
    text << " ]\n";
    for (size_t i = 0; i < expected.size(); ++i) {
        if (i >= found.size() || found[i] != expected[i]) {
            text << "rankId: " << rank->id << ", element " << i << " is ";
            if (i < found.size()) {
                text << found[i];
            } else {
                text << "missing";
            }
            text << ", expected " << expected[i] << "\n";
            rank->isWrong = true;
        }
    }
    rank->output += text.str();
    return 0;
}

} // namespace sample

#endif
