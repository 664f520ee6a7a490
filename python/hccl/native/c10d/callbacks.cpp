#include "callbacks.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace hccl {

namespace {

// So many may wait in a callback for what another callback does; what comes then waits for one to end.
constexpr size_t THREADS_MAX = 64;
// How long a thread stays that has nothing to do.
constexpr std::chrono::seconds IDLE{5};

struct Aside {
  const pid_t process = getpid();
  std::mutex mutex;
  std::condition_variable came;
  std::condition_variable settled;
  std::deque<std::function<void()>> waiting;
  size_t threads = 0;
  size_t idle = 0;
  size_t busy = 0;
};

// Never destroyed: its threads may outlive all that is static. A forked child has no threads of its parent, and may
// find the lock taken, so it begins anew.
Aside& aside() {
  static std::atomic<Aside*> current{nullptr};
  Aside* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->process != getpid()) {
    auto* made = new Aside;
    if (current.compare_exchange_strong(found, made, std::memory_order_acq_rel)) {
      return *made;
    }
    delete made;
  }
  return *found;
}

void work(Aside& aside) {
  std::unique_lock<std::mutex> lock(aside.mutex);
  while (true) {
    ++aside.idle;
    const bool some = aside.came.wait_for(lock, IDLE, [&] { return !aside.waiting.empty(); });
    --aside.idle;
    if (!some) {
      --aside.threads;
      return;
    }
    auto what = std::move(aside.waiting.front());
    aside.waiting.pop_front();
    ++aside.busy;
    lock.unlock();
    what();
    // What it holds may be Python's, and is given up without the lock.
    what = nullptr;
    lock.lock();
    --aside.busy;
    if (aside.busy == 0 && aside.waiting.empty()) {
      aside.settled.notify_all();
    }
  }
}

}  // namespace

void run_aside(std::function<void()> what) {
  Aside& all = aside();
  std::unique_lock<std::mutex> lock(all.mutex);
  all.waiting.push_back(std::move(what));
  if (all.idle >= all.waiting.size() || all.threads == THREADS_MAX) {
    all.came.notify_one();
    return;
  }
  try {
    std::thread(work, std::ref(all)).detach();
    ++all.threads;
  } catch (const std::system_error&) {
    // Where threads are short, those that there are do it; where there is none, whoever is here.
    if (all.threads == 0) {
      what = std::move(all.waiting.back());
      all.waiting.pop_back();
      lock.unlock();
      what();
    }
  }
}

void settle_aside(std::chrono::milliseconds limit) {
  Aside& all = aside();
  std::unique_lock<std::mutex> lock(all.mutex);
  all.settled.wait_for(lock, limit, [&] { return all.busy == 0 && all.waiting.empty(); });
}

}  // namespace hccl
