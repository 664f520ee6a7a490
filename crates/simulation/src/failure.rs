//! How a simulation ends, well or badly.

use std::time::Duration;

use hccl::Operator;

/// A simulation that ended as it should.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How long it took by the ranks' clocks.
    pub virtual_time: Duration,
    /// How often any rank was let on.
    pub turns: u64,
    /// How often any rank fell asleep.
    pub sleeps: u64,
    /// How often a rank got on that nobody woke. May happen only where a rank dies.
    pub rescued: u64,
    /// The first such rank.
    pub first_rescued: Option<u32>,
    /// The rank that was lost, if it was.
    pub lost: Option<u32>,
    /// Ranks that ended with an error, which says who is lost.
    pub named: u32,
}

/// Where a rank stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which rank.
    pub rank: u32,
    /// What it is in.
    pub text: String,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// An output is not what the oracle says.
    #[error(
        "rank {rank}, call {call} ({operator}): byte {at} of {len} is {found:#04x}, expected is \
         {expected:#04x}"
    )]
    Wrong {
        /// On which rank.
        rank: u32,
        /// Which call, from 0.
        call: usize,
        /// Its operator.
        operator: Operator,
        /// The first byte that differs.
        at: usize,
        /// Bytes of the output.
        len: usize,
        /// What is there.
        found: u8,
        /// What should be.
        expected: u8,
    },
    /// Memory was written that is no output, or after its call had ended.
    #[error("rank {rank}: byte {at} of its memory was touched, outside of any call: {place}")]
    Touched {
        /// Whose memory.
        rank: u32,
        /// Where.
        at: usize,
        /// What is there.
        place: String,
    },
    /// An operation failed and should not.
    #[error("rank {rank} failed: {error}")]
    Failed {
        /// On which rank.
        rank: u32,
        /// What it said.
        error: String,
    },
    /// A survivor's error does not lead to the rank that was lost.
    #[error("rank {lost} was lost, and the error of rank {rank} does not lead there: {error}")]
    Unnamed {
        /// Who was lost.
        lost: u32,
        /// Who says something else.
        rank: u32,
        /// What it said.
        error: String,
    },
    /// A survivor took long to find out.
    #[error("rank {rank} took {took:?} to find out that rank {lost} was lost")]
    Slow {
        /// Who was lost.
        lost: u32,
        /// Who took long.
        rank: u32,
        /// From the loss, or from its last step, to its error.
        took: Duration,
    },
    /// Nobody gets on any more.
    #[error("hangs at {at:?}: {}", table(standings))]
    Hang {
        /// When that was noticed.
        at: Duration,
        /// Where everybody stands.
        standings: Vec<Standing>,
    },
    /// Ranks go on and on without an end.
    #[error("no end after {turns} turns: {}", table(standings))]
    Endless {
        /// How many.
        turns: u64,
        /// Where everybody stands.
        standings: Vec<Standing>,
    },
    /// Sleepers got on only because sleeps are bounded.
    #[error("{times} times nobody woke a rank that could get on, first rank {rank}")]
    LostWake {
        /// How often.
        times: u64,
        /// Who, the first time.
        rank: u32,
    },
    /// A rank did what the contract of the fabric does not allow.
    #[error("against the contract of the fabric: {}", .0.join("; "))]
    Breach(
        /// What each did.
        Vec<String>,
    ),
}

/// Ranks that stand at the same place, together.
fn table(standings: &[Standing]) -> String {
    let mut rows: Vec<(&str, Vec<String>)> = Vec::new();
    for Standing { rank, text } in standings {
        match rows.iter_mut().find(|(known, _)| known == text) {
            Some((_, ranks)) => ranks.push(rank.to_string()),
            None => rows.push((text, vec![rank.to_string()])),
        }
    }
    let row =
        |(text, ranks): &(&str, Vec<String>)| format!("\n  rank {}: {text}", ranks.join(", "));
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_at_the_same_place_share_a_row() {
        let standing = |rank, text: &str| Standing { rank, text: text.into() };
        let standings = vec![standing(0, "asleep"), standing(1, "dead"), standing(2, "asleep")];
        let text = Failure::Hang { at: Duration::from_secs(3), standings }.to_string();
        assert_eq!(text, "hangs at 3s: \n  rank 0, 2: asleep\n  rank 1: dead");
    }
}
