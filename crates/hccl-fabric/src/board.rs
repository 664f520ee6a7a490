//! The control block of a communicator on one host: shared memory in which every rank says where
//! it is.
//!
//! ```text
//! 0     magic u64, version u32, ranks u32, nonce 16
//! 64    ranks that are gone u32 (raised by whoever finds one)
//! 256   rank 0: +0   progress u64 (sequence << 24 | level), reason << 32 | state u64 [owner writes]
//!               +128 waiters u32                                           [waiters write]
//!               +132 can copy u32                                          [owner writes, once]
//!               +192 mail u64, its waiters u32                              [everybody writes]
//!               +256 call of even sequence numbers, 16 words               [owner writes]
//!               +384 call of odd sequence numbers, 16 words                [owner writes]
//! 768   rank 1 ...
//!       then for each ordered pair of ranks, 256 bytes a channel (see `channel.rs`)
//!       then for each rank its slots for inline data (see `inline.rs`)
//! ```
//!
//! Each line has one writer, except for the mail words and the rare words about ranks that are gone.
//! All of it is written by other processes, so whatever is read is checked before it is used.

use hccl_os::barrier::Pair;
use hccl_os::shm::{Mapping, Segment};
use hccl_os::sync::{AtomicU32, AtomicU64, Ordering, fence, low_half};
use hccl_os::wait::{Scope, wake_all};
use hccl_os::{OsError, OsResult};

const MAGIC: u64 = 0x4452_414f_4243_4348;
const VERSION: u32 = 3;
const HEADER: usize = 256;
const RANK: usize = 512;
const CHANNEL: usize = crate::channel::BYTES;
const SLOTS: usize = crate::inline::SLOTS;
const CALL_WORDS: usize = 16;
const SIGNATURE_WORDS: usize = SIGNATURE_BYTES / 8;

/// Bits of a progress word that hold the level; the others hold the sequence number. A ring of a
/// million ranks raises its level two million times a call; 2^40 calls are a century of them.
const LEVEL_BITS: u32 = 24;

/// Bytes by which ranks compare what they called.
pub const SIGNATURE_BYTES: usize = 32;

/// A buffer of a rank: a piece of the memory that it shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

/// What a rank called, as everybody can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Bytes that must be the same on all ranks.
    pub signature: [u8; SIGNATURE_BYTES],
    /// What the operator reads.
    pub input: Span,
    /// What the operator writes.
    pub output: Span,
    /// Memory for what is on its way.
    pub scratch: Span,
    /// Two words more, for whoever makes calls.
    pub words: [u64; 2],
}

/// What became of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// It takes part.
    Here = 0,
    /// It ended its use of the communicator.
    Left = 1,
    /// It failed, or somebody found it dead.
    Failed = 2,
}

/// A board in this process.
#[derive(Debug)]
pub(crate) struct Board {
    memory: Mapping,
    ranks: u32,
    /// How those who change words and those who sleep on them keep their steps in order.
    pub(crate) pair: Pair,
}

impl Board {
    pub(crate) fn bytes(ranks: u32) -> usize {
        let ranks = ranks as usize;
        HEADER + ranks * (RANK + ranks * CHANNEL + SLOTS)
    }

    /// Where the slots of a rank begin.
    pub(crate) fn slots(&self, rank: u32) -> usize {
        assert!(rank < self.ranks, "ranks are checked where they come in");
        let ranks = self.ranks as usize;
        HEADER + ranks * (RANK + ranks * CHANNEL) + rank as usize * SLOTS
    }

    /// Where the channel from one rank to another begins.
    pub(crate) fn channel(&self, from: u32, to: u32) -> usize {
        assert!(from < self.ranks && to < self.ranks, "ranks are checked where they come in");
        let ranks = self.ranks as usize;
        HEADER + ranks * RANK + (from as usize * ranks + to as usize) * CHANNEL
    }

