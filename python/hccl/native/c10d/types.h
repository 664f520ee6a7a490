// Numbers of data types and reductions.

#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace hccl {

// The number of a type whose values are combined; raises where they cannot be.
uint32_t reducible(at::ScalarType type);

// The number of a type for calls that only move values.
uint32_t movable(at::ScalarType type);

// The number of a reduction on values of a type, other than a pre-multiplied sum; raises where there
// is none.
uint32_t reduction(const c10d::ReduceOp& op, at::ScalarType type);

// What a rank contributes to a reduction: the tensor itself, but for a pre-multiplied sum.
at::Tensor contribution(const at::Tensor& tensor, const c10d::ReduceOp& op);

}  // namespace hccl
