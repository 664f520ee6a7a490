//! Phases: a walk run as a reduce-scatter, an all-gather, a scatter or a gather.
//!
//! A phase runs in rounds that all ranks of the communicator agree on, also those with nothing to
//! do in it. After round t of a phase that begins at level b a rank raises its level to b + t + 1,
//! and whoever pulls from it in round t + 1 waits for that. Everybody pulls: a rank writes its own
//! memory only.
//!
//! Several lanes run side by side in the same rounds: the two rings of the double ring, the
//! columns of AHC.

use std::collections::{BTreeMap, HashSet};

use crate::plan::Buffer;

use super::builder::Builder;
use super::store::{Grid, Store};
use super::walk::{Hand, Walk};

/// A member of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) rank: u32,
    /// Whether an earlier phase has merged what it holds of the slices of this lane.
    pub(super) merged: bool,
}

/// A walk over given ranks and cells, seen by one of them.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) walk: Walk,
    pub(super) members: Vec<Member>,
    /// Index of the own rank.
    pub(super) me: u32,
    pub(super) grid: Grid,
    /// Slice of each member: first cell and number of cells.
    pub(super) slices: Vec<(u32, u32)>,
    /// The slices in the order of their cells, and the place of each in that order.
    order: Vec<u32>,
    place: Vec<u32>,
}

/// The rounds of a phase: `rounds` of them, begun by ranks at level `base`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    pub(super) base: u32,
    pub(super) rounds: u32,
}

impl Rounds {
    /// The level at its end.
    pub(super) fn end(self) -> u32 {
        self.base + self.rounds
    }
}

impl Lane {
    /// A lane; `slices` as many as `members`, of which `me` is one.
    pub(super) fn new(
        walk: Walk,
        members: Vec<Member>,
        me: u32,
        grid: Grid,
        slices: Vec<(u32, u32)>,
    ) -> Self {
        let mut order: Vec<u32> = (0..slices.len() as u32).collect();
        if !slices.is_sorted() {
            order.sort_unstable_by_key(|&slice| slices[slice as usize]);
        }
        Self::with_order(walk, members, me, grid, slices, order)
    }

    /// As [`Self::new`], where the order of the slices by their cells is known.
    pub(super) fn with_order(
        walk: Walk,
        members: Vec<Member>,
        me: u32,
        grid: Grid,
        slices: Vec<(u32, u32)>,
        order: Vec<u32>,
    ) -> Self {
        let mut place = vec![0; order.len()];
        for (at, &slice) in (0..).zip(&order) {
            place[slice as usize] = at;
        }
        Self { walk, members, me, grid, slices, order, place }
    }

    fn m(&self) -> u32 {
        self.members.len() as u32
    }

    pub(super) fn rounds(&self) -> u32 {
        self.walk.rounds(self.m())
    }

    fn rank(&self, member: u32) -> u32 {
        self.members[member as usize].rank
    }

