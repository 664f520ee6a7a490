//! The memory of one buffer: what its runs hold, and who touched them last.

use std::collections::BTreeMap;

use super::value::Held;

/// An access: who, and at which own level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) rank: u32,
    pub(super) level: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) end: u64,
    pub(super) held: Held,
    pub(super) written: Option<Touch>,
    pub(super) read: Vec<Touch>,
}

/// Runs by their beginning; they cover the buffer without gaps.
#[derive(Debug, Default)]
pub(super) struct Memory {
    runs: BTreeMap<u64, Run>,
}

impl Memory {
    pub(super) fn new(len: u64) -> Self {
        let run = Run { end: len, held: Held::NOTHING, written: None, read: Vec::new() };
        Self { runs: (len > 0).then_some((0, run)).into_iter().collect() }
    }

    /// Makes `start..end` consist of whole runs, and gives them.
    pub(super) fn runs(&mut self, start: u64, end: u64) -> impl Iterator<Item = (u64, &mut Run)> {
        self.cut(start);
        self.cut(end);
        self.runs.range_mut(start..end).map(|(start, run)| (*start, run))
    }

    /// As [`Self::runs`], and each run has the same value from then on.
    pub(super) fn fill(&mut self, start: u64, end: u64, held: Held) {
        for (_, run) in self.runs(start, end) {
            run.held = held;
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Run)> {
        self.runs.iter().map(|(start, run)| (*start, run))
    }

    fn cut(&mut self, at: u64) {
        let Some((&start, run)) = self.runs.range_mut(..at).next_back() else {
            return;
        };
        if run.end > at && start < at {
            let second = run.clone();
            run.end = at;
            self.runs.insert(at, second);
        }
    }
}
