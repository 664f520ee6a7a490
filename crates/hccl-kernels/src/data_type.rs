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
    /// 8-bit float, 4 bits of exponent and 3 of mantissa; can be moved, not reduced.
    F8e4m3 = 15,
    /// 8-bit float, 5 bits of exponent and 2 of mantissa; can be moved, not reduced.
    F8e5m2 = 16,
    /// 8-bit power of two used as a scale; can be moved, not reduced.
    F8e8m0 = 17,
    /// A truth value in a byte. The C interface does not have it.
    Bool = 100,
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

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DataType::I8
            | DataType::U8
            | DataType::Hif8
            | DataType::F8e4m3
            | DataType::F8e5m2
            | DataType::F8e8m0
            | DataType::Bool => 1,
            DataType::I16 | DataType::U16 | DataType::F16 | DataType::Bf16 => 2,
            DataType::I32 | DataType::U32 | DataType::F32 => 4,
            DataType::I64 | DataType::U64 | DataType::F64 => 8,
            DataType::I128 => 16,
        }
    }

    /// The data type with this number of the C interface, or `None` if the number names none.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| i32::from(known.code()) == code)
    }

    /// The data type with this [code](Self::code), also one that the C interface does not have.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let bool = Some(Self::Bool).filter(|known| known.code() == byte);
        bool.or_else(|| Self::from_code(byte.into()))
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
        for (index, &one) in DataType::ALL.iter().enumerate() {
            assert_eq!(DataType::from_code(i32::from(one.code())), Some(one));
            for &other in &DataType::ALL[index + 1..] {
                assert_ne!(one.name(), other.name());
            }
        }
        assert_eq!(DataType::from_byte(100), Some(DataType::Bool));
        assert_eq!(DataType::from_byte(10), Some(DataType::F64));
        for gap in [13, 18, 255] {
            assert_eq!(DataType::from_byte(gap), None, "{gap}");
        }
        for gap in [-1, 13, 18, 100, 255, 256, i32::MAX, i32::MIN] {
            assert_eq!(DataType::from_code(gap), None, "{gap}");
        }
    }
}
