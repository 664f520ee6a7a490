//! Who announced to sleep on what, and who is woken when.
//!
//! A rank is woken by what it announced itself for and by nothing else, except that a rank which is
//! gone wakes all. So an announcement on the wrong line, or a look that comes before the
//! announcement instead of after it, shows as a sleeper whom nobody wakes.

use crate::channel::Line;

/// Why a rank wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A line changes for which the rank announced itself. It wakes also a rank that only now
    /// falls asleep.
    Line,
    /// A rank is gone. It wakes a rank that sleeps at that moment.
    Gone,
}

/// Somebody is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Who.
    pub rank: u32,
    /// When, in nanoseconds of virtual time.
    pub at_ns: u64,
    /// By what.
    pub cause: Cause,
}

#[derive(Debug)]
pub(super) struct Sleepers {
    ranks: usize,
    /// Ranks that announced themselves, for the progress of each rank, then for the mail of each.
    lines: Vec<Vec<u32>>,
    wakes: Vec<Wake>,
}

impl Sleepers {
    pub(super) fn new(ranks: u32) -> Self {
        let ranks = ranks as usize;
        Self { ranks, lines: vec![Vec::new(); 2 * ranks], wakes: Vec::new() }
    }

    pub(super) fn announce(&mut self, rank: u32, line: Line) {
        let index = self.index(line);
        self.lines[index].push(rank);
    }

    /// Ends one announcement. False if there is none.
    pub(super) fn retract(&mut self, rank: u32, line: Line) -> bool {
        let index = self.index(line);
        let line = &mut self.lines[index];
        let place = line.iter().position(|&one| one == rank);
        place.map(|place| line.swap_remove(place)).is_some()
    }

    pub(super) fn wake(&mut self, rank: u32, at_ns: u64, cause: Cause) {
        self.wakes.push(Wake { rank, at_ns, cause });
    }

    /// Wakes all who announced themselves for a line.
    pub(super) fn wake_all(&mut self, line: Line, at_ns: impl Fn(u32) -> u64) {
        let index = self.index(line);
        for &rank in &self.lines[index] {
            self.wakes.push(Wake { rank, at_ns: at_ns(rank), cause: Cause::Line });
        }
    }

    /// Who is woken, since the last time that this was asked.
    pub(super) fn take(&mut self, wakes: &mut Vec<Wake>) {
        wakes.append(&mut self.wakes);
    }

    fn index(&self, line: Line) -> usize {
        let (first, rank) = match line {
            Line::Progress(rank) => (0, rank as usize),
            Line::Mail(rank) => (self.ranks, rank as usize),
        };
        assert!(rank < self.ranks, "ranks are checked where they come in");
        first + rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_announced_themselves_are_woken() {
        let mut sleepers = Sleepers::new(3);
        sleepers.announce(1, Line::Progress(0));
        sleepers.announce(2, Line::Mail(0));
        sleepers.announce(2, Line::Progress(0));
        assert!(sleepers.retract(2, Line::Progress(0)) && !sleepers.retract(2, Line::Progress(0)));
        sleepers.wake_all(Line::Progress(0), |rank| 10 + u64::from(rank));
        sleepers.wake_all(Line::Progress(1), |_| 0);
        let mut wakes = Vec::new();
        sleepers.take(&mut wakes);
        assert_eq!(wakes, [Wake { rank: 1, at_ns: 11, cause: Cause::Line }]);
        sleepers.take(&mut wakes);
        assert_eq!(wakes.len(), 1);
        sleepers.wake_all(Line::Mail(0), |_| 3);
        sleepers.take(&mut wakes);
        assert_eq!(wakes[1].rank, 2);
    }
}
