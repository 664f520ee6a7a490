//! Elements that differ by rank and place, and that favour what breaks reductions.

use hccl::DataType;

/// The bits of an element. All ranks have the same theme at a place, so that each theme shows: one
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

/// Elements of a rank as bytes, from the `first` on.
pub(crate) fn elements(data_type: DataType, seed: u64, rank: u32, first: u64, bytes: &mut [u8]) {
    let size = data_type.size();
    for (i, element_bytes) in bytes.chunks_exact_mut(size).enumerate() {
        let bits = element(data_type, seed, rank, first + i as u64);
        element_bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
    }
}

/// Bits of the stored mantissa, or `None` for what is no float.
fn mantissa_bits(data_type: DataType) -> Option<u32> {
    match data_type {
        DataType::F16 => Some(10),
        DataType::Bf16 => Some(7),
        DataType::F32 => Some(23),
        DataType::F64 => Some(52),
        _ => None,
    }
}

/// Spreads the bits of a number (the finisher of MurmurHash3).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}
