//! What a reduction must give for one element, by the sentences of `docs/numerics.md` and by
//! nothing else: no code of the engine, and no bit trick of its kernels.
//!
//! Elements are bits in a `u64`. Single precision is computed in double precision and rounded to
//! single after every operation, which is the same as rounding the exact result, since double
//! precision has more than twice the places. Shorter floats are in `small`.

use hccl::{DataType, ReduceOp};

use crate::small::small;
use crate::values::is_float;

/// Combines one element of each of several ranks.
pub(crate) fn reduce(data_type: DataType, op: ReduceOp, elements: &[u64]) -> u64 {
    assert!(elements.len() > 1, "a rank alone keeps its bits");
    match data_type {
        DataType::Bool => {
            let mut truths = elements.iter().map(|&element| element != 0);
            u64::from(match op {
                ReduceOp::Sum | ReduceOp::Max | ReduceOp::Or => truths.any(|truth| truth),
                ReduceOp::Xor => truths.filter(|&truth| truth).count() % 2 == 1,
                _ => truths.all(|truth| truth),
            })
        }
        _ if is_float(data_type) => floats(data_type, op, elements),
        _ if matches!(op, ReduceOp::And | ReduceOp::Or | ReduceOp::Xor) => {
            bits(data_type, op, elements)
        }
        _ => integers(data_type, op, elements),
    }
}

/// Whether the place of a result is set follows from how many elements have it set.
fn bits(data_type: DataType, op: ReduceOp, elements: &[u64]) -> u64 {
    let place = |at: usize| {
        let set = elements.iter().filter(|&&element| element / (1 << at) % 2 == 1).count();
        u64::from(match op {
            ReduceOp::And => set == elements.len(),
            ReduceOp::Or => set > 0,
            _ => set % 2 == 1,
        }) << at
    };
    (0..8 * data_type.size()).map(place).sum()
}

fn integers(data_type: DataType, op: ReduceOp, elements: &[u64]) -> u64 {
    let signed = matches!(data_type, DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64);
    let modulus = 1i128 << (8 * data_type.size());
    let wrapped = |exact: i128| {
        let rest = exact.rem_euclid(modulus);
        if signed && rest >= modulus / 2 { rest - modulus } else { rest }
    };
    let values = elements.iter().map(|&element| wrapped(element.into()));
    let total = match op {
        ReduceOp::Sum => wrapped(values.sum()),
        ReduceOp::Prod => values.fold(1i128, |product, value| wrapped(product.wrapping_mul(value))),
        ReduceOp::Max => values.max().expect("there are elements"),
        ReduceOp::Min => values.min().expect("there are elements"),
        // The sum wraps first; the quotient is cut towards zero, as Rust's division does.
        ReduceOp::Avg => wrapped(values.sum()) / elements.len() as i128,
        other => panic!("{other}"),
    };
    total.rem_euclid(modulus) as u64
}

fn floats(data_type: DataType, op: ReduceOp, elements: &[u64]) -> u64 {
    let values: Vec<f64> = elements.iter().map(|&bits| decode(data_type, bits)).collect();
    if values.iter().any(|value| value.is_nan()) {
        return nan(data_type);
    }
    if matches!(op, ReduceOp::Max | ReduceOp::Min) {
        // A larger number has larger bits, or smaller ones below zero.
        let sign = 1u64 << (8 * data_type.size() - 1);
        let key = |bits: u64| match bits & sign {
            0 => i128::from(bits),
            _ => -1 - i128::from(bits & !sign),
        };
        let keyed = elements.iter().copied();
        let found = match op {
            ReduceOp::Max => keyed.max_by_key(|&bits| key(bits)),
            _ => keyed.min_by_key(|&bits| key(bits)),
        };
        return found.expect("there are elements");
    }
    // What each operation is rounded to.
    let rounded = |exact: f64| match data_type {
        DataType::F64 => exact,
        _ => f64::from(exact as f32),
    };
    let total = values.into_iter().reduce(|total, value| {
        rounded(if op == ReduceOp::Prod { total * value } else { total + value })
    });
    let mut total = total.expect("there are elements");
    if op == ReduceOp::Avg {
        total = rounded(total / elements.len() as f64);
    }
    if total.is_nan() { nan(data_type) } else { encode(data_type, total) }
}

/// The one NaN that comes out: positive, quiet, without payload.
fn nan(data_type: DataType) -> u64 {
    match data_type {
        DataType::F32 => 0x7fc0_0000,
        DataType::F64 => 0x7ff8_0000_0000_0000,
        _ => small(data_type).nan,
    }
}

fn decode(data_type: DataType, bits: u64) -> f64 {
    match data_type {
        DataType::F64 => f64::from_bits(bits),
        DataType::F32 => f32::from_bits(bits as u32).into(),
        _ => small(data_type).value(bits),
    }
}

/// The bits of a number; of the nearest one, for a float of fewer than 32 bits. A whole number that
/// is none is cut off.
pub(crate) fn encode(data_type: DataType, value: f64) -> u64 {
    match data_type {
        DataType::F64 => value.to_bits(),
        // Exact: a number of single precision.
        DataType::F32 => (value as f32).to_bits().into(),
        DataType::Bool => u64::from(value != 0.0),
        _ if is_float(data_type) => small(data_type).nearest(value),
        _ => value as i64 as u64 & (u64::MAX >> (64 - 8 * data_type.size())),
    }
}
