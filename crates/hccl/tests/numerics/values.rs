//! Elements that differ by rank and place, and that favour what breaks reductions.

use hccl::DataType;

/// What an element is made of: a type, and how many of it. A complex number is two floats.
pub(crate) fn parts(data_type: DataType) -> (DataType, u64) {
    match data_type {
        DataType::C32 => (DataType::F16, 2),
        DataType::C64 => (DataType::F32, 2),
        DataType::C128 => (DataType::F64, 2),
        whole => (whole, 1),
    }
}

/// Whether reductions round.
pub(crate) fn is_float(data_type: DataType) -> bool {
    mantissa_bits(parts(data_type).0).is_some()
}

/// The bits of an element that is one number. All ranks have the same theme at a place, so that each theme shows: one
/// NaN in a column hides whatever else is there.
pub(crate) fn element(data_type: DataType, seed: u64, rank: u32, at: u64) -> u64 {
    let place = mix(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let random = mix(place ^ (u64::from(rank) + 1) << 48);
    let bits = 8 * data_type.size() as u32;
    let mask = u64::MAX >> (64 - bits);
    let Some(mantissa) = mantissa_bits(data_type) else {
        let edges = [0, 1, mask, mask >> 1, (mask >> 1) + 1, mask - 1];
        return if place.is_multiple_of(4) { edges[(random % 6) as usize] } else { random & mask };
    };
    let sign = (random >> 63) << (bits - 1);
    let fraction = (1u64 << mantissa) - 1;
    let infinity = (mask >> 1) & !fraction;
    let one = (mask >> 2) & !fraction;
    let everyday = sign | (one - (((random >> 61) & 3) << mantissa) + (random & fraction));
    match place % 8 {
        // Anything.
        0 => random & mask,
        // Zeros of both signs, the ends of the ranges, and the numbers beside them.
        1 => {
            let ends = [0, 1, fraction, fraction + 1, infinity - 1, one];
            sign | ends[(random % 6) as usize]
        }
        // One rank in eight has what is no number, with a payload: quiet, signalling, or infinity.
        2 if rank == (place >> 8) as u32 % 8 => {
            let odd = [infinity, infinity + 1, infinity | (random & fraction), mask >> 1];
            sign | odd[(random % 4) as usize]
        }
        3 if random.is_multiple_of(4) => sign | infinity,
        4 => sign | (random & fraction),
        // Few places at very different heights: sums tie.
        5 => {
            let height = one + ((random % u64::from(mantissa + 3)) << mantissa);
            sign | height | ((random >> 32) % 4)
        }
        _ => everyday,
    }
}

/// A small number, so that sums of those of eight ranks are exact in every type and every order.
pub(crate) fn small(seed: u64, rank: u32, at: u64) -> f64 {
    let place = mix(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // Ranks that are neighbours differ, and all have the same height at a place.
    let size = (place + u64::from(rank)) % 3;
    (size as f64 - 1.0) * 2f64.powi((place >> 8) as i32 % 4)
}

/// Bits of the stored mantissa, or `None` for what is no float.
fn mantissa_bits(data_type: DataType) -> Option<u32> {
    match data_type {
        DataType::F16 => Some(10),
        DataType::Bf16 => Some(7),
        DataType::F32 => Some(23),
        DataType::F64 => Some(52),
        DataType::F8e4m3 | DataType::F8e4m3fnuz => Some(3),
        DataType::F8e5m2 | DataType::F8e5m2fnuz => Some(2),
        _ => None,
    }
}

/// Spreads the bits of a number (the finisher of MurmurHash3).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}
