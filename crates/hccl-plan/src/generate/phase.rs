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
use super::store::{Grid, Piece, Store};
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
    fn m(&self) -> u32 {
        self.members.len() as u32
    }

    pub(super) fn rounds(&self) -> u32 {
        self.walk.rounds(self.m())
    }

    fn rank(&self, member: u32) -> u32 {
        self.members[member as usize].rank
    }

    /// Slices in the order of their cells, so that neighbours become one step.
    fn sorted(&self, mut slices: Vec<u32>) -> Vec<u32> {
        slices.sort_by_key(|&slice| self.slices[slice as usize]);
        slices
    }

    fn pieces(&self, slice: u32) -> Vec<Piece> {
        let (first, len) = self.slices[slice as usize];
        self.grid.pieces(first, len)
    }
}

/// Each member ends with its slice of the reduction.
pub(super) fn reduce_scatter(b: &mut Builder<'_>, store: Store, lanes: &[Lane], at: Rounds) {
    let mut merged: Vec<HashSet<u32>> = vec![HashSet::new(); lanes.len()];
    for t in 0..at.rounds {
        let through = at.base + t + 1;
        for (lane, merged) in lanes.iter().zip(&mut merged).filter(|(lane, _)| t < lane.rounds()) {
            let (m, me) = (lane.m(), lane.me);
            let hands = lane.walk.receives(m, t, me);
            for (from, _) in &hands {
                b.wait(lane.rank(*from), at.base + t);
            }
            let mut sources: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (from, slices) in hands {
                for slice in slices {
                    sources.entry(slice).or_insert_with(|| vec![me]).push(from);
                }
            }
            for slice in lane.sorted(sources.keys().copied().collect()) {
                let from = sources.get_mut(&slice).expect("one of its keys");
                from.sort_by_key(|&member| lane.rank(member));
                let is_merged = |&member: &u32| {
                    lane.members[member as usize].merged
                        || if member == me {
                            merged.contains(&slice)
                        } else {
                            !lane.walk.is_leaf(m, member, slice)
                        }
                };
                for piece in lane.pieces(slice) {
                    let place =
                        |member: &u32| store.place(lane.rank(*member), piece, is_merged(member));
                    let places = from.iter().map(place).collect();
                    b.combine(piece.span, places, vec![store.place(b.rank, piece, true)]);
                }
                merged.insert(slice);
            }
            for (to, _) in lane.walk.sends(m, t, me) {
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
            let mut served = lane.walk.receives(lane.m(), walked, lane.me);
            for (_, slices) in &mut pulls {
                slices.retain(|slice| !held.contains(slice));
            }
            pulls.retain(|(_, slices)| !slices.is_empty() && full != Some(b.rank));
            served.retain(|(peer, _)| full != Some(lane.rank(*peer)));
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
            pull(b, store, lane, paths.at(t), (at.base, t));
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
            let (pulls, served) = paths.at(lane.rounds() - 1 - t);
            pull(b, store, lane, (served, pulls), (at.base, t));
        }
        b.signal(at.base + t + 1);
    }
}

/// One round of copies: what this rank pulls, and who pulls from it.
fn pull(
    b: &mut Builder<'_>,
    store: Store,
    lane: &Lane,
    (pulls, served): (Vec<Hand>, Vec<Hand>),
    (base, t): (u32, u32),
) {
    for (from, _) in &pulls {
        b.wait(lane.rank(*from), base + t);
    }
    for (from, slices) in pulls {
        for slice in lane.sorted(slices) {
            for piece in lane.pieces(slice) {
                let source = store.place(lane.rank(from), piece, true);
                let target = store.place(b.rank, piece, true);
                // What a rank brought itself it need not fetch.
                if target.buffer != Buffer::Input {
                    b.copy(piece.span, source, target);
                }
            }
        }
    }
    for (to, _) in served {
        b.visitor(lane.rank(to), base + t + 1);
    }
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
