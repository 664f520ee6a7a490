//! Steps of one rank that touch the same bytes, and so cannot run at the same time.
//!
//! Places are fractions of blocks; they are compared in units that divide all fractions of a plan,
//! as in the checker.

use std::collections::BTreeMap;

use crate::plan::{Buffer, Place, Plan, Span, Step};

/// Runs of units by buffer, none of which touch: first unit, and the one after the last.
type Runs = BTreeMap<(u32, Buffer, u128), u128>;

/// What the steps since the last [`Conflicts::clear`] touch.
pub(super) struct Conflicts<'a> {
    unit: u128,
    read: Runs,
    written: Runs,
    /// The first step. It is looked at when there is a second.
    alone: Option<&'a Step>,
}

impl<'a> Conflicts<'a> {
    /// For the steps of a plan; nothing if its fractions have no common unit.
    pub(super) fn new(plan: &Plan) -> Option<Self> {
        let mut unit = 1u64;
        for step in &plan.steps {
            if let Some(Span::Parts { of, .. }) = span(step) {
                let of = u64::from(of.max(1));
                unit = (unit / gcd(unit, of)).checked_mul(of)?;
            }
        }
        Some(Self { unit: u128::from(unit), read: Runs::new(), written: Runs::new(), alone: None })
    }

    pub(super) fn clear(&mut self) {
        self.read.clear();
        self.written.clear();
        self.alone = None;
    }

    /// Whether a step has to wait for one before it; if not, it is one of them from now on.
    pub(super) fn clashes(&mut self, step: &'a Step) -> bool {
        if self.read.is_empty() && self.written.is_empty() {
            let Some(first) = self.alone.take() else {
                self.alone = Some(step);
                return false;
            };
            self.add(first);
        }
        let (sources, targets) = places(step);
        let Some(span) = span(step) else {
            return false;
        };
        let clash = sources.iter().any(|place| self.meets(&self.written, place, span))
            || targets.iter().any(|place| {
                self.meets(&self.written, place, span) || self.meets(&self.read, place, span)
            });
        if !clash {
            self.add(step);
        }
        clash
    }

    fn add(&mut self, step: &Step) {
        let (sources, targets) = places(step);
        let Some(span) = span(step) else {
            return;
        };
        for place in sources {
            let (begin, end) = self.range(place, span);
            insert(&mut self.read, (place.rank, place.buffer), begin, end);
        }
        for place in targets {
            let (begin, end) = self.range(place, span);
            insert(&mut self.written, (place.rank, place.buffer), begin, end);
        }
    }

    fn range(&self, place: &Place, span: Span) -> (u128, u128) {
        let at = u128::from(place.at);
        match span {
            Span::Parts { first, len, of } => {
                let part = self.unit / u128::from(of.max(1));
                let begin = at * self.unit + u128::from(first) * part;
                (begin, begin + u128::from(len) * part)
            }
            Span::Blocks { len } => (at * self.unit, (at + u128::from(len)) * self.unit),
            Span::Exact { len } => (at, at + u128::from(len)),
        }
    }

    fn meets(&self, runs: &Runs, place: &Place, span: Span) -> bool {
        let (begin, end) = self.range(place, span);
        let before = runs.range(..(place.rank, place.buffer, end)).next_back();
        before.is_some_and(|(&(rank, buffer, _), &until)| {
            (rank, buffer) == (place.rank, place.buffer) && until > begin && begin < end
        })
    }
}

/// Adds a run, which may overlap others.
fn insert(runs: &mut Runs, (rank, buffer): (u32, Buffer), mut begin: u128, mut end: u128) {
    if begin >= end {
        return;
    }
    while let Some((&key, &until)) = runs.range(..=(rank, buffer, end)).next_back() {
        if (key.0, key.1) != (rank, buffer) || until < begin {
            break;
        }
        begin = begin.min(key.2);
        end = end.max(until);
        runs.remove(&key);
    }
    runs.insert((rank, buffer, begin), end);
}

/// How much a step works on, if it works on anything.
pub(super) fn span(step: &Step) -> Option<Span> {
    match step {
        Step::Reduce { span, .. } | Step::Copy { span, .. } => Some(*span),
        _ => None,
    }
}

/// Where a step reads and where it writes.
pub(super) fn places(step: &Step) -> (&[Place], &[Place]) {
    match step {
        Step::Reduce { sources, targets, .. } => (sources, targets),
        Step::Copy { source, target, .. } => {
            (std::slice::from_ref(source), std::slice::from_ref(target))
        }
        _ => (&[], &[]),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generate::{Algorithm, Task, expand};
    use crate::operator::Operator;

    fn copy(from: (u32, u64), to: (u32, u64), span: Span) -> Step {
        let place = |(rank, at)| Place { rank, buffer: Buffer::Output, at };
        Step::Copy { span, source: place(from), target: place(to) }
    }

    fn plan(steps: Vec<Step>) -> Plan {
        let task = Task::new(Operator::AllReduce, 2, 0);
        Plan { steps, ..expand(&Algorithm::Ring, &task, 0).unwrap() }
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let span = prop_oneof![
            (0u32..5, 0u32..3, prop::sample::select(vec![4u32, 6, 8]))
                .prop_map(|(first, len, of)| Span::Parts { first, len, of }),
            (0u32..3).prop_map(|len| Span::Blocks { len }),
        ];
        ((0u32..2, 0u64..4), (0u32..2, 0u64..4), span)
            .prop_map(|(from, to, span)| copy(from, to, span))
    }

    proptest! {
        /// Against all pairs of steps, on cells of a 24th of a block.
        #[test]
        fn clashes_are_found(steps in prop::collection::vec(any_step(), 1..12)) {
            let cells = |step: &Step, place: &Place| {
                let (begin, end) = match span(step).unwrap() {
                    Span::Parts { first, len, of } => {
                        (first * 24 / of, (first + len) * 24 / of)
                    }
                    Span::Blocks { len } => (0, len * 24),
                    Span::Exact { .. } => unreachable!(),
                };
                let at = place.at * 24;
                (place.rank, at + u64::from(begin), at + u64::from(end))
            };
            let meet = |a: (u32, u64, u64), b: (u32, u64, u64)| {
                a.0 == b.0 && a.1.max(b.1) < a.2.min(b.2)
            };
            let plan = plan(steps.clone());
            let mut conflicts = Conflicts::new(&plan).unwrap();
            let mut since: Vec<&Step> = Vec::new();
            for step in &steps {
                let (read, written) = places(step);
                let clash = since.iter().any(|other| {
                    let (other_read, other_written) = places(other);
                    let target = cells(step, &written[0]);
                    meet(cells(step, &read[0]), cells(other, &other_written[0]))
                        || meet(target, cells(other, &other_written[0]))
                        || meet(target, cells(other, &other_read[0]))
                });
                prop_assert_eq!(conflicts.clashes(step), clash);
                if clash {
                    conflicts.clear();
                    prop_assert!(!conflicts.clashes(step));
                    since.clear();
                }
                since.push(step);
            }
        }
    }
}
