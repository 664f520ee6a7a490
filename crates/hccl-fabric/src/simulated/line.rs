//! The progress of one rank, as its observers come to see it.
//!
//! The last events are kept with their times. An observer has reached a level as soon as any event
//! at or beyond it has arrived there: to see a later word is to see the earlier ones. So what an
//! observer sees only grows, whatever order the events arrive in.
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

/// One rise of the progress.
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

#[derive(Debug, Default)]
struct Slot {
    word: AtomicU64,
    stamp: AtomicU64,
    mark: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Line {
    /// Number of the newest event.
    count: AtomicU64,
    slots: [Slot; UNDER_WAY as usize],
}

impl Line {
    /// Number and word of the newest event.
    pub(super) fn newest(&self) -> Event {
        self.event(self.count.load(Relaxed))
    }

    /// Adds an event; gives its number.
    pub(super) fn push(&self, word: u64, stamp: u64, mark: u64) -> u64 {
        let number = self.count.load(Relaxed) + 1;
        let slot = &self.slots[(number % UNDER_WAY) as usize];
        slot.word.store(word, Relaxed);
        slot.stamp.store(stamp, Relaxed);
        slot.mark.store(mark, Relaxed);
        self.count.store(number, Relaxed);
        number
    }

    /// Whether an observer has come to see `wanted`; `arrived` says of an event whether it is there.
    pub(super) fn reached(&self, wanted: u64, arrived: impl Fn(&Event) -> bool) -> bool {
        let newest = self.count.load(Relaxed);
        let oldest = oldest(newest);
        for number in (oldest..=newest).rev() {
            let event = self.event(number);
            if event.word < wanted {
                return false;
            }
            if number == oldest || arrived(&event) {
                return true;
            }
        }
        false
    }

    /// The event that first reached `wanted`, as far as it is known.
    pub(super) fn first(&self, wanted: u64) -> Event {
        self.kept().take_while(|event| event.word >= wanted).last().unwrap_or_default()
    }

    /// The newest event that has arrived.
    pub(super) fn seen(&self, arrived: impl Fn(&Event) -> bool) -> Event {
        let oldest = oldest(self.count.load(Relaxed));
        let is_there = |event: &Event| event.number == oldest || arrived(event);
        self.kept().find(is_there).unwrap_or_default()
    }

    /// Events that may not have arrived everywhere.
    pub(super) fn under_way(&self) -> impl Iterator<Item = Event> + '_ {
        let oldest = oldest(self.count.load(Relaxed));
        self.kept().filter(move |event| event.number != oldest)
    }

    /// The events that are kept, the newest first.
    fn kept(&self) -> impl Iterator<Item = Event> + '_ {
        let newest = self.count.load(Relaxed);
        (oldest(newest)..=newest).rev().map(|number| self.event(number))
    }

    fn event(&self, number: u64) -> Event {
        let slot = &self.slots[(number % UNDER_WAY) as usize];
        Event {
            number,
            word: slot.word.load(Relaxed),
            stamp: slot.stamp.load(Relaxed),
            mark: slot.mark.load(Relaxed),
        }
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
        let line = Line::default();
        for level in 1..=3 {
            line.push(word(1, level), u64::from(level), 0);
        }
        let only = |number| move |event: &Event| event.number == number;
        assert!(line.reached(word(1, 1), only(1)));
        assert!(!line.reached(word(1, 2), only(1)));
        assert!(line.reached(word(1, 1), only(3)));
        assert!(!line.reached(word(1, 4), |_| true));
        assert!(line.reached(0, |_| false));
        assert_eq!(position(line.seen(only(2)).word), (1, 2));
        assert_eq!(line.seen(|_| false).number, 0);
        assert_eq!((line.first(word(1, 2)).number, line.first(1).number), (2, 1));
    }

    #[test]
    fn events_that_are_old_have_arrived() {
        let line = Line::default();
        let count = 3 * UNDER_WAY;
        for number in 1..=count {
            line.push(number, number, 0);
        }
        let oldest = count + 1 - UNDER_WAY;
        assert!(line.reached(oldest, |_| false));
        assert!(!line.reached(oldest + 1, |_| false));
        assert_eq!(line.seen(|_| false).number, oldest);
        assert_eq!(line.under_way().count() as u64, UNDER_WAY - 1);
    }
}
