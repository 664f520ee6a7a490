//! The shells for AVX2 and AVX-512.
//!
//! Both use the same 256-bit intrinsics for the steps written by hand, so that one form of them is
//! tested on every machine; the rest of the loop is the compiler's, at either width.

use super::{Kernel, Shell, avx};
use crate::body::body;
use crate::element::{Bf16, Element, F16};
use crate::operator::Operator;

macro_rules! shell {
    ($shell:ident, $function:ident, $features:literal) => {
        pub(crate) struct $shell;

        impl Shell for $shell {
            fn kernel<E: Element, O: Operator<E::Accumulator>, const N: usize>() -> Kernel {
                $function::<E, O, N>
            }

            #[inline(always)]
            unsafe fn widen_f16<const N: usize>(lanes: [F16; N]) -> [f32; N] {
                // SAFETY: the shell's instruction set includes AVX2 and F16C.
                unsafe { avx::widen_f16(lanes) }
            }

            #[inline(always)]
            unsafe fn narrow_f16<const N: usize>(lanes: [f32; N]) -> [F16; N] {
                // SAFETY: the shell's instruction set includes AVX2 and F16C.
                unsafe { avx::narrow_f16(lanes) }
            }

            #[inline(always)]
            unsafe fn narrow_bf16<const N: usize>(lanes: [f32; N]) -> [Bf16; N] {
                // SAFETY: the shell's instruction set includes AVX2 and F16C.
                unsafe { avx::narrow_bf16(lanes) }
            }

            #[inline(always)]
            unsafe fn max_f32<const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
                // SAFETY: the shell's instruction set includes AVX2 and F16C.
                unsafe { avx::max_f32(left, right) }
            }

            #[inline(always)]
            unsafe fn min_f32<const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
                // SAFETY: the shell's instruction set includes AVX2 and F16C.
                unsafe { avx::min_f32(left, right) }
            }
        }

        /// # Safety
        /// As for [`crate::Reducer::run`], with elements of type `E`.
        #[target_feature(enable = $features)]
        unsafe fn $function<E: Element, O: Operator<E::Accumulator>, const N: usize>(
            targets: &[*mut u8],
            sources: &[*const u8],
            len: usize,
            divisor: u32,
        ) {
            // SAFETY: the same demands; the caller vouches for the features.
            unsafe { body::<E, O, $shell, N>(targets, sources, len, divisor) }
        }
    };
}

shell!(Avx2, avx2, "avx2,f16c");
shell!(Avx512, avx512, "avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c");
