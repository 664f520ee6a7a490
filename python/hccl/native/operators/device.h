// The device side that kernels need: queued work, fresh memory, and refusals. Everything goes through PyTorch's own
// interfaces for a device of its kind, so nothing here is compiled against torch_npu.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace operators {

constexpr c10::DeviceType NPU = c10::DeviceType::PrivateUse1;
constexpr c10::DispatchKeySet ON_NPU{c10::DispatchKey::PrivateUse1};
constexpr c10::DispatchKeySet ON_CPU{c10::DispatchKey::CPU};

// Where the library counts the tasks that are queued and not finished in this process. 0 when that number says
// nothing, because the wheel's own queue may hold work as well; every kernel waits then.
void watch(std::uintptr_t counter);

// Waits for the work on the current stream of that device, if anything is queued anywhere.
void settle(c10::Device device);

c10::Device current_device();

inline bool is_on_npu(const at::Tensor& tensor) {
    return tensor.defined() && tensor.device().type() == NPU;
}

// Memory on a device, with what the wheel keeps beside a tensor's memory.
at::Tensor make(c10::IntArrayRef sizes, caffe2::TypeMeta type, c10::Device device);
at::Tensor make_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, caffe2::TypeMeta type, c10::Device device);

[[noreturn]] void refuse_mixed(c10::Device one, c10::Device other);

}  // namespace operators
