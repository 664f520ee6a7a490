//! The element types of a buffer, with the numbers the C interface gives them.
//!
//! Only sizes and names live here; which of the types can be reduced is the reducer's business.

use std::fmt;

/// Type of the elements of a buffer; the numbers are those of `HcclDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum DataType {
    /// Signed 8-bit integer.
    I8 = 0,
    /// Signed 16-bit integer.
    I16 = 1,
    /// Signed 32-bit integer.
    I32 = 2,
    /// IEEE 754 half precision.
    F16 = 3,
    /// IEEE 754 single precision.
    F32 = 4,
    /// Signed 64-bit integer.
    I64 = 5,
    /// Unsigned 64-bit integer.
    U64 = 6,
    /// Unsigned 8-bit integer.
    U8 = 7,
    /// Unsigned 16-bit integer.
    U16 = 8,
    /// Unsigned 32-bit integer.
    U32 = 9,
    /// IEEE 754 double precision.
    F64 = 10,
    /// The upper half of a single-precision number.
    Bf16 = 11,
    /// Signed 128-bit integer; can be moved, not reduced.
    I128 = 12,
    /// 8-bit float of tapered precision; can be moved, not reduced.
    Hif8 = 14,
    /// 8-bit float, 4 bits of exponent and 3 of mantissa, without infinities, up to 448
    /// (PyTorch's `float8_e4m3fn`). The C interface moves it and does not reduce it.
    F8e4m3 = 15,
    /// 8-bit float, 5 bits of exponent and 2 of mantissa, with infinities, up to 57344. The C
    /// interface moves it and does not reduce it.
    F8e5m2 = 16,
    /// 8-bit power of two used as a scale; can be moved, not reduced.
    F8e8m0 = 17,
    /// A truth value in a byte. The C interface does not have it, nor those below.
    Bool = 100,
    /// 8-bit float, 4 bits of exponent and 3 of mantissa, without infinities and -0, up to 240.
    F8e4m3fnuz = 101,
    /// 8-bit float, 5 bits of exponent and 2 of mantissa, without infinities and -0, up to 57344.
    F8e5m2fnuz = 102,
    /// Complex number of two [`Self::F32`]: the real part, then the imaginary one.
    C64 = 103,
    /// Complex number of two [`Self::F64`].
    C128 = 104,
    /// Complex number of two [`Self::F16`].
    C32 = 105,
}

impl DataType {
    /// Every data type of the C interface, in the order of the codes.
    pub const ALL: &[DataType] = &[
        DataType::I8,
        DataType::I16,
        DataType::I32,
        DataType::F16,
        DataType::F32,
        DataType::I64,
        DataType::U64,
        DataType::U8,
        DataType::U16,
        DataType::U32,
        DataType::F64,
        DataType::Bf16,
        DataType::I128,
        DataType::Hif8,
        DataType::F8e4m3,
        DataType::F8e5m2,
        DataType::F8e8m0,
    ];

    /// Every data type that the C interface does not have, in the order of the codes.
    pub const BEYOND: &[DataType] = &[
        DataType::Bool,
        DataType::F8e4m3fnuz,
        DataType::F8e5m2fnuz,
        DataType::C64,
        DataType::C128,
        DataType::C32,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DataType::I8
            | DataType::U8
            | DataType::Hif8
            | DataType::F8e4m3
            | DataType::F8e5m2
            | DataType::F8e8m0
            | DataType::Bool
            | DataType::F8e4m3fnuz
            | DataType::F8e5m2fnuz => 1,
            DataType::I16 | DataType::U16 | DataType::F16 | DataType::Bf16 => 2,
            DataType::I32 | DataType::U32 | DataType::F32 | DataType::C32 => 4,
            DataType::I64 | DataType::U64 | DataType::F64 | DataType::C64 => 8,
            DataType::I128 | DataType::C128 => 16,
        }
    }

    /// The numbers that an element is made of: their type, and how many there are. Two of a complex
    /// number, else the element itself.
    pub const fn parts(self) -> (DataType, usize) {
        match self {
            DataType::C32 => (DataType::F16, 2),
            DataType::C64 => (DataType::F32, 2),
            DataType::C128 => (DataType::F64, 2),
            whole => (whole, 1),
        }
    }

    /// What the address of an element that is reduced must be a multiple of: the size of a part.
    pub const fn align(self) -> usize {
        self.parts().0.size()
    }

    /// The data type with this number of the C interface, or `None` if the number names none.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| i32::from(known.code()) == code)
    }

    /// The data type with this [code](Self::code), also one that the C interface does not have.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let mut all = Self::ALL.iter().chain(Self::BEYOND).copied();
        all.find(|known| known.code() == byte)
    }

    /// Number of this data type, in the C interface where that has it.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Name of this data type on command lines and in plans.
    pub fn name(self) -> &'static str {
        match self {
            DataType::I8 => "int8",
            DataType::I16 => "int16",
            DataType::I32 => "int32",
            DataType::F16 => "float16",
            DataType::F32 => "float32",
            DataType::I64 => "int64",
            DataType::U64 => "uint64",
            DataType::U8 => "uint8",
            DataType::U16 => "uint16",
            DataType::U32 => "uint32",
            DataType::F64 => "float64",
            DataType::Bf16 => "bfloat16",
            DataType::I128 => "int128",
            DataType::Hif8 => "hif8",
            DataType::F8e4m3 => "fp8e4m3",
            DataType::F8e5m2 => "fp8e5m2",
            DataType::F8e8m0 => "fp8e8m0",
            DataType::Bool => "bool",
            DataType::F8e4m3fnuz => "fp8e4m3fnuz",
            DataType::F8e5m2fnuz => "fp8e5m2fnuz",
            DataType::C64 => "complex64",
            DataType::C128 => "complex128",
            DataType::C32 => "complex32",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::DataType;

    #[test]
    fn codes_and_names_are_a_bijection() {
        let all: Vec<_> = DataType::ALL.iter().chain(DataType::BEYOND).copied().collect();
        for (index, &one) in all.iter().enumerate() {
            assert_eq!(DataType::from_byte(one.code()), Some(one));
            let code = DataType::from_code(i32::from(one.code()));
            assert_eq!(code.is_some(), DataType::ALL.contains(&one), "{one}");
            assert!(code.is_none_or(|code| code == one));
            for &other in &all[index + 1..] {
                assert_ne!(one.name(), other.name());
            }
        }
        for gap in [13, 18, 99, 106, 255] {
            assert_eq!(DataType::from_byte(gap), None, "{gap}");
        }
        for gap in [-1, 13, 18, 100, 255, 256, i32::MAX, i32::MIN] {
            assert_eq!(DataType::from_code(gap), None, "{gap}");
        }
    }

    #[test]
    fn parts_make_up_an_element() {
        for &one in DataType::ALL.iter().chain(DataType::BEYOND) {
            let (part, parts) = one.parts();
            assert_eq!(part.size() * parts, one.size(), "{one}");
            assert_eq!(parts == 2, one.name().starts_with("complex"), "{one}");
        }
    }
}
