//! Buffers at chosen misalignments, with guards around them, and the values to put in.

use hccl_kernels::DataType;

/// Elements of guard before and after the region, at least.
const GUARD: usize = 8;
const GUARD_BYTE: u8 = 0xa5;

/// A region of elements inside a larger buffer.
pub(crate) struct Region {
    // Words, so that the start is aligned for every element type.
    buffer: Vec<u64>,
    start: usize,
    bytes: usize,
}

impl Region {
    /// A region of `len` elements that starts `shift` elements further than it could.
    pub(crate) fn new(data_type: DataType, len: usize, shift: usize) -> Region {
        let (size, start) = (data_type.size(), (GUARD + shift) * data_type.size());
        let words = (start + (len + GUARD) * size).div_ceil(8);
        let mut buffer = vec![0; words];
        buffer.fill(u64::from_le_bytes([GUARD_BYTE; 8]));
        Region { buffer, start, bytes: len * size }
    }

    pub(crate) fn pointer(&mut self) -> *mut u8 {
        let start = self.start;
        self.bytes_mut()[start..].as_mut_ptr()
    }

    pub(crate) fn fill(&mut self, data_type: DataType, elements: &[u64]) {
        let (start, size) = (self.start, data_type.size());
        for (index, element) in elements.iter().enumerate() {
            let at = start + index * size;
            self.bytes_mut()[at..at + size].copy_from_slice(&element.to_le_bytes()[..size]);
        }
    }

    pub(crate) fn element(&self, data_type: DataType, index: usize) -> u64 {
        let size = data_type.size();
        let at = self.start + index * size;
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes()[at..at + size]);
        u64::from_le_bytes(word)
    }

    pub(crate) fn guards_hold(&self) -> bool {
        let (before, after) =
            (&self.bytes()[..self.start], &self.bytes()[self.start + self.bytes..]);
        before.iter().chain(after).all(|&byte| byte == GUARD_BYTE)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the words of a live vector, borrowed as long as the vector is.
        unsafe { std::slice::from_raw_parts(self.buffer.as_ptr().cast(), self.buffer.len() * 8) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.buffer.len() * 8;
        // SAFETY: the words of a live vector, borrowed as long as the vector is.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.as_mut_ptr().cast(), bytes) }
    }
}

/// A stream of elements that favours what breaks reductions.
pub(crate) struct Values(u64);

impl Values {
    pub(crate) fn new(seed: u64) -> Values {
        Values(seed)
    }

    pub(crate) fn vector(&mut self, data_type: DataType, len: usize) -> Vec<u64> {
        (0..len).map(|_| self.element(data_type)).collect()
    }

    fn element(&mut self, data_type: DataType) -> u64 {
        let bits = 8 * data_type.size() as u32;
        let mask = u64::MAX >> (64 - bits);
        let (kind, random) = (self.next() % 8, self.next());
        let Some(mantissa) = mantissa_bits(data_type) else {
            let edges = [0, 1, mask, mask >> 1, (mask >> 1) + 1, mask - 1];
            return if kind == 0 { edges[(random % 6) as usize] } else { random & mask };
        };
        let sign = (random >> 63) << (bits - 1);
        let fraction = (1 << mantissa) - 1;
        let infinity = (mask >> 1) & !fraction;
        let one = (mask >> 2) & !fraction;
        match kind {
            0 => random & mask,
            1 => sign | (one + (random & 3)),
            2 => match random % 16 {
                0..3 => sign,
                3 => sign | infinity,
                // Signalling and quiet NaN, with payloads that are easily cut off.
                4 => sign | (infinity + 1),
                5 => sign | (mask >> 1),
                6 => sign | (infinity - 1),
                7 => sign | 1,
                8 => sign | fraction,
                9 => sign | (fraction + 1),
                _ => sign | ((random >> 8) & fraction),
            },
            // From 1/8 to 2 in size: sums round, cancel and tie.
            _ => sign | (one - (((random >> 61) & 3) << mantissa) + (random & fraction)),
        }
    }

    /// The generator of Steele, Lea and Flood's paper on splittable generators.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// Bits of the stored mantissa, or `None` for an integer.
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
