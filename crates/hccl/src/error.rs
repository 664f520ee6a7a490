//! How an operation fails. Every message says which rank waited for which, in what, and why.

use std::time::Duration;

use hccl_fabric::{Fault, JoinError, reason};

/// Which operation of which rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Name of the communicator.
    pub communicator: String,
    /// The own rank.
    pub rank: u32,
    /// How many ranks there are.
    pub ranks: u32,
    /// The operation with its number, as "AllReduce number 17" or "send number 3 to rank 2".
    /// Numbers count from 1: collectives in the communicator, messages on their way.
    pub operation: String,
}

impl std::fmt::Display for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { communicator, rank, ranks, operation } = self;
        write!(f, "{operation} of communicator {communicator} on rank {rank} of {ranks}")
    }
}

/// Where a rank is that others wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Which rank.
    pub rank: u32,
    /// Its process, by its own number.
    pub process: u32,
    /// The newest operation that it has called, 0 for none.
    pub sequence: u64,
}

/// Why an operation, or the whole communicator, failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request itself cannot be.
    #[error("{what} is {given}; allowed is {allowed}")]
    Invalid {
        /// Which part of it.
        what: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// The ranks called different things.
    #[error("{context}: the ranks called different operations: {table}")]
    Mismatch {
        /// Which operation.
        context: Context,
        /// Who called what.
        table: String,
    },
    /// A rank that is needed is gone.
    #[error("{context}: {fault}")]
    Peer {
        /// Which operation.
        context: Context,
        /// Who, and what became of it.
        fault: Fault,
    },
    /// Ranks did not get on in time.
    #[error("{context} waited {waited:?} and ran into the time-out: {}", lag_text(lagging, *finishing))]
    TimedOut {
        /// Which operation.
        context: Context,
        /// How long it waited.
        waited: Duration,
        /// For whom.
        lagging: Vec<Lag>,
        /// Whether all had called it, so that some did not finish.
        finishing: bool,
    },
    /// Operations that were started before it on the same rank did not end in time.
    #[error(
        "{context} waited {waited:?} for its turn and ran into the time-out: operations that were \
         started before it on this rank have not ended; wait for them first, or side by side"
    )]
    NotItsTurn {
        /// Which operation.
        context: Context,
        /// How long it waited.
        waited: Duration,
    },
    /// A rank's call points outside of the memory that it shares.
    #[error("{context}: rank {peer} shares no memory at {what}")]
    Broken {
        /// Which operation.
        context: Context,
        /// Whose call.
        peer: u32,
        /// What it points to.
        what: String,
    },
    /// There is no room for what an operation has on its way.
    #[error("{context}: no room for {bytes} bytes on their way: {why}")]
    NoRoom {
        /// Which operation.
        context: Context,
        /// How many bytes it needs.
        bytes: u64,
        /// Why there are none.
        why: String,
    },
    /// Ranks did not come together.
    #[error("the ranks of a new communicator did not come together: {0}")]
    Join(#[from] JoinError),
    /// This process was forked from the one that made the communicator.
    #[error("communicator {communicator} belongs to the parent process: make a new one after fork")]
    Forked {
        /// Name of the communicator.
        communicator: String,
    },
    /// The communicator was told to stop, or an operation was thrown away half done.
    #[error("communicator {communicator} on rank {rank} was aborted: {cause}")]
    Aborted {
        /// Name of the communicator.
        communicator: String,
        /// The own rank.
        rank: u32,
        /// Who or what did it.
        cause: String,
    },
}

impl Error {
    /// What the other ranks are told.
    pub(crate) fn reason(&self) -> u32 {
        match self {
            Self::Mismatch { .. } => reason::MISMATCH,
            // The first cause goes on to whoever waits for this rank.
            Self::Peer { fault: Fault::Dead { rank, .. }, .. } => reason::end_of(*rank, true),
            Self::Peer { fault: Fault::Left { rank, .. }, .. } => reason::end_of(*rank, false),
            Self::Peer { .. } | Self::NoRoom { .. } => reason::ABORTED,
            Self::TimedOut { .. } | Self::NotItsTurn { .. } => reason::TIMED_OUT,
            Self::Broken { .. } => reason::BROKEN,
            Self::Invalid { .. } | Self::Aborted { .. } | Self::Join(_) | Self::Forked { .. } => {
                reason::ABORTED
            }
        }
    }
}

fn lag_text(lagging: &[Lag], finishing: bool) -> String {
    let one = |lag: &Lag| {
        let Lag { rank, process, sequence } = lag;
        let what = match (finishing, sequence) {
            (true, _) => "has called it and does not finish".to_owned(),
            (false, 0) => "has called nothing yet".to_owned(),
            (false, n) => format!("has not called it, its newest operation is number {n}"),
        };
        format!("rank {rank} (process {process}) {what}")
    };
    lagging.iter().map(one).collect::<Vec<_>>().join("; ")
}
