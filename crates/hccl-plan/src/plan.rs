//! What a plan is made of.
//!
//! Sizes are symbolic: every buffer is a row of blocks, each as long as the `count` of the call,
//! and a step works on a [`Part`] of blocks. So one plan serves all counts and data types.
//!
//! Progress is a level that each rank raises and everybody sees. Level 1 means that a rank has
//! called the operator and its buffers may be touched; each [`Step::Signal`] raises the level by
//! one. The level outlives the call: nobody waits for a level of a call that is over.

/// Version of the representation.
pub const VERSION: u32 = 1;

/// A collective operator. The numbers are those of HCCL's command types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Operator {
    /// Every rank has the root's buffer.
    Broadcast = 1,
    /// Every rank has the reduction over all ranks.
    AllReduce = 2,
    /// The root has the reduction over all ranks.
    Reduce = 3,
    /// Every rank has the inputs of all ranks, in rank order.
    AllGather = 6,
    /// Rank r has block r of the reduction over all ranks.
    ReduceScatter = 7,
    /// Rank r has block i of rank i's, which was meant for it, at place i.
    AlltoAll = 10,
    /// Rank r has block r of the root's input.
    Scatter = 12,
    /// Nobody goes on before all have come.
    Barrier = 103,
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 8] = [
        Self::Broadcast,
        Self::AllReduce,
        Self::Reduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AlltoAll,
        Self::Scatter,
        Self::Barrier,
    ];

    /// Name in logs and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "Broadcast",
            Self::AllReduce => "AllReduce",
            Self::Reduce => "Reduce",
            Self::AllGather => "AllGather",
            Self::ReduceScatter => "ReduceScatter",
            Self::AlltoAll => "AlltoAll",
            Self::Scatter => "Scatter",
            Self::Barrier => "Barrier",
        }
    }

    /// The operator of a number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| *operator as u8 == code)
    }

    /// Whether it combines values with a reduce operator.
    pub fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter)
    }

    /// Whether one rank is the root.
    pub fn is_rooted(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Scatter)
    }

    /// Blocks of a rank's input, each of `count` elements. Zero where it has none.
    pub fn input_blocks(self, ranks: u32, is_root: bool) -> u32 {
        match self {
            Self::AllReduce | Self::Reduce | Self::AllGather => 1,
            Self::Broadcast => u32::from(is_root),
            Self::ReduceScatter | Self::AlltoAll => ranks,
            Self::Scatter => {
                if is_root {
                    ranks
                } else {
                    0
                }
            }
            Self::Barrier => 0,
        }
    }

    /// Blocks of a rank's output, each of `count` elements. Zero where it has none.
    pub fn output_blocks(self, ranks: u32, is_root: bool) -> u32 {
        match self {
            Self::AllReduce | Self::ReduceScatter | Self::Scatter | Self::Broadcast => 1,
            Self::Reduce => u32::from(is_root),
            Self::AllGather | Self::AlltoAll => ranks,
            Self::Barrier => 0,
        }
    }
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A buffer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Buffer {
    /// What the operator reads.
    Input,
    /// What the operator writes.
    Output,
}

/// A block of some rank's buffer: `count` elements from element `index * count` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block {
    /// Whose buffer.
    pub rank: u32,
    /// Which buffer.
    pub buffer: Buffer,
    /// Which block of it.
    pub index: u32,
}

/// The `index`-th of `of` nearly equal shares of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Which share, from 0.
    pub index: u32,
    /// How many shares there are.
    pub of: u32,
}

impl Part {
    /// The whole block.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// First element of the share and the one after its last, in a block of `count` elements.
    /// Inner borders are multiples of `granule` elements, so that two ranks do not write to one
    /// cache line; small blocks therefore fall to few shares.
    pub fn range(self, count: u64, granule: u64) -> std::ops::Range<u64> {
        let border = |index: u32| {
            if index >= self.of {
                return count;
            }
            let exact = u128::from(count) * u128::from(index) / u128::from(self.of.max(1));
            // Not above `count`, so it fits.
            exact as u64 / granule.max(1) * granule.max(1)
        };
        border(self.index)..border(self.index.saturating_add(1))
    }
}

/// Which ranks a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// All of them.
    All,
    /// One of them.
    One(u32),
}

/// One step of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Raise the own level by one: what stands before is visible to whoever waits for it.
    Signal,
    /// Go on only when the peers have reached the level.
    Wait {
        /// For whom.
        peers: Peers,
        /// For which level.
        level: u8,
    },
    /// Combine a part of the sources, in their order, into the same part of each target.
    Reduce {
        /// Which part.
        part: Part,
        /// What is combined; the order is the order of the reduction.
        sources: Vec<Block>,
        /// Where the result goes.
        targets: Vec<Block>,
    },
    /// Copy a part of a block.
    Copy {
        /// Which part.
        part: Part,
        /// From where.
        source: Block,
        /// To where.
        target: Block,
    },
}

/// What one rank does for one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Version of the representation, [`VERSION`].
    pub version: u32,
    /// The operator.
    pub operator: Operator,
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// How many ranks take part.
    pub ranks: u32,
    /// Whose steps these are.
    pub rank: u32,
    /// The root, where the operator has one.
    pub root: u32,
    /// The steps, in order.
    pub steps: Vec<Step>,
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
                    for index in 0..of {
                        let range = Part { index, of }.range(count, granule);
                        assert_eq!(range.start, next);
                        assert!(range.start <= range.end);
                        assert!(range.end == count || range.end.is_multiple_of(granule));
                        next = range.end;
                    }
                    assert_eq!(next, count);
                }
            }
        }
    }

    #[test]
    fn operators_and_their_numbers() {
        for operator in Operator::ALL {
            assert_eq!(Operator::from_code(operator as u8), Some(operator));
        }
        assert_eq!(Operator::from_code(0), None);
    }
}
