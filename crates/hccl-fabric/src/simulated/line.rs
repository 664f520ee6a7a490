//! The progress of all ranks, as their observers come to see it.
//!
//! The last events of each rank are kept with their times. An observer has reached a level as soon
//! as any event at or beyond it has arrived there: to see a later word is to see the earlier ones.
//! So what an observer sees only grows, whatever order the events arrive in.
//!
//! Hundreds of ranks look at hundreds of others at each meeting, and mostly the newest event
//! decides. Those of all ranks lie side by side, so that they stay in a core's first cache.
//!
//! One thread drives a simulation. The atomics are there since [`crate::Fabric`] may be shared, and
//! order nothing.

use hccl_os::sync::{AtomicU64, Ordering::Relaxed};

/// Events that may be under way at a time. An older one counts as arrived.
const UNDER_WAY: u64 = 32;

/// Bits of a word that hold the level.
const LEVEL_BITS: u32 = 24;

/// Sequence number and level in one word that only grows.
pub(super) fn word(sequence: u64, level: u32) -> u64 {
    sequence << LEVEL_BITS | u64::from(level)
}

/// Sequence number and level of a word.
pub(super) fn position(word: u64) -> (u64, u32) {
    (word >> LEVEL_BITS, word as u32 & ((1 << LEVEL_BITS) - 1))
}

/// One rise of a rank's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its number, from 1. Number 0 is the beginning, which everybody has seen.
    pub(super) number: u64,
    /// What the progress rose to.
    pub(super) word: u64,
    /// When, in nanoseconds.
    pub(super) stamp: u64,
    /// What a private view of the memory takes over with it.
    pub(super) mark: u64,
}

/// An [`Event`] in memory.
#[derive(Debug, Default)]
struct Slot {
    number: AtomicU64,
    word: AtomicU64,
    stamp: AtomicU64,
    mark: AtomicU64,
}

impl Slot {
    fn load(&self) -> Event {
        Event {
            number: self.number.load(Relaxed),
            word: self.word.load(Relaxed),
            stamp: self.stamp.load(Relaxed),
            mark: self.mark.load(Relaxed),
        }
    }

    fn store(&self, event: Event) {
        self.number.store(event.number, Relaxed);
        self.word.store(event.word, Relaxed);
        self.stamp.store(event.stamp, Relaxed);
        self.mark.store(event.mark, Relaxed);
    }
}

/// What mostly suffices to answer: the newest event, and the word before it.
#[derive(Debug, Default)]
struct Newest {
    number: AtomicU64,
    word: AtomicU64,
    stamp: AtomicU64,
    before: AtomicU64,
}

/// The progress of every rank.
#[derive(Debug)]
pub(super) struct Lines {
    newest: Vec<Newest>,
    /// The last events of each rank, each at its number modulo [`UNDER_WAY`].
    rings: Vec<[Slot; UNDER_WAY as usize]>,
}

impl Lines {
    pub(super) fn new(ranks: u32) -> Self {
        let newest = (0..ranks).map(|_| Newest::default()).collect();
        Self { newest, rings: (0..ranks).map(|_| Default::default()).collect() }
    }

    /// Word of a rank's newest event.
    #[inline]
    pub(super) fn word(&self, rank: u32) -> u64 {
        self.newest[rank as usize].word.load(Relaxed)
    }

    /// Adds an event; gives its number.
    pub(super) fn push(&self, rank: u32, word: u64, stamp: u64, mark: u64) -> u64 {
        let newest = &self.newest[rank as usize];
        let number = newest.number.load(Relaxed) + 1;
        newest.before.store(newest.word.load(Relaxed), Relaxed);
        newest.number.store(number, Relaxed);
        newest.word.store(word, Relaxed);
        newest.stamp.store(stamp, Relaxed);
        let event = Event { number, word, stamp, mark };
        self.rings[rank as usize][(number % UNDER_WAY) as usize].store(event);
        number
    }

