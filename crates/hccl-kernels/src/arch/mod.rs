//! One shell for each instruction set: the same generic loop, compiled with other features on.
//!
//! A shell also carries the few steps that the vectoriser spoils. Their scalar definitions stand
//! here as defaults and say what a shell's own version must compute, bit for bit.

#[cfg(target_arch = "x86_64")]
mod avx;
#[cfg(target_arch = "x86_64")]
mod avx_copy;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx_copy::{copy, end_of_stream};
pub(crate) use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

use crate::element::{Bf16, Element, F16};
use crate::half::{f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::lanes::{map, zip};
use crate::operator::{Number, Operator};

/// A compiled reduction: targets, sources, number of elements, and what an average divides by.
///
/// Whoever calls one owes it the demands of [`crate::Reducer::run`], and a CPU that has the
/// instruction set of the shell it came from.
pub(crate) type Kernel = unsafe fn(&[*mut u8], &[*const u8], usize, u32);

/// An instruction set as a type.
pub(crate) trait Shell {
    /// The loop for one element type and operator, `N` elements at a time.
    fn kernel<E: Element, O: Operator<E::Accumulator>, const N: usize>() -> Kernel;

    /// Widens IEEE half precision.
    ///
    /// # Safety
    /// The CPU has the instruction set of `Self`.
    #[inline(always)]
    unsafe fn widen_f16<const N: usize>(lanes: [F16; N]) -> [f32; N] {
        map(lanes, |lane| f16_to_f32(lane.0))
    }

    /// Rounds to IEEE half precision.
    ///
    /// # Safety
    /// The CPU has the instruction set of `Self`.
    #[inline(always)]
    unsafe fn narrow_f16<const N: usize>(lanes: [f32; N]) -> [F16; N] {
        map(lanes, |lane| F16(f32_to_f16(lane)))
    }

    /// Rounds to bfloat16.
    ///
    /// # Safety
    /// The CPU has the instruction set of `Self`.
    #[inline(always)]
    unsafe fn narrow_bf16<const N: usize>(lanes: [f32; N]) -> [Bf16; N] {
        map(lanes, |lane| Bf16(f32_to_bf16(lane)))
    }

    /// The larger of each pair.
    ///
    /// # Safety
    /// The CPU has the instruction set of `Self`.
    #[inline(always)]
    unsafe fn max_f32<const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
        zip(left, right, Number::max)
    }

    /// The smaller of each pair.
    ///
    /// # Safety
    /// The CPU has the instruction set of `Self`.
    #[inline(always)]
    unsafe fn min_f32<const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
        zip(left, right, Number::min)
    }
}
