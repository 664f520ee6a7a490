//! Tiers: a walk inside each group, one between groups, one between groups of groups. A single
//! tier is the plain algorithm.
//!
//! Ranks are numbered with the innermost place changing fastest. "Between" groups means among the
//! ranks that have the same place in their groups. Orders (section 4 of the catalogue):
//! AllReduce reduces inside out and gathers outside in, each tier working on its own share of the
//! tier before; AllGather goes inside out and ReduceScatter and Scatter outside in, so that what
//! goes between groups is contiguous; Broadcast scatters inside the root's group first; Reduce
//! gathers there last. AlltoAll corrects one coordinate of the place of each block a tier.

use std::collections::HashSet;

use crate::extents::Extents;
use crate::operator::Operator;
use crate::plan::Span;

use super::all_to_all::all_to_all;
use super::builder::{Builder, input, output};
use super::phase::{
    Lane, Member, Rounds, all_gather, all_gather_rest, gather, reduce_scatter, scatter,
};
use super::store::{Grid, Rows, Store};
use super::walk::{Walk, log_ceil, reversed};
use super::{Flat, Why};

/// One tier seen from a rank.
#[derive(Clone, Copy)]
pub(super) struct Tier {
    pub(super) size: u32,
    pub(super) flat: Flat,
    /// Ranks of one member: the product of the sizes further in.
    pub(super) width: u32,
    /// Own place.
    pub(super) place: u32,
}

impl Flat {
    pub(super) fn walk(self) -> Walk {
        match self {
            Self::Mesh => Walk::Mesh,
            Self::Ring | Self::DoubleRing => Walk::Ring,
            Self::Rhd => Walk::Halving,
            Self::Nhr => Walk::Nhr,
            Self::Nb => Walk::Nb,
        }
    }
}

impl Tier {
    fn rounds(&self) -> u32 {
        self.flat.walk().rounds(self.size)
    }

    /// The member of this tier that holds a rank.
    fn place_of(&self, rank: u32) -> u32 {
        rank / self.width % self.size
    }

    /// The rank of the own group of this tier that leads to the root.
    fn lead(&self, rank: u32, root: u32) -> u32 {
        rank - self.place * self.width + self.place_of(root) * self.width
    }
}

pub(super) fn tiers(b: &mut Builder<'_>, sizes: &[(u32, Flat)]) -> Result<(), Why> {
    let tiers = shape(b, sizes)?;
    let task = b.task;
    let store = Store { operator: task.operator, root: task.root };
    b.scratch(store.scratch(b.rank, task.ranks, task.row()));
    match task.operator {
        Operator::AllReduce | Operator::Reduce | Operator::Broadcast => {
            shared(b, store, &tiers);
        }
        Operator::AllGather | Operator::AllGatherV => {
            let mut base = 1;
            for tier in &tiers {
                let at = Rounds { base, rounds: tier.rounds() };
                all_gather(b, store, &row_lanes(b, tier, false), at);
                base = at.end();
            }
            own_block(b);
        }
        Operator::ReduceScatter | Operator::ReduceScatterV => {
            let mut base = 1;
            let mut merged = false;
            for tier in tiers.iter().rev() {
                let at = Rounds { base, rounds: tier.rounds() };
                reduce_scatter(b, store, &row_lanes(b, tier, merged), at);
                merged |= tier.size > 1;
                base = at.end();
            }
            if task.ranks == 1 {
                own_block(b);
            }
        }
        Operator::Scatter | Operator::Gather => rooted_row(b, store, &tiers),
        Operator::AlltoAll => all_to_all(b, &tiers),
        _ => return Err(Why::Operator),
    }
    Ok(())
}

fn shape(b: &Builder<'_>, sizes: &[(u32, Flat)]) -> Result<Vec<Tier>, Why> {
    check(b.task.ranks, sizes)?;
    let mut width = 1;
    let tier = |&(size, flat): &(u32, Flat)| {
        let tier = Tier { size, flat, width, place: b.rank / width % size };
        width *= size;
        tier
    };
    Ok(sizes.iter().map(tier).collect())
}

