#include "generic.h"

#include "deliver.h"
#include "lend.h"
#include "random.h"
#include "view.h"

#include <ATen/core/List.h>
#include <c10/util/SmallVector.h>

namespace operators {

namespace {

// Applies `change` to a tensor, or to each tensor of a list. Everything else (an absent tensor) stays as it is.
template <class Change>
c10::IValue changed(const c10::IValue& value, const Change& change) {
    if (value.isTensor()) {
        return change(value.toTensor());
    }
    if (value.isTensorList()) {
        c10::List<at::Tensor> made;
        const auto list = value.toTensorList();
        made.reserve(list.size());
        for (const auto& element : list) {
            made.push_back(change(static_cast<const at::Tensor&>(element)));
        }
        return made;
    }
    if (value.isList()) {
        c10::List<std::optional<at::Tensor>> made;
        const auto list = value.toListRef();
        made.reserve(list.size());
        for (const auto& element : list) {
            if (element.isTensor()) {
                made.push_back(change(element.toTensor()));
            } else {
                made.push_back(std::nullopt);
            }
        }
        return made;
    }
    return value;
}

// The first npu tensor among a value and, if it is a list, its elements; null if there is none.
const at::Tensor* npu_tensor_in(const c10::IValue& value) {
    if (value.isTensor()) {
        const at::Tensor& tensor = value.toTensor();
        return is_on_npu(tensor) ? &tensor : nullptr;
    }
    if (value.isList()) {
        for (const auto& element : value.toListRef()) {
            if (element.isTensor() && is_on_npu(element.toTensor())) {
                return &element.toTensor();
            }
        }
    }
    return nullptr;
}

void deliver_all(const c10::IValue& out, const c10::IValue& made, c10::Device device) {
    if (out.isTensor()) {
        deliver_into(out.toTensor(), made.toTensor(), device);
    } else if (out.isList()) {
        const auto outs = out.toListRef();
        const auto values = made.toListRef();
        for (std::size_t index = 0; index < outs.size(); ++index) {
            deliver_into(outs[index].toTensor(), values[index].toTensor(), device);
        }
    }
}

bool share_memory(const at::Tensor& one, const at::Tensor& other) {
    if (!is_on_npu(one) || !is_on_npu(other)) {
        return false;
    }
    const auto begin = [](const at::Tensor& tensor) {
        return reinterpret_cast<std::uintptr_t>(tensor.storage().data());
    };
    return begin(one) < begin(other) + other.storage().nbytes() && begin(other) < begin(one) + one.storage().nbytes();
}

// Whether a tensor's storage is that of an argument, or overlaps it.
template <class Values>
bool any_shares_memory(const Values& values, const at::Tensor& tensor) {
    for (const auto& value : values) {
        if (value.isTensor()) {
            if (share_memory(value.toTensor(), tensor)) {
                return true;
            }
        } else if (value.isList()) {
            for (const auto& element : value.toListRef()) {
                if (element.isTensor() && share_memory(element.toTensor(), tensor)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool is_written(const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool is_about_tensors(const c10::TypePtr& type) {
    switch (type->kind()) {
        case c10::TypeKind::TensorType:
            return true;
        case c10::TypeKind::OptionalType:
        case c10::TypeKind::ListType:
            return is_about_tensors(type->containedType(0));
        default:
            return false;
    }
}

bool is_a_generator(const c10::TypePtr& type) {
    if (type->kind() == c10::TypeKind::OptionalType) {
        return is_a_generator(type->containedType(0));
    }
    return type->kind() == c10::TypeKind::GeneratorType;
}

}  // namespace

Generic::Generic(const c10::OperatorHandle& op, const std::unordered_set<std::string>& host)
    : given_count_(op.schema().arguments().size()), seeded_(op.hasTag(at::Tag::nondeterministic_seeded)) {
    const auto& arguments = op.schema().arguments();
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        const auto kind = kind_of(arguments[index], host);
        if (kind != Kind::Plain) {
            arguments_.push_back({kind, index});
        }
        seeded_ = seeded_ && kind != Kind::Generator;
    }
    for (const auto& result : op.schema().returns()) {
        int owner = -1;
        const auto* info = result.alias_info();
        for (std::size_t index = 0; info != nullptr && index < arguments.size(); ++index) {
            if (is_written(arguments[index]) && arguments[index].alias_info()->beforeSets() == info->beforeSets()) {
                owner = static_cast<int>(index);
            }
        }
        owners_.push_back(owner);
    }
}

Generic::Kind Generic::kind_of(const c10::Argument& argument, const std::unordered_set<std::string>& host) {
    if (is_about_tensors(argument.type())) {
        if (is_written(argument)) {
            return argument.kwarg_only() ? Kind::Out : Kind::Written;
        }
        return host.count(argument.name()) != 0 ? Kind::Host : Kind::Read;
    }
    if (is_a_generator(argument.type())) {
        return Kind::Generator;
    }
    if (argument.kwarg_only() && argument.name() == "device") {
        return Kind::Device;
    }
    if (argument.kwarg_only() && argument.name() == "pin_memory") {
        return Kind::PinMemory;
    }
    return Kind::Plain;
}

c10::Device Generic::find(const c10::IValue* given) const {
    std::optional<c10::Device> asked;
    for (const auto& argument : arguments_) {
        const auto& value = given[argument.index];
        if (argument.kind == Kind::Device) {
            if (value.isDevice()) {
                asked = value.toDevice();
            }
        } else if (const at::Tensor* tensor = npu_tensor_in(value)) {
            return tensor->device();
        }
    }
    if (asked.has_value() && asked->type() == NPU && asked->has_index()) {
        return *asked;
    }
    return current_device();
}

void Generic::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    c10::IValue* slots = stack->data() + (stack->size() - given_count_);
    const c10::Device device = find(slots);
    settle(device);
    // Views do not keep memory alive, and the stack may hold the only reference to an argument.
    c10::SmallVector<c10::IValue, 6> given;
    c10::SmallVector<c10::IValue, 2> stand_ins;
    for (const auto& argument : arguments_) {
        c10::IValue& slot = slots[argument.index];
        c10::IValue value = std::move(slot);
        switch (argument.kind) {
            case Kind::Read:
                slot = changed(value, [&](const at::Tensor& tensor) { return view_of(tensor, device); });
                break;
            case Kind::Written:
                slot = changed(value, [&](const at::Tensor& tensor) { return view_of_written(tensor, device); });
                break;
            case Kind::Host:
                slot = changed(value, [&](const at::Tensor& tensor) {
                    return tensor.defined() && !tensor.is_cpu() ? view_of(tensor, device) : tensor;
                });
                break;
            case Kind::Out:
                slot = changed(value, [&](const at::Tensor& tensor) {
                    return stand_in(tensor, device, value.isTensor() && !any_shares_memory(given, tensor));
                });
                stand_ins.push_back(slot);
                break;
            case Kind::Generator:
                slot = stand_in(value.toOptional<at::Generator>(), device);
                break;
            default:
                // The CPU's kernel makes ordinary host memory.
                slot = c10::IValue();
        }
        given.push_back(std::move(value));
    }
    {
        const Lending lending(device);
        std::optional<BorrowedDefault> borrowed;
        if (seeded_) {
            borrowed.emplace(device);
        }
        op.redispatchBoxed(ON_CPU, stack);
    }
    std::size_t next = 0;
    for (std::size_t index = 0; index < arguments_.size(); ++index) {
        if (arguments_[index].kind == Kind::Out) {
            deliver_all(given[index], stand_ins[next++], device);
        }
    }
    c10::IValue* results = stack->data() + (stack->size() - owners_.size());
    for (std::size_t index = 0; index < owners_.size(); ++index) {
        c10::IValue& result = results[index];
        if (owners_[index] < 0) {
            result = changed(result, [&](const at::Tensor& tensor) { return deliver(tensor, device); });
        } else {
            for (std::size_t at = 0; at < arguments_.size(); ++at) {
                if (arguments_[at].index == static_cast<std::size_t>(owners_[index])) {
                    result = given[at];
                }
            }
        }
    }
}

}  // namespace operators
