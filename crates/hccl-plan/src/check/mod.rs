//! Proof that the plans of all ranks do together what the operator promises.
//!
//! The plans run on symbols. Levels only grow and a wait names the level that it needs, so any
//! order that the waits allow leads to the same knowledge; one run with vector clocks therefore
//! speaks for all of them. It shows that
//! - every output element is the right combination: each contribution that belongs to it, once;
//! - of two accesses to a byte of which one writes, one is known to be done before the other;
//! - nobody touches a buffer before its owner has called or after it has left;
//! - every wait ends;
//! - all places lie within the buffers and the scratch memory that was declared, only outputs and
//!   scratch are written, and nothing is read that was never written;
//! - the links are used as declared, and no rank moves more than the algorithm states.
//!
//! Parts of blocks are fractions. Since the borders of parts grow with the fraction and equal
//! fractions have equal borders, what holds for fractions holds for every count and granule.

mod access;
mod clocks;
mod expect;
mod headers;
mod memory;
mod run;
mod value;

use crate::generate::{Algorithm, Task, Unsupported, Volume, expand, volume};
use crate::operator::Operator;
use crate::plan::{Access, Buffer, Plan};

pub use run::check;

/// Whether output and input of a call are the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// All buffers are apart. (`Broadcast` has one buffer; the root's is input and output.)
    Apart,
    /// The output is the input; for `AllGather` and `ReduceScatter` the smaller is the own slice of
    /// the larger.
    InPlace,
}

/// What a check found out besides that all is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Steps of all ranks.
    pub steps: u64,
    /// Highest level of any rank.
    pub levels: u32,
    /// Largest scratch memory of a rank, in the unit of the plan.
    pub scratch: u64,
    /// What the links must allow.
    pub access: Access,
    /// What each rank pulled from others and wrote to others, in [`Self::unit`]s.
    pub moved: Vec<u64>,
    /// Units of a block; 1 where the plan counts elements.
    pub unit: u64,
    /// In how many ways reductions were ordered; 1 means the same order for all elements.
    pub orders: usize,
}

/// What is wrong with plans.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The plans do not belong together, or to the task.
    #[error("plan {index}: {why}")]
    Header {
        /// Which plan.
        index: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// A step that cannot be.
    #[error("rank {rank}, step {step}: {why}")]
    Step {
        /// Whose step.
        rank: u32,
        /// Which.
        step: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// A place outside of its buffer.
    #[error("rank {rank}, step {step}: the {buffer:?} of rank {owner} is too small for this")]
    Bounds {
        /// Whose step.
        rank: u32,
        /// Which.
        step: usize,
        /// Whose buffer.
        owner: u32,
        /// Which.
        buffer: Buffer,
    },
    /// A read of memory that holds nothing.
    #[error(
        "rank {rank}, step {step}: reads {buffer:?} of rank {owner} before anybody wrote there"
    )]
    Undefined {
        /// Whose step.
        rank: u32,
        /// Which.
        step: usize,
        /// Whose buffer.
        owner: u32,
        /// Which.
        buffer: Buffer,
    },
    /// A touch of a buffer whose owner may not have called yet.
    #[error("rank {rank}, step {step}: touches memory of rank {owner}, which may not have called")]
    Early {
        /// Whose step.
        rank: u32,
        /// Which.
        step: usize,
        /// Whose buffer.
        owner: u32,
    },
    /// A touch of a buffer whose owner may be through.
    #[error("rank {rank} may still touch memory of rank {owner} after rank {owner} is through")]
    Late {
        /// Who touches.
        rank: u32,
        /// Whose buffer.
        owner: u32,
    },
    /// Two accesses without order, one of which writes.
    #[error("rank {rank}, step {step}: races with rank {other} for the {buffer:?} of rank {owner}")]
    Race {
        /// Whose step.
        rank: u32,
        /// Which.
        step: usize,
        /// Who else.
        other: u32,
        /// Whose buffer.
        owner: u32,
        /// Which.
        buffer: Buffer,
    },
    /// A wait for a level that is never reached.
    #[error("rank {rank}, step {step}: rank {peer} never reaches level {level}")]
    Unreached {
        /// Whose step.
        rank: u32,
        /// Which.
        step: usize,
        /// Who is waited for.
        peer: u32,
        /// For which level.
        level: u32,
    },
    /// Ranks wait for each other.
    #[error("rank {rank} waits for ever in step {step}, as do {others} others")]
    Deadlock {
        /// One of them.
        rank: u32,
        /// Where.
        step: usize,
        /// How many more.
        others: usize,
    },
    /// An output that is not what was promised.
    #[error("rank {rank}: its output is wrong from {at} on ({why})")]
    Wrong {
        /// Whose output.
        rank: u32,
        /// Where, in units.
        at: u64,
        /// In which way.
        why: &'static str,
    },
    /// A rank that knows too little of the others at the end of a barrier.
    #[error("rank {rank} leaves the barrier though rank {peer} may not have come")]
    Unmet {
        /// Who leaves.
        rank: u32,
        /// Who may be missing.
        peer: u32,
    },
    /// Links are used otherwise than declared.
    #[error("rank {rank} declares {declared:?} and needs {needed:?}")]
    Access {
        /// Whose plan.
        rank: u32,
        /// What it says.
        declared: Access,
        /// What its steps need.
        needed: Access,
    },
    /// More traffic than the algorithm states.
    #[error("rank {rank} moves {moved}/{unit} blocks; stated is {stated}")]
    Traffic {
        /// Who.
        rank: u32,
        /// How much, in units.
        moved: u64,
        /// Units of a block.
        unit: u64,
        /// What is stated.
        stated: Volume,
    },
    /// There is no plan.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Expands and checks the plans of all ranks, in place too where the operator allows it.
///
/// # Errors
/// The first fault, or that the algorithm does not apply.
pub fn prove(algorithm: &Algorithm, task: &Task) -> Result<Report, Fault> {
    let plans: Vec<Plan> =
        (0..task.ranks).map(|rank| expand(algorithm, task, rank)).collect::<Result<_, _>>()?;
    let stated = volume(algorithm, task);
    if task.operator.works_in_place() && task.operator != Operator::Broadcast {
        check(&plans, task, Placement::InPlace, stated)?;
    }
    check(&plans, task, Placement::Apart, stated)
}
