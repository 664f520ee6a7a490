//! The table: which algorithm runs when nobody asks for one.
//!
//! The first row whose condition holds decides. A row names one algorithm, or several of which the
//! cheapest by the closed forms ([`super::cost`]) runs, and the first of them if some cost the
//! same. HCCL's own defaults (section 5 of the catalogue) are the model: one or two shots in a
//! mesh, chunks for large data, ring, NHR or halving-doubling by cost between servers, a pipeline
//! for large data on servers of one size, one level for uneven ones.

use crate::generate::{Algorithm, Flat, Mesh, supports};
use crate::operator::Operator;

use super::cost::{Cost, Work, estimate};
use super::shape::Shape;
use super::{Case, Reach};

/// A case, and its topology prepared.
pub(super) struct View<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) shape: Shape,
}

impl<'a> View<'a> {
    pub(super) fn new(case: &'a Case<'a>) -> Self {
        Self { case, shape: Shape::of(case.topology, case.ranks) }
    }

    pub(super) fn cost(&self, algorithm: &Algorithm) -> Cost {
        let work = Work { operator: self.case.operator, block_bytes: self.case.block_bytes };
        estimate(algorithm, work, &self.shape)
    }

    pub(super) fn has(&self, algorithm: &Algorithm) -> bool {
        supports(algorithm, self.case.operator, self.case.ranks).is_ok()
    }

    fn is(&self, operators: &[Operator]) -> bool {
        operators.contains(&self.case.operator)
    }

    /// Whether it is an operator in a full mesh.
    fn in_mesh(&self, operators: &[Operator]) -> bool {
        self.shape.is_one_mesh() && self.is(operators)
    }
}

