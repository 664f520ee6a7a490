//! Steps written with 256-bit intrinsics, where the vectoriser was shown to fail.
//!
//! Two sources of 64 KiB, AVX2, GB/s without and with the intrinsics: `bfloat16` sum 5 and 18,
//! `float16` max 9 and 24 (with the conversion by intrinsics both times). The conversion of
//! `float16` has its own instructions; the bit tricks reach 1 on baseline x86-64.
//!
//! All functions are `inline(always)` and carry no features themselves: they take on those of the
//! shell they end up in.

use std::arch::x86_64::*;

use crate::element::{Bf16, F16};
use crate::half::{f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::operator::Number;

/// # Safety
/// The CPU has AVX and F16C.
#[inline(always)]
pub(super) unsafe fn widen_f16<const N: usize>(lanes: [F16; N]) -> [f32; N] {
    let mut out = [0.0; N];
    let whole = N - N % 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: `at + 8 <= N`; the caller vouches for the instructions.
        unsafe {
            let packed = _mm_loadu_si128(lanes.as_ptr().add(at).cast());
            _mm256_storeu_ps(out.as_mut_ptr().add(at), _mm256_cvtph_ps(packed));
        }
    }
    for at in whole..N {
        out[at] = f16_to_f32(lanes[at].0);
    }
    out
}

/// # Safety
/// The CPU has AVX and F16C.
#[inline(always)]
pub(super) unsafe fn narrow_f16<const N: usize>(lanes: [f32; N]) -> [F16; N] {
    let mut out = [F16(0); N];
    let whole = N - N % 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: `at + 8 <= N`; the caller vouches for the instructions.
        unsafe {
            let wide = canonical(_mm256_loadu_ps(lanes.as_ptr().add(at)));
            let packed = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
            _mm_storeu_si128(out.as_mut_ptr().add(at).cast(), packed);
        }
    }
    for at in whole..N {
        out[at] = F16(f32_to_f16(lanes[at]));
    }
    out
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn narrow_bf16<const N: usize>(lanes: [f32; N]) -> [Bf16; N] {
    let mut out = [Bf16(0); N];
    let whole = N - N % 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: `at + 8 <= N`; the caller vouches for the instructions.
        unsafe {
            // Half of the last kept place, less one unless that place is odd; a carry steps the
            // exponent as it should, and cannot reach the sign from a canonical NaN.
            let bits = _mm256_castps_si256(canonical(_mm256_loadu_ps(lanes.as_ptr().add(at))));
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
            let kept = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, bias));
            let low = _mm256_castsi256_si128(kept);
            let high = _mm256_extracti128_si256::<1>(kept);
            _mm_storeu_si128(out.as_mut_ptr().add(at).cast(), _mm_packus_epi32(low, high));
        }
    }
    for at in whole..N {
        out[at] = Bf16(f32_to_bf16(lanes[at]));
    }
    out
}

/// # Safety
/// The CPU has AVX.
#[inline(always)]
pub(super) unsafe fn max_f32<const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
    let mut out = [0.0; N];
    let whole = N - N % 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: `at + 8 <= N`; the caller vouches for the instructions.
        unsafe {
            let left = _mm256_loadu_ps(left.as_ptr().add(at));
            let right = _mm256_loadu_ps(right.as_ptr().add(at));
            // The instruction gives its second operand for equal ones, zeros of any sign included.
            let larger = _mm256_and_ps(_mm256_max_ps(left, right), _mm256_max_ps(right, left));
            _mm256_storeu_ps(out.as_mut_ptr().add(at), nan_wins(left, right, larger));
        }
    }
    for at in whole..N {
        out[at] = Number::max(left[at], right[at]);
    }
    out
}

/// # Safety
/// The CPU has AVX.
#[inline(always)]
pub(super) unsafe fn min_f32<const N: usize>(left: [f32; N], right: [f32; N]) -> [f32; N] {
    let mut out = [0.0; N];
    let whole = N - N % 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: `at + 8 <= N`; the caller vouches for the instructions.
        unsafe {
            let left = _mm256_loadu_ps(left.as_ptr().add(at));
            let right = _mm256_loadu_ps(right.as_ptr().add(at));
            let smaller = _mm256_or_ps(_mm256_min_ps(left, right), _mm256_min_ps(right, left));
            _mm256_storeu_ps(out.as_mut_ptr().add(at), nan_wins(left, right, smaller));
        }
    }
    for at in whole..N {
        out[at] = Number::min(left[at], right[at]);
    }
    out
}

/// Replaces every NaN by the canonical one; a conversion would keep part of its payload.
///
/// # Safety
/// The CPU has AVX.
#[inline(always)]
unsafe fn canonical(lanes: __m256) -> __m256 {
    // SAFETY: the caller vouches for the instructions.
    unsafe { nan_wins(lanes, lanes, lanes) }
}

/// The canonical NaN where `left` or `right` is one, else `result`.
///
/// # Safety
/// The CPU has AVX.
#[inline(always)]
unsafe fn nan_wins(left: __m256, right: __m256, result: __m256) -> __m256 {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let unordered = _mm256_cmp_ps::<_CMP_UNORD_Q>(left, right);
        _mm256_blendv_ps(result, _mm256_set1_ps(f32::NAN), unordered)
    }
}
