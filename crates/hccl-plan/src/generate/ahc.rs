//! AHC: groups of near ranks whose sizes may differ.
//!
//! The data are cut into L columns, L being the least common multiple of the sizes of the groups,
//! so that in every group each member owns a whole number of columns. (1) Reduce-scatter of the
//! columns inside each group; (2) the owners of the same columns, one in each group, run a
//! reduce-scatter and an all-gather among themselves, for which columns are cut once more by the
//! number of groups; (3) all-gather inside each group. Columns that have the same owners
//! everywhere travel together as one lane.
//!
//! On rows every block is cut into columns. ReduceScatter then ends, and AllGather begins, with an
//! exchange inside the group that turns a column of all its blocks into one whole block, or back.

use crate::operator::Operator;
use crate::plan::Span;

use super::builder::Builder;
use super::hierarchy::own_block;
use super::phase::{Lane, Member, Rounds, all_gather, reduce_scatter};
use super::store::{Grid, Piece, Store};
use super::walk::Walk;
use super::{Flat, Why};

/// The groups, seen from a rank.
struct Groups {
    sizes: Vec<u32>,
    /// First rank of each.
    first: Vec<u32>,
    /// Columns.
    columns: u32,
    group: usize,
    place: u32,
    inside: Walk,
    between: Walk,
}

pub(super) fn ahc(
    b: &mut Builder<'_>,
    sizes: &[u32],
    inside: Flat,
    between: Flat,
) -> Result<(), Why> {
    let groups = Groups::new(b, sizes, inside, between)?;
    let task = b.task;
    let store = Store { operator: task.operator, root: task.root };
    b.scratch(store.scratch(b.rank, task.ranks, 0));
    let (reduces, gathers, on_row) = match task.operator {
        Operator::AllReduce => (true, true, false),
        Operator::ReduceScatter => (true, false, true),
        Operator::AllGather => (false, true, true),
        _ => return Err(Why::Operator),
    };
    if task.ranks == 1 {
        own_block(b);
        return Ok(());
    }
    let own = vec![groups.inside_lane(on_row)];
    let shared = groups.between_lanes(on_row);
    let inner = sizes.iter().map(|&size| groups.inside.rounds(size)).max().unwrap_or(0);
    let outer = groups.between.rounds(sizes.len() as u32);
    let mut at = Rounds { base: 1, rounds: 0 };
    let mut next = |rounds| {
        at = Rounds { base: at.end(), rounds };
        at
    };
    if reduces {
        reduce_scatter(b, store, &own, next(inner));
        reduce_scatter(b, store, &shared, next(outer));
    }
    if on_row {
        exchange(b, &groups, store, next(1));
    }
    if gathers {
        all_gather(b, store, &shared, next(outer));
        all_gather(b, store, &own, next(inner));
    }
    if task.operator == Operator::AllGather {
        own_block(b);
    }
    Ok(())
}

impl Groups {
    fn new(b: &Builder<'_>, sizes: &[u32], inside: Flat, between: Flat) -> Result<Self, Why> {
        let columns = columns(b.task.ranks, sizes, inside, between)?;
        let first: Vec<u32> = sizes
            .iter()
            .scan(0, |next, size| {
                *next += size;
                Some(*next - size)
            })
            .collect();
        let group = first.partition_point(|&first| first <= b.rank) - 1;
        Ok(Self {
            place: b.rank - first[group],
            sizes: sizes.to_vec(),
            first,
            columns,
            group,
            inside: inside.walk(),
            between: between.walk(),
        })
    }

    fn ranks(&self) -> u32 {
        self.sizes.iter().sum()
    }

    /// Columns of one member of a group.
    fn share(&self, group: usize) -> u32 {
        self.columns / self.sizes[group]
    }

    fn inside_lane(&self, on_row: bool) -> Lane {
        let parts = self.sizes.len() as u32;
        let (size, share) = (self.sizes[self.group], self.share(self.group));
        let first = self.first[self.group];
        let (grid, unit) = if on_row {
            (Grid::Across(self.ranks(), self.columns), 1)
        } else {
            (Grid::Parts(self.columns * parts), parts)
        };
        let members = (0..size).map(|i| Member { rank: first + i, merged: false }).collect();
        let slices = (0..size).map(|i| (i * share * unit, share * unit)).collect();
        Lane::new(self.inside, members, self.place, grid, slices)
    }

    /// One lane for each run of own columns that have the same owners in all groups.
    fn between_lanes(&self, on_row: bool) -> Vec<Lane> {
        let parts = self.sizes.len() as u32;
        let share = self.share(self.group);
        let (begin, end) = (self.place * share, (self.place + 1) * share);
        let mut lanes = Vec::new();
        let mut column = begin;
        while column < end {
            let owner = |group: usize| column / self.share(group);
            let until = (0..self.sizes.len()).map(|group| (owner(group) + 1) * self.share(group));
            let width = until.min().unwrap_or(end) - column;
            let member = |group: usize| Member {
                rank: self.first[group] + owner(group),
                merged: self.sizes[group] > 1,
            };
            let (grid, slices) = if on_row {
                let grid = Grid::Columns(column, width, self.columns);
                (grid, self.first.iter().copied().zip(self.sizes.iter().copied()).collect())
            } else {
                let slice = |i| (column * parts + i * width, width);
                (Grid::Parts(self.columns * parts), (0..parts).map(slice).collect())
            };
            let members = (0..self.sizes.len()).map(member).collect();
            lanes.push(Lane::new(self.between, members, self.group as u32, grid, slices));
            column += width;
        }
        lanes
    }
}

/// Inside the group: ReduceScatter collects the columns of the own block, AllGather the own
/// columns of the blocks of the group.
fn exchange(b: &mut Builder<'_>, groups: &Groups, store: Store, at: Rounds) {
    let (size, first) = (groups.sizes[groups.group], groups.first[groups.group]);
    let share = groups.share(groups.group);
    let collects = store.operator == Operator::ReduceScatter;
    for k in 1..size {
        let place = (groups.place + k) % size;
        let peer = first + place;
        b.wait(peer, at.base);
        let (columns, block) = if collects { (place, b.rank) } else { (groups.place, peer) };
        let grid = Grid::Columns(columns * share, share, groups.columns);
        let pieces: Vec<Piece> = grid.pieces(block, 1);
        for piece in pieces {
            let span: Span = piece.span;
            b.copy(span, store.place(peer, piece, true), store.place(b.rank, piece, true));
        }
        b.visitor(peer, at.end());
    }
    b.signal(at.end());
}

/// Into how many columns groups of these sizes cut the data, if they can run as they say.
pub(super) fn columns(ranks: u32, sizes: &[u32], inside: Flat, between: Flat) -> Result<u32, Why> {
    let shape = |why: &str| Err(Why::Shape(why.into()));
    for flat in [inside, between] {
        if matches!(flat, Flat::Rhd | Flat::DoubleRing) {
            return Err(Why::Shape(format!("{} is none of its parts", flat.name())));
        }
    }
    let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    if total != u64::from(ranks) || sizes.contains(&0) {
        return Err(Why::Shape(format!("the groups hold {total}, or one is empty")));
    }
    let mut columns = 1u32;
    for &size in sizes {
        match (columns / gcd(columns, size)).checked_mul(size) {
            Some(multiple) => columns = multiple,
            None => return shape("the sizes of the groups have no common multiple"),
        }
    }
    if columns.checked_mul(sizes.len() as u32).is_none() {
        return shape("too many columns");
    }
    Ok(columns)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
