//! The run itself: steps on symbols, and clocks.
//!
//! `known[r][q]` is the highest level of rank q of which rank r knows, by its own waits or by what
//! those it waited for knew when they signalled. An access by q at its level l is over for r if
//! `known[r][q]` is above l. Clocks of signals are kept until the last of their waits has passed.

use std::collections::VecDeque;

use crate::generate::{Task, Volume};
use crate::operator::Operator;
use crate::plan::{Access, Peers, Plan, Step};

use super::clocks::{Clocks, join};
use super::expect::{Source, lens, promises};
use super::headers::{headers, unit};
use super::memory::Memory;
use super::value::{Held, Values};
use super::{Fault, Placement, Report};

/// Checks the plans of all ranks, one a rank in order.
///
/// # Errors
/// The first fault that it meets.
pub fn check(
    plans: &[Plan],
    task: &Task,
    placement: Placement,
    stated: Option<Volume>,
) -> Result<Report, Fault> {
    headers(plans, task)?;
    let unit = unit(plans, task)?;
    let mut run = Run::new(plans, task, placement, unit)?;
    run.go()?;
    run.outputs()?;
    if let Some(stated) = stated {
        for (rank, &moved) in (0u32..).zip(&run.moved) {
            if !stated.covers(moved, unit) {
                return Err(Fault::Traffic { rank, moved, unit, stated });
            }
        }
    }
    Ok(Report {
        steps: plans.iter().map(|plan| plan.steps.len() as u64).sum(),
        levels: run.level.iter().copied().max().unwrap_or(0),
        scratch: plans.iter().map(|plan| plan.scratch).max().unwrap_or(0),
        access: plans.iter().map(|plan| plan.access).max().unwrap_or(Access::Own),
        moved: run.moved,
        unit,
        orders: run.orders,
    })
}

/// The state of a check.
pub(super) struct Run<'a> {
    pub(super) plans: &'a [Plan],
    pub(super) task: &'a Task,
    pub(super) unit: u64,
    /// Lengths by rank and buffer.
    pub(super) lens: Vec<[u64; 3]>,
    /// Which memory, and from where on, by rank and buffer.
    pub(super) maps: Vec<[(usize, u64); 3]>,
    pub(super) memories: Vec<Memory>,
    pub(super) values: Values,
    pub(super) next: Vec<usize>,
    pub(super) level: Vec<u32>,
    pub(super) known: Vec<Vec<u32>>,
    pub(super) over: Vec<bool>,
    pub(super) moved: Vec<u64>,
    pub(super) orders: usize,
    pub(super) clocks: Clocks,
}

impl<'a> Run<'a> {
    fn new(
        plans: &'a [Plan],
        task: &'a Task,
        placement: Placement,
        unit: u64,
    ) -> Result<Self, Fault> {
        let ranks = task.ranks as usize;
        let mut run = Self {
            plans,
            task,
            unit,
            lens: Vec::with_capacity(ranks),
            maps: Vec::with_capacity(ranks),
            memories: Vec::with_capacity(3 * ranks),
            values: Values::new(task.ranks),
            next: vec![0; ranks],
            level: vec![1; ranks],
            known: vec![vec![0; ranks]; ranks],
            over: vec![false; ranks],
            moved: vec![0; ranks],
            orders: 0,
            clocks: Clocks::new(plans)?,
        };
        for ((rank, plan), (input, output)) in plans.iter().enumerate().zip(lens(task, unit)) {
            run.known[rank][rank] = u32::MAX;
            let scratch = if task.extents.is_some() {
                Some(plan.scratch)
            } else {
                plan.scratch.checked_mul(unit)
            };
            let Some(scratch) = scratch.filter(|len| *len < 1 << 62) else {
                return Err(Fault::Header { index: rank, why: "its scratch memory is absurd" });
            };
            let memory = |buffer: usize| 3 * rank + buffer;
            let mut map = [(memory(0), 0), (memory(1), 0), (memory(2), 0)];
            let slice = rank as u64 * unit;
            match task.operator {
                Operator::Broadcast if plan.rank == task.root => map[1] = map[0],
                _ if placement == Placement::Apart => {}
                Operator::AllReduce => map[1] = map[0],
                Operator::Reduce if plan.rank == task.root => map[1] = map[0],
                Operator::AllGather => map[0] = (memory(1), slice),
                Operator::ReduceScatter => map[1] = (memory(0), slice),
                _ => {}
            }
            run.lens.push([input, output, scratch]);
            run.maps.push(map);
            run.memories.extend([input, output, scratch].map(Memory::new));
            let (at, first) = map[0];
            let held = Held { node: Values::leaf(plan.rank), shift: -(first as i64) };
            run.memories[at].fill(first, first + input, held);
        }
        Ok(run)
    }

    fn go(&mut self) -> Result<(), Fault> {
        let ranks = self.task.ranks;
        let mut ready: VecDeque<u32> = (0..ranks).collect();
        for rank in 0..ranks {
            self.arrive(rank, 0, 1, &mut ready);
        }
        while let Some(rank) = ready.pop_front() {
            self.advance(rank, &mut ready)?;
        }
        let stuck: Vec<u32> = (0..ranks).filter(|&rank| !self.over[rank as usize]).collect();
        match stuck.first() {
            Some(&rank) => {
                let step = self.next[rank as usize];
                Err(Fault::Deadlock { rank, step, others: stuck.len() - 1 })
            }
            None => Ok(()),
        }
    }

