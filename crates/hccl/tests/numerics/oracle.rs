//! What a reduction must give for one element, by the sentences of `docs/numerics.md` and by
//! nothing else: no code of the engine, and no bit trick of its kernels.
//!
//! Elements are bits in a `u64`. Single precision is computed in double precision and rounded to
//! single after every operation, which is the same as rounding the exact result, since double
//! precision has more than twice the places. A 16-bit float is found by looking for the nearest one
//! in the list of all of them.

use std::sync::LazyLock;

use hccl::{DataType, ReduceOp};

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
        DataType::F16 | DataType::Bf16 | DataType::F32 | DataType::F64 => {
            floats(data_type, op, elements)
        }
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
        DataType::F16 => 0x7e00,
        DataType::Bf16 => 0x7fc0,
        DataType::F32 => 0x7fc0_0000,
        _ => 0x7ff8_0000_0000_0000,
    }
}

fn decode(data_type: DataType, bits: u64) -> f64 {
    match data_type {
        DataType::F64 => f64::from_bits(bits),
        DataType::F32 => f32::from_bits(bits as u32).into(),
        _ => small(data_type).value(bits as u16),
    }
}

/// The bits of a number; for the 16-bit floats, of the nearest one.
fn encode(data_type: DataType, value: f64) -> u64 {
    match data_type {
        DataType::F64 => value.to_bits(),
        // Exact: a number of single precision.
        DataType::F32 => (value as f32).to_bits().into(),
        _ => small(data_type).nearest(value).into(),
    }
}

/// A 16-bit format: all its numbers from 0 on, with what would follow the largest at the end.
struct Small {
    ascending: Vec<f64>,
}

fn small(data_type: DataType) -> &'static Small {
    static HALF: LazyLock<Small> = LazyLock::new(|| Small::new(10, 15));
    static BRAIN: LazyLock<Small> = LazyLock::new(|| Small::new(7, 127));
    match data_type {
        DataType::F16 => &HALF,
        DataType::Bf16 => &BRAIN,
        other => panic!("{other} is no 16-bit float"),
    }
}

impl Small {
    fn new(mantissa_bits: u32, bias: i32) -> Self {
        let number = |bits: u32| {
            let (exponent, mantissa) = (bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1));
            let hidden = if exponent == 0 { 0 } else { 1 << mantissa_bits };
            let scale = exponent.max(1).cast_signed() - bias - mantissa_bits.cast_signed();
            f64::from(hidden + mantissa) * 2f64.powi(scale)
        };
        // The exponent of all ones begins with infinity, which stands where the next number would.
        let infinity = 0x7fff >> mantissa_bits << mantissa_bits;
        Self { ascending: (0..=infinity).map(number).collect() }
    }

    fn infinity(&self) -> u16 {
        (self.ascending.len() - 1) as u16
    }

    fn value(&self, bits: u16) -> f64 {
        let magnitude = bits & 0x7fff;
        let size = match magnitude.cmp(&self.infinity()) {
            std::cmp::Ordering::Less => self.ascending[usize::from(magnitude)],
            std::cmp::Ordering::Equal => f64::INFINITY,
            std::cmp::Ordering::Greater => f64::NAN,
        };
        if bits & 0x8000 == 0 { size } else { -size }
    }

    /// The nearest number; of two, the one with even bits.
    fn nearest(&self, value: f64) -> u16 {
        let (sign, size) = (if value.is_sign_negative() { 0x8000 } else { 0 }, value.abs());
        let below = self.ascending.partition_point(|&number| number <= size) - 1;
        if below == usize::from(self.infinity()) {
            return sign | self.infinity();
        }
        // Exact: two neighbours have few places.
        let middle = (self.ascending[below] + self.ascending[below + 1]) / 2.0;
        let up = size > middle || size == middle && below % 2 == 1;
        sign | (below + usize::from(up)) as u16
    }
}
