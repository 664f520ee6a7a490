#include "deliver.h"

#include "copies.h"
#include "lend.h"
#include "view.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>

namespace operators {

namespace {

void fill(const at::Tensor& made, const at::Tensor& result, bool same_layout) {
    const std::size_t bytes = result.nbytes();
    if (bytes == 0) {
        return;
    }
    if (same_layout && bytes <= PLAIN_COPY_MAX && !result.is_conj() && !result.is_neg()) {
        std::memcpy(made.mutable_data_ptr(), result.const_data_ptr(), bytes);
        return;
    }
    at::Tensor target = view(made);
    at::_ops::copy_::redispatch(ON_CPU, target, result, false);
}

}  // namespace

at::Tensor deliver(const at::Tensor& result, c10::Device device) {
    if (!result.defined()) {
        return result;
    }
    if (at::Tensor taken = take_over(result, device); taken.defined()) {
        return taken;
    }
    if (result.is_contiguous()) {
        at::Tensor made = make(result.sizes(), result.dtype(), device);
        fill(made, result, true);
        return made;
    }
    const bool dense = result.is_non_overlapping_and_dense();
    if (!dense && at::has_internal_overlap(result) != at::MemOverlap::No) {
        // Elements (may) share memory, which is nothing that a result has to preserve.
        return deliver(result.contiguous(), device);
    }
    at::Tensor made = make_strided(result.sizes(), result.strides(), result.dtype(), device);
    fill(made, result, dense);
    return made;
}

at::Tensor stand_in(const at::Tensor& out, c10::Device device, bool alone) {
    if (!out.defined()) {
        return out;
    }
    if (out.device() != device) {
        refuse_mixed(device, out.device());
    }
    if (!alone || out.numel() == 0 || out.is_conj() || out.is_neg() || !out.is_non_overlapping_and_dense() ||
        c10::isQIntType(out.scalar_type())) {
        return at::empty(out.sizes(), out.options().device(c10::kCPU));
    }
    c10::Storage storage(
        c10::Storage::use_byte_size_t(),
        out.nbytes(),
        c10::DataPtr(out.mutable_data_ptr(), c10::Device(c10::kCPU)),
        c10::GetCPUAllocator(),
        true);
    auto made = c10::make_intrusive<c10::TensorImpl>(std::move(storage), ON_CPU, out.dtype());
    made->set_sizes_and_strides(out.sizes(), out.strides());
    return at::Tensor(std::move(made));
}

void deliver_into(const at::Tensor& out, at::Tensor made, c10::Device device) {
    if (!out.defined()) {
        return;
    }
    if (out.numel() != 0 && made.const_data_ptr() == out.const_data_ptr()) {
        if (made.sizes() == out.sizes() && made.strides() == out.strides()) {
            return;
        }
        made = made.clone();
    }
    if (out.sizes() != made.sizes()) {
        out.resize_(made.sizes());
        // The wheel's kernel queues a copy of the old elements, which must not come after ours.
        settle(device);
    }
    at::Tensor target = view(out);
    at::_ops::copy_::redispatch(ON_CPU, target, made, false);
}

}  // namespace operators