    /// Lays out a board in fresh memory, for passing on.
    pub(crate) fn create(ranks: u32, nonce: &[u8; 16]) -> OsResult<Segment> {
        let segment = Segment::create("hccl-board", Self::bytes(ranks))?;
        let put = |at: usize, bytes: &[u8]| {
            // SAFETY: the header is inside the fresh mapping, which nobody else has yet.
            unsafe {
                let to = segment.base().add(at);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
        };
        put(0, &MAGIC.to_le_bytes());
        put(8, &VERSION.to_le_bytes());
        put(12, &ranks.to_le_bytes());
        put(16, nonce);
        Ok(segment)
    }

    /// Takes over the root's board; it must be one for this many ranks.
    pub(crate) fn adopt(memory: Mapping, ranks: u32, pair: Pair) -> OsResult<Self> {
        let board = Self { memory, ranks, pair };
        let fits = board.memory.len() == Self::bytes(ranks);
        let found = if fits {
            let magic = board.u64(0).load(Ordering::Acquire);
            let version = board.u32(8).load(Ordering::Relaxed);
            (magic, version, board.u32(12).load(Ordering::Relaxed))
        } else {
            (0, 0, 0)
        };
        if found != (MAGIC, VERSION, ranks) {
            return Err(OsError::Unexpected {
                what: "control block of the communicator",
                found: format!("{found:x?} in {} bytes", board.memory.len()),
                expected: format!("{:x?}", (MAGIC, VERSION, ranks)),
            });
        }
        Ok(board)
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    pub(crate) fn u32(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at + 4 <= self.memory.len() && at.is_multiple_of(4));
        // SAFETY: inside the mapping and aligned (callers compute `at` from the layout and a rank
        // below `ranks`); all access to the board is atomic; the borrow ends with the mapping.
        unsafe { AtomicU32::from_ptr(self.memory.base().add(at).cast()) }
    }

    pub(crate) fn u64(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at + 8 <= self.memory.len() && at.is_multiple_of(8));
        // SAFETY: as in `u32`.
        unsafe { AtomicU64::from_ptr(self.memory.base().add(at).cast()) }
    }

    fn rank(&self, rank: u32) -> usize {
        assert!(rank < self.ranks, "ranks are checked where they come in");
        HEADER + rank as usize * RANK
    }

    pub(crate) fn progress(&self, rank: u32) -> &AtomicU64 {
        self.u64(self.rank(rank))
    }

    pub(crate) fn waiters(&self, rank: u32) -> &AtomicU32 {
        self.u32(self.rank(rank) + 128)
    }

    /// 1 if a rank can copy from the private memory of all others; said when it joins.
    pub(crate) fn can_copy(&self, rank: u32) -> &AtomicU32 {
        self.u32(self.rank(rank) + 132)
    }

    pub(crate) fn mail(&self, rank: u32) -> &AtomicU64 {
        self.u64(self.rank(rank) + 192)
    }

    pub(crate) fn mail_waiters(&self, rank: u32) -> &AtomicU32 {
        self.u32(self.rank(rank) + 200)
    }

    fn call_at(&self, rank: u32, sequence: u64) -> usize {
        self.rank(rank) + if sequence.is_multiple_of(2) { 256 } else { 384 }
    }

    /// Writes a call where the others will look for it once the progress says so.
    pub(crate) fn write_call(&self, rank: u32, sequence: u64, call: &Call) {
        let mut words = [0u64; CALL_WORDS];
        for (word, bytes) in words[1..].iter_mut().zip(call.signature.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight"));
        }
        let spans = &mut words[1 + SIGNATURE_WORDS..];
        for (words, span) in spans.chunks_exact_mut(2).zip([call.input, call.output, call.scratch])
        {
            words.copy_from_slice(&[span.offset, span.len]);
        }
        words[CALL_WORDS - 2..].copy_from_slice(&call.words);
        let at = self.call_at(rank, sequence);
        // SYNC(call): a reader that sees any of the new words sees the number 0 when it looks at
        // the number again; sequence numbers begin at 1.
        self.u64(at).store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        for (i, word) in words.into_iter().enumerate().skip(1) {
            self.u64(at + 8 * i).store(word, Ordering::Relaxed);
        }
        self.u64(at).store(sequence, Ordering::Release);
    }

    /// Gives the record of a call the number of a later one, which is the same.
    pub(crate) fn renumber_call(&self, rank: u32, sequence: u64) {
        self.u64(self.call_at(rank, sequence)).store(sequence, Ordering::Release);
    }