    /// Whether an observer has come to see `wanted`; `arrived` says of an event, by number and
    /// time, whether it is there.
    #[inline]
    pub(super) fn reached(
        &self,
        rank: u32,
        wanted: u64,
        arrived: impl Fn(u64, u64) -> bool,
    ) -> bool {
        let newest = &self.newest[rank as usize];
        if newest.word.load(Relaxed) < wanted {
            return false;
        }
        let number = newest.number.load(Relaxed);
        number == 0
            || arrived(number, newest.stamp.load(Relaxed))
            || newest.before.load(Relaxed) >= wanted && self.reached_before(rank, wanted, arrived)
    }

    /// Whether an event before the newest brings an observer as far.
    #[cold]
    fn reached_before(&self, rank: u32, wanted: u64, arrived: impl Fn(u64, u64) -> bool) -> bool {
        let oldest = oldest(self.number(rank));
        let mut enough = self.kept(rank).skip(1).take_while(|event| event.word >= wanted);
        enough.any(|event| event.number == oldest || arrived(event.number, event.stamp))
    }

    /// The event by which a rank first reached `wanted`, as far as it is known.
    pub(super) fn first(&self, rank: u32, wanted: u64) -> Event {
        self.kept(rank).take_while(|event| event.word >= wanted).last().unwrap_or_default()
    }

    /// The newest event that has arrived.
    pub(super) fn seen(&self, rank: u32, arrived: impl Fn(u64, u64) -> bool) -> Event {
        let oldest = oldest(self.number(rank));
        let is_there = |event: &Event| event.number == oldest || arrived(event.number, event.stamp);
        self.kept(rank).find(is_there).unwrap_or_default()
    }

    /// Events that may not have arrived everywhere.
    pub(super) fn under_way(&self, rank: u32) -> impl Iterator<Item = Event> + '_ {
        let oldest = oldest(self.number(rank));
        self.kept(rank).filter(move |event| event.number != oldest)
    }

    /// Number of a rank's newest event.
    fn number(&self, rank: u32) -> u64 {
        self.newest[rank as usize].number.load(Relaxed)
    }

    /// The events that are kept, the newest first.
    fn kept(&self, rank: u32) -> impl Iterator<Item = Event> + '_ {
        let newest = self.number(rank);
        let ring = &self.rings[rank as usize];
        // The beginning is in no ring, and its slot is untouched as long as it counts.
        (oldest(newest)..=newest).rev().map(|number| ring[(number % UNDER_WAY) as usize].load())
    }
}

/// Number of the oldest event that is kept. It has arrived everywhere.
fn oldest(newest: u64) -> u64 {
    newest.saturating_sub(UNDER_WAY - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_event_that_is_there_first_brings_the_earlier_ones() {
        let lines = Lines::new(2);
        for level in 1..=3 {
            lines.push(1, word(1, level), u64::from(level), 0);
        }
        let only = |wanted| move |number: u64, _stamp: u64| number == wanted;
        let reached = |wanted, number| lines.reached(1, wanted, only(number));
        assert!(reached(word(1, 1), 1) && !reached(word(1, 2), 1));
        assert!(reached(word(1, 1), 3) && reached(word(1, 2), 2));
        assert!(!lines.reached(1, word(1, 4), |_, _| true));
        assert!(lines.reached(1, 0, |_, _| false) && lines.reached(0, 0, |_, _| false));
        assert!(!lines.reached(0, word(1, 1), |_, _| true));
        assert_eq!(position(lines.seen(1, only(2)).word), (1, 2));
        assert_eq!(lines.seen(1, |_, _| false).number, 0);
        assert_eq!((lines.first(1, word(1, 2)).number, lines.first(1, 1).number), (2, 1));
    }

    #[test]
    fn events_that_are_old_have_arrived() {
        let lines = Lines::new(1);
        let count = 3 * UNDER_WAY;
        for number in 1..=count {
            lines.push(0, number, number, 0);
        }
        let oldest = count + 1 - UNDER_WAY;
        assert!(lines.reached(0, oldest, |_, _| false));
        assert!(!lines.reached(0, oldest + 1, |_, _| false));
        assert_eq!(lines.seen(0, |_, _| false).number, oldest);
        assert_eq!(lines.under_way(0).count() as u64, UNDER_WAY - 1);
    }
}
