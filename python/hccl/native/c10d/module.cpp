// The module: what Python sees.

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>

#include "backend.h"
#include "callbacks.h"
#include "memory.h"

namespace {

template <class T>
using Shared = py::class_<T, c10d::Backend, c10::intrusive_ptr<T>>;

// `address` is what hccl_torch_table() gave.
void init(uintptr_t address) {
  const auto* found = reinterpret_cast<const hccl::Table*>(address);
  if (found->version != hccl::VERSION || found->bytes != sizeof(hccl::Table)) {
    throw py::import_error(
        "libhccl_torch.so is of version " + std::to_string(found->version) + ", this module of version " +
        std::to_string(hccl::VERSION) + ": they are from different installations");
  }
  hccl::table = found;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "The backend of torch.distributed for CPU tensors, against one version of PyTorch.";
  m.def("init", &init);
  m.def(
      "quiesce",
      [](uint64_t limit_ms) {
        hccl::table->quiesce(limit_ms);
        hccl::settle_aside(std::chrono::milliseconds(limit_ms));
      },
      py::call_guard<py::gil_scoped_release>());
  m.attr("NEVER") = hccl::NEVER;
  m.def("place_in_thread", &hccl::place_in_thread);
  m.def("place_everywhere", &hccl::place_everywhere);
  m.def("is_shareable", &hccl::is_shareable);
  // Backend is known to Python by torch itself.
  py::module_::import("torch.distributed");
  Shared<hccl::CpuBackend>(m, "CpuBackend")
      .def_property_readonly("options", &hccl::CpuBackend::getBackendOptions)
      .def_static(
          "create",
          &hccl::CpuBackend::create,
          py::arg("store"),
          py::arg("rank"),
          py::arg("size"),
          py::arg("timeout"),
          py::arg("name"),
          py::arg("group_name"),
          py::arg("global_ranks"),
          py::call_guard<py::gil_scoped_release>());
}