    /// Runs a rank until it waits or ends.
    fn advance(&mut self, rank: u32, ready: &mut VecDeque<u32>) -> Result<(), Fault> {
        let me = rank as usize;
        let plans = self.plans;
        while let Some(step) = plans[me].steps.get(self.next[me]) {
            match step {
                Step::Signal { level } => {
                    let before = std::mem::replace(&mut self.level[me], *level);
                    self.arrive(rank, before, *level, ready);
                }
                Step::Wait { peers, level } => {
                    if !self.passes(rank, *peers, *level) {
                        return Ok(());
                    }
                }
                Step::Copy { span, source, target } => {
                    let source = std::slice::from_ref(source);
                    self.combine(rank, *span, source, std::slice::from_ref(target))?;
                }
                Step::Reduce { span, sources, targets } => {
                    self.combine(rank, *span, sources, targets)?;
                }
            }
            self.next[me] += 1;
        }
        self.end(rank)
    }

    /// A rank has risen from one level to another: keeps its clock where somebody will want it.
    fn arrive(&mut self, rank: u32, before: u32, level: u32, ready: &mut VecDeque<u32>) {
        let me = rank as usize;
        let clock = |known: &[u32]| {
            let mut clock: Box<[u32]> = known.into();
            clock[me] = level;
            clock
        };
        if let Some((_, kept)) = self.clocks.kept.get_mut(&(rank, level)) {
            *kept = Some(clock(&self.known[me]));
        }
        for (&met, (come, joint)) in self.clocks.met.range_mut(before + 1..=level) {
            join(joint, &clock(&self.known[me]));
            *come += 1;
            if *come == self.task.ranks {
                ready.extend(self.clocks.sleepers_of_all.remove(&met).unwrap_or_default());
            }
        }
        ready.extend(self.clocks.sleepers[me].drain(..));
    }

    /// Whether a wait is over. If so, the rank knows what it may know now; else it is noted.
    fn passes(&mut self, rank: u32, peers: Peers, level: u32) -> bool {
        let me = rank as usize;
        match peers {
            Peers::All => {
                let (come, joint) = &self.clocks.met[&level];
                if *come < self.task.ranks {
                    self.clocks.sleepers_of_all.entry(level).or_default().push(rank);
                    return false;
                }
                join(&mut self.known[me], joint);
            }
            Peers::One(peer) => {
                if self.level[peer as usize] < level {
                    self.clocks.sleepers[peer as usize].push(rank);
                    return false;
                }
                let signal = self.clocks.signal_for(peer, level).unwrap_or(level);
                let key = (peer, signal);
                if let Some((waits, clock)) = self.clocks.kept.get_mut(&key) {
                    *waits -= 1;
                    let last = *waits == 0;
                    if self.known[me][peer as usize] < signal
                        && let Some(clock) = clock
                    {
                        join(&mut self.known[me], clock);
                    }
                    if last {
                        self.clocks.kept.remove(&key);
                    }
                }
                let known = &mut self.known[me][peer as usize];
                *known = signal.max(*known);
            }
        }
        true
    }

    /// A rank is through: nobody may be in its memory any more.
    fn end(&mut self, rank: u32) -> Result<(), Fault> {
        let me = rank as usize;
        self.over[me] = true;
        for memory in &self.memories[3 * me..3 * me + 3] {
            for (_, run) in memory.all() {
                for other in run.written.iter().chain(&run.read) {
                    if other.rank != rank && self.known[me][other.rank as usize] <= other.level {
                        return Err(Fault::Late { rank: other.rank, owner: rank });
                    }
                }
            }
        }
        if self.task.operator == Operator::Barrier {
            for (peer, &known) in (0u32..).zip(&self.known[me]) {
                if known == 0 {
                    return Err(Fault::Unmet { rank, peer });
                }
            }
        }
        Ok(())
    }

    fn outputs(&mut self) -> Result<(), Fault> {
        let mut orders = std::collections::HashSet::new();
        for rank in 0..self.task.ranks {
            let (at, first) = self.maps[rank as usize][1];
            for promise in promises(self.task, rank, self.unit) {
                let begin = first + promise.start;
                let shift = promise.from as i64 - begin as i64;
                for (start, run) in self.memories[at].runs(begin, begin + promise.len) {
                    let wrong = |why| Fault::Wrong { rank, at: start - first, why };
                    let found = match promise.source {
                        _ if run.held == Held::NOTHING => return Err(wrong("nobody wrote it")),
                        Source::All => {
                            orders.insert(run.held.node);
                            run.held.shift + self.values.whole(run.held.node).map_err(wrong)?
                        }
                        Source::One(peer) if run.held.node != Values::leaf(peer) => {
                            return Err(wrong("it comes from another rank"));
                        }
                        Source::One(_) => run.held.shift,
                    };
                    if found != shift {
                        return Err(wrong("it comes from another place"));
                    }
                }
            }
        }
        self.orders = orders.len();
        Ok(())
    }
}
