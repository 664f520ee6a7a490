// CPU tensors over the memory of npu tensors, which is host memory.
//
// Invariants:
// - A view never leaves the kernel that made it: the caching allocator may hand its memory out again as soon as the
//   npu tensor dies.
// - A view is never resized. Its storage is "large enough" for any size, so PyTorch would not notice that it writes
//   past the end. Kernels that may resize an argument get a fresh tensor instead.
#pragma once

#include "device.h"

namespace operators {

// The view of an npu tensor, whatever its device.
at::Tensor view(const at::Tensor& tensor);

// The view of an argument that belongs on that device. A single number in host memory is used as it is, and so is an
// undefined tensor.
at::Tensor view_of(const at::Tensor& tensor, c10::Device device);

// As `view_of`, for an argument that the operator writes: then a number in host memory is an error as well.
at::Tensor view_of_written(const at::Tensor& tensor, c10::Device device);

// The view of an npu tensor; a tensor in host memory as it is.
at::Tensor view_or_host(const at::Tensor& tensor);

}  // namespace operators
