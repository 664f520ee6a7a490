//! Which data types and reductions the interface supports: the union over the products of the
//! public support lists.

use std::ffi::c_int;

use hccl::{DataType, ReduceOp};

use crate::errors::Failure;

/// A type that operators move.
pub(crate) fn movable(call: &str, code: c_int) -> Result<DataType, Failure> {
    let found = DataType::from_code(code).filter(|data_type| *data_type != DataType::I128);
    found.ok_or_else(|| {
        let expect = "int8, int16, int32, float16, float32, int64, uint64, uint8, uint16, uint32, \
                      float64, bfloat16, hif8, fp8e4m3, fp8e5m2 or fp8e8m0";
        Failure::unsupported(call, "dataType", &named(code), expect)
    })
}

/// A type and an operator that reduce.
pub(crate) fn reducible(
    call: &str,
    data_type: c_int,
    op: c_int,
) -> Result<(DataType, ReduceOp), Failure> {
    use DataType::{Bf16, F16, F32, F64, I8, I16, I32, I64, U64};
    const TYPES: [DataType; 9] = [I8, I16, I32, I64, U64, F16, F32, F64, Bf16];
    let found = DataType::from_code(data_type).filter(|data_type| TYPES.contains(data_type));
    let data_type = found.ok_or_else(|| {
        let expect = "int8, int16, int32, int64, uint64, float16, float32, float64 or bfloat16";
        Failure::unsupported(call, "dataType", &named(data_type), expect)
    })?;
    let op = ReduceOp::from_code(op).ok_or_else(|| {
        Failure::unsupported(call, "op", &op.to_string(), "sum (0), prod (1), max (2) or min (3)")
    })?;
    if op == ReduceOp::Prod && matches!(data_type, I16 | Bf16) {
        let value = format!("prod with {data_type}");
        return Err(Failure::unsupported(call, "op", &value, "sum, max or min for this type"));
    }
    Ok((data_type, op))
}

fn named(code: c_int) -> String {
    DataType::from_code(code).map_or_else(|| code.to_string(), |data_type| data_type.to_string())
}
