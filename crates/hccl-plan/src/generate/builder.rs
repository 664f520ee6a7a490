//! Writes the steps of one rank: keeps what the rank already knows of its peers, so that it waits
//! for nothing twice, and what it still owes them before it may end.

use std::collections::BTreeMap;

use crate::plan::{Access, Buffer, Peers, Place, Plan, Span, Step, VERSION};

use super::Task;

pub(super) struct Builder<'a> {
    pub(super) task: &'a Task,
    pub(super) rank: u32,
    algorithm: String,
    steps: Vec<Step>,
    /// Level of each peer that was waited for.
    known: Vec<u32>,
    level: u32,
    /// Peers that read memory of this rank, and the level at which they are through with it.
    visitors: BTreeMap<u32, u32>,
    scratch: u64,
    /// A copy or reduction whose neighbours may join it.
    open: Option<(Span, Vec<Place>, Vec<Place>)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(task: &'a Task, rank: u32, algorithm: String) -> Self {
        let mut known = vec![0; task.ranks as usize];
        known[rank as usize] = u32::MAX;
        Self {
            task,
            rank,
            algorithm,
            steps: Vec::new(),
            known,
            level: 1,
            visitors: BTreeMap::new(),
            scratch: 0,
            open: None,
        }
    }

    /// Declares scratch memory.
    pub(super) fn scratch(&mut self, size: u64) {
        self.scratch = self.scratch.max(size);
    }

    /// Waits until a peer has reached a level, unless it is known to have.
    pub(super) fn wait(&mut self, peer: u32, level: u32) {
        if self.known[peer as usize] < level {
            self.flush();
            self.known[peer as usize] = level;
            self.steps.push(Step::Wait { peers: Peers::One(peer), level });
        }
    }

    /// Waits for all ranks. The meeting at the beginning stands also where a rank is alone: there
    /// whoever runs the plan finds the buffers.
    pub(super) fn wait_all(&mut self, level: u32) {
        if self.steps.is_empty() || self.known.iter().any(|&known| known < level) {
            self.flush();
            for known in &mut self.known {
                *known = level.max(*known);
            }
            self.steps.push(Step::Wait { peers: Peers::All, level });
        }
    }

    /// Raises the own level; levels without steps between them become one.
    pub(super) fn signal(&mut self, level: u32) {
        self.flush();
        if level <= self.level {
            return;
        }
        self.level = level;
        match self.steps.last_mut() {
            Some(Step::Signal { level: last }) => *last = level,
            _ => self.steps.push(Step::Signal { level }),
        }
    }

    /// Notes that a peer reads memory of this rank until it reaches a level.
    pub(super) fn visitor(&mut self, peer: u32, level: u32) {
        if peer != self.rank {
            let through = self.visitors.entry(peer).or_default();
            *through = level.max(*through);
        }
    }

    /// Combines sources into targets; copies where there is one of each.
    pub(super) fn combine(&mut self, span: Span, sources: Vec<Place>, targets: Vec<Place>) {
        if sources == targets {
            return;
        }
        if let Some((open, from, to)) = &mut self.open
            && let Some(joined) = joined(*open, span, (from, to), (&sources, &targets))
        {
            *open = joined;
            return;
        }
        self.flush();
        for place in sources.iter().chain(&targets) {
            self.wait(place.rank, 1);
        }
        self.open = Some((span, sources, targets));
    }

    pub(super) fn copy(&mut self, span: Span, source: Place, target: Place) {
        self.combine(span, vec![source], vec![target]);
    }

    /// What stands open is as long as it gets.
    pub(super) fn flush(&mut self) {
        let Some((span, sources, targets)) = self.open.take() else {
            return;
        };
        self.steps.push(match (&*sources, &*targets) {
            (&[source], &[target]) => Step::Copy { span, source, target },
            _ => Step::Reduce { span, sources: sources.into(), targets: targets.into() },
        });
    }

    /// The plan: waits at its end until nobody visits this rank any more.
    pub(super) fn finish(mut self) -> Plan {
        self.flush();
        let visitors = std::mem::take(&mut self.visitors);
        let level = visitors.values().copied().max().unwrap_or(0);
        let all = visitors.len() + 1 == self.known.len() && visitors.len() > 1;
        if all && level <= self.level && visitors.values().all(|&through| through == level) {
            self.wait_all(level);
        }
        for (peer, through) in visitors {
            self.wait(peer, through);
        }
        let access = self.steps.iter().map(|step| step.access(self.rank)).max();
        Plan {
            version: VERSION,
            operator: self.task.operator,
            algorithm: self.algorithm,
            ranks: self.task.ranks,
            rank: self.rank,
            root: self.task.root,
            access: access.unwrap_or(Access::Own),
            scratch: self.scratch,
            steps: self.steps,
        }
    }
}

/// The span of two pieces that lie one behind the other in all their places.
fn joined(
    first: Span,
    second: Span,
    (from, to): (&[Place], &[Place]),
    (sources, targets): (&[Place], &[Place]),
) -> Option<Span> {
    let (span, step) = match (first, second) {
        (Span::Parts { first, len, of }, Span::Parts { first: next, len: more, of: other })
            if of == other && first + len == next =>
        {
            (Span::Parts { first, len: len + more, of }, 0)
        }
        (Span::Blocks { len }, Span::Blocks { len: more }) => {
            (Span::Blocks { len: len + more }, u64::from(len))
        }
        (Span::Exact { len }, Span::Exact { len: more }) => (Span::Exact { len: len + more }, len),
        _ => return None,
    };
    let follows = |places: &[Place], next: &[Place]| {
        places.len() == next.len()
            && places.iter().zip(next).all(|(place, next)| {
                (place.rank, place.buffer, place.at + step) == (next.rank, next.buffer, next.at)
            })
    };
    (follows(from, sources) && follows(to, targets)).then_some(span)
}

/// A place of a rank's input.
pub(super) fn input(rank: u32, at: u64) -> Place {
    Place { rank, buffer: Buffer::Input, at }
}

/// A place of a rank's output.
pub(super) fn output(rank: u32, at: u64) -> Place {
    Place { rank, buffer: Buffer::Output, at }
}

/// A place of a rank's scratch memory.
pub(super) fn scratch(rank: u32, at: u64) -> Place {
    Place { rank, buffer: Buffer::Scratch, at }
}
