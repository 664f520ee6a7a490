// How the backend's methods check their arguments and say their calls.

#pragma once

#include <ATen/MemoryOverlap.h>

#include "backend.h"
#include "types.h"

#define REFUSE(what, ...) \
  C10_THROW_ERROR(ValueError, c10::str("hccl::", what, ": ", __VA_ARGS__))

namespace hccl {

using c10d::OpType;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

inline void check(const char* what, const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided) {
    REFUSE(what, "unsupported layout: ", tensor.layout(), ", only strided tensors");
  }
  if (!tensor.device().is_cpu()) {
    REFUSE(what, "unsupported device type: ", tensor.device().type(), ", only CPU tensors");
  }
}

inline void check_all(const char* what, const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) {
    REFUSE(what, "requires non-empty tensor list");
  }
  for (const auto& tensor : tensors) {
    check(what, tensor);
    if (tensor.scalar_type() != tensors[0].scalar_type()) {
      REFUSE(what, "invalid tensor type: ", tensor.scalar_type(), " among tensors of ",
             tensors[0].scalar_type());
    }
  }
}

inline const at::Tensor& only(const char* what, const std::vector<at::Tensor>& tensors, const char* side) {
  if (tensors.size() != 1) {
    REFUSE(what, "requires a single-element ", side, "tensor list, not one of ", tensors.size());
  }
  check(what, tensors[0]);
  return tensors[0];
}

inline void check_type(const char* what, const at::Tensor& tensor, const at::Tensor& other) {
  if (tensor.scalar_type() != other.scalar_type()) {
    REFUSE(what, "invalid tensor type: ", tensor.scalar_type(), " beside ", other.scalar_type());
  }
}

inline void check_sizes(const char* what, const at::Tensor& tensor, const at::Tensor& other) {
  if (tensor.sizes() != other.sizes()) {
    REFUSE(what, "invalid tensor size: ", tensor.sizes(), " beside ", other.sizes());
  }
}

inline uint32_t root_of(const char* what, int64_t root, int size) {
  if (root < 0 || root >= size) {
    REFUSE(what, "invalid root rank: ", root, ", allowed are 0 to ", size - 1);
  }
  return static_cast<uint32_t>(root);
}

// Rows of a tensor that go to or come from each rank; none means the same for all.
inline void check_splits(
    const char* what,
    const char* name,
    const std::vector<int64_t>& splits,
    const at::Tensor& tensor,
    int size) {
  const int64_t rows = tensor.dim() > 0 ? tensor.size(0) : 0;
  if (splits.empty()) {
    if (rows % size != 0) {
      REFUSE(what, "invalid tensor size: Tensor's dim 0 does not divide equally across group size");
    }
    return;
  }
  if (splits.size() != static_cast<size_t>(size)) {
    REFUSE(what, "Number of tensor splits not equal to group size: ", name, " has ", splits.size(), " of ", size);
  }
  int64_t left = rows;
  for (const int64_t split : splits) {
    if (split < 0 || split > left) {
      REFUSE(what, name, " is ", splits, "; allowed are numbers from 0 on that are ", rows, " together");
    }
    left -= split;
  }
  if (left != 0) {
    REFUSE(what, "Split sizes doesn't match total dim 0 size: ", name, " is ", splits, ", dimension 0 ", rows);
  }
}

// Tensors of one side of a call.
struct CpuBackend::Side {
  c10::SmallVector<View, 4> views;
  std::vector<at::Tensor> held;

  // Tensors that are read.
  void read(const at::Tensor& tensor) {
    add(tensor.is_conj() || tensor.is_neg() ? tensor.resolve_conj().resolve_neg() : tensor);
  }

  // Tensors that are written.
  void write(const char* what, const at::Tensor& tensor) {
    if (tensor.is_conj() || tensor.is_neg()) {
      REFUSE(what, "unsupported layout: a tensor with a pending conjugation or negation");
    }
    if (!tensor.is_contiguous() && at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
      REFUSE(what, "unsupported layout: elements of the tensor share memory");
    }
    add(tensor);
  }

  // A part of a tensor whose elements lie in order.
  void part(const at::Tensor& tensor, int64_t first, int64_t elements) {
    auto* data = static_cast<char*>(tensor.data_ptr()) + first * tensor.element_size();
    views.push_back(View{data, static_cast<uint64_t>(elements), nullptr, nullptr, 0});
  }

 private:
  void add(at::Tensor tensor) {
    View view{tensor.data_ptr(), static_cast<uint64_t>(tensor.numel()), nullptr, nullptr, 0};
    held.push_back(std::move(tensor));
    const auto& kept = held.back();
    if (!kept.is_contiguous()) {
      // They lie in the tensor itself, which does not move.
      view.sizes = kept.sizes().data();
      view.strides = kept.strides().data();
      view.dimensions = static_cast<uint64_t>(kept.dim());
    }
    views.push_back(view);
  }
};

// A call before it is made.
struct CpuBackend::Said {
  OpType type;
  uint32_t op;
  bool async = true;
  std::chrono::milliseconds timeout = c10d::kUnsetTimeout;
  uint32_t data_type = 0;
  uint32_t reduce_op = 0;
  uint32_t root = 0;
  uint32_t tag = 0;
  Side input;
  Side output;
  // What the handle's result is.
  std::vector<at::Tensor> results;
  std::vector<uint64_t> send_lengths;
  std::vector<uint64_t> receive_lengths;

  template <class Options>
  Said(OpType type, uint32_t op, const Options& opts)
      : type(type), op(op), async(opts.asyncOp), timeout(opts.timeout) {}
  Said(OpType type, uint32_t op) : type(type), op(op) {}

  void moves(const at::Tensor& tensor) { data_type = movable(tensor.scalar_type()); }

  void reduces(const at::Tensor& tensor, const c10d::ReduceOp& op) {
    data_type = reducible(tensor.scalar_type());
    reduce_op = reduction(op, tensor.scalar_type());
  }

  // Input and output are the same tensors.
  void in_place(const char* what, const std::vector<at::Tensor>& tensors) {
    for (const auto& tensor : tensors) {
      input.write(what, tensor);
    }
    results = tensors;
  }
};

}  // namespace hccl
