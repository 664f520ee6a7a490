// Threads for what users attach to futures. It may wait for other calls, or for other futures, so it runs on
// none of the threads that go on with calls.

#pragma once

#include <chrono>
#include <functional>

namespace hccl {

// Runs it soon, on a thread of its own where all others are busy. It does not throw.
void run_aside(std::function<void()> what);

// Waits until all of it has run, for so long at most.
void settle_aside(std::chrono::milliseconds limit);

}  // namespace hccl
