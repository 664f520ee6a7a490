//! The operators, and what of their buffers follows from the number of ranks alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operator. The numbers are those of HCCL's command types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum Operator {
    /// Every rank has the root's buffer.
    Broadcast = 1,
    /// Every rank has the reduction over all ranks.
    AllReduce = 2,
    /// The root has the reduction over all ranks.
    Reduce = 3,
    /// One rank's buffer goes to another; the receiver's side is a part of the same plan.
    Send = 4,
    /// Every rank has the inputs of all ranks, in rank order.
    AllGather = 6,
    /// Rank r has block r of the reduction over all ranks.
    ReduceScatter = 7,
    /// As `AlltoAll`, each pair with a length of its own; each rank knows its own lengths.
    AlltoAllV = 8,
    /// As `AlltoAllV`, with the lengths of all pairs known to all ranks.
    AlltoAllVC = 9,
    /// Rank r has block i of rank i's, which was meant for it, at place i.
    AlltoAll = 10,
    /// The root has the inputs of all ranks, in rank order.
    Gather = 11,
    /// Rank r has block r of the root's input.
    Scatter = 12,
    /// Any transfers between any ranks, all at once.
    BatchSendRecv = 13,
    /// As `AllGather`, each rank with a length and a place of its own.
    AllGatherV = 16,
    /// As `ReduceScatter`, each rank with a length and a place of its own.
    ReduceScatterV = 17,
    /// Nobody goes on before all have come.
    Barrier = 103,
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 15] = [
        Self::Broadcast,
        Self::AllReduce,
        Self::Reduce,
        Self::Send,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AlltoAllV,
        Self::AlltoAllVC,
        Self::AlltoAll,
        Self::Gather,
        Self::Scatter,
        Self::BatchSendRecv,
        Self::AllGatherV,
        Self::ReduceScatterV,
        Self::Barrier,
    ];

    /// Name in logs and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "Broadcast",
            Self::AllReduce => "AllReduce",
            Self::Reduce => "Reduce",
            Self::Send => "Send",
            Self::AllGather => "AllGather",
            Self::ReduceScatter => "ReduceScatter",
            Self::AlltoAllV => "AlltoAllV",
            Self::AlltoAllVC => "AlltoAllVC",
            Self::AlltoAll => "AlltoAll",
            Self::Gather => "Gather",
            Self::Scatter => "Scatter",
            Self::BatchSendRecv => "BatchSendRecv",
            Self::AllGatherV => "AllGatherV",
            Self::ReduceScatterV => "ReduceScatterV",
            Self::Barrier => "Barrier",
        }
    }

    /// The operator of a number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| *operator as u8 == code)
    }

    /// Whether it combines values with a reduce operator.
    pub fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter | Self::ReduceScatterV)
    }

    /// Whether one rank is the root.
    pub fn is_rooted(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Scatter | Self::Gather)
    }

    /// Whether its lengths differ by rank, so that a plan needs [`crate::Extents`].
    pub fn has_extents(self) -> bool {
        matches!(
            self,
            Self::Send
                | Self::BatchSendRecv
                | Self::AlltoAllV
                | Self::AlltoAllVC
                | Self::AllGatherV
                | Self::ReduceScatterV
        )
    }

    /// Whether a call may give the output the memory of the input (of its own slice, for
    /// `AllGather` and `ReduceScatter`).
    pub fn works_in_place(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::Reduce
                | Self::Broadcast
                | Self::AllGather
                | Self::ReduceScatter
        )
    }

    /// Blocks of a rank's input, each of `count` elements. Zero where it has none, and for
    /// operators with extents.
    pub fn input_blocks(self, ranks: u32, is_root: bool) -> u32 {
        match self {
            Self::AllReduce | Self::Reduce | Self::AllGather | Self::Gather => 1,
            Self::Broadcast => u32::from(is_root),
            Self::ReduceScatter | Self::AlltoAll => ranks,
            Self::Scatter if is_root => ranks,
            _ => 0,
        }
    }

    /// Blocks of a rank's output, each of `count` elements. Zero where it has none, and for
    /// operators with extents.
    pub fn output_blocks(self, ranks: u32, is_root: bool) -> u32 {
        match self {
            Self::AllReduce | Self::ReduceScatter | Self::Scatter | Self::Broadcast => 1,
            Self::Reduce => u32::from(is_root),
            Self::AllGather | Self::AlltoAll => ranks,
            Self::Gather if is_root => ranks,
            _ => 0,
        }
    }
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is no operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no operator; allowed are {}", names())]
pub struct UnknownOperator {
    /// What was given.
    pub text: String,
}

fn names() -> String {
    Operator::ALL.map(|operator| operator.name().to_ascii_lowercase()).join(", ")
}

impl std::str::FromStr for Operator {
    type Err = UnknownOperator;

    /// By its name, without regard to case.
    fn from_str(text: &str) -> Result<Self, UnknownOperator> {
        let word = text.trim();
        let found = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(word));
        found.ok_or_else(|| UnknownOperator { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_their_numbers() {
        for operator in Operator::ALL {
            assert_eq!(Operator::from_code(operator as u8), Some(operator));
            assert_eq!(operator.to_string(), operator.name());
            assert_eq!(operator.name().to_lowercase().parse(), Ok(operator));
        }
        let error = "all-reduce".parse::<Operator>().unwrap_err().to_string();
        assert!(error.contains("`all-reduce`") && error.contains("allreduce, reduce"), "{error}");
        assert_eq!(Operator::from_code(0), None);
    }
}
