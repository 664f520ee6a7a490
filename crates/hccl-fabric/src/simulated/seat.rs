//! What there is for each rank: its clock, its calls, and what became of it.
//!
//! One thread drives a simulation. The atomics are there since [`crate::Fabric`] may be shared, and
//! order nothing.

use super::slots::Slots;
use crate::board::{Call, SIGNATURE_BYTES, Span, State};
use hccl_os::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Words of a call: its number, its signature, offset and length of three buffers.
const CALL_WORDS: usize = 1 + SIGNATURE_BYTES / 8 + 8;

/// A time that never comes, and a call that is never reached.
const NEVER: u64 = u64::MAX;

/// What everybody is told of a rank that is gone. The first word stands.
#[derive(Debug)]
pub(super) struct Fate {
    state: AtomicU32,
    reason: AtomicU32,
    stamp: AtomicU64,
    teller: AtomicU32,
}

/// What was told, when, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) state: State,
    pub(super) reason: u32,
    pub(super) stamp: u64,
    pub(super) teller: u32,
}

impl Fate {
    /// Tells it, unless something was told before.
    pub(super) fn tell(&self, told: Told) -> bool {
        let first = self.state.load(Relaxed) == State::Here as u32;
        if first {
            self.state.store(told.state as u32, Relaxed);
            self.reason.store(told.reason, Relaxed);
            self.stamp.store(told.stamp, Relaxed);
            self.teller.store(told.teller, Relaxed);
        }
        first
    }

    pub(super) fn told(&self) -> Option<Told> {
        let state = match self.state.load(Relaxed) {
            0 => return None,
            1 => State::Left,
            _ => State::Failed,
        };
        Some(Told {
            state,
            reason: self.reason.load(Relaxed),
            stamp: self.stamp.load(Relaxed),
            teller: self.teller.load(Relaxed),
        })
    }
}

#[derive(Debug)]
pub(super) struct Seat {
    /// Nanoseconds of virtual time. Only grows.
    clock: AtomicU64,
    /// Calls of the fabric so far, the call in which the rank dies, and when it did. A dead rank's
    /// call lies behind it, so that one comparison tells the living.
    calls: AtomicU64,
    dies_in: AtomicU64,
    died: AtomicU64,
    /// The newest call with an even and with an odd number, as on a board: its number, its
    /// signature, its buffers.
    published: [[AtomicU64; CALL_WORDS]; 2],
    pub(super) slots: Slots,
    pub(super) fate: Fate,
    /// Whether the rank knows of any that is gone; it stays so.
    pub(super) knows_gone: AtomicBool,
}

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            clock: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            dies_in: AtomicU64::new(NEVER),
            died: AtomicU64::new(NEVER),
            published: Default::default(),
            slots: Slots::default(),
            fate: Fate {
                state: AtomicU32::new(State::Here as u32),
                reason: AtomicU32::new(0),
                stamp: AtomicU64::new(0),
                teller: AtomicU32::new(0),
            },
            knows_gone: AtomicBool::new(false),
        }
    }

    pub(super) fn clock(&self) -> u64 {
        self.clock.load(Relaxed)
    }

    /// Sets the clock, unless it is there already.
    pub(super) fn advance(&self, to: u64) {
        self.clock.store(self.clock().max(to), Relaxed);
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// Lets the rank die in its call number `call`, counted from 1.
    pub(super) fn die_in(&self, call: u64) {
        self.dies_in.store(call, Relaxed);
    }

    /// Counts a call and moves the clock on. `None` if the rank dies in it, or is dead.
    #[inline]
    pub(super) fn count(&self, cost: u64) -> Option<u64> {
        let calls = self.calls() + 1;
        self.calls.store(calls, Relaxed);
        if calls >= self.dies_in.load(Relaxed) {
            return None;
        }
        let now = self.clock() + cost;
        self.clock.store(now, Relaxed);
        Some(now)
    }

    pub(super) fn die(&self) {
        self.died.store(self.clock(), Relaxed);
        self.dies_in.store(0, Relaxed);
    }

    /// When the rank died, if it did.
    pub(super) fn died(&self) -> Option<u64> {
        Some(self.died.load(Relaxed)).filter(|&died| died != NEVER)
    }

    pub(super) fn set_call(&self, sequence: u64, call: &Call) {
        let words = &self.published[(sequence % 2) as usize];
        words[0].store(sequence, Relaxed);
        let (signature, spans) = words[1..].split_at(SIGNATURE_BYTES / 8);
        for (word, bytes) in signature.iter().zip(call.signature.chunks_exact(8)) {
            word.store(u64::from_le_bytes(bytes.try_into().expect("chunks of eight")), Relaxed);
        }
        for (words, span) in spans.chunks_exact(2).zip([call.input, call.output, call.scratch]) {
            words[0].store(span.offset, Relaxed);
            words[1].store(span.len, Relaxed);
        }
        for (to, word) in spans[6..].iter().zip(call.words) {
            to.store(word, Relaxed);
        }
    }

    /// The call of a number, unless it was never made or is overwritten.
    #[inline]
    pub(super) fn call(&self, sequence: u64) -> Option<Call> {
        let words = &self.published[(sequence % 2) as usize];
        if words[0].load(Relaxed) != sequence || sequence == 0 {
            return None;
        }
        let load = |at: usize| words[at].load(Relaxed);
        let mut signature = [0; SIGNATURE_BYTES];
        for (at, bytes) in (1..).zip(signature.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&load(at).to_le_bytes());
        }
        let span = |at: usize| Span { offset: load(at), len: load(at + 1) };
        let at = 1 + SIGNATURE_BYTES / 8;
        let [input, output, scratch] = [0, 2, 4].map(|span_at| span(at + span_at));
        let words = [load(at + 6), load(at + 7)];
        Some(Call { signature, input, output, scratch, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_stands_and_calls_are_kept_two_deep() {
        let seat = Seat::new();
        let told = |state, reason| Told { state, reason, stamp: 5, teller: 1 };
        assert_eq!(seat.fate.told(), None);
        assert!(seat.fate.tell(told(State::Left, 0)));
        assert!(!seat.fate.tell(told(State::Failed, 3)));
        assert_eq!(seat.fate.told(), Some(told(State::Left, 0)));
        let span = |at: u8| Span { offset: at.into(), len: 100 + u64::from(at) };
        let call = |byte: u8| Call {
            signature: std::array::from_fn(|i| byte + i as u8),
            input: span(byte),
            output: span(byte + 1),
            scratch: span(byte + 2),
            words: [u64::from(byte) + 1, u64::from(byte) + 2],
        };
        for sequence in 1..=3 {
            seat.set_call(sequence, &call(sequence as u8));
        }
        assert_eq!((seat.call(1), seat.call(0)), (None, None));
        assert_eq!((seat.call(2), seat.call(3)), (Some(call(2)), Some(call(3))));
    }

    #[test]
    fn a_rank_dies_in_the_call_that_was_said() {
        let seat = Seat::new();
        seat.die_in(3);
        assert_eq!([seat.count(5), seat.count(6), seat.count(7)], [Some(5), Some(11), None]);
        seat.advance(70);
        seat.advance(20);
        assert_eq!(seat.died(), None);
        seat.die();
        assert_eq!((seat.died(), seat.count(1)), (Some(70), None));
    }
}
