#include "device.h"

#include <ATen/ops/empty_ops.h>
#include <ATen/ops/empty_strided_ops.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>

namespace operators {

namespace {

const std::atomic<std::uint64_t>* pending = nullptr;

const c10::impl::VirtualGuardImpl& guard() {
    static const c10::impl::VirtualGuardImpl made(NPU);
    return made;
}

}  // namespace

void watch(std::uintptr_t counter) {
    pending = reinterpret_cast<const std::atomic<std::uint64_t>*>(counter);
}

void settle(c10::Device device) {
    // SYNC(pending): pairs with the store of the thread that finished the last task, whose writes we are to see.
    if (pending != nullptr && pending->load(std::memory_order_acquire) == 0) {
        return;
    }
    guard().synchronizeStream(guard().getStream(device));
}

c10::Device current_device() {
    return guard().getDevice();
}

at::Tensor make(c10::IntArrayRef sizes, caffe2::TypeMeta type, c10::Device device) {
    return at::_ops::empty_memory_format::redispatch(
        ON_NPU, c10::fromIntArrayRefKnownNonNegative(sizes), type.toScalarType(), std::nullopt, device, std::nullopt, std::nullopt);
}

at::Tensor make_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, caffe2::TypeMeta type, c10::Device device) {
    return at::_ops::empty_strided::redispatch(
        ON_NPU,
        c10::fromIntArrayRefKnownNonNegative(sizes),
        c10::fromIntArrayRefKnownNonNegative(strides),
        type.toScalarType(),
        std::nullopt,
        device,
        std::nullopt);
}

void refuse_mixed(c10::Device one, c10::Device other) {
    TORCH_CHECK(
        false, "Expected all tensors to be on the same device, but found at least two devices, ", one, " and ", other, "!");
}

}  // namespace operators
