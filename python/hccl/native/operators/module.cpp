// The module that Python sees: functions that register a kernel for an operator. Which operator gets which kernel is
// decided in Python.

#include "copies.h"
#include "device.h"
#include "generic.h"
#include "lend.h"
#include "random.h"
#include "routes.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>
#include <torch/library.h>

#include <unordered_map>

namespace operators {

namespace {

// Registrations last as long as the process: taking them back while it ends would only cost time.
torch::Library& library_of(const std::string& space) {
    static auto& libraries = *new std::unordered_map<std::string, std::unique_ptr<torch::Library>>();
    auto& library = libraries[space];
    if (library == nullptr) {
        library = std::make_unique<torch::Library>(torch::Library::IMPL, space, std::nullopt, "hccl.softnpu", 0);
    }
    return *library;
}

// `aten::add.Tensor` in its parts.
struct Name {
    explicit Name(const std::string& full)
        : space(full.substr(0, full.find("::"))), inner(full.substr(full.find("::") + 2)) {}

    std::string space;
    std::string inner;
};

c10::OperatorHandle find(const std::string& full) {
    const auto dot = full.find('.');
    const std::string overload = dot == std::string::npos ? "" : full.substr(dot + 1);
    return c10::Dispatcher::singleton().findSchemaOrThrow(full.substr(0, dot).c_str(), overload.c_str());
}

template <class Kernel, class... Given>
void put(const std::string& full, c10::DispatchKey key, Given&&... given) {
    const Name name(full);
    auto kernel = std::make_unique<Kernel>(std::forward<Given>(given)...);
    library_of(name.space)
        .impl(name.inner.c_str(), torch::dispatch(key, torch::CppFunction::makeFromBoxedFunctor(std::move(kernel))));
}

void put_generic(const std::string& full, const std::unordered_set<std::string>& host) {
    put<Generic>(full, c10::DispatchKey::PrivateUse1, find(full), host);
}

void put_through(const std::string& full) {
    put<Through>(full, c10::DispatchKey::PrivateUse1);
}

void put_through_for_autograd(const std::string& full) {
    put<Through>(full, c10::DispatchKey::AutogradPrivateUse1);
}

void put_derivative(const std::string& full) {
    put<Derivative>(full, c10::DispatchKey::AutogradPrivateUse1);
}

void put_refusal(const std::string& full, const std::string& why) {
    put<Refusal>(full, c10::DispatchKey::PrivateUse1, why);
}

void put_by_hand(const std::string& full) {
    const Name name(full);
    register_by_hand(library_of(name.space), name.inner);
}

// `source` gives a sequence of `torch.Generator`.
void find_generators_by_python(pybind11::object source) {
    find_generators_by([source = source.release()] {
        const pybind11::gil_scoped_acquire locked;
        std::vector<at::Generator> found;
        for (const auto& generator : pybind11::reinterpret_borrow<pybind11::object>(source)()) {
            found.push_back(THPGenerator_Unwrap(generator.ptr()));
        }
        return found;
    });
}

}  // namespace

}  // namespace operators

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    module.doc() = "Kernels of PyTorch's operators for the software NPU.";
    module.def("watch", &operators::watch, "Address of the number of queued tasks; 0 to wait at every operator.");
    module.def("lend_to_cpu_kernels", &operators::lend_to_cpu_kernels, "Large results are made in device memory.");
    module.def("find_generators_by", &operators::find_generators_by_python, "How the devices' generators are had.");
    module.def("names_by_hand", &operators::names_by_hand, "Operators of `aten` that have a kernel of their own here.");
    module.def("put_generic", &operators::put_generic, "The CPU's kernel on views of the arguments.");
    module.def("put_through", &operators::put_through, "The CPU's kernel on the npu tensors themselves.");
    module.def("put_through_for_autograd", &operators::put_through_for_autograd, "The same, in place of a derivative.");
    module.def("put_derivative", &operators::put_derivative, "PyTorch's derivative, in place of the wheel's.");
    module.def("put_refusal", &operators::put_refusal, "An error that says why.");
    module.def("put_by_hand", &operators::put_by_hand, "A kernel of `names_by_hand`.");
}
