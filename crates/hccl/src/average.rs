//! How an average is made of a sum.
//!
//! Where one step combines the values of all ranks, it divides before it rounds. Other algorithms
//! add in several places; there each rank divides its output at the end.

use hccl_kernels::{DataType, ReduceOp, Reducer};

/// When to divide, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Average {
    /// Never.
    Not,
    /// In each reduction.
    Within(u32),
    /// After the last step.
    After(u32),
}

impl Average {
    pub(crate) fn new(op: Option<ReduceOp>, ranks: u32, at_once: bool) -> Self {
        match op {
            Some(ReduceOp::Avg) if ranks > 1 && at_once => Self::Within(ranks),
            Some(ReduceOp::Avg) if ranks > 1 => Self::After(ranks),
            _ => Self::Not,
        }
    }

    /// What the reductions of the plan run.
    pub(crate) fn reducer(self, data_type: DataType, op: ReduceOp) -> Option<Reducer> {
        match self {
            Self::After(_) => Reducer::new(data_type, ReduceOp::Sum),
            Self::Not | Self::Within(_) => Reducer::new(data_type, op),
        }
    }
}
