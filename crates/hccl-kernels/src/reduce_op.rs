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
    /// Bitwise "and", of integers and truth values. The C interface does not have it, nor the two
    /// below.
    And = 101,
    /// Bitwise "or", of integers and truth values.
    Or = 102,
    /// Bitwise "exclusive or", of integers and truth values.
    Xor = 103,
}

impl ReduceOp {
    /// Every operator of the C interface, in the order of the codes.
    pub const ALL: &[ReduceOp] = &[ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

    /// Every operator that the C interface does not have, in the order of the codes.
    pub const BEYOND: &[ReduceOp] = &[ReduceOp::Avg, ReduceOp::And, ReduceOp::Or, ReduceOp::Xor];

    /// The operator with this number of the C interface, or `None` if the number names none.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| i32::from(known.code()) == code)
    }

    /// The operator with this [code](Self::code), also one that the C interface does not have.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let mut all = Self::ALL.iter().chain(Self::BEYOND).copied();
        all.find(|known| known.code() == byte)
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
            ReduceOp::And => "band",
            ReduceOp::Or => "bor",
            ReduceOp::Xor => "bxor",
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
        for &op in ReduceOp::BEYOND {
            assert_eq!(ReduceOp::from_code(i32::from(op.code())), None, "{op}");
        }
        for &op in ReduceOp::ALL.iter().chain(ReduceOp::BEYOND) {
            assert_eq!(ReduceOp::from_byte(op.code()), Some(op));
        }
        for gap in [-1, 4, 104] {
            assert_eq!(ReduceOp::from_code(gap), None, "{gap}");
        }
        for gap in [4, 99, 104, 255] {
            assert_eq!(ReduceOp::from_byte(gap), None, "{gap}");
        }
    }

    #[test]
    fn names_differ() {
        let all: Vec<_> = ReduceOp::ALL.iter().chain(ReduceOp::BEYOND).collect();
        for (index, one) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| other.name() != one.name()), "{one}");
        }
    }
}
