//! One step on symbols: finds the places, looks for races, and combines what the sources hold.

use crate::plan::{Buffer, Place, Span};

use super::Fault;
use super::memory::Touch;
use super::run::Run;
use super::value::Held;

/// Where a place lies after in-place buffers were laid over each other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Spot {
    memory: usize,
    start: u64,
    end: u64,
}

impl Run<'_> {
    /// One copy or reduction.
    pub(super) fn combine(
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
            Span::Blocks { len } => (self.unit, 0, u64::from(len).saturating_mul(self.unit)),
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
}
