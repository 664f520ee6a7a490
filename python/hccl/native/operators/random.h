// Random numbers: a CPU generator that stands in for an npu generator.
//
// The state lives in the npu generator alone, as the pair (seed, offset) that the wheel saves, restores and seeds.
// Every operator that draws numbers seeds a CPU generator from the pair and moves the offset on. So
// `torch.manual_seed` and `torch.npu.manual_seed` make runs repeatable, and `torch.npu.get_rng_state` with
// `set_rng_state` (which activation checkpointing relies on) brings the same numbers back.
//
// The first draw after a seed equals the CPU's first draw after the same seed; later draws differ, as they do between
// any two kinds of device.
#pragma once

#include "device.h"

#include <ATen/core/Generator.h>

#include <functional>
#include <mutex>
#include <vector>

namespace operators {

// Says where the devices' own generators are had, by index. They exist only once the wheel has set up its devices, which
// waits for the first use, so this is asked when the first number is drawn. It may be asked by several threads.
void find_generators_by(std::function<std::vector<at::Generator>()> source);

// A CPU generator, valid until this thread asks for the next one, in place of a generator or of the device's own.
at::Generator stand_in(const std::optional<at::Generator>& generator, c10::Device device);

// For kernels that take no generator: while this lives, the CPU's default generator draws in the device's name. Others
// who borrow it wait; then it goes on as if nothing had been drawn.
class BorrowedDefault {
  public:
    explicit BorrowedDefault(c10::Device device);
    ~BorrowedDefault();
    BorrowedDefault(const BorrowedDefault&) = delete;
    BorrowedDefault& operator=(const BorrowedDefault&) = delete;

  private:
    std::unique_lock<std::recursive_mutex> turn_;
    at::Tensor saved_;
};

}  // namespace operators
