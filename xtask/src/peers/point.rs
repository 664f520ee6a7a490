//! What is measured: an operator with type, ranks and size, and who measures it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Operators, by the names that the drivers and `hccl perf` have for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Operator {
    AllReduce,
    AllGather,
    ReduceScatter,
    AlltoAll,
    Broadcast,
    Barrier,
    /// Half a round trip between ranks 0 and 1.
    PingPong,
}

impl Operator {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "allreduce",
            Self::AllGather => "allgather",
            Self::ReduceScatter => "reducescatter",
            Self::AlltoAll => "alltoall",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
            Self::PingPong => "pingpong",
        }
    }
}

/// Types of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Dtype {
    Fp32,
    Bf16,
    Fp16,
}

impl Dtype {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
        }
    }
}

/// A point of a comparison. Bytes are those of the larger buffer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Point {
    pub(super) ranks: u32,
    pub(super) operator: Operator,
    pub(super) dtype: Dtype,
    pub(super) bytes: u64,
}

impl Point {
    /// The point as an argument of a driver.
    pub(super) fn argument(&self) -> String {
        format!("{}:{}:{}", self.operator.name(), self.dtype.name(), self.bytes)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operator.name())?;
        if self.dtype != Dtype::Fp32 {
            write!(f, " {}", self.dtype.name())?;
        }
        if self.operator != Operator::Barrier {
            write!(f, " {}", size(self.bytes))?;
        }
        if self.ranks == 2 { Ok(()) } else { write!(f, ", {} ranks", self.ranks) }
    }
}

/// Bytes as people write them.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..0x400 => format!("{bytes} B"),
        0x400..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Where buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Memory {
    /// Mapped by all ranks.
    Mapped,
    /// The same, and input and output are one buffer.
    MappedInPlace,
    /// Ordinary memory of each rank.
    Private,
    /// That of devices, mapped too, and the call goes through the HCCL interface and a stream.
    Stream,
}

impl Memory {
    pub(super) const ALL: [Self; 4] =
        [Self::Mapped, Self::MappedInPlace, Self::Private, Self::Stream];
    /// What there are bare loops for.
    pub(super) const BARE: [Self; 3] = [Self::Mapped, Self::MappedInPlace, Self::Private];

    /// The memory of the bare loop that it is compared with.
    pub(super) fn bare(self) -> Self {
        if self == Self::Stream { Self::Mapped } else { self }
    }

    /// The word that the bare loops know it by.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mapped => "mapped",
            Self::MappedInPlace => "mapped-in-place",
            Self::Private => "private",
            Self::Stream => "stream",
        }
    }
}

/// A library that ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    Mpich,
    OpenMpi,
    IntelMpi,
    OneCcl,
    Gloo,
}

impl Peer {
    pub(super) const ALL: [Self; 5] =
        [Self::Mpich, Self::OpenMpi, Self::IntelMpi, Self::OneCcl, Self::Gloo];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH",
            Self::OpenMpi => "Open MPI",
            Self::IntelMpi => "Intel MPI",
            Self::OneCcl => "oneCCL",
            Self::Gloo => "Gloo",
        }
    }
}

/// Whoever measures points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Program {
    Ours(Memory),
    Peer(Peer),
    /// Loops with nothing around them: the floor of the machine.
    Bare(Memory),
}

impl Program {
    /// Whether it has something to say about a point.
    pub(super) fn measures(self, point: &Point) -> bool {
        let plain =
            point.operator == Operator::AllReduce && point.dtype == Dtype::Fp32 && point.ranks == 2;
        match self {
            Self::Peer(_) => true,
            Self::Ours(Memory::Mapped) => point.operator != Operator::Barrier,
            Self::Ours(Memory::Private) => true,
            Self::Ours(Memory::Stream) => point.operator == Operator::AllReduce && point.ranks == 2,
            Self::Ours(Memory::MappedInPlace) | Self::Bare(_) => plain,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(memory) => write!(f, "ours, {}", memory.name()),
            Self::Peer(peer) => f.write_str(peer.name()),
            Self::Bare(memory) => write!(f, "bare, {}", memory.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_said_in_two_ways() {
        let point =
            Point { ranks: 2, operator: Operator::AllReduce, dtype: Dtype::Bf16, bytes: 4 << 20 };
        assert_eq!(point.argument(), "allreduce:bf16:4194304");
        assert_eq!(point.to_string(), "allreduce bf16 4 MiB");
        let barrier = Point { ranks: 4, operator: Operator::Barrier, dtype: Dtype::Fp32, bytes: 0 };
        assert_eq!(barrier.to_string(), "barrier, 4 ranks");
        assert_eq!(
            [4, 1023, 1024, 1 << 20].map(size),
            ["4 B", "1023 B", "1 KiB", "1 MiB"].map(String::from)
        );
    }

    #[test]
    fn names_are_those_that_serde_reads() {
        for operator in [Operator::AlltoAll, Operator::PingPong, Operator::ReduceScatter] {
            assert_eq!(serde_json::to_value(operator).unwrap(), operator.name());
        }
        assert_eq!(serde_json::to_value(Dtype::Bf16).unwrap(), Dtype::Bf16.name());
    }
}
