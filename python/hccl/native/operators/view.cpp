#include "view.h"

#include <ATen/ops/empty_strided.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

namespace operators {

namespace {

// Not 0, because PyTorch takes a null pointer for memory that does not exist. A multiple of every item size.
constexpr std::uintptr_t ORIGIN = 4096;
// User addresses have at most 48 bits on AArch64 and 47 on x86-64.
constexpr std::size_t SPAN = std::size_t{1} << 48;

// One CPU storage claims to span the whole user address space, and a view is a tensor of it with its address as the
// offset: that allocates nothing but the tensor object, and PyTorch's overlap checks work, since they compare
// addresses inside one storage. Nothing is ever freed through it.
const c10::Storage& everything() {
    static const c10::Storage made(
        c10::Storage::use_byte_size_t(),
        SPAN,
        c10::DataPtr(reinterpret_cast<void*>(ORIGIN), c10::Device(c10::kCPU)),
        nullptr,
        false);
    return made;
}

at::Tensor without_memory(const at::Tensor& tensor) {
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kCPU));
}

}  // namespace

at::Tensor view(const at::Tensor& tensor) {
    c10::TensorImpl* given = tensor.unsafeGetTensorImpl();
    const auto type = given->dtype();
    const std::size_t item = type.itemsize();
    TORCH_CHECK_NOT_IMPLEMENTED(
        item != 0 && !c10::isQIntType(type.toScalarType()), "the software NPU has no tensors of type ", type);
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.mutable_data_ptr());
    if (address == 0) {
        return without_memory(tensor);
    }
    TORCH_CHECK(
        address % item == 0, "a tensor of type ", type, " at address ", address, " is not aligned to its item size");
    auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(everything()), ON_CPU, type);
    made->set_sizes_and_strides(
        given->sizes(), given->strides(), static_cast<std::int64_t>((address - ORIGIN) / item));
    // PyTorch resolves a pending conjugation or negation before most kernels; the others expect to see it.
    if (tensor.is_conj()) {
        made->_set_conj(true);
    }
    if (tensor.is_neg()) {
        made->_set_neg(true);
    }
    return at::Tensor(std::move(made));
}

at::Tensor view_of(const at::Tensor& tensor, c10::Device device) {
    if (!tensor.defined()) {
        return tensor;
    }
    const auto place = tensor.device();
    if (place == device) {
        return view(tensor);
    }
    if (place.is_cpu() && tensor.dim() == 0) {
        return tensor;
    }
    refuse_mixed(device, place);
}

at::Tensor view_of_written(const at::Tensor& tensor, c10::Device device) {
    if (tensor.defined() && tensor.device() != device) {
        refuse_mixed(device, tensor.device());
    }
    return view_of(tensor, device);
}

at::Tensor view_or_host(const at::Tensor& tensor) {
    return is_on_npu(tensor) ? view(tensor) : tensor;
}

}  // namespace operators