/// A row of the table.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Whether it decides.
    pub(super) when: fn(&View<'_>) -> bool,
    /// What may run; those that do not have the operator are left out.
    pub(super) among: fn(&View<'_>) -> Vec<Algorithm>,
    /// Why these.
    pub(super) why: &'static str,
}

pub(super) const DIRECT: Algorithm = Algorithm::Mesh(Mesh::Direct);
pub(super) const ONE_SHOT: Algorithm = Algorithm::Mesh(Mesh::OneShot);
pub(super) const TWO_SHOT: Algorithm = Algorithm::Mesh(Mesh::TwoShot);

/// What is compared between servers, in order of preference at the same cost.
pub(super) const BETWEEN: [Flat; 3] = [Flat::Ring, Flat::Nhr, Flat::Rhd];

/// Above this, a block times eight by the square of the ranks, HCCL cuts a mesh AllReduce into
/// chunks.
const CHUNKED_ABOVE: u64 = 32 << 20;

pub(super) static ROWS: &[Row] = &[
    Row {
        name: "alone",
        when: |view| view.case.ranks <= 1,
        among: |_| vec![DIRECT],
        why: "there is one rank, so there is a copy to make at most",
    },
    Row {
        name: "mapped",
        when: |view| view.case.reach == Reach::Mapped,
        among: |_| vec![DIRECT],
        why: "all memory is mapped, so there is one phase, each element is read once and combined \
              by one rank, and all ranks have the same bits",
    },
    Row {
        name: "barrier",
        when: |view| view.is(&[Operator::Barrier]),
        among: |_| vec![Algorithm::Nb, DIRECT],
        why: "all meet at once, or, of many ranks, each hears of 2^t others in t rounds",
    },
    Row {
        name: "messages",
        when: |view| view.is(&[Operator::Send, Operator::BatchSendRecv]),
        among: |_| vec![Algorithm::Pairwise],
        why: "a message goes straight from its sender to its receiver",
    },
    Row {
        name: "all-to-all in a mesh",
        when: |view| view.in_mesh(&[Operator::AlltoAll, Operator::AlltoAllV, Operator::AlltoAllVC]),
        among: |_| vec![DIRECT],
        why: "each pair has a link of its own, so all blocks travel at once",
    },
    Row {
        name: "all-to-all of lengths",
        // Costs are not asked: of AlltoAllV a rank knows its own lengths only, and all must choose
        // the same.
        when: |view| view.is(&[Operator::AlltoAllV, Operator::AlltoAllVC]),
        among: |_| vec![Algorithm::Pairwise],
        why: "lengths differ by pair and cannot be bundled; one peer at a time leaves each port to \
              one message",
    },
    Row {
        name: "all-to-all over servers",
        when: |view| view.is(&[Operator::AlltoAll]),
        among: |view| {
            let bundles = bundles(view).filter(|_| is_for_bundles(view));
            [Algorithm::Pairwise].into_iter().chain(bundles).collect()
        },
        why: "bundles by tier save messages, and need scratch memory as large as the data; pairs move each \
              block once",
    },
    Row {
        name: "large all-reduce in a mesh",
        when: |view| view.in_mesh(&[Operator::AllReduce]) && is_for_chunks(view),
        among: |_| {
            let chunked = |chunks| Algorithm::Mesh(Mesh::Chunked(chunks));
            [2, 4, 8, 16].into_iter().map(chunked).chain([TWO_SHOT]).collect()
        },
        why: "the block times 8 by the square of the ranks is above 32 MiB, so chunks are large \
              enough to fill a link while others are reduced",
    },
    Row {
        name: "all-reduce in a mesh",
        when: |view| view.in_mesh(&[Operator::AllReduce]),
        among: |_| vec![ONE_SHOT, TWO_SHOT],
        why: "one shot saves a round, two shots read and reduce each element once",
    },
    Row {
        name: "broadcast or reduce in a mesh",
        when: |view| view.in_mesh(&[Operator::Broadcast, Operator::Reduce]),
        among: |_| vec![Algorithm::Star, TWO_SHOT],
        why: "a star saves a round, two shots use the links of all ranks",
    },
    Row {
        name: "mesh",
        when: |view| view.shape.is_one_mesh(),
        among: |_| vec![TWO_SHOT],
        why: "each pair has a link of its own, so all slices travel in one round",
    },
    Row {
        name: "uneven servers",
        when: |view| view.shape.uneven.is_some(),
        among: |view| {
            let ahc = [Flat::Ring, Flat::Nhr].into_iter().filter_map(|flat| ahc(view, flat));
            let flat = over_all(&BETWEEN).into_iter();
            // On rows AHC cuts every block into columns, which the forms do not price.
            flat.chain([Algorithm::Star])
                .chain(ahc.filter(|_| view.is(&[Operator::AllReduce])))
                .collect()
        },
        why: "servers differ in size, so all ranks are one level, or AHC joins them",
    },
    Row {
        name: "one tier",
        when: |view| view.shape.tiers.len() == 1,
        among: |_| over_all(&BETWEEN).into_iter().chain([Algorithm::Star]).collect(),
        why: "each rank has one port, so the cheapest of ring, NHR, halving-doubling and, for \
              operators with a root, star",
    },
    Row {
        name: "tiers",
        when: |_| true,
        among: |view| {
            let mut all = hierarchies(view, &[], &BETWEEN);
            all.extend(pipeline(view).filter(|_| is_for_pipeline(view)));
            all.extend(over_all(&BETWEEN));
            all.push(Algorithm::Star);
            all
        },
        why: "a mesh inside a server, and between servers the cheapest of ring, NHR, \
              halving-doubling and pipeline, or one level over all ranks, or a star",
    },
];

/// Scratch memory that a choice takes without being asked: the default of HCCL's buffer.
const SCRATCH_MAX: u64 = 200 << 20;

fn is_for_bundles(view: &View<'_>) -> bool {
    view.case.block_bytes.saturating_mul(u64::from(view.case.ranks)) <= SCRATCH_MAX
}

/// Bytes that a rank passes on in a round from which HCCL runs a pipeline: AllReduce, and others.
const PIPELINE_FROM: [u64; 2] = [1 << 20, 32 << 10];

fn is_for_pipeline(view: &View<'_>) -> bool {
    let [all_reduce, others] = PIPELINE_FROM;
    match view.case.operator {
        Operator::AllReduce => view.case.block_bytes / u64::from(view.case.ranks) >= all_reduce,
        _ => view.case.block_bytes >= others,
    }
}

fn is_for_chunks(view: &View<'_>) -> bool {
    let ranks = u128::from(view.case.ranks);
    u128::from(view.case.block_bytes) * 8 > u128::from(CHUNKED_ABOVE) * ranks * ranks
}

/// One level over all ranks.
fn over_all(flats: &[Flat]) -> Vec<Algorithm> {
    flats.iter().copied().map(flat_over_all).collect()
}

/// The algorithm that runs all ranks as one group.
pub(super) fn flat_over_all(flat: Flat) -> Algorithm {
    match flat {
        Flat::Mesh => TWO_SHOT,
        Flat::Ring => Algorithm::Ring,
        Flat::DoubleRing => Algorithm::DoubleRing,
        Flat::Rhd => Algorithm::Rhd,
        Flat::Nhr => Algorithm::Nhr,
        Flat::Nb => Algorithm::Nb,
    }
}

/// Blocks bundled by tier, where there are several.
pub(super) fn bundles(view: &View<'_>) -> Option<Algorithm> {
    let tiers = view.shape.tiers.iter().map(|tier| (tier.size, Flat::Mesh)).collect();
    (view.shape.tiers.len() > 1).then_some(Algorithm::Hierarchy(tiers))
}

/// All ways to run the tiers of the topology: a mesh is run as one, and others by what is open,
/// unless `fixed` says how a level runs. First tiers change slowest.
pub(super) fn hierarchies(
    view: &View<'_>,
    fixed: &[(usize, Flat)],
    open: &[Flat],
) -> Vec<Algorithm> {
    let mut all: Vec<Vec<(u32, Flat)>> = vec![Vec::new()];
    for tier in &view.shape.tiers {
        let asked = fixed.iter().find(|(level, _)| *level == tier.level).map(|(_, flat)| *flat);
        let flats = match asked {
            Some(ref flat) => std::slice::from_ref(flat),
            None if tier.is_mesh => &[Flat::Mesh],
            None => open,
        };
        let with = |tiers: &Vec<(u32, Flat)>| {
            let tiers = tiers.clone();
            flats.iter().map(move |&flat| [&*tiers, &[(tier.size, flat)]].concat())
        };
        all = all.iter().flat_map(with).collect();
    }
    all.into_iter().map(Algorithm::Hierarchy).collect()
}

/// The pipeline between servers of one size, where each is a mesh.
pub(super) fn pipeline(view: &View<'_>) -> Option<Algorithm> {
    match &*view.shape.tiers {
        [server, _] if server.is_mesh => Some(Algorithm::Pipeline { group: server.size }),
        _ => None,
    }
}

/// AHC over the servers, a mesh inside.
pub(super) fn ahc(view: &View<'_>, between: Flat) -> Option<Algorithm> {
    let groups = view.case.topology.groups.first()?;
    let ahc = Algorithm::Ahc { groups: groups.clone(), inside: Flat::Mesh, between };
    (groups.len() > 1).then_some(ahc)
}