    /// Slices in the order of their cells: first cell, number of cells, slice. Neighbours that are
    /// `alike` are one run where a grid can take them as one piece, and its slice is one of them.
    fn runs(&self, slices: &[u32], alike: impl Fn(u32, u32) -> bool) -> Vec<(u32, u32, u32)> {
        if let &[slice] = slices {
            let (first, len) = self.slices[slice as usize];
            return vec![(first, len, slice)];
        }
        // There are many slices and this is done each round: a set of bits sorts them at once.
        let mut places = vec![0u64; self.order.len().div_ceil(64)];
        for &slice in slices {
            let at = self.place[slice as usize];
            places[at as usize / 64] |= 1 << (at % 64);
        }
        let mut runs: Vec<(u32, u32, u32)> = Vec::new();
        let joins_all = matches!(self.grid, Grid::Parts(_));
        for (word, mut bits) in places.into_iter().enumerate() {
            while bits != 0 {
                let slice = self.order[word * 64 + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                let (first, len) = self.slices[slice as usize];
                match runs.last_mut() {
                    Some(run) if joins_all && run.0 + run.1 == first && alike(run.2, slice) => {
                        run.1 += len;
                    }
                    _ => runs.push((first, len, slice)),
                }
            }
        }
        runs
    }
}

/// Each member ends with its slice of the reduction.
pub(super) fn reduce_scatter(b: &mut Builder<'_>, store: Store, lanes: &[Lane], at: Rounds) {
    let mut merged: Vec<Vec<bool>> =
        lanes.iter().map(|lane| vec![false; lane.members.len()]).collect();
    for t in 0..at.rounds {
        let through = at.base + t + 1;
        for (lane, merged) in lanes.iter().zip(&mut merged).filter(|(lane, _)| t < lane.rounds()) {
            let (m, me) = (lane.m(), lane.me);
            let mut from = lane.walk.givers(m, t, me);
            for &from in &from {
                b.wait(lane.rank(from), at.base + t);
            }
            let slices = from.first().map_or(Vec::new(), |&from| lane.walk.slices(m, t, from, me));
            from.push(me);
            from.sort_by_key(|&member| lane.rank(member));
            let is_merged = |member: u32, slice: u32| {
                lane.members[member as usize].merged
                    || if member == me {
                        merged[slice as usize]
                    } else {
                        !lane.walk.is_leaf(m, member, slice)
                    }
            };
            let alike = |one: u32, other: u32| {
                from.iter().all(|&member| is_merged(member, one) == is_merged(member, other))
            };
            for (first, len, slice) in lane.runs(&slices, alike) {
                for piece in lane.grid.pieces(first, len) {
                    let place = |&member: &u32| {
                        store.place(lane.rank(member), piece, is_merged(member, slice))
                    };
                    let places = from.iter().map(place).collect();
                    b.combine(piece.span, places, vec![store.place(b.rank, piece, true)]);
                }
            }
            for slice in slices {
                merged[slice as usize] = true;
            }
            for to in lane.walk.takers(m, t, me) {
                b.visitor(lane.rank(to), through);
            }
        }
        b.signal(through);
    }
}

/// Every member ends with the slices of all.
pub(super) fn all_gather(b: &mut Builder<'_>, store: Store, lanes: &[Lane], at: Rounds) {
    let held = vec![HashSet::new(); lanes.len()];
    all_gather_rest(b, store, lanes, at, &held, None);
}

/// As [`all_gather`], where this rank holds some slices of each lane from the start, and `full`,
/// if it is a member, all.
pub(super) fn all_gather_rest(
    b: &mut Builder<'_>,
    store: Store,
    lanes: &[Lane],
    at: Rounds,
    held: &[HashSet<u32>],
    full: Option<u32>,
) {
    for t in 0..at.rounds {
        for (lane, held) in lanes.iter().zip(held).filter(|(lane, _)| t < lane.rounds()) {
            let walked = lane.rounds() - 1 - t;
            let mut pulls = lane.walk.sends(lane.m(), walked, lane.me);
            let mut served = lane.walk.givers(lane.m(), walked, lane.me);
            for (_, slices) in &mut pulls {
                slices.retain(|slice| !held.contains(slice));
            }
            pulls.retain(|(_, slices)| !slices.is_empty() && full != Some(b.rank));
            served.retain(|&peer| full != Some(lane.rank(peer)));
            pull(b, store, lane, (pulls, served), (at.base, t));
        }
        b.signal(at.base + t + 1);
    }
}

/// The slices of the rank `root` go to their owners. Gives those that came by here, by lane.
pub(super) fn scatter(
    b: &mut Builder<'_>,
    store: Store,
    lanes: &[Lane],
    at: Rounds,
    root: u32,
) -> Vec<HashSet<u32>> {
    let paths: Vec<_> = lanes.iter().map(|lane| Paths::new(lane, root)).collect();
    for t in 0..at.rounds {
        for (lane, paths) in lanes.iter().zip(&paths) {
            let (arriving, leaving) = paths.at(t);
            pull(b, store, lane, (arriving, members_of(&leaving)), (at.base, t));
        }
        b.signal(at.base + t + 1);
    }
    paths.iter().map(|paths| paths.arriving.values().flatten().copied().collect()).collect()
}

/// The slices of all members go to the rank `root`.
pub(super) fn gather(b: &mut Builder<'_>, store: Store, lanes: &[Lane], at: Rounds, root: u32) {
    let paths: Vec<_> = lanes.iter().map(|lane| Paths::new(lane, root)).collect();
    for t in 0..at.rounds {
        for (lane, paths) in lanes.iter().zip(&paths).filter(|(lane, _)| t < lane.rounds()) {
            let (arriving, leaving) = paths.at(lane.rounds() - 1 - t);
            pull(b, store, lane, (leaving, members_of(&arriving)), (at.base, t));
        }
        b.signal(at.base + t + 1);
    }
}

/// One round of copies: what this rank pulls, and who pulls from it.
fn pull(
    b: &mut Builder<'_>,
    store: Store,
    lane: &Lane,
    (pulls, served): (Vec<Hand>, Vec<u32>),
    (base, t): (u32, u32),
) {
    for (from, _) in &pulls {
        b.wait(lane.rank(*from), base + t);
    }
    for (from, slices) in pulls {
        for (first, len, _) in lane.runs(&slices, |_, _| true) {
            for piece in lane.grid.pieces(first, len) {
                let source = store.place(lane.rank(from), piece, true);
                let target = store.place(b.rank, piece, true);
                // What a rank brought itself it need not fetch.
                if target.buffer != Buffer::Input {
                    b.copy(piece.span, source, target);
                }
            }
        }
    }
    for to in served {
        b.visitor(lane.rank(to), base + t + 1);
    }
}

fn members_of(hands: &[Hand]) -> Vec<u32> {
    hands.iter().map(|(member, _)| *member).collect()
}

/// The steps of the paths from one member to all owners that pass this rank.
struct Paths {
    /// By round: from whom, slice.
    arriving: BTreeMap<(u32, u32), Vec<u32>>,
    leaving: BTreeMap<(u32, u32), Vec<u32>>,
}

impl Paths {
    fn new(lane: &Lane, root: u32) -> Self {
        let mut paths = Self { arriving: BTreeMap::new(), leaving: BTreeMap::new() };
        let root = lane.members.iter().position(|member| member.rank == root);
        let root = root.expect("the root of a phase is a member") as u32;
        for slice in 0..lane.m() {
            for (t, from, to) in lane.walk.path(lane.m(), root, slice) {
                if to == lane.me {
                    paths.arriving.entry((t, from)).or_default().push(slice);
                } else if from == lane.me {
                    paths.leaving.entry((t, to)).or_default().push(slice);
                }
            }
        }
        paths
    }

    fn at(&self, t: u32) -> (Vec<Hand>, Vec<Hand>) {
        let of = |map: &BTreeMap<(u32, u32), Vec<u32>>| {
            map.range((t, 0)..=(t, u32::MAX))
                .map(|((_, peer), slices)| (*peer, slices.clone()))
                .collect()
        };
        (of(&self.arriving), of(&self.leaving))
    }
}