/// Whether tiers of these sizes hold the ranks, and can run as they say.
pub(super) fn check(ranks: u32, sizes: &[(u32, Flat)]) -> Result<(), Why> {
    let mut width = 1u32;
    for &(size, flat) in sizes {
        if size == 0 || flat == Flat::Rhd && !size.is_power_of_two() {
            return Err(Why::Shape(format!("{} does not run on {size} members", flat.name())));
        }
        width = width.checked_mul(size).ok_or_else(|| Why::Shape("too many".into()))?;
    }
    if width != ranks {
        return Err(Why::Shape(format!("the tiers hold {width}")));
    }
    // Half slices of double rings are the finest parts of a block; their number must fit.
    let doubled = sizes.iter().filter(|(_, flat)| *flat == Flat::DoubleRing).count() as u32;
    match 1u32.checked_shl(doubled).and_then(|halves| width.checked_mul(halves)) {
        Some(_) => Ok(()),
        None => Err(Why::Shape("too many parts".into())),
    }
}

/// Operators on one block: cut ever finer on the way out, put together on the way back.
fn shared(b: &mut Builder<'_>, store: Store, tiers: &[Tier]) {
    let operator = store.operator;
    let doubled = |tier: &&Tier| tier.flat == Flat::DoubleRing;
    let of = b.task.ranks << tiers.iter().filter(doubled).count();
    if b.task.ranks == 1 {
        if operator != Operator::Broadcast {
            b.copy(Span::WHOLE, input(b.rank, 0), output(b.rank, 0));
        }
        return;
    }
    let mut stack = Vec::with_capacity(tiers.len());
    let (mut range, mut base, mut merged) = ((0, of), 1, false);
    for (i, tier) in tiers.iter().enumerate() {
        let (lanes, own) = part_lanes(b, tier, range, of, merged);
        let at = Rounds { base, rounds: tier.rounds() };
        // Whether this rank belongs to the group of the root in this tier.
        let rooted = tiers[i + 1..].iter().all(|tier| tier.place == tier.place_of(store.root));
        let mut held = vec![HashSet::new(); lanes.len()];
        if operator != Operator::Broadcast {
            reduce_scatter(b, store, &lanes, at);
        } else if rooted {
            held = scatter(b, store, &lanes, at, tier.lead(b.rank, store.root));
        }
        b.signal(at.end());
        base = at.end();
        merged |= tier.size > 1;
        range = own;
        stack.push((lanes, rooted, held));
    }
    for (tier, (lanes, rooted, held)) in tiers.iter().zip(stack).rev() {
        let at = Rounds { base, rounds: tier.rounds() };
        match operator {
            Operator::Reduce => {
                if rooted {
                    gather(b, store, &lanes, at, tier.lead(b.rank, store.root));
                }
            }
            Operator::Broadcast => {
                let full = rooted.then(|| tier.lead(b.rank, store.root));
                all_gather_rest(b, store, &lanes, at, &held, full);
            }
            _ => all_gather(b, store, &lanes, at),
        }
        b.signal(at.end());
        base = at.end();
    }
}

/// The lanes of a tier on a range of the parts of a block, and the own range after them.
fn part_lanes(
    b: &Builder<'_>,
    tier: &Tier,
    (first, len): (u32, u32),
    of: u32,
    merged: bool,
) -> (Vec<Lane>, (u32, u32)) {
    let (m, width) = (tier.size, len / tier.size);
    let mut slices: Vec<(u32, u32)> = (0..m).map(|i| (first + i * width, width)).collect();
    let mut members = members(b, tier, merged);
    let (walk, grid) = (tier.flat.walk(), Grid::Parts(of));
    match tier.flat {
        Flat::Nhr | Flat::Nb => {
            // Slices whose numbers agree in their low bits travel together; they lie together.
            let bits = log_ceil(m);
            let by_bits = (0..m.next_power_of_two()).map(|i| reversed(i, bits));
            let order: Vec<u32> = by_bits.filter(|&i| i < m).collect();
            for (position, &i) in (0..).zip(&order) {
                slices[i as usize].0 = first + position * width;
            }
            let own = slices[tier.place as usize];
            (vec![Lane::with_order(walk, members, tier.place, grid, slices, order)], own)
        }
        Flat::Rhd => {
            // Partners by the reversed number: the first, with whom half of all is exchanged, is
            // the neighbour.
            let bits = m.trailing_zeros();
            members = (0..m).map(|i| members[reversed(i, bits) as usize]).collect();
            let me = reversed(tier.place, bits);
            let own = slices[me as usize];
            (vec![Lane::new(walk, members, me, grid, slices)], own)
        }
        Flat::DoubleRing => {
            let own = slices[tier.place as usize];
            let half = |shift: u32| {
                let slices = slices.iter().map(|&(first, _)| (first + shift, width / 2)).collect();
                (grid.clone(), slices)
            };
            (both(walk, members, tier.place, half(0), half(width / 2)), own)
        }
        _ => {
            let own = slices[tier.place as usize];
            (vec![Lane::new(walk, members, tier.place, grid, slices)], own)
        }
    }
}

