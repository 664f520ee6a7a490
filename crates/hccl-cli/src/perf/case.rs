//! What is measured: an operator with its type, sizes and buffers.

use hccl::{Operator, ReduceOp};
use serde::{Deserialize, Serialize};

/// What a measurement is of; the same on all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Case {
    pub(super) operator: Measured,
    pub(super) ranks: u32,
    pub(super) dtype: Dtype,
    pub(super) op: Reduction,
    pub(super) root: u32,
    pub(super) memory: MemoryKind,
    pub(super) in_place: bool,
    pub(super) sizes: Vec<u64>,
    /// Measured calls of a size; by size where nothing is said.
    pub(super) iterations: Option<u32>,
    pub(super) warm_up: Option<u32>,
    pub(super) check: bool,
    /// Whether each rank keeps to a core of its own, where there are as many.
    pub(super) pin: bool,
    /// Whether small data goes beside the calls.
    #[serde(default = "yes")]
    pub(super) inline: bool,
    /// Whether the kernel copies from private memory.
    #[serde(default)]
    pub(super) copy_from_processes: bool,
    /// An algorithm that the user asked for.
    pub(super) algorithm: Option<String>,
}

/// Operators that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(super) enum Measured {
    AllReduce,
    Reduce,
    ReduceScatter,
    Broadcast,
    AllGather,
    Scatter,
    Gather,
    AlltoAll,
    Barrier,
    /// Half a round trip between ranks 0 and 1.
    PingPong,
}

impl Measured {
    pub(super) fn operator(self) -> Operator {
        match self {
            Self::AllReduce => Operator::AllReduce,
            Self::Reduce => Operator::Reduce,
            Self::ReduceScatter => Operator::ReduceScatter,
            Self::Broadcast => Operator::Broadcast,
            Self::AllGather => Operator::AllGather,
            Self::Scatter => Operator::Scatter,
            Self::Gather => Operator::Gather,
            Self::AlltoAll => Operator::AlltoAll,
            Self::Barrier => Operator::Barrier,
            Self::PingPong => Operator::Send,
        }
    }

    pub(super) fn reduces(self) -> bool {
        self.operator().reduces()
    }

    /// Whether sizes are those of a buffer with a block for each rank.
    pub(super) fn has_blocks(self) -> bool {
        use Measured as M;
        matches!(self, M::ReduceScatter | M::AllGather | M::Scatter | M::Gather | M::AlltoAll)
    }

    /// Bus bandwidth over algorithm bandwidth: what share of the bytes must cross a link of each
    /// rank, whatever the algorithm. The factors that benchmarks of this field agree on.
    pub(super) fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::ReduceScatter
            | Self::AllGather
            | Self::Scatter
            | Self::Gather
            | Self::AlltoAll => (n - 1.0) / n,
            Self::Reduce | Self::Broadcast | Self::PingPong => 1.0,
            Self::Barrier => 0.0,
        }
    }

    pub(super) fn works_in_place(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter | Self::AllGather)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(super) enum Dtype {
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Fp16,
    #[value(alias = "float")]
    Fp32,
    #[value(alias = "double")]
    Fp64,
    #[value(alias = "bfp16")]
    Bf16,
}

impl Dtype {
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 | Self::Fp16 | Self::Bf16 => 2,
            Self::Int32 | Self::Uint32 | Self::Fp32 => 4,
            Self::Int64 | Self::Uint64 | Self::Fp64 => 8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(super) enum Reduction {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
}

impl Reduction {
    pub(super) fn op(self) -> ReduceOp {
        match self {
            Self::Sum => ReduceOp::Sum,
            Self::Prod => ReduceOp::Prod,
            Self::Max => ReduceOp::Max,
            Self::Min => ReduceOp::Min,
            Self::Avg => ReduceOp::Avg,
        }
    }
}

/// Where the buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(super) enum MemoryKind {
    /// Memory that all ranks map: nothing is copied on its way.
    Shared,
    /// Ordinary memory of each rank.
    Private,
}

impl Case {
    /// Measured calls of a size.
    pub(super) fn iterations(&self, bytes: u64) -> u32 {
        self.iterations.unwrap_or(match bytes {
            0..=0xffff => 1000,
            0x1_0000..=0xf_ffff => 200,
            0x10_0000..=0x3ff_ffff => 20,
            _ => 7,
        })
    }

    /// Calls of a size before the measured ones.
    pub(super) fn warm_up(&self, bytes: u64) -> u32 {
        self.warm_up.unwrap_or(if bytes < 16 << 20 { 50 } else { 3 })
    }

    /// Elements of a block for a size of so many bytes.
    pub(super) fn count(&self, bytes: u64, ranks: u32) -> usize {
        let blocks = if self.operator.has_blocks() { u64::from(ranks) } else { 1 };
        (bytes / self.dtype.size() / blocks) as usize
    }
}

/// Of reports from before there was a choice.
fn yes() -> bool {
    true
}
