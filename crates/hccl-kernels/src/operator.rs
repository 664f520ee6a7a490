//! What the operators do to pairs of accumulators.
//!
//! Integers wrap. Floats follow IEEE 754: sums and products are single rounded operations, never
//! fused; `max` and `min` are those of the 2019 edition, where a NaN on either side wins and -0
//! lies below +0. That makes them associative and commutative, so that a maximum or minimum is
//! the same bits in whatever order ranks are combined.

use crate::arch::Shell;
use crate::lanes::zip;

/// Arithmetic of an accumulator.
pub(crate) trait Number: Copy {
    fn sum(self, other: Self) -> Self;
    fn prod(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// The quotient; of integers without the rest.
    fn divide(self, by: u32) -> Self;

    /// `max` on each pair of lanes.
    ///
    /// # Safety
    /// The CPU has the instruction set of `S`.
    #[inline(always)]
    unsafe fn max_lanes<S: Shell, const N: usize>(left: [Self; N], right: [Self; N]) -> [Self; N] {
        zip(left, right, Self::max)
    }

    /// `min` on each pair of lanes.
    ///
    /// # Safety
    /// The CPU has the instruction set of `S`.
    #[inline(always)]
    unsafe fn min_lanes<S: Shell, const N: usize>(left: [Self; N], right: [Self; N]) -> [Self; N] {
        zip(left, right, Self::min)
    }
}

/// Accumulators whose single bits can be combined.
pub(crate) trait Bits: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

/// An operator as a type, so that each loop is compiled for exactly one. It says on which
/// accumulators it works.
pub(crate) trait Operator<A> {
    /// Whether what was combined is divided at the end.
    const DIVIDES: bool = false;

    /// Applies the operator to each pair of lanes.
    ///
    /// # Safety
    /// The CPU has the instruction set of `S`.
    unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N];
}

pub(crate) struct Sum;

impl<A: Number> Operator<A> for Sum {
    #[inline(always)]
    unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N] {
        zip(left, right, A::sum)
    }
}

/// A sum that is divided before it is rounded.
pub(crate) struct Avg;

impl<A: Number> Operator<A> for Avg {
    const DIVIDES: bool = true;

    #[inline(always)]
    unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N] {
        zip(left, right, A::sum)
    }
}

pub(crate) struct Prod;

impl<A: Number> Operator<A> for Prod {
    #[inline(always)]
    unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N] {
        zip(left, right, A::prod)
    }
}

pub(crate) struct Max;

impl<A: Number> Operator<A> for Max {
    #[inline(always)]
    unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N] {
        // SAFETY: the same demand.
        unsafe { A::max_lanes::<S, N>(left, right) }
    }
}

pub(crate) struct Min;

impl<A: Number> Operator<A> for Min {
    #[inline(always)]
    unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N] {
        // SAFETY: the same demand.
        unsafe { A::min_lanes::<S, N>(left, right) }
    }
}

macro_rules! bitwise {
    ($($operator:ident => $method:ident),+) => {$(
        pub(crate) struct $operator;

        impl<A: Bits> Operator<A> for $operator {
            #[inline(always)]
            unsafe fn combine<S: Shell, const N: usize>(left: [A; N], right: [A; N]) -> [A; N] {
                zip(left, right, A::$method)
            }
        }
    )+};
}

bitwise!(And => and, Or => or, Xor => xor);

macro_rules! integers {
    ($($integer:ty => $wide:ty),+) => {$(
        impl Bits for $integer {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }

        impl Number for $integer {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn prod(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self < other { other } else { self }
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if other < self { other } else { self }
            }

            #[inline(always)]
            fn divide(self, by: u32) -> Self {
                // A quotient is no larger than what is divided.
                (<$wide>::from(self) / <$wide>::from(Ord::max(by, 1))) as Self
            }
        }
    )+};
}

integers!(
    i8 => i64, i16 => i64, i32 => i64, i64 => i128,
    u8 => u32, u16 => u32, u32 => u32, u64 => u64
);

/// A truth value: sums and maxima are "or", products and minima "and".
#[derive(Clone, Copy)]
pub(crate) struct Truth(pub(crate) bool);

impl Number for Truth {
    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    fn prod(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    fn divide(self, _: u32) -> Self {
        self
    }
}

impl Bits for Truth {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

// The standard library's `max` and `min` ignore a NaN, and `maximum` is not stable. Each of the
// two selections below is one instruction on x86. They disagree only for equal operands, where the
// bits differ only if both are zeros: `and` then keeps the sign of +0, `or` that of -0.
macro_rules! floats {
    ($($float:ty { $($lanes:item)* })+) => {$(
        impl Number for $float {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn prod(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                let first = if self > other { self } else { other };
                let second = if other > self { other } else { self };
                let larger = <$float>::from_bits(first.to_bits() & second.to_bits());
                if self.is_nan() | other.is_nan() { <$float>::NAN } else { larger }
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                let first = if self < other { self } else { other };
                let second = if other < self { other } else { self };
                let smaller = <$float>::from_bits(first.to_bits() | second.to_bits());
                if self.is_nan() | other.is_nan() { <$float>::NAN } else { smaller }
            }

            #[inline(always)]
            fn divide(self, by: u32) -> Self {
                self / by as $float
            }

            $($lanes)*
        }
    )+};
}

floats! {
    f32 {
        #[inline(always)]
        unsafe fn max_lanes<S: Shell, const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
            // SAFETY: the same demand.
            unsafe { S::max_f32(left, right) }
        }

        #[inline(always)]
        unsafe fn min_lanes<S: Shell, const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
            // SAFETY: the same demand.
            unsafe { S::min_f32(left, right) }
        }
    }
    f64 {}
}
