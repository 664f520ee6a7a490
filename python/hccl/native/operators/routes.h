// Kernels that do nothing with tensors themselves: they call another kernel of the same operator, or refuse.
#pragma once

#include "device.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>

namespace operators {

// The kernel that serves CPU tensors, called with the npu tensors. For views, which only look at sizes, and for
// operators that are made of others.
class Through final : public c10::OperatorKernel {
  public:
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
        op.redispatchBoxed(ON_CPU, stack);
    }
};

// PyTorch's own derivative.
class Derivative final : public c10::OperatorKernel {
  public:
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
        op.callBoxedForDispatchKey(c10::DispatchKey::Autograd, *stack);
    }
};

class Refusal final : public c10::OperatorKernel {
  public:
    explicit Refusal(std::string why) : why_(std::move(why)) {}

    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "the software NPU cannot run ", op.operator_name(), ": ", why_);
    }

  private:
    std::string why_;
};

}  // namespace operators
