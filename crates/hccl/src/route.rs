//! How a request is run: by which plan, and in how many rounds.

use hccl_plan::{Algorithm, Mesh, Operator, Peers, Plan, Step, VERSION};

use crate::error::Error;
use crate::lengths::Digest;

/// Levels that a call can have on a board.
const LEVELS: u64 = 1 << 24;

/// What a rank touches of its room in a round where the direct mesh moves private memory: small
/// enough that it stays in a second-level cache, with that of the round before, between the copy
/// into the room and what reads it there.
const ROUND_BYTES: u64 = 128 << 10;

/// Elements of a block that one round works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) count: u64,
    pub(crate) chunk: u64,
    /// Levels between the beginnings of two rounds.
    pub(crate) stride: u32,
}

impl Cut {
    /// How many rounds there are; one where there is nothing to do.
    pub(crate) fn rounds(&self) -> u64 {
        self.count.div_ceil(self.chunk.max(1)).max(1)
    }

    /// First element and number of elements of a round.
    pub(crate) fn round(&self, round: u64) -> (u64, u64) {
        let first = round.saturating_mul(self.chunk).min(self.count);
        (first, self.chunk.min(self.count - first))
    }

    /// Refuses more rounds than a board can count.
    pub(crate) fn check(&self, operator: Operator) -> Result<(), Error> {
        let most = LEVELS / u64::from(self.stride) - 1;
        if self.rounds() <= most {
            return Ok(());
        }
        Err(Error::Invalid {
            what: "count",
            given: format!("{} in {} rounds of {operator}", self.count, self.rounds()),
            allowed: format!("at most {most} rounds; a larger buffer makes them fewer"),
        })
    }
}

/// Whether the plan begins with a meeting of all ranks, after which each writes where it is
/// needed. Only these adapt their rounds to what the ranks bring.
pub(crate) fn is_direct(algorithm: &Algorithm) -> bool {
    *algorithm == Algorithm::Mesh(Mesh::Direct)
}

/// Whether each element is reduced once, from all ranks.
pub(crate) fn reduces_at_once(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::Mesh(_))
}

/// Whether ranks of the direct mesh only read each other's memory, so that private output needs no
/// room.
pub(crate) fn pulls(operator: Operator) -> bool {
    !matches!(operator, Operator::AllReduce | Operator::Reduce)
}

/// Whether ranks of the direct mesh do nothing but copy from each other's inputs.
pub(crate) fn copies(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::AllGather
            | Operator::Gather
            | Operator::Broadcast
            | Operator::Scatter
            | Operator::AlltoAll
    )
}

/// Bytes of private memory from which on others copy from it by the kernel, where they can: a call
/// of the kernel takes longer than to pass less through the room.
pub(crate) const REMOTE_FROM: u64 = 16 << 10;

/// Chunks in a rank's room, for each of two rounds, where the direct mesh moves private memory, and
/// how many of them it touches, about: of a block that all reduce, each rank has its share.
fn chunks(operator: Operator, ranks: u32) -> (u64, u64) {
    match operator {
        Operator::AllReduce | Operator::Reduce => (2, 1),
        Operator::Broadcast | Operator::AllGather | Operator::Gather => (1, 1),
        _ => (ranks.into(), ranks.into()),
    }
}

/// Blocks that pass through a rank's buffers, at most, and room for those on their way.
fn blocks(operator: Operator, ranks: u32) -> u64 {
    match operator {
        Operator::AllReduce | Operator::Reduce | Operator::Broadcast => 3,
        _ => 3 * u64::from(ranks),
    }
}

