//! The run itself: steps on symbols, and clocks.
//!
//! `known[r][q]` is the highest level of rank q of which rank r knows, by its own waits or by what
//! those it waited for knew when they signalled. An access by q at its level l is over for r if
//! `known[r][q]` is above l. Clocks of signals are kept until the last of their waits has passed.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::generate::{Task, Volume};
use crate::operator::Operator;
use crate::plan::{Access, Buffer, Peers, Place, Plan, Span, Step, VERSION};

use super::expect::{Source, lens, promises};
use super::memory::{Memory, Touch};
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

fn headers(plans: &[Plan], task: &Task) -> Result<(), Fault> {
    if plans.len() != task.ranks as usize {
        return Err(Fault::Header { index: plans.len(), why: "one plan a rank is needed" });
    }
    for (index, plan) in plans.iter().enumerate() {
        let root = !task.operator.is_rooted() || plan.root == task.root;
        let why = match plan {
            _ if plan.version != VERSION => "its version is another",
            _ if plan.operator != task.operator || !root => "it is for another operator or root",
            _ if plan.ranks != task.ranks => "it is for another number of ranks",
            _ if plan.rank as usize != index => "it is for another rank",
            _ => {
                let needed = plan.steps.iter().map(|step| step.access(plan.rank)).max();
                let needed = needed.unwrap_or(Access::Own);
                if needed != plan.access {
                    let declared = plan.access;
                    return Err(Fault::Access { rank: plan.rank, declared, needed });
                }
                continue;
            }
        };
        return Err(Fault::Header { index, why });
    }
    Ok(())
}

/// Units of a block: enough for every part to be a whole number of them.
fn unit(plans: &[Plan], task: &Task) -> Result<u64, Fault> {
    let exact = task.extents.is_some();
    let mut unit = 1u64;
    for plan in plans {
        for (step, one) in plan.steps.iter().enumerate() {
            let (Step::Copy { span, .. } | Step::Reduce { span, .. }) = one else {
                continue;
            };
            let fault = |why| Err(Fault::Step { rank: plan.rank, step, why });
            match *span {
                Span::Exact { len } if exact && len > 0 => {}
                Span::Blocks { len } if !exact && len > 0 => {}
                Span::Parts { first, len, of } if !exact && len > 0 => {
                    if first.checked_add(len).is_none_or(|end| end > of) {
                        return fault("parts outside of a block");
                    }
                    let of = u64::from(of);
                    match (unit / gcd(unit, of)).checked_mul(of).filter(|unit| *unit < 1 << 40) {
                        Some(multiple) => unit = multiple,
                        None => return fault("parts that have no common multiple"),
                    }
                }
                _ => return fault("a span that is empty or of the wrong kind"),
            }
        }
    }
    Ok(unit)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Where a place lies after in-place buffers were laid over each other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Spot {
    memory: usize,
    start: u64,
    end: u64,
}

struct Run<'a> {
    plans: &'a [Plan],
    task: &'a Task,
    unit: u64,
    /// Lengths by rank and buffer.
    lens: Vec<[u64; 3]>,
    /// Which memory, and from where on, by rank and buffer.
    maps: Vec<[(usize, u64); 3]>,
    memories: Vec<Memory>,
    values: Values,
    next: Vec<usize>,
    level: Vec<u32>,
    known: Vec<Vec<u32>>,
    over: Vec<bool>,
    moved: Vec<u64>,
    orders: usize,
    clocks: Clocks,
}

/// Clocks of signals, as far as somebody waits for them.
#[derive(Default)]
struct Clocks {
    /// Levels of the signals of each rank.
    levels: Vec<Vec<u32>>,
    /// By rank and level of the signal: waits that will look at it, and the clock.
    kept: HashMap<(u32, u32), Kept>,
    /// By level that somebody waits for on all ranks: how many have come, and their joint clock.
    met: BTreeMap<u32, (u32, Vec<u32>)>,
    /// Who waits for a rank.
    sleepers: Vec<Vec<u32>>,
    /// Who waits for all ranks, by level.
    sleepers_of_all: BTreeMap<u32, Vec<u32>>,
}

/// How many waits will look at a clock, and the clock once it is there.
type Kept = (u32, Option<Box<[u32]>>);

