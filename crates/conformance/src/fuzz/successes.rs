//! What succeeded how often: a run in which all is refused neither crashes nor hangs, and shows nothing.

use std::collections::BTreeMap;

use anyhow::ensure;

use super::calls::CALLS;
use super::trace::Trace;

/// What makes the handles that most calls need, as programs make them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Maker {
    Alone,
    Pair,
    Memory,
    Stream,
    World,
}

impl Maker {
    pub(super) const ALL: [Self; 5] =
        [Self::Alone, Self::Pair, Self::Memory, Self::Stream, Self::World];

    /// What is made, as the trace says it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alone => "a communicator of one rank",
            Self::Pair => "communicators of two ranks",
            Self::Memory => "device memory",
            Self::Stream => "a stream",
            Self::World => "a world of one rank",
        }
    }

    /// Where its successes are counted, behind those of the calls of the table.
    pub(super) fn counted_at(self) -> usize {
        CALLS.len() + self as usize
    }
}

/// Numbers of successes that are kept: one for each call of the table, one for each maker.
pub(super) const COUNTED: usize = CALLS.len() + Maker::ALL.len();
/// Calls from which on each maker must have succeeded: it comes up once in forty.
const ENOUGH: u64 = 1000;

/// Successes of all processes of a run.
#[derive(Default)]
pub(super) struct Successes(BTreeMap<usize, u64>);

impl Successes {
    /// Adds those of a process that has ended.
    pub(super) fn add(&mut self, trace: &Trace) {
        for at in 0..COUNTED {
            *self.0.entry(at).or_default() += trace.successes(at);
        }
    }

    fn of(&self, at: usize) -> u64 {
        self.0.get(&at).copied().unwrap_or(0)
    }

    /// How many functions succeeded, and which did not.
    pub(super) fn text(&self) -> String {
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        for (at, (name, _)) in CALLS.iter().enumerate() {
            *functions.entry(name).or_default() += self.of(at);
        }
        let never: Vec<&str> =
            functions.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
        let (all, succeeded) = (functions.len(), functions.len() - never.len());
        let mut text = format!("{succeeded} of {all} functions returned 0 at least once");
        if !never.is_empty() {
            text += &format!("; never: {}", never.join(" "));
        }
        text
    }

    /// Whether the run got somewhere, after so many calls.
    pub(super) fn suffice(&self, made: u64) -> anyhow::Result<()> {
        for maker in Maker::ALL {
            let (name, count) = (maker.name(), self.of(maker.counted_at()));
            ensure!(made < ENOUGH || count > 0, "{made} calls, and never {name}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maker_that_never_succeeds_fails_a_long_run() {
        let mut successes = Successes::default();
        assert!(successes.suffice(ENOUGH - 1).is_ok());
        assert!(successes.suffice(ENOUGH).is_err());
        for maker in Maker::ALL {
            successes.0.insert(maker.counted_at(), 1);
        }
        assert!(successes.suffice(ENOUGH).is_ok());
        successes.0.insert(Maker::World.counted_at(), 0);
        assert!(successes.suffice(ENOUGH).is_err());
    }

    #[test]
    fn functions_are_counted_once() {
        let mut successes = Successes::default();
        let of = |name| CALLS.iter().position(|call| call.0 == name).unwrap();
        successes.0.insert(of("HcclCommDestroy"), 3);
        successes.0.insert(of("HcclBarrier"), 1);
        let text = successes.text();
        assert!(text.starts_with("2 of "), "{text}");
        assert!(!text.contains("HcclCommDestroy"), "{text}");
        assert!(text.contains("HcclAllReduce "), "{text}");
    }
}
