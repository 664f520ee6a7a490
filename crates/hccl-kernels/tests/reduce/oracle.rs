//! What a reduction should give for one element, told as plainly as possible.
//!
//! Elements are bits in a `u64`. The 16-bit floats go through the definition of the formats in
//! `f64`, not through bit tricks.

use std::cmp::Ordering;

use hccl_kernels::{DataType, ReduceOp};

/// Combines the bits of one element of each source, in order.
pub(crate) fn reduce(data_type: DataType, op: ReduceOp, elements: &[u64]) -> u64 {
    if let &[only] = elements {
        return only;
    }
    match data_type {
        DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64 => {
            integers(8 * data_type.size(), true, op, elements)
        }
        DataType::U8 | DataType::U16 | DataType::U32 | DataType::U64 => {
            integers(8 * data_type.size(), false, op, elements)
        }
        DataType::F64 => {
            let total =
                floats(op, elements.iter().map(|&bits| f64::from_bits(bits)), f64::total_cmp);
            total.map_or(0x7ff8_0000_0000_0000, f64::to_bits)
        }
        DataType::F32 => {
            let each = elements.iter().map(|&bits| f32::from_bits(bits as u32));
            floats(op, each, f32::total_cmp).map_or(0x7fc0_0000, |total| total.to_bits().into())
        }
        DataType::Bool => truths(op, elements),
        DataType::F16 => small_floats(HALF, op, elements),
        DataType::Bf16 => small_floats(BRAIN, op, elements),
        other => panic!("{other} is not reduced"),
    }
}

/// A 16-bit float format.
#[derive(Clone, Copy)]
struct Format {
    mantissa_bits: i32,
    bias: i32,
}

const HALF: Format = Format { mantissa_bits: 10, bias: 15 };
const BRAIN: Format = Format { mantissa_bits: 7, bias: 127 };

fn integers(bits: usize, signed: bool, op: ReduceOp, elements: &[u64]) -> u64 {
    let modulus = 1i128 << bits;
    let value = |element: u64| {
        let element = i128::from(element);
        if signed && element >= modulus / 2 { element - modulus } else { element }
    };
    let total = elements.iter().map(|&element| value(element)).reduce(|total, next| {
        let exact = match op {
            ReduceOp::Sum => total + next,
            // The product of two 64-bit numbers modulo 2^128 is right modulo 2^64.
            ReduceOp::Prod => total.wrapping_mul(next),
            ReduceOp::Max => total.max(next),
            ReduceOp::Min => total.min(next),
            ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => bit_by_bit(bits, op, total, next),
            other => panic!("unknown operator {other}"),
        };
        value(exact.rem_euclid(modulus) as u64)
    });
    total.expect("there is a source").rem_euclid(modulus) as u64
}

/// Combines the two's complements of two numbers, a binary place at a time.
fn bit_by_bit(bits: usize, op: ReduceOp, left: i128, right: i128) -> i128 {
    let place = |number: i128, at: usize| number.rem_euclid(1 << (at + 1)) / (1 << at);
    let one = |at: usize| {
        let ones = place(left, at) + place(right, at);
        let is_set = match op {
            ReduceOp::And => ones == 2,
            ReduceOp::Or => ones > 0,
            _ => ones == 1,
        };
        i128::from(is_set) << at
    };
    (0..bits).map(one).sum()
}

/// How many of several truth values are true decides.
fn truths(op: ReduceOp, elements: &[u64]) -> u64 {
    let ones = elements.iter().filter(|&&element| element != 0).count();
    let is_true = match op {
        ReduceOp::Sum | ReduceOp::Max | ReduceOp::Or => ones > 0,
        ReduceOp::Prod | ReduceOp::Min | ReduceOp::And => ones == elements.len(),
        ReduceOp::Xor => ones % 2 == 1,
        other => panic!("unknown operator {other}"),
    };
    is_true.into()
}

/// The total, or `None` for NaN.
fn floats<F>(
    op: ReduceOp,
    elements: impl Iterator<Item = F>,
    order: fn(&F, &F) -> Ordering,
) -> Option<F>
where
    F: Copy + PartialOrd + std::ops::Add<Output = F> + std::ops::Mul<Output = F>,
{
    let is_nan = |float: &F| float.partial_cmp(float).is_none();
    elements
        .map(|float| Some(float).filter(|float| !is_nan(float)))
        .reduce(|total, next| {
            let (total, next) = (total?, next?);
            let combined = match op {
                ReduceOp::Sum => total + next,
                ReduceOp::Prod => total * next,
                ReduceOp::Max => std::cmp::max_by(total, next, order),
                ReduceOp::Min => std::cmp::min_by(total, next, order),
                other => panic!("unknown operator {other}"),
            };
            Some(combined).filter(|float| !is_nan(float))
        })
        .expect("there is a source")
}

fn small_floats(format: Format, op: ReduceOp, elements: &[u64]) -> u64 {
    let each = elements.iter().map(|&bits| decode(format, bits) as f32);
    match floats(op, each, f32::total_cmp) {
        Some(total) => encode(format, total.into()),
        None => infinity(format) | 1 << (format.mantissa_bits - 1),
    }
}

fn infinity(format: Format) -> u64 {
    0x7fff >> format.mantissa_bits << format.mantissa_bits
}

fn decode(format: Format, bits: u64) -> f64 {
    let hidden = 1 << format.mantissa_bits;
    let magnitude = bits & 0x7fff;
    let (exponent, mantissa) = (magnitude / hidden, magnitude % hidden);
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    if magnitude > infinity(format) {
        return f64::NAN;
    }
    if magnitude == infinity(format) {
        return sign * f64::INFINITY;
    }
    let significand = if exponent == 0 { mantissa } else { hidden + mantissa };
    let scale = (exponent as i32).max(1) - format.bias - format.mantissa_bits;
    sign * significand as f64 * 2f64.powi(scale)
}

fn encode(format: Format, value: f64) -> u64 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    if size.is_infinite() {
        return sign | infinity(format);
    }
    // The power of two that one step of the mantissa stands for.
    let mut exponent = 1 - format.bias;
    while size >= 2f64.powi(exponent + 1) {
        exponent += 1;
    }
    let steps = (size / 2f64.powi(exponent - format.mantissa_bits)).round_ties_even() as u64;
    // Counted in steps, the numbers of one exponent follow those of the one below.
    let lower = ((exponent + format.bias - 1) as u64) << format.mantissa_bits;
    sign | (lower + steps).min(infinity(format))
}
