//! Conversions between the two 16-bit floats and `f32`, without branches so that they vectorise.
//!
//! Widening is exact. Narrowing rounds to nearest, ties to even, overflows to infinity and turns
//! every NaN into the canonical one. Subnormals are kept both ways.

/// The canonical NaN of IEEE half precision: quiet, positive, no payload.
pub(crate) const F16_NAN: u16 = 0x7e00;
/// The canonical NaN of bfloat16.
pub(crate) const BF16_NAN: u16 = 0x7fc0;

/// Widens IEEE half precision.
#[inline(always)]
pub(crate) fn f16_to_f32(half: u16) -> f32 {
    // Distance of the two exponent biases (127 - 15), at the place of the exponent.
    const REBIAS: u32 = 112 << 23;
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    // A subnormal is an integer count of 2^-24; both steps are exact.
    let subnormal = (magnitude.cast_signed() as f32 * f32::from_bits(0x3380_0000)).to_bits();
    let normal = (magnitude << 13) + REBIAS;
    // The top exponent means infinity or NaN and must become the top exponent of f32.
    let special = normal + REBIAS;
    let bits = if magnitude < 0x0400 {
        subnormal
    } else if magnitude < 0x7c00 {
        normal
    } else {
        special
    };
    f32::from_bits(bits | sign)
}

/// Rounds to IEEE half precision.
#[inline(always)]
pub(crate) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Below 2^-14: the last place of 0.5 as f32 is 2^-24, the unit of half's subnormals, so that
    // the addition itself rounds as wanted.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    // Else round on the bits: a carry out of the mantissa correctly steps the exponent, and what
    // goes past the largest half stops at infinity.
    let odd = (magnitude >> 13) & 1;
    let normal = ((magnitude + 0x0fff + odd).wrapping_sub(112 << 23) >> 13).min(0x7c00);
    let rounded = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let finished = if magnitude > 0x7f80_0000 { u32::from(F16_NAN) } else { rounded | sign };
    finished as u16
}

/// Widens bfloat16.
#[inline(always)]
pub(crate) fn bf16_to_f32(brain: u16) -> f32 {
    f32::from_bits(u32::from(brain) << 16)
}

/// Rounds to bfloat16.
#[inline(always)]
pub(crate) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    // A carry steps the exponent, and past the largest number reaches infinity by itself. Only a
    // NaN can wrap around here, and its sum is not used.
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let finished = if value.is_nan() { u32::from(BF16_NAN) } else { rounded };
    finished as u16
}

#[cfg(test)]
mod tests {
    use super::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

    /// The value of a float with these fields, by the definition.
    fn value(bits: u16, mantissa_bits: u32, bias: i32) -> f64 {
        let exponent_bits = 15 - mantissa_bits;
        let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1));
        let exponent = i32::from((bits >> mantissa_bits) & ((1 << exponent_bits) - 1));
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let unit = f64::from(2).powi(exponent.max(1) - bias - mantissa_bits.cast_signed());
        let hidden = if exponent == 0 { 0.0 } else { f64::from(1u32 << mantissa_bits) };
        match (exponent == (1 << exponent_bits) - 1, mantissa == 0.0) {
            (true, true) => sign * f64::INFINITY,
            (true, false) => f64::NAN,
            (false, _) => sign * (hidden + mantissa) * unit,
        }
    }

    #[test]
    fn every_number_widens_exactly_and_comes_back() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16_to_f32(bits), bf16_to_f32(bits));
            let (half_want, brain_want) = (value(bits, 10, 15), value(bits, 7, 127));
            if half_want.is_nan() {
                assert!(half.is_nan(), "{bits:#06x}");
                assert_eq!(f32_to_f16(half), super::F16_NAN, "{bits:#06x}");
            } else {
                assert_eq!(f64::from(half).to_bits(), half_want.to_bits(), "{bits:#06x}");
                assert_eq!(f32_to_f16(half), bits);
            }
            if brain_want.is_nan() {
                assert!(brain.is_nan(), "{bits:#06x}");
                assert_eq!(f32_to_bf16(brain), super::BF16_NAN, "{bits:#06x}");
            } else {
                assert_eq!(f64::from(brain).to_bits(), brain_want.to_bits(), "{bits:#06x}");
                assert_eq!(f32_to_bf16(brain), bits);
            }
        }
    }

    /// Checks rounding at the midpoint of each two neighbours, and right beside it.
    fn neighbours(infinity: u16, widen: fn(u16) -> f32, narrow: fn(f32) -> u16) {
        for below in 0..infinity {
            let above = below + 1;
            // Past the largest number, the next one there would be if exponents went on.
            let low = f64::from(widen(below));
            let high = if above == infinity {
                low + (low - f64::from(widen(below - 1)))
            } else {
                f64::from(widen(above))
            };
            let middle = f64::midpoint(low, high) as f32;
            assert_eq!(f64::from(middle), f64::midpoint(low, high), "the midpoint is exact");
            let even = if below % 2 == 0 { below } else { above };
            for (sign, flip) in [(1.0, 0), (-1.0, 0x8000)] {
                assert_eq!(narrow(sign * middle), flip | even, "{below:#06x}");
                assert_eq!(narrow(sign * middle.next_down()), flip | below, "{below:#06x}");
                assert_eq!(narrow(sign * middle.next_up()), flip | above, "{below:#06x}");
            }
        }
    }

    #[test]
    fn ties_go_to_even_and_overflow_to_infinity() {
        neighbours(0x7c00, f16_to_f32, f32_to_f16);
        neighbours(0x7f80, bf16_to_f32, f32_to_bf16);
        assert_eq!(f32_to_f16(f32::MAX), 0x7c00);
        assert_eq!(f32_to_f16(f32::MIN), 0xfc00);
        assert_eq!(f32_to_f16(f32::from_bits(1)), 0);
        assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
    }

    #[test]
    fn a_nan_never_becomes_infinity() {
        // Payloads only in the bits that are cut off, and those whose rounding would carry over.
        for bits in [0x7f80_0001, 0xff80_0001, 0x7f80_1fff, 0x7fff_ffff, 0xffff_ffff] {
            let nan = f32::from_bits(bits);
            assert_eq!(f32_to_f16(nan), super::F16_NAN, "{bits:#x}");
            assert_eq!(f32_to_bf16(nan), super::BF16_NAN, "{bits:#x}");
        }
    }
}
