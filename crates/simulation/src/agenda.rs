//! Who goes on next, and when, in virtual time; and who sleeps, and what wakes it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use hccl_fabric::simulated::{Cause, Dice, Wake};

/// The longest from being woken to going on.
const LATENCY_MAX_NS: u64 = 3_000;

/// Why a rank goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was not asleep.
    Turn,
    /// It was woken.
    Woken,
    /// It slept as long as it may, and nobody is about to wake it.
    SleptOut,
}

#[derive(Debug, Default)]
struct Entry {
    /// Only the newest appointment of a rank counts.
    ticket: u64,
    why: Option<Why>,
    /// Since when it sleeps, and when the line that it watches changes.
    asleep: Option<u64>,
    /// When it looks around by itself.
    until: u64,
    line: Option<u64>,
    /// For when it was appointed as a sleeper that is woken.
    woken: Option<u64>,
    /// When it will hear of ranks that are gone.
    gone: BinaryHeap<Reverse<u64>>,
}

#[derive(Debug)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, u32, u64)>>,
    entries: Vec<Entry>,
    dice: Dice,
}

impl Agenda {
    pub(crate) fn new(ranks: u32, dice: Dice) -> Self {
        let entries = (0..ranks).map(|_| Entry::default()).collect();
        Self { heap: BinaryHeap::new(), entries, dice }
    }

    /// The rank goes on at a time.
    pub(crate) fn go_on(&mut self, rank: u32, at: u64) {
        let entry = self.entry(rank);
        entry.asleep = None;
        self.appoint(rank, at, Why::Turn);
    }

    /// The rank falls asleep, announced for whatever lines it wants, for so long at most.
    pub(crate) fn sleep(&mut self, rank: u32, since: u64, longest: Duration) {
        let entry = self.entry(rank);
        (entry.asleep, entry.woken) = (Some(since), None);
        entry.until = since + longest.as_nanos() as u64;
        while entry.gone.peek().is_some_and(|&Reverse(at)| at <= since) {
            entry.gone.pop();
        }
        self.reconsider(rank);
    }

    /// The rank ends for good.
    pub(crate) fn end(&mut self, rank: u32) {
        let entry = self.entry(rank);
        entry.ticket += 1;
        entry.asleep = None;
    }

    /// Somebody will be woken, if asleep.
    pub(crate) fn wake(&mut self, wake: Wake) {
        let entry = self.entry(wake.rank);
        match wake.cause {
            Cause::Line => {
                entry.line = Some(entry.line.map_or(wake.at_ns, |at| at.min(wake.at_ns)));
            }
            Cause::Gone => entry.gone.push(Reverse(wake.at_ns)),
        }
        if entry.asleep.is_some() {
            self.reconsider(wake.rank);
        }
    }

    /// Who goes on next, if that is by `until`. It watches no line any more.
    pub(crate) fn next(&mut self, until: u64) -> Option<(u64, u32, Why)> {
        while let Some(&Reverse((at, _, rank, ticket))) = self.heap.peek() {
            if at > until {
                return None;
            }
            self.heap.pop();
            let entry = self.entry(rank);
            if entry.ticket == ticket {
                let why = entry.why.unwrap_or(Why::Turn);
                // A wake that is under way tells that the sleeper is not forgotten.
                let why =
                    if entry.line.is_some() && why == Why::SleptOut { Why::Woken } else { why };
                (entry.asleep, entry.line) = (None, None);
                return Some((at, rank, why));
            }
        }
        None
    }

    pub(crate) fn is_asleep(&self, rank: u32) -> bool {
        self.entries[rank as usize].asleep.is_some()
    }

    /// Settles when a sleeper wakes up.
    fn reconsider(&mut self, rank: u32) {
        let entry = self.entry(rank);
        let Some(since) = entry.asleep else { return };
        let until = entry.until;
        let gone = entry.gone.peek().map(|&Reverse(at)| at);
        let woken = entry.line.into_iter().chain(gone).min().map(|at| at.max(since));
        match woken.filter(|&at| at < until) {
            // Most wakes are later than one that is known.
            Some(at) if entry.woken == Some(at) => {}
            Some(at) => {
                entry.woken = Some(at);
                let latency = self.dice.below(LATENCY_MAX_NS);
                self.appoint(rank, at + latency, Why::Woken);
            }
            None => self.appoint(rank, until, Why::SleptOut),
        }
    }

    fn appoint(&mut self, rank: u32, at: u64, why: Why) {
        let tie = self.dice.roll();
        let entry = self.entry(rank);
        entry.ticket += 1;
        entry.why = Some(why);
        let ticket = entry.ticket;
        self.heap.push(Reverse((at, tie, rank, ticket)));
    }

    fn entry(&mut self, rank: u32) -> &mut Entry {
        &mut self.entries[rank as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(50);
    const LONGEST_NS: u64 = LONGEST.as_nanos() as u64;

    fn agenda() -> Agenda {
        Agenda::new(3, Dice::new(1))
    }

    #[test]
    fn a_sleeper_wakes_by_its_line_or_when_it_has_slept_out() {
        let mut agenda = agenda();
        agenda.sleep(0, 1000, LONGEST);
        agenda.sleep(1, 1000, LONGEST);
        agenda.wake(Wake { rank: 1, at_ns: 2000, cause: Cause::Line });
        let (at, rank, why) = agenda.next(u64::MAX).unwrap();
        assert_eq!((rank, why), (1, Why::Woken));
        assert!((2000..2000 + LATENCY_MAX_NS).contains(&at));
        assert_eq!(agenda.next(u64::MAX), Some((1000 + LONGEST_NS, 0, Why::SleptOut)));
        assert_eq!(agenda.next(u64::MAX), None);
    }

    #[test]
    fn a_word_about_the_gone_wakes_only_who_sleeps_then() {
        let mut agenda = agenda();
        let wake = |at_ns, cause| Wake { rank: 2, at_ns, cause };
        agenda.wake(wake(500, Cause::Gone));
        agenda.sleep(2, 1000, LONGEST);
        assert_eq!(agenda.next(u64::MAX), Some((1000 + LONGEST_NS, 2, Why::SleptOut)));
        // A change of the line is seen even if it came before the sleep.
        agenda.wake(wake(500, Cause::Line));
        agenda.sleep(2, 1000, LONGEST);
        assert!(agenda.next(u64::MAX).unwrap().0 < 1000 + LATENCY_MAX_NS);
        agenda.sleep(2, 1000, LONGEST);
        agenda.wake(wake(1500, Cause::Gone));
        assert_eq!(agenda.next(u64::MAX).unwrap().2, Why::Woken);
    }

    #[test]
    fn a_wake_on_its_way_is_no_lost_one() {
        let mut agenda = agenda();
        agenda.sleep(0, 0, LONGEST);
        agenda.wake(Wake { rank: 0, at_ns: LONGEST_NS + 5, cause: Cause::Line });
        assert_eq!(agenda.next(u64::MAX), Some((LONGEST_NS, 0, Why::Woken)));
    }
}