fn join(clock: &mut [u32], other: &[u32]) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

impl Clocks {
    fn new(plans: &[Plan]) -> Result<Self, Fault> {
        let ranks = plans.len();
        let mut clocks = Self { sleepers: vec![Vec::new(); ranks], ..Self::default() };
        for plan in plans {
            let mut levels = vec![1];
            for (step, one) in plan.steps.iter().enumerate() {
                if let Step::Signal { level } = *one {
                    if levels.last().is_some_and(|last| *last >= level) {
                        let why = "a level that does not rise";
                        return Err(Fault::Step { rank: plan.rank, step, why });
                    }
                    levels.push(level);
                }
            }
            clocks.levels.push(levels);
        }
        for plan in plans {
            for (step, one) in plan.steps.iter().enumerate() {
                let Step::Wait { peers, level } = *one else {
                    continue;
                };
                let one = matches!(peers, Peers::One(_));
                let peers = match peers {
                    Peers::One(peer) if peer as usize >= ranks => {
                        let why = "waits for a rank that is none";
                        return Err(Fault::Step { rank: plan.rank, step, why });
                    }
                    Peers::One(peer) => peer..peer + 1,
                    Peers::All if clocks.met.contains_key(&level) => continue,
                    Peers::All => {
                        clocks.met.insert(level, (0, vec![0; ranks]));
                        0..ranks as u32
                    }
                };
                for peer in peers {
                    match clocks.signal_for(peer, level) {
                        None => {
                            return Err(Fault::Unreached { rank: plan.rank, step, peer, level });
                        }
                        Some(1) => {}
                        Some(at) if one => {
                            clocks.kept.entry((peer, at)).or_default().0 += 1;
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(clocks)
    }

    /// Level of the first signal of a rank that reaches a level.
    fn signal_for(&self, rank: u32, level: u32) -> Option<u32> {
        let levels = &self.levels[rank as usize];
        levels.get(levels.partition_point(|known| *known < level)).copied()
    }
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

    /// One copy or reduction.
    fn combine(
        &mut self,
        rank: u32,
        span: Span,
        sources: &[Place],
        targets: &[Place],
    ) -> Result<(), Fault> {
        let me = rank as usize;
        let step = self.next[me];
        let fault = |why| Err(Fault::Step { rank, step, why });
        if sources.is_empty() || targets.is_empty() {
            return fault("combines nothing");
        }
        let spots = |places: &[Place]| {
            places.iter().map(|place| self.spot(rank, *place, span)).collect::<Result<Vec<_>, _>>()
        };
        let (from, to) = (spots(sources)?, spots(targets)?);
        if targets.iter().any(|place| place.buffer == Buffer::Input) {
            return fault("writes an input");
        }
        if sources.len() > 1 && !self.task.operator.reduces() {
            return fault("reduces though the operator does not");
        }
        if sources.len() == 1 && from == to {
            // In place: it is there.
            return Ok(());
        }
        let overlap =
            |a: &Spot, b: &Spot| a.memory == b.memory && a.start < b.end && b.start < a.end;
        for (i, spot) in to.iter().enumerate() {
            let shifted = |other: &&Spot| overlap(spot, other) && spot.start != other.start;
            if to[..i].iter().any(|other| overlap(spot, other)) || from.iter().any(|s| shifted(&s))
            {
                return fault("its places overlap");
            }
        }
        let len = from[0].end - from[0].start;
        for place in sources.iter().chain(targets) {
            if place.rank != rank {
                self.moved[me] += len;
            }
        }
        // Read everything, then write.
        let values = self.read(rank, sources, &from)?;
        for (place, spot) in targets.iter().zip(&to) {
            self.write(rank, *place, *spot, from[0].start, &values)?;
        }
        Ok(())
    }

    fn spot(&self, rank: u32, place: Place, span: Span) -> Result<Spot, Fault> {
        let step = self.next[rank as usize];
        let Place { rank: owner, buffer, at } = place;
        let bounds = Fault::Bounds { rank, step, owner, buffer };
        if owner >= self.task.ranks {
            return Err(bounds);
        }
        if self.known[rank as usize][owner as usize] == 0 {
            return Err(Fault::Early { rank, step, owner });
        }
        if self.over[owner as usize] {
            return Err(Fault::Late { rank, owner });
        }
        let (block, skip, len) = match span {
            Span::Parts { first, len, of } => {
                let part = self.unit / u64::from(of);
                (self.unit, u64::from(first) * part, u64::from(len) * part)
            }
            Span::Blocks { len } => (self.unit, 0, u64::from(len) * self.unit),
            Span::Exact { len } => (1, 0, len),
        };
        let buffer = place.buffer as usize;
        let end = at.checked_mul(block).and_then(|at| at.checked_add(skip)?.checked_add(len));
        match end.filter(|end| *end <= self.lens[owner as usize][buffer]) {
            Some(end) => {
                let (memory, first) = self.maps[owner as usize][buffer];
                Ok(Spot { memory, start: first + end - len, end: first + end })
            }
            None => Err(bounds),
        }
    }

    fn race(&self, rank: u32, place: Place, other: Touch) -> Option<Fault> {
        let safe =
            other.rank == rank || self.known[rank as usize][other.rank as usize] > other.level;
        (!safe).then_some(Fault::Race {
            rank,
            step: self.next[rank as usize],
            other: other.rank,
            owner: place.rank,
            buffer: place.buffer,
        })
    }

    /// The combination of the sources: ends of runs, counted from the beginning of the first
    /// source's place, and what they hold there.
    fn read(
        &mut self,
        rank: u32,
        places: &[Place],
        spots: &[Spot],
    ) -> Result<Vec<(u64, Held)>, Fault> {
        let touch = Touch { rank, level: self.level[rank as usize] };
        let len = spots[0].end - spots[0].start;
        let mut columns: Vec<Vec<(u64, Held)>> = Vec::with_capacity(spots.len());
        for (place, spot) in places.iter().zip(spots) {
            let mut column = Vec::new();
            let mut memory = std::mem::take(&mut self.memories[spot.memory]);
            for (_, run) in memory.runs(spot.start, spot.end) {
                if run.held == Held::NOTHING {
                    let step = self.next[rank as usize];
                    let (owner, buffer) = (place.rank, place.buffer);
                    return Err(Fault::Undefined { rank, step, owner, buffer });
                }
                if let Some(fault) = run.written.and_then(|other| self.race(rank, *place, other)) {
                    return Err(fault);
                }
                if run.read.last() != Some(&touch) {
                    run.read.push(touch);
                }
                // The shift is made relative to the first source's place.
                let shift = run.held.shift + spot.start as i64 - spots[0].start as i64;
                column.push((run.end - spot.start, Held { shift, ..run.held }));
            }
            self.memories[spot.memory] = memory;
            columns.push(column);
        }
        if columns.len() == 1 {
            return Ok(columns.swap_remove(0));
        }
        let mut at = vec![0; columns.len()];
        let mut result = Vec::new();
        let mut done = 0;
        let mut parts = Vec::with_capacity(columns.len());
        while done < len {
            parts.clear();
            let mut end = len;
            for (column, at) in columns.iter().zip(&mut at) {
                while column[*at].0 <= done {
                    *at += 1;
                }
                end = end.min(column[*at].0);
                parts.push(column[*at].1);
            }
            let node = self.values.combine(&parts);
            result.push((end, Held { node, shift: parts[0].shift }));
            done = end;
        }
        Ok(result)
    }

    fn write(
        &mut self,
        rank: u32,
        place: Place,
        spot: Spot,
        origin: u64,
        values: &[(u64, Held)],
    ) -> Result<(), Fault> {
        let touch = Touch { rank, level: self.level[rank as usize] };
        let mut memory = std::mem::take(&mut self.memories[spot.memory]);
        let mut begin = 0;
        for (end, held) in values {
            let shift = held.shift + origin as i64 - spot.start as i64;
            for (_, run) in memory.runs(spot.start + begin, spot.start + end) {
                let mut others = run.written.iter().chain(&run.read);
                if let Some(fault) = others.find_map(|other| self.race(rank, place, *other)) {
                    return Err(fault);
                }
                run.held = Held { shift, ..*held };
                run.written = Some(touch);
                run.read.clear();
            }
            begin = *end;
        }
        self.memories[spot.memory] = memory;
        Ok(())
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
