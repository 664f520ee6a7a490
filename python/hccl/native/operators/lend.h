// Device memory for what CPU kernels make, so that a large result is in its place without a copy.
//
// PyTorch's allocator of host memory is replaced by one that passes requests on, except for large ones of a thread that
// is inside one of our kernels: these get memory of the device. A result in such memory only has to change its label.
// What the kernel made for itself goes back to the device's cache when the kernel lets go of it, which is quicker than
// giving pages back to the system.
#pragma once

#include "device.h"

namespace operators {

// Replaces the allocator; if somebody replaces it again, large results are copied like small ones.
void lend_to_cpu_kernels();

// While one lives, large memory that this thread asks for is memory of that device.
class Lending {
  public:
    explicit Lending(c10::Device device);
    ~Lending();
    Lending(const Lending&) = delete;
    Lending& operator=(const Lending&) = delete;

  private:
    std::optional<c10::Device> before_;
};

// The npu tensor in whose memory a CPU tensor lies, if that memory was lent, nobody else uses it, and it is no longer
// than the tensor; else an undefined tensor.
at::Tensor take_over(const at::Tensor& result, c10::Device device);

}  // namespace operators