/// The lanes of a tier on rows of blocks: slice j is the row of what member j stands for.
fn row_lanes(b: &Builder<'_>, tier: &Tier, merged: bool) -> Vec<Lane> {
    let group = b.rank / (tier.width * tier.size) * (tier.width * tier.size);
    let slices: Vec<_> = (0..tier.size).map(|j| (group + j * tier.width, tier.width)).collect();
    let rows = match &b.task.extents {
        Some(Extents::Rows(rows)) => Some(Rows::new(rows)),
        _ => None,
    };
    let (walk, members) = (tier.flat.walk(), members(b, tier, merged));
    if tier.flat != Flat::DoubleRing {
        let grid = rows.map_or(Grid::Blocks, Grid::Rows);
        return vec![Lane::new(walk, members, tier.place, grid, slices)];
    }
    let (there, back) = match rows {
        None => (Grid::Columns(0, 1, 2), Grid::Columns(1, 1, 2)),
        Some(rows) => (Grid::Rows(rows.half(false)), Grid::Rows(rows.half(true))),
    };
    both(walk, members, tier.place, (there, slices.clone()), (back, slices))
}

/// Cells of a lane, and the slice of each member among them.
type Cells = (Grid, Vec<(u32, u32)>);

/// Two lanes, the second the other way round.
fn both(walk: Walk, members: Vec<Member>, me: u32, there: Cells, mut back: Cells) -> Vec<Lane> {
    let mut backwards = members.clone();
    backwards.reverse();
    back.1.reverse();
    let last = members.len() as u32 - 1;
    vec![
        Lane::new(walk, members, me, there.0, there.1),
        Lane::new(walk, backwards, last - me, back.0, back.1),
    ]
}

fn members(b: &Builder<'_>, tier: &Tier, merged: bool) -> Vec<Member> {
    let first = b.rank - tier.place * tier.width;
    (0..tier.size).map(|j| Member { rank: first + j * tier.width, merged }).collect()
}

/// Scatter outside in, gather inside out, along the ranks that lead to the root.
fn rooted_row(b: &mut Builder<'_>, store: Store, tiers: &[Tier]) {
    let mut base = 1;
    let scatters = store.operator == Operator::Scatter;
    let order: Vec<usize> =
        if scatters { (0..tiers.len()).rev().collect() } else { (0..tiers.len()).collect() };
    for i in order {
        let tier = &tiers[i];
        let at = Rounds { base, rounds: tier.rounds() };
        if tiers[..i].iter().all(|inner| inner.place == inner.place_of(store.root)) {
            let lanes = row_lanes(b, tier, false);
            let lead = tier.lead(b.rank, store.root);
            if scatters {
                scatter(b, store, &lanes, at, lead);
            } else {
                gather(b, store, &lanes, at, lead);
            }
        }
        b.signal(at.end());
        base = at.end();
    }
    if b.rank == store.root {
        own_block(b);
    }
}

/// What a rank sends to itself. In place it is there.
pub(super) fn own_block(b: &mut Builder<'_>) {
    let rank = u64::from(b.rank);
    let (span, from, to) = match (b.task.operator, &b.task.extents) {
        (Operator::AllGatherV, Some(Extents::Rows(rows))) => {
            let row = rows[b.rank as usize];
            (Span::Exact { len: row.len }, 0, row.start)
        }
        (Operator::ReduceScatterV, Some(Extents::Rows(rows))) => {
            let row = rows[b.rank as usize];
            (Span::Exact { len: row.len }, row.start, 0)
        }
        (Operator::AllGather | Operator::Gather, _) => (Span::WHOLE, 0, rank),
        (Operator::AlltoAll, _) => (Span::WHOLE, rank, rank),
        _ => (Span::WHOLE, rank, 0),
    };
    if span.range(1, 1).end > 0 {
        b.copy(span, input(b.rank, from), output(b.rank, to));
    }
}
