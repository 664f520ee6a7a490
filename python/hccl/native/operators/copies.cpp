#include "copies.h"

#include "deliver.h"
#include "lend.h"
#include "random.h"
#include "view.h"

#include <ATen/ops/_to_copy_ops.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/mul.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/SymIntArrayRef.h>

#include <cstring>

namespace operators {

namespace {

using Dtype = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Where = std::optional<at::Device>;
using Flag = std::optional<bool>;
using Format = std::optional<at::MemoryFormat>;

void settle_for(const at::Tensor& tensor) {
    if (is_on_npu(tensor)) {
        settle(tensor.device());
    }
}

bool is_plain_copy(const at::Tensor& to, const at::Tensor& from) {
    return to.dtype() == from.dtype() && to.sizes() == from.sizes() && to.is_contiguous() && from.is_contiguous() &&
        to.is_conj() == from.is_conj() && to.is_neg() == from.is_neg() && to.nbytes() <= PLAIN_COPY_MAX &&
        to.has_storage() && from.has_storage() && !c10::isQIntType(to.scalar_type());
}

bool is_reachable(const at::Tensor& tensor) {
    return tensor.is_cpu() || is_on_npu(tensor);
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool) {
    if (!is_reachable(self) || !is_reachable(source)) {
        refuse_mixed(self.device(), source.device());
    }
    // A copy that need not block is done at once all the same. Between two devices both have to be done with the
    // memory.
    settle_for(self);
    settle_for(source);
    if (is_plain_copy(self, source)) {
        if (const std::size_t bytes = self.nbytes()) {
            std::memmove(self.mutable_data_ptr(), source.const_data_ptr(), bytes);
        }
        return self;
    }
    at::Tensor target = view_or_host(self);
    at::_ops::copy_::redispatch(ON_CPU, target, view_or_host(source), false);
    return self;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& target, bool non_blocking) {
    at::Tensor to = target;
    return copy_(to, self, non_blocking);
}

bool is_plain(const Format& format) {
    return !format.has_value() || *format == at::MemoryFormat::Preserve || *format == at::MemoryFormat::Contiguous;
}

at::Tensor make_anywhere(const at::Tensor& like, at::ScalarType dtype, at::Device device) {
    if (device.type() == NPU) {
        return make(like.sizes(), c10::scalarTypeToTypeMeta(dtype), device);
    }
    return at::_ops::empty_memory_format::call(
        like.sym_sizes(), dtype, std::nullopt, device, std::nullopt, std::nullopt);
}

// Memory in one of the two formats that the wheel's own `empty` refuses.
at::Tensor make_formatted(const at::Tensor& like, at::ScalarType dtype, at::Device device, at::MemoryFormat format) {
    const bool flat = format == at::MemoryFormat::ChannelsLast;
    TORCH_CHECK(like.dim() == (flat ? 4 : 5), "required rank ", flat ? 4 : 5, " tensor to use ", format, " format");
    const auto sizes = like.sizes();
    const auto strides = flat ? c10::get_channels_last_strides_2d(sizes) : c10::get_channels_last_strides_3d(sizes);
    return make_strided(sizes, strides, c10::scalarTypeToTypeMeta(dtype), device);
}

bool is_ordinary(const Layout& layout, const Flag& pin_memory) {
    return layout.value_or(at::kStrided) == at::kStrided && !pin_memory.value_or(false);
}

at::Tensor empty_like(
    const at::Tensor& self, Dtype dtype, Layout layout, Where device, Flag pin_memory, Format format) {
    if (is_ordinary(layout, pin_memory)) {
        const auto kind = dtype.value_or(self.scalar_type());
        const auto where = device.value_or(self.device());
        if (is_plain(format)) {
            if (self.is_contiguous()) {
                return make_anywhere(self, kind, where);
            }
        } else if (where.type() == NPU) {
            return make_formatted(self, kind, where, *format);
        }
    }
    return at::_ops::empty_like::redispatch(ON_CPU, self, dtype, layout, device, pin_memory, format);
}

at::Tensor to_copy(
    const at::Tensor& self,
    Dtype dtype,
    Layout layout,
    Where device,
    Flag pin_memory,
    bool non_blocking,
    Format format) {
    if (is_ordinary(layout, pin_memory)) {
        const auto kind = dtype.value_or(self.scalar_type());
        const auto where = device.value_or(self.device());
        // A non-blocking copy to the host goes to pinned memory, which PyTorch's own kernel sees to.
        if (!where.is_cpu() || !non_blocking) {
            if (is_plain(format)) {
                if (self.is_contiguous()) {
                    at::Tensor made = make_anywhere(self, kind, where);
                    return copy_(made, self, false);
                }
            } else if (where.type() == NPU) {
                at::Tensor made = make_formatted(self, kind, where, *format);
                return copy_(made, self, false);
            }
        }
    }
    return at::_ops::_to_copy::redispatch(ON_CPU, self, dtype, layout, device, pin_memory, non_blocking, format);
}

at::Tensor clone(const at::Tensor& self, Format format) {
    at::Tensor made = empty_like(self, std::nullopt, std::nullopt, std::nullopt, std::nullopt, format);
    return copy_(made, self, false);
}

at::Tensor lazy_clone(const at::Tensor& self) {
    return clone(self, std::nullopt);
}

at::Tensor filled(c10::SymIntArrayRef size, Dtype dtype, Layout layout, Where device, Flag pin_memory, int value) {
    at::Tensor made =
        at::_ops::empty_memory_format::redispatch(ON_NPU, size, dtype, layout, device, pin_memory, std::nullopt);
    settle_for(made);
    if (value == 0 && made.nbytes() <= PLAIN_COPY_MAX) {
        if (const std::size_t bytes = made.nbytes()) {
            std::memset(made.mutable_data_ptr(), 0, bytes);
        }
    } else {
        at::Tensor target = view_or_host(made);
        at::_ops::fill__Scalar::redispatch(ON_CPU, target, value);
    }
    return made;
}

at::Tensor zeros(c10::SymIntArrayRef size, Dtype dtype, Layout layout, Where device, Flag pin_memory) {
    return filled(size, dtype, layout, device, pin_memory, 0);
}

at::Tensor ones(c10::SymIntArrayRef size, Dtype dtype, Layout layout, Where device, Flag pin_memory) {
    return filled(size, dtype, layout, device, pin_memory, 1);
}

// PyTorch has this for devices only; the CPU's own dropout is made of other operators.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, Flag train) {
    const auto device = input.device();
    at::Tensor mask = empty_like(
        input, at::kBool, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
    settle(device);
    at::Tensor keeps = view(mask);
    if (!train.value_or(true) || p == 0) {
        at::_ops::fill__Scalar::redispatch(ON_CPU, keeps, 1);
        return {clone(input, std::nullopt), mask};
    }
    at::_ops::bernoulli__float::redispatch(ON_CPU, keeps, 1 - p, stand_in(std::nullopt, device));
    const double scale = p < 1 ? 1 / (1 - p) : 0.0;
    const Lending lending(device);
    return {deliver(at::mul(at::mul(view(input), keeps), scale), device), mask};
}

struct ByHand {
    const char* name;
    void (*put)(torch::Library&, const char*);
};

template <auto Function>
constexpr ByHand by_hand(const char* name) {
    return {name, [](torch::Library& library, const char* called) {
                library.impl(called, torch::dispatch(c10::DispatchKey::PrivateUse1, TORCH_FN(*Function)));
            }};
}

constexpr ByHand BY_HAND[] = {
    by_hand<&copy_>("copy_"),
    by_hand<&copy_from>("_copy_from"),
    by_hand<&empty_like>("empty_like"),
    by_hand<&to_copy>("_to_copy"),
    by_hand<&clone>("clone"),
    by_hand<&lazy_clone>("_lazy_clone"),
    by_hand<&zeros>("zeros"),
    by_hand<&ones>("ones"),
    by_hand<&native_dropout>("native_dropout"),
};

}  // namespace

std::vector<std::string> names_by_hand() {
    std::vector<std::string> names;
    for (const auto& entry : BY_HAND) {
        names.emplace_back(entry.name);
    }
    return names;
}

void register_by_hand(torch::Library& library, const std::string& name) {
    for (const auto& entry : BY_HAND) {
        if (name == entry.name) {
            entry.put(library, entry.name);
            return;
        }
    }
    TORCH_CHECK(false, "there is no kernel by hand for ", name);
}

}  // namespace operators