/// The rounds of a request, as far as its rank alone can tell; equal on all ranks, except for the
/// direct mesh, where the smallest of all ranks counts.
pub(crate) fn cut(
    algorithm: &Algorithm,
    operator: Operator,
    ranks: u32,
    (count, size): (u64, u64),
    (buffer_bytes, in_room): (u64, bool),
) -> Cut {
    let direct = is_direct(algorithm);
    let stride = if direct { 4 } else { level_limit(ranks) };
    if operator.has_extents() || direct && !in_room {
        return Cut { count, chunk: count, stride };
    }
    let bytes = if direct {
        let (chunks, touched) = chunks(operator, ranks);
        (ROUND_BYTES / touched).min(buffer_bytes / (2 * chunks))
    } else {
        buffer_bytes / blocks(operator, ranks)
    };
    let chunk = bytes / size;
    // Whole cache lines, as long as there are any.
    let line = 128 / size.min(128);
    let chunk = if chunk > line { chunk / line * line } else { chunk.max(1) };
    Cut { count, chunk: chunk.min(count), stride }
}

/// The part of [`digest`] that the algorithm alone decides.
pub(crate) fn digest_of(algorithm: &Algorithm) -> u64 {
    let mut digest = Digest::default();
    digest.bytes(algorithm.name().as_bytes());
    digest.0
}

/// What ranks compare about the way they run a call.
pub(crate) fn digest(algorithm: u64, direct: bool, small: bool, cut: Cut) -> u64 {
    let mut digest = Digest(algorithm);
    digest.add(small.into());
    if !direct {
        digest.add(cut.chunk);
    }
    digest.0
}

/// No plan of a catalogued algorithm has more levels than this, for so many ranks.
pub(crate) fn level_limit(ranks: u32) -> u32 {
    ranks.saturating_mul(8).saturating_add(64)
}

/// Why a plan cannot be run, if so.
pub(crate) fn runnable(plan: &Plan) -> Result<(), &'static str> {
    if plan.version != VERSION {
        return Err("another version");
    }
    let limit = level_limit(plan.ranks);
    for step in &plan.steps {
        match step {
            Step::Signal { level } | Step::Wait { level, .. } if *level > limit => {
                return Err("too many levels");
            }
            Step::Wait { peers: Peers::One(peer), .. } if *peer >= plan.ranks => {
                return Err("a rank that is none");
            }
            Step::Signal { .. } | Step::Wait { .. } => {}
            Step::Reduce { sources, targets, .. }
                if sources.iter().chain(targets.iter()).any(|one| one.rank >= plan.ranks) =>
            {
                return Err("a rank that is none");
            }
            Step::Copy { source, target, .. } if source.rank.max(target.rank) >= plan.ranks => {
                return Err("a rank that is none");
            }
            Step::Reduce { .. } | Step::Copy { .. } => {}
            _ => return Err("a step that is not known"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_plan::{Task, expand};

    #[test]
    fn rounds_cover_a_block_once() {
        for (count, chunk) in [(0, 0), (1, 1), (10, 3), (9, 3), (7, 100)] {
            let cut = Cut { count, chunk, stride: 4 };
            let mut next = 0;
            for round in 0..cut.rounds() {
                let (first, len) = cut.round(round);
                assert_eq!(first, next);
                next += len;
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn plans_stay_below_the_limit_and_foreign_ones_are_refused() {
        let kinds = [
            Algorithm::Ring,
            Algorithm::DoubleRing,
            Algorithm::Nhr,
            Algorithm::Rhd,
            Algorithm::Mesh(Mesh::Chunked(64)),
            Algorithm::Pairwise,
        ];
        for ranks in [1, 2, 3, 8, 13] {
            for algorithm in &kinds {
                for operator in [Operator::AllReduce, Operator::AlltoAll, Operator::Barrier] {
                    if let Ok(plan) = expand(algorithm, &Task::new(operator, ranks, 0), 0) {
                        assert_eq!(runnable(&plan), Ok(()), "{operator} by {}", algorithm.name());
                    }
                }
            }
        }
        let mut plan = expand(&Algorithm::Ring, &Task::new(Operator::AllReduce, 2, 0), 0).unwrap();
        plan.steps.push(Step::Signal { level: 1 << 24 });
        assert!(runnable(&plan).is_err());
        plan.version += 1;
        assert_eq!(runnable(&plan), Err("another version"));
    }
}
