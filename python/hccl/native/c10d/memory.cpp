#include "memory.h"

#include <atomic>
#include <mutex>

#include <c10/core/CPUAllocator.h>

#include "table.h"

namespace hccl {

namespace {

std::atomic<uint64_t> everywhere{NEVER};
// What a thread said, if it did.
thread_local uint64_t in_thread = NEVER;

void give_back(void* memory) {
  table->free(memory);
}

c10::DeleterFnPtr deleter_before = nullptr;

// For kernels that ask for plain addresses and give plain addresses back.
void give_back_either(void* memory) {
  if (table->free(memory) == 0 && memory != nullptr) {
    deleter_before(memory);
  }
}

// Stands before the allocator that was there: what is small, or not asked for, stays with that one.
class PlacingAllocator final : public c10::Allocator {
 public:
  explicit PlacingAllocator(c10::Allocator* before) : before_(before) {}

  c10::DataPtr allocate(size_t bytes) override {
    const uint64_t from = std::min(in_thread, everywhere.load(std::memory_order_relaxed));
    if (bytes == 0 || bytes < from) {
      return before_->allocate(bytes);
    }
    void* memory = table->allocate(bytes);
    TORCH_CHECK(
        memory != nullptr, "hccl: there are no ", bytes, " bytes of memory that ranks share");
    return {memory, memory, &give_back, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return deleter_before == nullptr ? nullptr : &give_back_either;
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* before_;
};

void install() {
  static std::once_flag once;
  // The higher priority stays: that of an allocator that somebody else puts here later counts.
  std::call_once(once, [] {
    auto* before = c10::GetCPUAllocator();
    deleter_before = before->raw_deleter();
    c10::SetCPUAllocator(new PlacingAllocator(before), /*priority=*/1);
  });
}

}  // namespace

uint64_t place_in_thread(uint64_t bytes) {
  install();
  return std::exchange(in_thread, bytes);
}

uint64_t place_everywhere(uint64_t bytes) {
  install();
  return everywhere.exchange(bytes);
}

bool is_shareable(const at::Tensor& tensor) {
  return tensor.has_storage() && tensor.storage().data_ptr().get_deleter() == &give_back;
}

at::Tensor empty_shareable(int64_t elements, const at::TensorOptions& options) {
  const c10::Device device = options.device();
  TORCH_CHECK_VALUE(
      device.is_cpu(), "hccl: memory that ranks share is for CPU tensors; asked for was one on ", device);
  struct Placed {
    uint64_t before = place_in_thread(1);
    ~Placed() { place_in_thread(before); }
  } placed;
  return at::empty({elements}, options);
}

}  // namespace hccl
