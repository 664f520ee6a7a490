//! Values that differ by rank and place, and what reductions of them must give. Element by
//! element, by definition, with the 16-bit floats of a library that the engine does not use.

use half::{bf16, f16};

/// A data type of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    I8,
    I16,
    I32,
    F16,
    F32,
    I64,
    U64,
    F64,
    Bf16,
}

/// A reduction of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Sum,
    Prod,
    Max,
    Min,
}

impl Type {
    pub(crate) const ALL: [Self; 9] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::F16,
        Self::F32,
        Self::I64,
        Self::U64,
        Self::F64,
        Self::Bf16,
    ];

    /// Number of the type in the interface.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::I8 => 0,
            Self::I16 => 1,
            Self::I32 => 2,
            Self::F16 => 3,
            Self::F32 => 4,
            Self::I64 => 5,
            Self::U64 => 6,
            Self::F64 => 10,
            Self::Bf16 => 11,
        }
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether the interface reduces this type so.
    pub(crate) fn supports(self, op: Op) -> bool {
        op != Op::Prod || !matches!(self, Self::I16 | Self::Bf16)
    }

    /// Bits of an element, in the low bits. Half of the floats are of everyday size, the others
    /// have any bits at all: NaN, infinities, subnormals.
    pub(crate) fn value(self, seed: u64, rank: u32, index: u64) -> u64 {
        let bits = mix(seed ^ u64::from(rank) << 56 ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let everyday = (bits >> 40) as f64 / f64::from(1 << 20) - 8.0;
        let wild = bits & 1 == 0;
        let bits = bits >> 1;
        match self {
            Self::F16 if !wild => f16::from_f64(everyday).to_bits().into(),
            Self::Bf16 if !wild => bf16::from_f64(everyday).to_bits().into(),
            Self::F32 if !wild => (everyday as f32).to_bits().into(),
            Self::F64 if !wild => everyday.to_bits(),
            Self::F64 | Self::I64 | Self::U64 => bits << 1 | bits >> 62,
            _ => bits & (u64::MAX >> (64 - 8 * self.size())),
        }
    }

    /// The reduction of one element over all ranks, in rank order.
    pub(crate) fn reduce(self, op: Op, values: impl Iterator<Item = u64> + Clone) -> u64 {
        let alone = values.clone().nth(1).is_none();
        if alone {
            // One rank keeps its bits, whatever they are.
            return values.into_iter().next().unwrap_or_default();
        }
        let ints = |wrap: fn(i64) -> u64, read: fn(u64) -> i64| {
            let combine = |a: i64, b: i64| match op {
                Op::Sum => a.wrapping_add(b),
                Op::Prod => a.wrapping_mul(b),
                Op::Max => a.max(b),
                Op::Min => a.min(b),
            };
            let result = values.clone().map(read).reduce(|a, b| read(wrap(combine(a, b))));
            wrap(result.unwrap_or_default())
        };
        match self {
            Self::I8 => ints(|v| u64::from(v as u8), |b| i64::from(b as u8 as i8)),
            Self::I16 => ints(|v| u64::from(v as u16), |b| i64::from(b as u16 as i16)),
            Self::I32 => ints(|v| u64::from(v as u32), |b| i64::from(b as u32 as i32)),
            Self::I64 => ints(|v| v as u64, |b| b as i64),
            Self::U64 => values
                .reduce(|a, b| match op {
                    Op::Sum => a.wrapping_add(b),
                    Op::Prod => a.wrapping_mul(b),
                    Op::Max => a.max(b),
                    Op::Min => a.min(b),
                })
                .unwrap_or_default(),
            Self::F16 => {
                let sum = single(op, values.map(|b| f16::from_bits(b as u16).to_f32()));
                f16::from_f32(sum).to_bits().into()
            }
            Self::Bf16 => {
                let sum = single(op, values.map(|b| bf16::from_bits(b as u16).to_f32()));
                bf16::from_f32(sum).to_bits().into()
            }
            Self::F32 => single(op, values.map(|b| f32::from_bits(b as u32))).to_bits().into(),
            Self::F64 => {
                let combine = |a: f64, b: f64| match op {
                    Op::Sum => a + b,
                    Op::Prod => a * b,
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    Op::Max if a == b => {
                        if a.is_sign_negative() {
                            b
                        } else {
                            a
                        }
                    }
                    Op::Min if a == b => {
                        if a.is_sign_negative() {
                            a
                        } else {
                            b
                        }
                    }
                    Op::Max => {
                        if a > b {
                            a
                        } else {
                            b
                        }
                    }
                    Op::Min => {
                        if a < b {
                            a
                        } else {
                            b
                        }
                    }
                };
                values.map(f64::from_bits).reduce(combine).unwrap_or_default().to_bits()
            }
        }
    }

    /// The bits, with every NaN made the same: which NaN comes out is not part of the contract.
    pub(crate) fn canonical(self, bits: u64) -> u64 {
        let nan = match self {
            Self::F16 => f16::from_bits(bits as u16).is_nan(),
            Self::Bf16 => bf16::from_bits(bits as u16).is_nan(),
            Self::F32 => f32::from_bits(bits as u32).is_nan(),
            Self::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        };
        if nan { 0x7ff8_dead } else { bits }
    }
}

fn single(op: Op, values: impl Iterator<Item = f32>) -> f32 {
    let combine = |a: f32, b: f32| match op {
        Op::Sum => a + b,
        Op::Prod => a * b,
        _ if a.is_nan() || b.is_nan() => f32::NAN,
        Op::Max if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        Op::Min if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        Op::Max => {
            if a > b {
                a
            } else {
                b
            }
        }
        Op::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
    };
    values.reduce(combine).unwrap_or_default()
}

impl Op {
    pub(crate) const ALL: [Self; 4] = [Self::Sum, Self::Prod, Self::Max, Self::Min];

    /// Number of the reduction in the interface.
    pub(crate) fn code(self) -> i32 {
        self as i32
    }
}

/// Spreads the bits of a number (the finisher of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A number that stands for a row of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    pub(crate) const EMPTY: Self = Self(0x5bd1_e995);

    pub(crate) fn push(&mut self, bits: u64) {
        self.0 = (self.0.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}
