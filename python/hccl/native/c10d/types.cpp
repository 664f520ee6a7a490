#include "types.h"

namespace hccl {

namespace {

// Those of HcclDataType, and from 100 on ours (crates/hccl-kernels/src/data_type.rs).
constexpr uint32_t NONE = UINT32_MAX;

uint32_t number(at::ScalarType type) {
  switch (type) {
    case at::kChar: return 0;
    case at::kShort: return 1;
    case at::kInt: return 2;
    case at::kHalf: return 3;
    case at::kFloat: return 4;
    case at::kLong: return 5;
    case at::kUInt64: return 6;
    case at::kByte: return 7;
    case at::kUInt16: return 8;
    case at::kUInt32: return 9;
    case at::kDouble: return 10;
    case at::kBFloat16: return 11;
    case at::kFloat8_e4m3fn: return 15;
    case at::kFloat8_e5m2: return 16;
    case at::kFloat8_e8m0fnu: return 17;
    case at::kBool: return 100;
    case at::kFloat8_e4m3fnuz: return 101;
    case at::kFloat8_e5m2fnuz: return 102;
    case at::kComplexFloat: return 103;
    case at::kComplexDouble: return 104;
    case at::kComplexHalf: return 105;
    default: return NONE;
  }
}

uint32_t by_size(size_t bytes) {
  switch (bytes) {
    case 1: return 7;
    case 2: return 8;
    case 4: return 9;
    case 8: return 6;
    case 16: return 12;
    default: return NONE;
  }
}

}  // namespace

uint32_t reducible(at::ScalarType type) {
  const uint32_t known = number(type);
  if (known == NONE || type == at::kFloat8_e8m0fnu) {
    C10_THROW_ERROR(TypeError, c10::str("invalid tensor type: ", type, " cannot be reduced"));
  }
  return known;
}

uint32_t movable(at::ScalarType type) {
  const uint32_t known = number(type);
  const uint32_t moved = known == NONE ? by_size(c10::elementSize(type)) : known;
  if (moved == NONE) {
    C10_THROW_ERROR(TypeError, c10::str("invalid tensor type: ", type, " cannot be sent"));
  }
  return moved;
}

uint32_t reduction(const c10d::ReduceOp& op, at::ScalarType type) {
  const bool whole = at::isIntegralType(type, /*includeBool=*/true);
  const auto refuse = [&](const char* name) {
    C10_THROW_ERROR(ValueError, c10::str("Cannot use ReduceOp.", name, " with tensors of ", type));
  };
  switch (op.op_) {
    case c10d::ReduceOp::SUM: return 0;
    case c10d::ReduceOp::PREMUL_SUM:
      if (whole) {
        refuse("PREMUL_SUM");
      }
      return 0;
    case c10d::ReduceOp::AVG:
      if (type == at::kBool) {
        refuse("AVG");
      }
      return 100;
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MAX:
    case c10d::ReduceOp::MIN:
      if (at::isComplexType(type)) {
        refuse(op.op_ == c10d::ReduceOp::PRODUCT ? "PRODUCT" : op.op_ == c10d::ReduceOp::MAX ? "MAX" : "MIN");
      }
      return op.op_ == c10d::ReduceOp::PRODUCT ? 1 : op.op_ == c10d::ReduceOp::MAX ? 2 : 3;
    case c10d::ReduceOp::BAND:
    case c10d::ReduceOp::BOR:
    case c10d::ReduceOp::BXOR:
      if (!whole) {
        refuse(op.op_ == c10d::ReduceOp::BAND ? "BAND" : op.op_ == c10d::ReduceOp::BOR ? "BOR" : "BXOR");
      }
      return op.op_ == c10d::ReduceOp::BAND ? 101 : op.op_ == c10d::ReduceOp::BOR ? 102 : 103;
    default:
      C10_THROW_ERROR(ValueError, c10::str("Unhandled ReduceOp ", static_cast<int>(op.op_)));
  }
}

at::Tensor contribution(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  if (op.op_ != c10d::ReduceOp::PREMUL_SUM) {
    return tensor;
  }
  // Its type is known from the operator; its type information may not be the same in all libraries.
  const auto* factor = static_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK_VALUE(factor != nullptr, "a pre-multiplied sum needs its factor: see torch.distributed._make_nccl_premul_sum");
  at::NoGradGuard no_grad;
  // PyTorch has no products of 8-bit floats.
  const auto type = tensor.scalar_type();
  if (c10::isFloat8Type(type)) {
    return contribution(tensor.to(at::kFloat), op).to(type);
  }
  if (factor->tensor_factor.defined()) {
    return at::mul(tensor, factor->tensor_factor.to(tensor.scalar_type()));
  }
  return at::mul(tensor, factor->double_factor);
}

}  // namespace hccl
