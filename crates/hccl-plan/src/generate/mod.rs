//! From a task and an algorithm to the steps of one rank.

mod ahc;
mod all_to_all;
mod builder;
mod hierarchy;
mod mesh;
mod phase;
mod pipeline;
mod rhd;
mod simple;
mod store;
mod supports;
mod volume;
mod walk;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::extents::Extents;
use crate::operator::Operator;
use crate::plan::Plan;

use builder::Builder;

pub use mesh::mesh;
pub use supports::supports;
pub use volume::{Volume, volume};

/// What is to be done, the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The operator.
    pub operator: Operator,
    /// How many ranks take part.
    pub ranks: u32,
    /// The root, for operators that have one; else 0.
    pub root: u32,
    /// Lengths, for operators whose ranks differ in them.
    pub extents: Option<Extents>,
}

/// How the members of one group talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flat {
    /// All pairs at once.
    Mesh,
    /// Each with its neighbours.
    Ring,
    /// Half the data in each direction of a ring.
    DoubleRing,
    /// Recursive halving and doubling; inside a hierarchy only for powers of two.
    Rhd,
    /// Nonuniform hierarchical ring.
    Nhr,
    /// Nonuniform Bruck.
    Nb,
}

/// How a full mesh is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mesh {
    /// One phase on memory that all map: reductions write their result to all who need it.
    Direct,
    /// Each reads everything and reduces it for itself.
    OneShot,
    /// Reduce-scatter, then all-gather (scatter, then all-gather; reduce-scatter, then gather).
    TwoShot,
    /// Two shots in so many chunks, the first shot of one beside the second of the one before.
    Chunked(u32),
}

/// An algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// A full mesh.
    Mesh(Mesh),
    /// A ring; chains for rooted operators.
    Ring,
    /// Two rings, in opposite directions.
    DoubleRing,
    /// Recursive halving and doubling, of any number of ranks.
    Rhd,
    /// Nonuniform hierarchical ring.
    Nhr,
    /// Nonuniform Bruck.
    Nb,
    /// One peer at a time, by distance.
    Pairwise,
    /// All talk to the root at once.
    Star,
    /// Groups of any sizes: inside, between groups, inside.
    Ahc {
        /// Sizes of the groups, ranks in order.
        groups: Vec<u32>,
        /// Inside a group.
        inside: Flat,
        /// Between groups.
        between: Flat,
    },
    /// A ring between groups of this size, with a mesh inside each at the same time.
    Pipeline {
        /// Ranks of a group.
        group: u32,
    },
    /// Groups of groups of the same size, innermost first.
    Hierarchy(Vec<(u32, Flat)>),
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The algorithm does not know the operator.
    #[error("{algorithm} has no {operator}")]
    Operator {
        /// Which algorithm.
        algorithm: String,
        /// Which operator.
        operator: Operator,
    },
    /// The algorithm cannot run on these groups.
    #[error("{algorithm} cannot run {ranks} ranks: {why}")]
    Shape {
        /// Which algorithm.
        algorithm: String,
        /// How many ranks there are.
        ranks: u32,
        /// What is wrong with that.
        why: String,
    },
    /// The task contradicts itself.
    #[error("{operator} of {ranks} ranks: {why}")]
    Task {
        /// Which operator.
        operator: Operator,
        /// How many ranks there are.
        ranks: u32,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Task {
    /// A task of equal lengths.
    pub fn new(operator: Operator, ranks: u32, root: u32) -> Self {
        Self { operator, ranks, root, extents: None }
    }

    /// A task of given lengths.
    pub fn with_extents(operator: Operator, ranks: u32, extents: Extents) -> Self {
        Self { operator, ranks, root: 0, extents: Some(extents) }
    }

    fn check(&self, rank: u32) -> Result<(), Unsupported> {
        let rows = |extents: &Extents| match extents {
            Extents::Rows(rows) => (true, rows.len()),
            Extents::Transfers(rows) => (false, rows.len()),
        };
        let is_row = matches!(self.operator, Operator::AllGatherV | Operator::ReduceScatterV);
        let why = match self.extents.as_ref().map(rows) {
            _ if self.ranks == 0 => "there are no ranks",
            _ if rank >= self.ranks => "the rank is not one of them",
            _ if self.root >= self.ranks => "the root is not one of them",
            None if self.operator.has_extents() => "lengths are missing",
            Some(_) if !self.operator.has_extents() => "lengths are given, but all are the same",
            Some((row, _)) if row != is_row => "lengths are of the wrong kind",
            Some((_, len)) if len != self.ranks as usize => "lengths are of other ranks",
            _ => return Ok(()),
        };
        Err(Unsupported::Task { operator: self.operator, ranks: self.ranks, why })
    }

    /// Elements of the row of an operator with rows, without gaps.
    fn row(&self) -> u64 {
        match &self.extents {
            Some(Extents::Rows(rows)) => {
                rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.len))
            }
            _ => 0,
        }
    }
}

