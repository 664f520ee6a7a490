//! What ranks have in common, whatever lies between them.

use std::time::Duration;

use hccl_os::wait::Watch;

use crate::board::Call;
use crate::channel::{Line, Message};
use crate::inline::{Data, Inline};

/// Why a communicator can no longer be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A rank's process ended.
    #[error("rank {rank} (process {pid}) has ended")]
    Dead {
        /// Which rank.
        rank: u32,
        /// Its process, by its own number.
        pid: u32,
    },
    /// A rank ended its use of the communicator.
    #[error("rank {rank} (process {pid}) has left the communicator")]
    Left {
        /// Which rank.
        rank: u32,
        /// Its process, by its own number.
        pid: u32,
    },
    /// A rank failed, for a reason that only it knows in full.
    #[error("rank {rank} (process {pid}) failed: {}", reason_text(*reason))]
    Failed {
        /// Which rank.
        rank: u32,
        /// Its process, by its own number.
        pid: u32,
        /// Its reason, as given to [`Fabric::fail`].
        reason: u32,
    },
}

/// A reason that names the rank at whose death a chain of failures began.
const CAUSE_BITS: u32 = 8;

impl Fault {
    /// The rank whose end made this rank fail, if it says so, and whether its process ended.
    pub fn cause(&self) -> Option<(u32, bool)> {
        match *self {
            Self::Failed { reason, .. } if reason >> CAUSE_BITS > 0 => {
                let ended = reason & ((1 << CAUSE_BITS) - 1) == reason::DEAD;
                Some(((reason >> CAUSE_BITS) - 1, ended))
            }
            _ => None,
        }
    }

    /// The rank at fault.
    pub fn rank(&self) -> u32 {
        match *self {
            Self::Dead { rank, .. } | Self::Left { rank, .. } | Self::Failed { rank, .. } => rank,
        }
    }
}

/// Reasons that a rank gives to the others.
pub mod reason {
    /// Its process ended; told by whoever found out.
    pub const DEAD: u32 = 1;
    /// An operation took longer than its time-out.
    pub const TIMED_OUT: u32 = 2;
    /// The ranks called different operations.
    pub const MISMATCH: u32 = 3;
    /// It was told to stop.
    pub const ABORTED: u32 = 4;
    /// It read something impossible from another rank.
    pub const BROKEN: u32 = 5;

    /// A rank that it needed left.
    pub const LEFT: u32 = 6;

    /// It could not go on since another rank's process has ended, or since that rank left;
    /// [`super::Fault::cause`] reads it.
    pub fn end_of(rank: u32, ended: bool) -> u32 {
        let rank = rank.saturating_add(1).min(u32::MAX >> super::CAUSE_BITS);
        rank << super::CAUSE_BITS | if ended { DEAD } else { LEFT }
    }
}

fn reason_text(reason: u32) -> &'static str {
    match reason & ((1 << CAUSE_BITS) - 1) {
        reason::DEAD => "its process ended",
        reason::TIMED_OUT => "an operation ran into its time-out there",
        reason::MISMATCH => "the ranks called different operations",
        reason::ABORTED => "it was told to stop",
        reason::LEFT => "a rank that it needed left",
        reason::BROKEN => "it read something impossible from another rank",
        _ => "for a reason that this version does not know",
    }
}