    /// Reads a rank's call; `None` if the record is not that of this sequence number.
    pub(crate) fn read_call(&self, rank: u32, sequence: u64) -> Option<Call> {
        let at = self.call_at(rank, sequence);
        let word = |i: usize| self.u64(at + 8 * i).load(Ordering::Relaxed);
        if self.u64(at).load(Ordering::Acquire) != sequence {
            return None;
        }
        let mut signature = [0u8; SIGNATURE_BYTES];
        for (i, bytes) in signature.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&word(1 + i).to_le_bytes());
        }
        let span = |i: usize| Span {
            offset: word(1 + SIGNATURE_WORDS + i),
            len: word(2 + SIGNATURE_WORDS + i),
        };
        let call = Call {
            signature,
            input: span(0),
            output: span(2),
            scratch: span(4),
            words: [word(CALL_WORDS - 2), word(CALL_WORDS - 1)],
        };
        // SYNC(call): pairs with the fence in `write_call`.
        fence(Ordering::Acquire);
        (word(0) == sequence).then_some(call)
    }

    /// Raises a rank's progress and wakes whoever sleeps on it.
    pub(crate) fn signal(&self, rank: u32, sequence: u64, level: u32) {
        let word = self.progress(rank);
        // SYNC(progress): pairs with the acquire load in `reached`: what this rank did before is
        // visible to whoever sees the level.
        word.store(progress(sequence, level), Ordering::Release);
        // SYNC(sleepers): the fence stands between our store and our look at the waiters, as that in
        // `announce` stands between a waiter's mark and its look at the word.
        self.pair.often();
        if self.waiters(rank).load(Ordering::Relaxed) != 0 {
            wake_all(low_half(word), Scope::Shared);
        }
    }

    /// Whether a rank has come as far.
    pub(crate) fn reached(&self, rank: u32, sequence: u64, level: u32) -> bool {
        // SYNC(progress): pairs with the release store in `signal`.
        self.progress(rank).load(Ordering::Acquire) >= progress(sequence, level)
    }

    /// A rank's progress: sequence number and level.
    pub(crate) fn position(&self, rank: u32) -> (u64, u32) {
        let word = self.progress(rank).load(Ordering::Acquire);
        (word >> LEVEL_BITS, word as u32 & ((1 << LEVEL_BITS) - 1))
    }

    /// What became of a rank, and why.
    pub(crate) fn state(&self, rank: u32) -> (State, u32) {
        let word = self.u64(self.rank(rank) + 8).load(Ordering::Acquire);
        let state = match word as u32 {
            0 => State::Here,
            1 => State::Left,
            // Anything else that a damaged board holds counts as a failure.
            _ => State::Failed,
        };
        (state, (word >> 32) as u32)
    }

    /// Says what became of a rank, once: the first word stands. Wakes everybody.
    pub(crate) fn set_state(&self, rank: u32, state: State, reason: u32) {
        // State and reason are one word, so that a second voice changes neither.
        let word = u64::from(reason) << 32 | u64::from(state as u32);
        let here = State::Here as u64;
        let line = self.u64(self.rank(rank) + 8);
        if line.compare_exchange(here, word, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.u32(64).fetch_add(1, Ordering::SeqCst);
            // SYNC(gone): what the rank writes from now on is not seen before this is.
            fence(Ordering::SeqCst);
            for other in 0..self.ranks {
                wake_all(low_half(self.progress(other)), Scope::Shared);
                wake_all(low_half(self.mail(other)), Scope::Shared);
            }
        }
    }

    /// How many ranks are no longer here.
    pub(crate) fn gone(&self) -> u32 {
        self.u32(64).load(Ordering::Relaxed)
    }
}

/// The progress word of a call and a level in it.
fn progress(sequence: u64, level: u32) -> u64 {
    debug_assert!(level < 1 << LEVEL_BITS, "plans with higher levels are refused");
    sequence << LEVEL_BITS | u64::from(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    fn board(ranks: u32) -> Board {
        let segment = Board::create(ranks, &[1; 16]).unwrap();
        again(&segment, ranks).unwrap()
    }

    fn again(segment: &Segment, ranks: u32) -> OsResult<Board> {
        let fd = segment.as_fd().try_clone_to_owned().unwrap();
        Board::adopt(Mapping::adopt(&fd, segment.len())?, ranks, Pair::Fences)
    }

    #[test]
    fn calls_and_progress_are_read_as_written() {
        let board = board(3);
        let call = Call {
            signature: std::array::from_fn(|i| i as u8),
            input: Span { offset: 1, len: 2 },
            output: Span { offset: 3, len: 4 },
            scratch: Span { offset: 5, len: 6 },
            words: [7, 8],
        };
        board.write_call(2, 9, &call);
        assert_eq!(board.read_call(2, 9), Some(call));
        assert_eq!(board.read_call(2, 11), None);
        board.write_call(2, 11, &call);
        assert_eq!((board.read_call(2, 9), board.read_call(2, 11)), (None, Some(call)));
        board.write_call(2, 9, &call);
        assert!(!board.reached(2, 9, 1));
        board.signal(2, 9, 1);
        assert!(board.reached(2, 9, 1) && board.reached(2, 8, 200_000) && !board.reached(2, 9, 2));
        assert_eq!(board.position(2), (9, 1));
    }

    #[test]
    fn the_first_word_on_a_rank_stands() {
        let board = board(2);
        assert_eq!((board.state(1), board.gone()), ((State::Here, 0), 0));
        board.set_state(1, State::Left, 0);
        board.set_state(1, State::Failed, 5);
        assert_eq!((board.state(1), board.gone()), ((State::Left, 0), 1));
        // Neither does a second failure change the reason of the first.
        board.set_state(0, State::Failed, 2);
        board.set_state(0, State::Failed, 1);
        assert_eq!((board.state(0), board.gone()), ((State::Failed, 2), 2));
    }

    #[test]
    fn a_foreign_board_is_refused() {
        let segment = Board::create(2, &[1; 16]).unwrap();
        assert!(again(&segment, 3).is_err());
        again(&segment, 2).unwrap().u64(0).store(1, Ordering::Relaxed);
        assert!(again(&segment, 2).is_err());
    }
}
