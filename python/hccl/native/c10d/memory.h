// Memory of CPU tensors that other ranks reach where it is.

#pragma once

#include <cstdint>

#include <ATen/ATen.h>

namespace hccl {

// From how many bytes on new CPU tensors of this thread lie in shareable memory; `NEVER` for none.
constexpr uint64_t NEVER = UINT64_MAX;
uint64_t place_in_thread(uint64_t bytes);
// The same for threads that said nothing.
uint64_t place_everywhere(uint64_t bytes);

bool is_shareable(const at::Tensor& tensor);

// A new CPU tensor in shareable memory.
at::Tensor empty_shareable(int64_t elements, const at::TensorOptions& options);

}  // namespace hccl
