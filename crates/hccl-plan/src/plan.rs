//! What a plan is made of.
//!
//! **Sizes** are symbolic wherever all ranks have the same: every buffer is a row of blocks, each
//! as long as the `count` of the call, and a step works on whole blocks or on a run of equal parts
//! of one block. So one plan serves all counts and data types. Where lengths differ by rank (the V
//! operators, sends) a plan is made for given lengths and counts elements ([`Span::Exact`]). In
//! both, a step keeps what it moves at the same place of a block, which is what makes a proof for
//! symbols a proof for all counts.
//!
//! **Progress** is a level that each rank raises and everybody sees. Level 1 means that a rank has
//! called the operator and its buffers may be touched; [`Step::Signal`] raises it further, and
//! says that all steps before it are done. Levels are agreed between the ranks, so a rank with
//! less to do may leave some out. The level outlives the call: nobody waits for a level of a call
//! that is over. A rank that is through has no more visitors in its buffers.
//!
//! **Steps** of a rank run in their order. Between two of [`Step::Signal`] and [`Step::Wait`], those
//! that touch different bytes may run at the same time. A step writes memory of the own rank only,
//! unless the plan says [`Access::Mapped`]; so a copy from a peer is a get, which a link without
//! mapped memory can do, and a reduction with sources on peers is a get of each into a buffer of
//! the link, and a local reduction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operator::Operator;

/// Version of the representation.
pub const VERSION: u32 = 2;

/// A buffer of a rank.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// What the operator reads.
    Input,
    /// What the operator writes.
    Output,
    /// What the plan needs besides, as much as it declares; holds nothing before and after.
    Scratch,
}

/// A place in some rank's buffer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Whose buffer.
    pub rank: u32,
    /// Which buffer.
    pub buffer: Buffer,
    /// Number of a block; for [`Span::Exact`] number of an element.
    pub at: u64,
}

/// How much a step works on, from a [`Place`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Span {
    /// Parts `first..first + len` of the `of` nearly equal parts of one block.
    Parts {
        /// First part.
        first: u32,
        /// How many.
        len: u32,
        /// Into how many the block is cut.
        of: u32,
    },
    /// Whole blocks.
    Blocks {
        /// How many.
        len: u32,
    },
    /// Elements.
    Exact {
        /// How many.
        len: u64,
    },
}

impl Span {
    /// One whole block.
    pub const WHOLE: Self = Self::Blocks { len: 1 };

    /// First element and the one after the last, counted from the beginning of the place, where a
    /// block has `count` elements. Inner borders of parts are multiples of `granule` elements, so
    /// that two ranks do not write to one cache line; small blocks therefore fall to few parts.
    /// The same fraction of a block has the same border however it is expressed.
    pub fn range(self, count: u64, granule: u64) -> std::ops::Range<u64> {
        match self {
            Self::Parts { first, len, of } => {
                let border = |index: u32| {
                    if index >= of {
                        return count;
                    }
                    let exact = u128::from(count) * u128::from(index) / u128::from(of.max(1));
                    // Not above `count`, so it fits.
                    exact as u64 / granule.max(1) * granule.max(1)
                };
                border(first)..border(first.saturating_add(len))
            }
            Self::Blocks { len } => 0..count.saturating_mul(u64::from(len)),
            Self::Exact { len } => 0..len,
        }
    }
}

/// Which ranks a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Peers {
    /// All of them.
    All,
    /// One of them.
    One(u32),
}

/// One step of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Step {
    /// Raise the own level: what stands before is visible to whoever waits for it.
    Signal {
        /// To this, which is above what it was.
        level: u32,
    },
    /// Go on only when the peers have reached the level.
    Wait {
        /// For whom.
        peers: Peers,
        /// For which level.
        level: u32,
    },
    /// Combine the sources, in their order, into each target.
    Reduce {
        /// How much.
        span: Span,
        /// What is combined; the order is the order of the reduction.
        sources: Box<[Place]>,
        /// Where the result goes.
        targets: Box<[Place]>,
    },
    /// Copy. Where both places turn out to be the same memory (a call in place) nothing is to do.
    Copy {
        /// How much.
        span: Span,
        /// From where.
        source: Place,
        /// To where.
        target: Place,
    },
}

/// What a plan demands of the links between ranks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nobody touches memory of another rank.
    Own,
    /// Ranks read memory of others.
    Pull,
    /// Ranks also write memory of others.
    Mapped,
}

/// What one rank does for one operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the representation, [`VERSION`].
    pub version: u32,
    /// The operator.
    pub operator: Operator,
    /// Name of the algorithm.
    pub algorithm: String,
    /// How many ranks take part.
    pub ranks: u32,
    /// Whose steps these are.
    pub rank: u32,
    /// The root, where the operator has one.
    pub root: u32,
    /// What it demands of the links.
    pub access: Access,
    /// Blocks of scratch memory of this rank; elements where the plan counts elements.
    pub scratch: u64,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The JSON schema of a plan.
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(Plan)
    }
}

impl Step {
    /// What the step demands of the links, when it is a step of `rank`.
    pub fn access(&self, rank: u32) -> Access {
        let foreign = |places: &[Place]| places.iter().any(|place| place.rank != rank);
        let (sources, targets): (&[Place], &[Place]) = match self {
            Self::Signal { .. } | Self::Wait { .. } => (&[], &[]),
            Self::Reduce { sources, targets, .. } => (sources, targets),
            Self::Copy { source, target, .. } => {
                (std::slice::from_ref(source), std::slice::from_ref(target))
            }
        };
        match (foreign(sources), foreign(targets)) {
            (_, true) => Access::Mapped,
            (true, false) => Access::Pull,
            (false, false) => Access::Own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_block_once() {
        for count in [0, 1, 7, 31, 32, 33, 4097, u64::MAX] {
            for of in [1, 2, 3, 8, 63] {
                for granule in [1, 16, 32] {
                    let mut next = 0;
                    for first in 0..of {
                        let range = Span::Parts { first, len: 1, of }.range(count, granule);
                        assert_eq!(range.start, next);
                        assert!(range.start <= range.end);
                        assert!(range.end == count || range.end.is_multiple_of(granule));
                        let finer = Span::Parts { first: first * 6, len: 6, of: of * 6 };
                        assert_eq!(finer.range(count, granule), range);
                        next = range.end;
                    }
                    assert_eq!(next, count);
                }
            }
        }
    }
}
