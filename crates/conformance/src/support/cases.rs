//! The cells of the table: an operator, a data type, a reduction, whether input and output are one,
//! and what the documents say must come of it.

use crate::oracle::{Op, Type};

/// Operators with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    AllReduce,
    Reduce,
    ReduceScatter,
    ReduceScatterV,
    Broadcast,
    AllGather,
    AllGatherV,
    Scatter,
    AlltoAll,
    AlltoAllV,
    AlltoAllVC,
    SendReceive,
    Batch,
}

impl Operator {
    pub(crate) const ALL: [Self; 13] = [
        Self::AllReduce,
        Self::Reduce,
        Self::ReduceScatter,
        Self::ReduceScatterV,
        Self::Broadcast,
        Self::AllGather,
        Self::AllGatherV,
        Self::Scatter,
        Self::AlltoAll,
        Self::AlltoAllV,
        Self::AlltoAllVC,
        Self::SendReceive,
        Self::Batch,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "HcclAllReduce",
            Self::Reduce => "HcclReduce",
            Self::ReduceScatter => "HcclReduceScatter",
            Self::ReduceScatterV => "HcclReduceScatterV",
            Self::Broadcast => "HcclBroadcast",
            Self::AllGather => "HcclAllGather",
            Self::AllGatherV => "HcclAllGatherV",
            Self::Scatter => "HcclScatter",
            Self::AlltoAll => "HcclAlltoAll",
            Self::AlltoAllV => "HcclAlltoAllV",
            Self::AlltoAllVC => "HcclAlltoAllVC",
            Self::SendReceive => "HcclSend, HcclRecv",
            Self::Batch => "HcclBatchSendRecv",
        }
    }

    pub(crate) fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter | Self::ReduceScatterV)
    }

    /// Whether it has one buffer for both, two that may be one (or one a part of the other), or two
    /// that must differ.
    pub(crate) fn places(self) -> &'static [Places] {
        match self {
            Self::Broadcast => &[Places::InPlace],
            Self::SendReceive | Self::Batch => &[Places::Apart],
            _ => &[Places::Apart, Places::InPlace],
        }
    }

    fn may_be_in_place(self) -> bool {
        use Operator::{AllGather, AllReduce, Broadcast, Reduce, ReduceScatter, Scatter};
        matches!(self, AllReduce | Reduce | ReduceScatter | Broadcast | AllGather | Scatter)
    }
}

/// Where the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    Apart,
    /// The input, or the own block of the larger buffer.
    InPlace,
}

/// A data type of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) code: i32,
    pub(crate) name: &'static str,
    pub(crate) size: usize,
}

const fn code(code: i32, name: &'static str, size: usize) -> Code {
    Code { code, name, size }
}

/// All data types; 13 is not assigned.
pub(crate) const CODES: [Code; 17] = [
    code(0, "int8", 1),
    code(1, "int16", 2),
    code(2, "int32", 4),
    code(3, "float16", 2),
    code(4, "float32", 4),
    code(5, "int64", 8),
    code(6, "uint64", 8),
    code(7, "uint8", 1),
    code(8, "uint16", 2),
    code(9, "uint32", 4),
    code(10, "float64", 8),
    code(11, "bfloat16", 2),
    code(12, "int128", 16),
    code(14, "hif8", 1),
    code(15, "fp8e4m3", 1),
    code(16, "fp8e5m2", 1),
    code(17, "fp8e8m0", 1),
];

impl Code {
    /// The type with which it can be reduced.
    pub(crate) fn reducible(self) -> Option<Type> {
        Type::ALL.into_iter().find(|it| it.code() == self.code)
    }
}

/// A cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) operator: Operator,
    pub(crate) code: Code,
    /// The reduction, for operators that have one.
    pub(crate) op: Option<Op>,
    pub(crate) places: Places,
}

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// It is accepted and the result is right, on every rank.
    Right,
    /// It is refused with a code.
    Refused(i32),
    /// It is accepted and a result is wrong.
    Wrong,
}

/// `HCCL_E_PARA`, for buffers that must differ.
const PARA: i32 = 1;
/// `HCCL_E_NOT_SUPPORT`, for types and reductions that are not there.
const NOT_SUPPORT: i32 = 5;
/// The number of int128, which nothing takes.
const INT128: i32 = 12;

impl Case {
    pub(crate) fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for operator in Operator::ALL {
            for code in CODES {
                let ops: Vec<Option<Op>> = if operator.reduces() {
                    Op::ALL.into_iter().map(Some).collect()
                } else {
                    vec![None]
                };
                for op in ops {
                    for &places in operator.places() {
                        cases.push(Self { operator, code, op, places });
                    }
                }
            }
        }
        cases
    }

    /// What the documents say.
    pub(crate) fn documented(&self) -> Verdict {
        self.refusal().map_or(Verdict::Right, Verdict::Refused)
    }

    /// The documented code of a call that is refused: which buffers may be one, then which types are
    /// moved and reduced.
    pub(crate) fn refusal(&self) -> Option<i32> {
        let there = match self.op {
            Some(op) => self.code.reducible().is_some_and(|it| it.supports(op)),
            None => self.code.code != INT128,
        };
        if self.places == Places::InPlace && !self.operator.may_be_in_place() {
            Some(PARA)
        } else if there {
            None
        } else {
            Some(NOT_SUPPORT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_what_the_documents_say() {
        let cases = Case::all();
        let of = |operator, code: i32, op, places| {
            let found = cases.iter().find(|it| {
                it.operator == operator
                    && it.code.code == code
                    && it.op == op
                    && it.places == places
            });
            found.map(Case::documented)
        };
        let (apart, in_place) = (Places::Apart, Places::InPlace);
        let (right, refused) = (Some(Verdict::Right), |code| Some(Verdict::Refused(code)));
        assert_eq!(of(Operator::AllReduce, 4, Some(Op::Sum), apart), right);
        assert_eq!(of(Operator::AllReduce, 11, Some(Op::Prod), apart), refused(5));
        assert_eq!(of(Operator::AllReduce, 7, Some(Op::Sum), in_place), refused(5));
        assert_eq!(of(Operator::AllGather, 7, None, in_place), right);
        assert_eq!(of(Operator::Scatter, 7, None, in_place), right);
        assert_eq!(of(Operator::AlltoAll, 7, None, in_place), refused(1));
        assert_eq!(of(Operator::AlltoAll, 12, None, in_place), refused(1));
        assert_eq!(of(Operator::AlltoAll, 12, None, apart), refused(5));
        assert_eq!(of(Operator::Broadcast, 7, None, apart), None);
    }
}
