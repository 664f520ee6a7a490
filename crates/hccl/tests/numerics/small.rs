//! Floats of 8 and 16 bits, as lists of all their numbers.

use std::sync::LazyLock;

use hccl::DataType;

/// A format: all its numbers from 0 on, with what would follow the largest at the end.
pub(crate) struct Small {
    ascending: Vec<f64>,
    /// The bit of the sign.
    sign: u64,
    /// Whether what follows the largest number is an infinity; else it is NaN.
    infinity: bool,
    /// The one NaN that comes out.
    pub(crate) nan: u64,
    /// Whether the sign alone is -0; else it is NaN.
    signed_zero: bool,
}

pub(crate) fn small(data_type: DataType) -> &'static Small {
    static HALF: LazyLock<Small> = LazyLock::new(|| ieee(16, 10, 15, 0x7c00, 0x7e00));
    static BRAIN: LazyLock<Small> = LazyLock::new(|| ieee(16, 7, 127, 0x7f80, 0x7fc0));
    static E5M2: LazyLock<Small> = LazyLock::new(|| ieee(8, 2, 15, 0x7c, 0x7f));
    // All but the last, which is NaN.
    static E4M3: LazyLock<Small> =
        LazyLock::new(|| Small { infinity: false, ..ieee(8, 3, 7, 0x7f, 0x7f) });
    static E4M3_FNUZ: LazyLock<Small> = LazyLock::new(|| fnuz(3, 8));
    static E5M2_FNUZ: LazyLock<Small> = LazyLock::new(|| fnuz(2, 16));
    match data_type {
        DataType::F16 => &HALF,
        DataType::Bf16 => &BRAIN,
        DataType::F8e4m3 => &E4M3,
        DataType::F8e5m2 => &E5M2,
        DataType::F8e4m3fnuz => &E4M3_FNUZ,
        DataType::F8e5m2fnuz => &E5M2_FNUZ,
        other => panic!("{other} is no short float"),
    }
}

/// An IEEE-like format of so many bits, of the mantissa too, with this bias and so many numbers from
/// 0 on.
fn ieee(bits: u32, mantissa_bits: u32, bias: i32, numbers: u32, nan: u64) -> Small {
    let number = |bits: u32| {
        let (exponent, mantissa) = (bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1));
        let hidden = if exponent == 0 { 0 } else { 1 << mantissa_bits };
        let scale = exponent.max(1).cast_signed() - bias - mantissa_bits.cast_signed();
        f64::from(hidden + mantissa) * 2f64.powi(scale)
    };
    let ascending = (0..=numbers).map(number).collect();
    Small { ascending, sign: 1 << (bits - 1), infinity: true, nan, signed_zero: true }
}

/// A format of 8 bits in which every pattern but one is a number.
fn fnuz(mantissa_bits: u32, bias: i32) -> Small {
    let numbers = ieee(8, mantissa_bits, bias, 0x80, 0x80);
    Small { infinity: false, signed_zero: false, ..numbers }
}

impl Small {
    /// The pattern after the largest number, without a sign.
    fn beyond(&self) -> u64 {
        (self.ascending.len() - 1) as u64
    }

    pub(crate) fn value(&self, bits: u64) -> f64 {
        let magnitude = bits & (self.sign - 1);
        let size = match self.ascending[..self.beyond() as usize].get(magnitude as usize) {
            _ if !self.signed_zero && bits == self.sign => f64::NAN,
            Some(&size) => size,
            None if self.infinity && magnitude == self.beyond() => f64::INFINITY,
            None => f64::NAN,
        };
        if bits & self.sign == 0 { size } else { -size }
    }

    /// The nearest number; of two, the one with even bits.
    pub(crate) fn nearest(&self, value: f64) -> u64 {
        let (sign, size) = (if value.is_sign_negative() { self.sign } else { 0 }, value.abs());
        let below = self.ascending.partition_point(|&number| number <= size) as u64 - 1;
        let found = if below == self.beyond() {
            below
        } else {
            // Exact: two neighbours have few places.
            let at = below as usize;
            let middle = (self.ascending[at] + self.ascending[at + 1]) / 2.0;
            below + u64::from(size > middle || size == middle && below % 2 == 1)
        };
        match found {
            0 if !self.signed_zero => 0,
            found if found == self.beyond() && !self.infinity => self.nan,
            found => sign | found,
        }
    }
}
