// Results of CPU kernels, put into device memory.
#pragma once

#include "device.h"

namespace operators {

// An npu tensor with the value of a CPU result; an undefined tensor stays one. Strides are kept, except that elements
// that share memory get memory of their own.
at::Tensor deliver(const at::Tensor& result, c10::Device device);

// A CPU tensor for a kernel to write in place of an `out=` argument. It has that argument's size, so that PyTorch
// warns about resizing when it would, and because a few operators do not resize at all. Its memory is the argument's
// own where the argument is `alone`, that is, no other argument can lie there; a kernel that wants more memory then
// gets other memory, since this one, unlike a view, knows where it ends.
at::Tensor stand_in(const at::Tensor& out, c10::Device device, bool alone);

// Moves what the kernel made into the `out=` argument, giving it another size if need be.
void deliver_into(const at::Tensor& out, at::Tensor made, c10::Device device);

}  // namespace operators