/// What the ranks of a communicator share. Nothing here blocks.
///
/// # Contract
/// What follows is all that an engine may count on, and what `tests/conformance` asks of every
/// implementation. Ranks are numbers below [`Self::ranks`]; with others, calls may panic, except
/// where something else is said.
///
/// **Progress.** A rank's progress is a sequence number (the call) and a level in it, in this
/// order of weight; it begins at (0, 0). Only the rank itself raises it, to level 1 of a later call
/// by [`Self::publish`] and within the call by [`Self::signal`], and never lowers it. What another
/// rank sees of it comes late, and only grows: where [`Self::reached`] was true it stays true, and
/// it is true for all that is less. A rank sees its own at once. Of the progress of two ranks
/// nothing follows for each other: to see rank a, which has seen rank b, is not to see rank b.
///
/// **Memory.** Where `reached(p, s, l)` is true, all that p wrote before it raised its progress to
/// (s, l), into whosever memory, is there to be read; so is what p could read by then, by this same
/// rule. Nothing else follows: a write may be seen early or, until such a look, not at all. To look
/// at [`Self::position`] or [`Self::call_of`] is no such look.
///
/// **Calls.** A call is two deep: `call_of(p, s)` gives p's call if the caller has found
/// `reached(p, s, 1)`, as long as p has not published s + 2. Otherwise it gives that call or
/// nothing, never another one.
///
/// **Inline data.** [`Self::publish_inline`] is to publish with some data beside the call, which all
/// ranks may read where it is. `inline_of(p, s)` gives it once it has come, or nothing; the rule of
/// memory holds for it as for `reached(p, s, 1)`, which may become true a little later only. The
/// data stays until p publishes inline data again with call s + 2 or a later one. Before p publishes
/// inline data with a call, it has found all ranks in the call before or a later one: nobody needs
/// what is overwritten any more.
///
/// **Messages.** Each way between two ranks has messages with numbers from 1 on. The sender posts
/// number n when it has found n - 1 taken; 0 counts as taken. The receiver finds n posted, and says
/// once that it took it. Both come to the other side late and stay true until the sender posts the
/// next one. The rule of memory holds for both: what the sender did before it posted can be read
/// where [`Self::posted`] gives the message, what the receiver did before it took where
/// [`Self::taken`] is true.
///
/// **Sleeping.** Announce a line, get its word, and look once more at what you wait for; if that
/// look does not show it, the word changes, and wakes who sleeps on it, when it comes: a rise of
/// the rank's progress for [`Line::Progress`], a message posted to the rank or one of its own taken
/// for [`Line::Mail`]. Announcements count: each is retracted once. A sleep may end for no reason.
/// Bound it, since a rank that dies may raise its progress and wake nobody, and since news of ranks
/// that are gone wakes those only who sleep already.
///
/// **Ranks that are gone.** What became of a rank is told once: the first of [`Self::fail`],
/// [`Self::leave`] and somebody's [`Self::probe`] stands, comes to the others late, and does not
/// change. Where [`Self::fault`] tells it, all that the rank did before is seen by looks from then
/// on, so that a rank which did its part first is not missed. Where [`Self::any_gone`] is true, and
/// it stays so, `fault` tells something of some rank. Dropping a fabric is to leave. A rank that
/// dies is not told of before somebody looks for it.
pub trait Fabric: Send + Sync {
    /// The own rank.
    fn rank(&self) -> u32;
    /// How many ranks there are.
    fn ranks(&self) -> u32;
    /// Time since some moment of the past, by the clock that time-outs go by. Never goes back.
    fn now(&self) -> Duration;
    /// Makes a call known and raises the own progress to level 1 of it. Its number is greater than
    /// that of the one before.
    fn publish(&self, sequence: u64, call: &Call);
    /// As [`Self::publish`], with up to [`INLINE_BYTES`](crate::INLINE_BYTES) bytes for all ranks to
    /// read, and a number by which they compare calls before they look at them: equal digests stand
    /// for equal calls.
    ///
    /// # Safety
    /// 1. The data is readable, and nobody writes it meanwhile.
    unsafe fn publish_inline(&self, sequence: u64, call: &Call, digest: u64, data: Data);
    /// What a peer published inline with a call, once it is there. The address is that of
    /// [`INLINE_BYTES`](crate::INLINE_BYTES) bytes, aligned to 16; what was not published of them is
    /// anything.
    fn inline_of(&self, peer: u32, sequence: u64) -> Option<Inline>;
    /// A peer's call, once its progress has reached it.
    fn call_of(&self, peer: u32, sequence: u64) -> Option<Call>;
    /// Raises the own progress to a level of the call that was published last, below 2^24 and not
    /// lower than before.
    fn signal(&self, sequence: u64, level: u32);
    /// Whether a peer has come as far; what it did before is visible then.
    fn reached(&self, peer: u32, sequence: u64, level: u32) -> bool;
    /// Where a peer is, as far as is known: sequence number and level. For messages to people.
    fn position(&self, peer: u32) -> (u64, u32);
    /// Gives a peer a message. The one before on this way must have been taken.
    fn post(&self, to: u32, number: u64, message: &Message);
    /// The message of a number from a peer, once it is there.
    fn posted(&self, from: u32, number: u64) -> Option<Message>;
    /// Says that the data of a peer's message was copied.
    fn take(&self, from: u32, number: u64);
    /// Whether a peer has copied the data of a message.
    fn taken(&self, to: u32, number: u64) -> bool;
    /// Announces that somebody will sleep on a line. Look at what it stands for afterwards.
    fn announce(&self, line: Line);
    /// Ends one [`Self::announce`].
    fn retract(&self, line: Line);
    /// The word of a line, if there is one to sleep on.
    fn watch(&self, line: Line) -> Option<Watch>;
    /// Whether spinning for an answer makes sense: each rank has a core of its own.
    fn cores_to_spare(&self) -> bool;
    /// Address in this process of a piece of a rank's memory, if there is such a rank and it has
    /// such a piece; a piece of no bytes may lie at the end. It stays valid as long as the fabric,
    /// and a byte of the memory always has the same.
    fn memory(&self, peer: u32, offset: u64, len: u64) -> Option<*mut u8>;
    /// Whether every rank can copy from the private memory of every other; the same on all, for as
    /// long as the fabric lives.
    fn all_copy(&self) -> bool;
    /// Copies from an address in a rank's process, as that rank gave it. What it may read is what it
    /// could read in shared memory.
    ///
    /// # Errors
    /// Why that cannot be, in words: there is no such memory, or no such process any more.
    ///
    /// # Safety
    /// 1. `to` is writable for `len` bytes.
    unsafe fn copy_from(&self, peer: u32, from: u64, to: *mut u8, len: usize)
    -> Result<(), String>;
    /// Whether any rank is known to be gone; cheap.
    fn any_gone(&self) -> bool;
    /// What became of a rank that is gone, as far as anybody found out.
    fn fault(&self, rank: u32) -> Option<Fault>;
    /// Looks for ranks whose process has ended, and tells everybody; costs system calls.
    fn probe(&self);
    /// Whether the process of a rank has ended, where there is a way to see it; a system call.
    fn has_ended(&self, _rank: u32) -> bool {
        false
    }
    /// Tells everybody that the own rank cannot go on.
    fn fail(&self, reason: u32);
    /// Tells everybody that the own rank is through with the communicator.
    fn leave(&self);
    /// Process of a rank, for messages; any number for a rank that is none.
    fn process(&self, rank: u32) -> u32;
}
