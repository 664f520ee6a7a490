/**
 * @file turn.h
 * Lets the threads of a process print one after the other, in the order of their ranks.
 */
#ifndef COMMON_TURN_H_
#define COMMON_TURN_H_

#include <condition_variable>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <string>

namespace sample {

class Turn {
public:
    /** Waits for all ranks below, prints, and passes the turn on. An empty text is nothing. */
    void print(uint32_t rank, const std::string &text)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this, rank] { return next_ == rank; });
        std::cout << text << std::flush;
        ++next_;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t next_ = 0;
};

} // namespace sample

#endif
