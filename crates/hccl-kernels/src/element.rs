//! How elements of each type lie in memory, and in which type they are accumulated.
//!
//! The 8-bit and 16-bit floats are accumulated in `f32` and rounded once, at the end. Floats leave with the
//! canonical NaN: which payload an addition propagates depends on the CPU and on the order of its
//! operands, which the compiler may swap. The two instructions this takes do not show: `f32` sums
//! ran as fast as `i32` sums, from the second-level cache and from memory.

use std::marker::PhantomData;

use crate::arch::Shell;
use crate::float8;
use crate::half::bf16_to_f32;
use crate::lanes::map;
use crate::operator::{Number, Truth};

/// An element as it lies in memory. Every pattern of bits is a valid element.
pub(crate) trait Element: Copy {
    /// Type in which the element is accumulated.
    type Accumulator: Number;

    /// Converts elements to accumulators, exactly.
    ///
    /// # Safety
    /// The CPU has the instruction set of `S`.
    unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [Self::Accumulator; N];

    /// Rounds finished accumulators to elements.
    ///
    /// # Safety
    /// The CPU has the instruction set of `S`.
    unsafe fn narrow<S: Shell, const N: usize>(lanes: [Self::Accumulator; N]) -> [Self; N];
}

macro_rules! integers {
    ($($integer:ty),+) => {$(
        impl Element for $integer {
            type Accumulator = Self;

            #[inline(always)]
            unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [Self; N] {
                lanes
            }

            #[inline(always)]
            unsafe fn narrow<S: Shell, const N: usize>(lanes: [Self; N]) -> [Self; N] {
                lanes
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($float:ty),+) => {$(
        impl Element for $float {
            type Accumulator = Self;

            #[inline(always)]
            unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [Self; N] {
                lanes
            }

            #[inline(always)]
            unsafe fn narrow<S: Shell, const N: usize>(lanes: [Self; N]) -> [Self; N] {
                map(lanes, |lane| if lane.is_nan() { <$float>::NAN } else { lane })
            }
        }
    )+};
}

floats!(f32, f64);

/// A truth value in a byte: 0 is false, all else true; results are 0 or 1.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bool(u8);

impl Element for Bool {
    type Accumulator = Truth;

    #[inline(always)]
    unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [Truth; N] {
        map(lanes, |lane| Truth(lane.0 != 0))
    }

    #[inline(always)]
    unsafe fn narrow<S: Shell, const N: usize>(lanes: [Truth; N]) -> [Self; N] {
        map(lanes, |lane| Self(lane.0.into()))
    }
}

/// IEEE half precision.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F16(pub(crate) u16);

impl Element for F16 {
    type Accumulator = f32;

    #[inline(always)]
    unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [f32; N] {
        // SAFETY: the same demand.
        unsafe { S::widen_f16(lanes) }
    }

    #[inline(always)]
    unsafe fn narrow<S: Shell, const N: usize>(lanes: [f32; N]) -> [Self; N] {
        // SAFETY: the same demand.
        unsafe { S::narrow_f16(lanes) }
    }
}

/// The upper half of an `f32`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bf16(pub(crate) u16);

impl Element for Bf16 {
    type Accumulator = f32;

    #[inline(always)]
    unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [f32; N] {
        map(lanes, |lane| bf16_to_f32(lane.0))
    }

    #[inline(always)]
    unsafe fn narrow<S: Shell, const N: usize>(lanes: [f32; N]) -> [Self; N] {
        // SAFETY: the same demand.
        unsafe { S::narrow_bf16(lanes) }
    }
}

/// An 8-bit float of one of the formats.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Float8<F>(u8, PhantomData<F>);

impl<F: float8::Format> Element for Float8<F> {
    type Accumulator = f32;

    #[inline(always)]
    unsafe fn widen<S: Shell, const N: usize>(lanes: [Self; N]) -> [f32; N] {
        map(lanes, |lane| float8::widen::<F>(lane.0))
    }

    #[inline(always)]
    unsafe fn narrow<S: Shell, const N: usize>(lanes: [f32; N]) -> [Self; N] {
        map(lanes, |lane| Self(float8::narrow::<F>(lane), PhantomData))
    }
}
