//! Types of elements that typed calls take.

use hccl_kernels::DataType;

mod sealed {
    /// Every pattern of bits of the right length is a value, and a value has no other bits.
    pub trait Plain: Copy + Send + Sync + 'static {}
}

/// A type whose values ranks exchange.
///
/// Closed: values arrive as bytes from other ranks, so every pattern of bits must be a value. That
/// is why `bool` is not among them; see [`Bool`].
pub trait Element: sealed::Plain {
    /// The type, as the engine knows it.
    const DATA_TYPE: DataType;
}

macro_rules! elements {
    ($($element:ty => $data_type:ident),+ $(,)?) => {$(
        impl sealed::Plain for $element {}
        impl Element for $element {
            const DATA_TYPE: DataType = DataType::$data_type;
        }
        const _: () = assert!(size_of::<$element>() == DataType::$data_type.size());
    )+};
}

elements! {
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    i128 => I128,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    f32 => F32,
    f64 => F64,
    Bool => Bool,
}

#[cfg(feature = "half")]
elements! {
    half::f16 => F16,
    half::bf16 => Bf16,
}

/// A truth value in a byte: 0 is false, all else true.
///
/// Sums and maxima of truth values are "or", products and minima "and".
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// The value.
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

impl From<Bool> for bool {
    fn from(value: Bool) -> Self {
        value.get()
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}
