//! Values whose reduction is exact in every type, and what must come out.

use hccl::{Element, ReduceOp};

/// An element that the benchmark can fill and check.
pub(super) trait Sample: Element + PartialEq + std::fmt::Debug {
    fn from_small(value: u32) -> Self;
    /// The average of values with this sum, as the type has it.
    fn average(sum: u32, ranks: u32) -> Self;
}

macro_rules! integers {
    ($($integer:ty),+) => {$(
        impl Sample for $integer {
            fn from_small(value: u32) -> Self {
                value as Self
            }

            fn average(sum: u32, ranks: u32) -> Self {
                (sum / ranks) as Self
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($float:ty),+) => {$(
        impl Sample for $float {
            fn from_small(value: u32) -> Self {
                value as Self
            }

            fn average(sum: u32, ranks: u32) -> Self {
                sum as Self / ranks as Self
            }
        }
    )+};
}

floats!(f32, f64);

macro_rules! small_floats {
    ($($float:ty),+) => {$(
        impl Sample for $float {
            fn from_small(value: u32) -> Self {
                Self::from_f32(value as f32)
            }

            fn average(sum: u32, ranks: u32) -> Self {
                Self::from_f32(sum as f32 / ranks as f32)
            }
        }
    )+};
}

small_floats!(half::f16, half::bf16);

/// What a rank has at an element: 1 or 2 for products of few ranks, else 0 to 2.
pub(super) fn value(op: ReduceOp, rank: u32, element: usize) -> u32 {
    let mixed =
        (element as u32).wrapping_mul(0x9e37_79b9).wrapping_add(rank.wrapping_mul(0x85eb_ca6b));
    match op {
        // Not more than four factors of 2: 16 is a number of every type.
        ReduceOp::Prod => 1 + u32::from(rank < 4 && mixed >> 31 == 1),
        _ => (mixed >> 16) % 3,
    }
}

/// The reduction of the values of all ranks.
pub(super) fn reduced<T: Sample>(op: ReduceOp, ranks: u32, element: usize) -> T {
    let values = (0..ranks).map(|rank| value(op, rank, element));
    match op {
        ReduceOp::Prod => T::from_small(values.product()),
        ReduceOp::Max => T::from_small(values.max().unwrap_or(0)),
        ReduceOp::Min => T::from_small(values.min().unwrap_or(0)),
        ReduceOp::Avg => T::average(values.sum(), ranks),
        _ => T::from_small(values.sum()),
    }
}
