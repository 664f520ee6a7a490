//! Pipeline: a ring between groups, and a mesh inside each group at the same time.
//!
//! AllGather: in round s a rank pulls one block from its like in the group before, and spreads
//! what came in the round before inside its group; one more round inside ends it. ReduceScatter
//! is the mirror: in each round a rank reduces, for one group, its group's inputs and what came so
//! far along the ring. AllReduce is one after the other.

use crate::operator::Operator;
use crate::plan::{Place, Span};

use super::Why;
use super::builder::{Builder, input, output, scratch};
use super::hierarchy::own_block;

/// Groups of `size` ranks, seen from a rank.
struct Groups {
    size: u32,
    groups: u32,
    group: u32,
    place: u32,
}

impl Groups {
    fn rank(&self, group: u32, place: u32) -> u32 {
        group % self.groups * self.size + place
    }

    /// The group so many before the own one.
    fn before(&self, distance: u32) -> u32 {
        (self.group + 2 * self.groups - distance) % self.groups
    }
}

pub(super) fn pipeline(b: &mut Builder<'_>, size: u32) -> Result<(), Why> {
    check(b.task.ranks, size)?;
    let groups =
        Groups { size, groups: b.task.ranks / size, group: b.rank / size, place: b.rank % size };
    match b.task.operator {
        Operator::AllGather => {
            gather(b, &groups, 1);
            own_block(b);
        }
        Operator::ReduceScatter => reduce(b, &groups),
        Operator::AllReduce => {
            reduce(b, &groups);
            gather(b, &groups, 1 + groups.groups);
        }
        _ => return Err(Why::Operator),
    }
    Ok(())
}

/// Whether groups of this size divide the ranks.
pub(super) fn check(ranks: u32, size: u32) -> Result<(), Why> {
    if size == 0 || !ranks.is_multiple_of(size) {
        return Err(Why::Shape(format!("groups of {size} do not divide them")));
    }
    Ok(())
}

/// Where the block of rank `block` lies at `rank`, and how much that is.
fn place(b: &Builder<'_>, rank: u32, block: u32) -> (Span, Place) {
    match b.task.operator {
        Operator::AllReduce => {
            let span = Span::Parts { first: block, len: 1, of: b.task.ranks };
            (span, output(rank, 0))
        }
        Operator::AllGather if rank == block => (Span::WHOLE, input(rank, 0)),
        Operator::AllGather => (Span::WHOLE, output(rank, u64::from(block))),
        _ if rank == block => (Span::WHOLE, output(rank, 0)),
        _ => (Span::WHOLE, scratch(rank, u64::from(block))),
    }
}

fn gather(b: &mut Builder<'_>, groups: &Groups, base: u32) {
    let before = groups.rank(groups.before(1), groups.place);
    let after = groups.rank(groups.group + 1, groups.place);
    for s in 0..groups.groups {
        let level = base + s;
        if s + 1 < groups.groups {
            b.wait(before, level);
            pull(b, before, groups.rank(groups.before(s + 1), groups.place));
            b.visitor(after, level + 1);
        }
        for k in 1..groups.size {
            let place = (groups.place + k) % groups.size;
            let peer = groups.rank(groups.group, place);
            b.wait(peer, level);
            pull(b, peer, groups.rank(groups.before(s), place));
            b.visitor(peer, level + 1);
        }
        b.signal(level + 1);
    }
}

fn pull(b: &mut Builder<'_>, peer: u32, block: u32) {
    let (span, source) = place(b, peer, block);
    let (_, target) = place(b, b.rank, block);
    b.copy(span, source, target);
}

fn reduce(b: &mut Builder<'_>, groups: &Groups) {
    let before = groups.rank(groups.before(1), groups.place);
    let after = groups.rank(groups.group + 1, groups.place);
    if b.task.operator == Operator::ReduceScatter && groups.groups > 1 {
        b.scratch(u64::from(b.task.ranks));
    }
    for s in 0..groups.groups {
        let level = 1 + s;
        let block = groups.rank(groups.before(s + 1), groups.place);
        let at = if b.task.operator == Operator::AllReduce { 0 } else { u64::from(block) };
        let (span, target) = place(b, b.rank, block);
        let mut sources: Vec<Place> = Vec::with_capacity(groups.size as usize + 1);
        if s > 0 {
            b.wait(before, level);
            sources.push(place(b, before, block).1);
        }
        if s + 1 < groups.groups {
            b.visitor(after, level + 2);
        }
        for place in 0..groups.size {
            let peer = groups.rank(groups.group, place);
            sources.push(input(peer, at));
            b.visitor(peer, level + 1);
        }
        b.combine(span, sources, vec![target]);
        b.signal(level + 1);
    }
}
