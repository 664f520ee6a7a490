//! What a trace of a simulation consists of.

use std::time::Duration;

use crate::channel::Line;

/// Something that a rank did to its fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deed {
    /// It published a call.
    Publish {
        /// Which.
        sequence: u64,
    },
    /// It raised its progress.
    Signal {
        /// The call.
        sequence: u64,
        /// How far in it.
        level: u32,
    },
    /// It gave a message to a rank.
    Post {
        /// Which rank.
        to: u32,
        /// Number of the message on its way.
        number: u64,
    },
    /// It said that it has copied the data of a message.
    Take {
        /// From which rank.
        from: u32,
        /// Number of the message on its way.
        number: u64,
    },
    /// It announced to sleep.
    Announce(
        /// On what.
        Line,
    ),
    /// It found that a rank has ended.
    Find {
        /// Which.
        rank: u32,
    },
    /// It said that it cannot go on.
    Fail {
        /// Why, as in [`crate::reason`].
        reason: u32,
    },
    /// It said that it is through.
    Leave,
    /// It died.
    Die,
}

/// A line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// When, by the rank's own clock.
    pub at: Duration,
    /// Who.
    pub rank: u32,
    /// What.
    pub deed: Deed,
}

/// Who is told of every deed as it is done.
pub type Trace = Box<dyn Fn(&Record) + Send + Sync>;

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.at.as_nanos();
        write!(f, "{:>9}.{:03} us  rank {:<4} ", nanos / 1000, nanos % 1000, self.rank)?;
        match self.deed {
            Deed::Publish { sequence } => write!(f, "publishes call {sequence}"),
            Deed::Signal { sequence, level } => write!(f, "reaches call {sequence} level {level}"),
            Deed::Post { to, number } => write!(f, "posts message {number} to rank {to}"),
            Deed::Take { from, number } => write!(f, "took message {number} from rank {from}"),
            Deed::Announce(Line::Progress(rank)) => {
                write!(f, "announces to sleep on the progress of rank {rank}")
            }
            Deed::Announce(Line::Mail(rank)) => {
                write!(f, "announces to sleep on the mail of rank {rank}")
            }
            Deed::Find { rank } => write!(f, "finds rank {rank} dead"),
            Deed::Fail { reason } => write!(f, "fails with reason {reason}"),
            Deed::Leave => write!(f, "leaves"),
            Deed::Die => write!(f, "dies"),
        }
    }
}
