//! What a reduction should give for one element, told as plainly as possible.
//!
//! Elements are bits in a `u64`. The 8-bit and 16-bit floats go through the definition of the formats
//! in `f64`, not through bit tricks. An average is divided by the number of elements.

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
            let by = divisor(op, elements);
            total.map_or(0x7ff8_0000_0000_0000, |total| (total / by).to_bits())
        }
        DataType::F32 => {
            let each = elements.iter().map(|&bits| f32::from_bits(bits as u32));
            let by = divisor(op, elements) as f32;
            let total = floats(op, each, f32::total_cmp);
            total.map_or(0x7fc0_0000, |total| (total / by).to_bits().into())
        }
        DataType::Bool => truths(op, elements),
        DataType::F16 => small_floats(HALF, op, elements),
        DataType::Bf16 => small_floats(BRAIN, op, elements),
        DataType::F8e4m3 => small_floats(E4M3, op, elements),
        DataType::F8e5m2 => small_floats(E5M2, op, elements),
        DataType::F8e4m3fnuz => small_floats(E4M3_FNUZ, op, elements),
        DataType::F8e5m2fnuz => small_floats(E5M2_FNUZ, op, elements),
        other => panic!("{other} is not reduced"),
    }
}

/// What a total is divided by.
fn divisor(op: ReduceOp, elements: &[u64]) -> f64 {
    if op == ReduceOp::Avg { elements.len() as f64 } else { 1.0 }
}

/// A float format of few bits.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    mantissa_bits: i32,
    bias: i32,
    /// The largest number.
    largest: u64,
    /// What is too large.
    beyond: Beyond,
    /// The NaN that comes out.
    nan: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// An infinity, right above the largest number.
    Infinity,
    /// NaN, as all that is above the largest number.
    Nan,
    /// NaN, where others have -0; there is one zero.
    NanAtNegativeZero,
}

const HALF: Format = Format {
    bits: 16,
    mantissa_bits: 10,
    bias: 15,
    largest: 0x7bff,
    beyond: Beyond::Infinity,
    nan: 0x7e00,
};
const BRAIN: Format = Format { mantissa_bits: 7, bias: 127, largest: 0x7f7f, nan: 0x7fc0, ..HALF };
const E5M2: Format = Format { bits: 8, mantissa_bits: 2, largest: 0x7b, nan: 0x7f, ..HALF };
const E4M3: Format =
    Format { mantissa_bits: 3, bias: 7, largest: 0x7e, beyond: Beyond::Nan, ..E5M2 };
const E4M3_FNUZ: Format =
    Format { bias: 8, largest: 0x7f, beyond: Beyond::NanAtNegativeZero, nan: 0x80, ..E4M3 };
const E5M2_FNUZ: Format = Format { mantissa_bits: 2, bias: 16, ..E4M3_FNUZ };

fn integers(bits: usize, signed: bool, op: ReduceOp, elements: &[u64]) -> u64 {
    let modulus = 1i128 << bits;
    let value = |element: u64| {
        let element = i128::from(element);
        if signed && element >= modulus / 2 { element - modulus } else { element }
    };
    let total = elements.iter().map(|&element| value(element)).reduce(|total, next| {
        let exact = match op {
            ReduceOp::Sum | ReduceOp::Avg => total + next,
            // The product of two 64-bit numbers modulo 2^128 is right modulo 2^64.
            ReduceOp::Prod => total.wrapping_mul(next),
            ReduceOp::Max => total.max(next),
            ReduceOp::Min => total.min(next),
            ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => bit_by_bit(bits, op, total, next),
            other => panic!("unknown operator {other}"),
        };
        value(exact.rem_euclid(modulus) as u64)
    });
    let total = total.expect("there is a source");
    let total = if op == ReduceOp::Avg { total / elements.len() as i128 } else { total };
    total.rem_euclid(modulus) as u64
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
                ReduceOp::Sum | ReduceOp::Avg => total + next,
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
    let by = divisor(op, elements) as f32;
    match floats(op, each, f32::total_cmp) {
        Some(total) => encode(format, (total / by).into()),
        None => format.nan,
    }
}

fn decode(format: Format, bits: u64) -> f64 {
    let hidden = 1 << format.mantissa_bits;
    let negative = 1 << (format.bits - 1);
    let magnitude = bits % negative;
    let (exponent, mantissa) = (magnitude / hidden, magnitude % hidden);
    let sign = if bits < negative { 1.0 } else { -1.0 };
    if format.beyond == Beyond::NanAtNegativeZero && bits == negative {
        return f64::NAN;
    }
    if magnitude > format.largest {
        let infinite = format.beyond == Beyond::Infinity && magnitude == format.largest + 1;
        return if infinite { sign * f64::INFINITY } else { f64::NAN };
    }
    let significand = if exponent == 0 { mantissa } else { hidden + mantissa };
    let scale = (exponent as i32).max(1) - format.bias - format.mantissa_bits;
    sign * significand as f64 * 2f64.powi(scale)
}

fn encode(format: Format, value: f64) -> u64 {
    let sign = if value.is_sign_negative() { 1 << (format.bits - 1) } else { 0 };
    let size = value.abs();
    let beyond = match format.beyond {
        Beyond::Infinity => sign | (format.largest + 1),
        Beyond::Nan | Beyond::NanAtNegativeZero => format.nan,
    };
    if size.is_infinite() {
        return beyond;
    }
    // The power of two that one step of the mantissa stands for.
    let mut exponent = 1 - format.bias;
    while size >= 2f64.powi(exponent + 1) {
        exponent += 1;
    }
    let steps = (size / 2f64.powi(exponent - format.mantissa_bits)).round_ties_even() as u64;
    // Counted in steps, the numbers of one exponent follow those of the one below.
    let lower = ((exponent + format.bias - 1) as u64) << format.mantissa_bits;
    match lower + steps {
        0 if format.beyond == Beyond::NanAtNegativeZero => 0,
        steps if steps > format.largest => beyond,
        steps => sign | steps,
    }
}
