//! The reduction operators, with the numbers the C interface gives them.

use std::fmt;

/// Operator of a reduction; the numbers are those of `HcclReduceOp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Sum; integers wrap.
    Sum = 0,
    /// Product; integers wrap.
    Prod = 1,
    /// Maximum; a NaN wins, and +0 is above -0.
    Max = 2,
    /// Minimum; a NaN wins, and -0 is below +0.
    Min = 3,
    /// Average: the sum, divided by the number of ranks; of integers without the rest. The C
    /// interface does not have it.
    Avg = 100,
}

impl ReduceOp {
    /// Every operator of the C interface, in the order of the codes.
    pub const ALL: &[ReduceOp] = &[ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

    /// The operator with this number of the C interface, or `None` if the number names none.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| i32::from(known.code()) == code)
    }

    /// The operator with this [code](Self::code), also one that the C interface does not have.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let avg = Some(Self::Avg).filter(|known| known.code() == byte);
        avg.or_else(|| Self::from_code(byte.into()))
    }

    /// Number of this operator, in the C interface where that has it.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Name of this operator on command lines and in plans.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
            ReduceOp::Avg => "avg",
        }
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::ReduceOp;

    #[test]
    fn codes_come_back() {
        for &op in ReduceOp::ALL {
            assert_eq!(ReduceOp::from_code(i32::from(op.code())), Some(op));
        }
        assert_eq!(ReduceOp::from_code(-1), None);
        assert_eq!(ReduceOp::from_code(4), None);
        assert_eq!(ReduceOp::from_code(100), None);
        assert_eq!(ReduceOp::from_byte(100), Some(ReduceOp::Avg));
        assert_eq!(ReduceOp::from_byte(3), Some(ReduceOp::Min));
        assert_eq!(ReduceOp::from_byte(4), None);
    }
}
