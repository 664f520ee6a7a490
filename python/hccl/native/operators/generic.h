// One kernel for nearly every operator: view the arguments, call the CPU's kernel, deliver the results.
//
// What it does, in order:
// 1. find the device, from the first npu tensor or from the argument `device`;
// 2. wait for that device's current stream if anything is queued anywhere;
// 3. call the CPU's kernel on views. The call goes to the CPU's entry of the dispatch table itself, hence past
//    autograd, autocast and Python modes, which all have had their turn for the npu operator;
// 4. arguments that the operator writes are returned as they came. `out=` arguments are replaced by CPU tensors that
//    the kernel resizes at will, and are filled (and resized) from those.
#pragma once

#include "device.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace operators {

// What an operator's schema says about its arguments and results, read once when its kernel is registered.
class Generic final : public c10::OperatorKernel {
  public:
    // `host` names arguments that PyTorch leaves in host memory although they are more than a single number.
    Generic(const c10::OperatorHandle& op, const std::unordered_set<std::string>& host);

    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

  private:
    enum class Kind : std::uint8_t { Plain, Read, Written, Host, Out, Generator, Device, PinMemory };

    struct Argument {
        Kind kind;
        std::size_t index;
    };

    static Kind kind_of(const c10::Argument& argument, const std::unordered_set<std::string>& host);
    c10::Device find(const c10::IValue* given) const;

    // Arguments of another kind than `Plain`, in their order.
    std::vector<Argument> arguments_;
    // For each result the argument that is returned in its place, or -1.
    std::vector<int> owners_;
    std::size_t given_count_;
    // Whether the kernel draws from the CPU's default generator.
    bool seeded_;
};

}  // namespace operators