/// The plan of one rank.
///
/// # Errors
/// When the algorithm does not apply to the task.
pub fn expand(algorithm: &Algorithm, task: &Task, rank: u32) -> Result<Plan, Unsupported> {
    task.check(rank)?;
    let mut b = Builder::new(task, rank, algorithm.name());
    let flat = |flat| [(task.ranks, flat)];
    let done = match (algorithm, task.operator) {
        (Algorithm::Mesh(Mesh::Direct), _) => mesh::direct(&mut b),
        (Algorithm::Pairwise, _) => simple::pairwise(&mut b),
        (Algorithm::Star, _) => simple::star(&mut b),
        (_, Operator::Barrier) => simple::barrier(&mut b),
        (Algorithm::Mesh(Mesh::OneShot), _) => mesh::one_shot(&mut b),
        (Algorithm::Mesh(Mesh::Chunked(chunks)), _) => mesh::chunked(&mut b, *chunks),
        (Algorithm::Mesh(Mesh::TwoShot), _) => hierarchy::tiers(&mut b, &flat(Flat::Mesh)),
        (Algorithm::Ring, Operator::Broadcast | Operator::Reduce) => simple::chain(&mut b),
        (Algorithm::Ring, _) => hierarchy::tiers(&mut b, &flat(Flat::Ring)),
        (Algorithm::DoubleRing, _) => hierarchy::tiers(&mut b, &flat(Flat::DoubleRing)),
        (Algorithm::Nhr, _) => hierarchy::tiers(&mut b, &flat(Flat::Nhr)),
        (Algorithm::Nb, _) => hierarchy::tiers(&mut b, &flat(Flat::Nb)),
        (Algorithm::Rhd, Operator::Broadcast) => simple::tree(&mut b),
        (Algorithm::Rhd, _) if task.ranks.is_power_of_two() => {
            hierarchy::tiers(&mut b, &flat(Flat::Rhd))
        }
        (Algorithm::Rhd, _) => rhd::folded(&mut b),
        (Algorithm::Ahc { groups, inside, between }, _) => {
            ahc::ahc(&mut b, groups, *inside, *between)
        }
        (Algorithm::Pipeline { group }, _) => pipeline::pipeline(&mut b, *group),
        (Algorithm::Hierarchy(tiers), _) => hierarchy::tiers(&mut b, tiers),
    };
    match done {
        Ok(()) => Ok(b.finish()),
        Err(why) => Err(why.of(algorithm, task.operator, task.ranks)),
    }
}

/// Why a generator gives up.
enum Why {
    Operator,
    Shape(String),
}

impl Why {
    fn of(self, algorithm: &Algorithm, operator: Operator, ranks: u32) -> Unsupported {
        let algorithm = algorithm.name();
        match self {
            Self::Operator => Unsupported::Operator { algorithm, operator },
            Self::Shape(why) => Unsupported::Shape { algorithm, ranks, why },
        }
    }
}
