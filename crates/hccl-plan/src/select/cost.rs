//! What algorithms cost, by closed forms: rounds times latency, bytes over the busiest link, and
//! bytes reduced.
//!
//! The forms are those of section 3 of the catalogue of HCCL's algorithms, tier by tier. They know
//! nothing of congestion, of the cost of a message beside its round, or of ranks that are late;
//! they are good enough to tell algorithms apart whose costs differ in kind. A full mesh has a link
//! for each pair. Elsewhere a rank has one port, so messages of one round to many peers share its
//! bandwidth, and each takes a little while to be started.
//!
//! Everything is whole numbers, so that all ranks, on whatever machine, come to the same choice.

use crate::clusters::MEMORY_910B;
use crate::generate::{Algorithm, Flat, Mesh};
use crate::operator::Operator;
use crate::topology::Link;

use super::shape::{Shape, Tier};
use super::text::time;

/// Bytes that a device reduces in a second, assumed: two reads and a write of each in the memory of
/// Atlas A2.
const REDUCED_BYTES_PER_S: u64 = MEMORY_910B / 3;

/// What each further message of a round through one port costs besides, assumed.
const MESSAGE_NS: u64 = 1_000;

/// An estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Latencies that follow one another.
    pub(super) rounds: u64,
    latency_ns: u64,
    transfer_ns: u64,
    reduce_ns: u64,
}

impl Cost {
    /// So many rounds, which together bring so many bytes over a link.
    fn over(link: Link, rounds: u64, bytes: u64) -> Self {
        Self {
            rounds,
            latency_ns: rounds.saturating_mul(link.latency_ns),
            transfer_ns: duration(bytes, link.bytes_per_s),
            reduce_ns: 0,
        }
    }

    /// One round to so many peers, with so many bytes for each: over links of their own, or all
    /// through the port.
    fn fan(tier: Tier, peers: u64, bytes: u64) -> Self {
        if tier.is_mesh {
            return Self::over(tier.link, 1, bytes);
        }
        let round = Self::over(tier.link, 1, bytes.saturating_mul(peers));
        let further = peers.saturating_sub(1).saturating_mul(MESSAGE_NS);
        Self { latency_ns: round.latency_ns.saturating_add(further), ..round }
    }

    fn reducing(self, bytes: u64) -> Self {
        Self { reduce_ns: duration(bytes, REDUCED_BYTES_PER_S), ..self }
    }

    fn and(self, other: Self) -> Self {
        Self {
            rounds: self.rounds.saturating_add(other.rounds),
            latency_ns: self.latency_ns.saturating_add(other.latency_ns),
            transfer_ns: self.transfer_ns.saturating_add(other.transfer_ns),
            reduce_ns: self.reduce_ns.saturating_add(other.reduce_ns),
        }
    }

    /// All of it, nanoseconds.
    pub(super) fn total_ns(self) -> u64 {
        self.latency_ns.saturating_add(self.transfer_ns).saturating_add(self.reduce_ns)
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.rounds == 1 { "" } else { "s" };
        write!(f, "{} in {} round{plural}", time(self.total_ns()), self.rounds)
    }
}

fn duration(bytes: u64, bytes_per_s: u64) -> u64 {
    let ns = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// A part of an amount of bytes.
fn part(bytes: u64, num: u64, den: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(num) / u128::from(den.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn log_ceil(p: u32) -> u64 {
    u64::from(u32::BITS - p.saturating_sub(1).leading_zeros())
}

/// What an operator does with so many bytes a block.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) operator: Operator,
    pub(super) block_bytes: u64,
}

impl Work {
    /// Bytes of the whole row of operators on rows, of the block of the others.
    fn whole(self, ranks: u32) -> u64 {
        use Operator::{AllGather, AlltoAll, Gather, ReduceScatter, Scatter};
        match self.operator {
            AllGather | ReduceScatter | Scatter | Gather | AlltoAll => {
                self.block_bytes.saturating_mul(u64::from(ranks))
            }
            _ => self.block_bytes,
        }
    }

    /// Operators that go one way and back on a single block.
    fn is_twofold(self) -> bool {
        matches!(self.operator, Operator::AllReduce | Operator::Reduce | Operator::Broadcast)
    }
}

/// The estimate for an algorithm that has the operator.
pub(super) fn estimate(algorithm: &Algorithm, work: Work, shape: &Shape) -> Cost {
    let p = u64::from(shape.ranks);
    let all = shape.over_all();
    let whole = work.whole(shape.ranks);
    let walk = |flat| walks(&[(all, flat)], work, shape.ranks);
    let fan = |bytes: u64| Cost::fan(all, p - 1, bytes);
    if p <= 1 {
        return Cost::default();
    }
    match (algorithm, work.operator) {
        (Algorithm::Star | Algorithm::Mesh(Mesh::Direct), Operator::Barrier) => fan(0),
        (_, Operator::Barrier) => Cost::over(all.link, log_ceil(shape.ranks), 0),
        (_, Operator::Send | Operator::BatchSendRecv) => Cost::over(all.link, 1, whole),
        (Algorithm::Mesh(Mesh::Direct), Operator::Broadcast) => fan(whole),
        // Both halves of an operator in the same round.
        (Algorithm::Mesh(Mesh::Direct), _) => {
            let latency = fan(0);
            Cost { rounds: 1, latency_ns: latency.latency_ns, ..walk(Flat::Mesh) }
        }
        (Algorithm::Pairwise, Operator::AlltoAll) => {
            Cost::over(all.link, p - 1, work.block_bytes.saturating_mul(p - 1))
        }
        (Algorithm::Pairwise, _) => Cost::over(all.link, p - 1, whole),
        (Algorithm::Star, Operator::Scatter | Operator::Gather) => star(work.block_bytes, shape),
        (Algorithm::Star, Operator::Reduce) => {
            star(whole, shape).reducing(whole.saturating_mul(p - 1))
        }
        (Algorithm::Star, _) => star(whole, shape),
        (Algorithm::Mesh(Mesh::OneShot), _) => fan(whole).reducing(whole.saturating_mul(p - 1)),
        (Algorithm::Mesh(Mesh::Chunked(chunks)), _) => chunked(walk(Flat::Mesh), *chunks, all.link),
        (Algorithm::Ring, Operator::Broadcast | Operator::Reduce) => {
            let bytes = whole.saturating_mul(p - 1);
            let reduced = if work.operator.reduces() { bytes } else { 0 };
            Cost::over(all.link, p - 1, bytes).reducing(reduced)
        }
        (Algorithm::Rhd, Operator::Broadcast) => {
            let rounds = log_ceil(shape.ranks);
            Cost::over(all.link, rounds, whole.saturating_mul(rounds))
        }
        (Algorithm::Rhd, _) if !shape.ranks.is_power_of_two() => folded(work, shape.ranks, all),
        (Algorithm::Rhd, _) => walk(Flat::Rhd),
        (Algorithm::Mesh(Mesh::TwoShot), _) => walk(Flat::Mesh),
        (Algorithm::Ring, _) => walk(Flat::Ring),
        (Algorithm::DoubleRing, _) => walk(Flat::DoubleRing),
        (Algorithm::Nhr, _) => walk(Flat::Nhr),
        (Algorithm::Nb, _) => walk(Flat::Nb),
        (Algorithm::Ahc { groups, inside, between }, _) => {
            ahc(groups, (*inside, *between), work, shape)
        }
        (Algorithm::Pipeline { group }, _) => pipeline(*group, work, shape),
        (Algorithm::Hierarchy(tiers), _) => walks(&placed(tiers, shape), work, shape.ranks),
    }
}

/// The root and all others at once: the tier that takes longest, for each has ports of its own.
fn star(bytes: u64, shape: &Shape) -> Cost {
    let mut width = 1u64;
    let tier = |tier: &Tier| {
        let peers = width.saturating_mul(u64::from(tier.size) - 1);
        // In a mesh of groups only one member of each is next to the root.
        let each = if tier.is_mesh { bytes.saturating_mul(width) } else { bytes };
        width = width.saturating_mul(u64::from(tier.size));
        Cost::fan(*tier, peers, each)
    };
    shape.tiers.iter().map(tier).max_by_key(|cost| cost.total_ns()).unwrap_or_default()
}

/// The tiers of an algorithm with the links of the topology, where they are the same tiers; else
/// over the slowest link.
fn placed(tiers: &[(u32, Flat)], shape: &Shape) -> Vec<(Tier, Flat)> {
    let real: Vec<_> = tiers.iter().filter(|(size, _)| *size > 1).collect();
    let same = real.len() == shape.tiers.len()
        && real.iter().zip(&shape.tiers).all(|((size, _), tier)| *size == tier.size);
    let tier = |(i, &&(size, flat)): (usize, &&(u32, Flat))| {
        let tier = if same { shape.tiers[i] } else { Tier { size, ..shape.over_all() } };
        (tier, flat)
    };
    real.iter().enumerate().map(tier).collect()
}

/// One walk over a tier with so many bytes in its group, one way.
fn one_way(tier: Tier, flat: Flat, bytes: u64, reduces: bool) -> Cost {
    let m = u64::from(tier.size);
    let rest = part(bytes, m - 1, m);
    let cost = match flat {
        Flat::Mesh => Cost::fan(tier, m - 1, part(bytes, 1, m)),
        // Two directions are two links only where there is a link for each pair, and a third rank.
        Flat::DoubleRing if tier.is_mesh && m > 2 => Cost::over(tier.link, m - 1, rest.div_ceil(2)),
        Flat::Ring | Flat::DoubleRing => Cost::over(tier.link, m - 1, rest),
        Flat::Nhr | Flat::Nb | Flat::Rhd => Cost::over(tier.link, log_ceil(tier.size), rest),
    };
    cost.reducing(if reduces { rest } else { 0 })
}

fn walks(tiers: &[(Tier, Flat)], work: Work, ranks: u32) -> Cost {
    let whole = work.whole(ranks);
    let mut cost = Cost::default();
    let mut width = 1u64;
    for &(tier, flat) in tiers {
        let m = u64::from(tier.size);
        let outer = width.saturating_mul(m);
        cost = if work.operator == Operator::AlltoAll {
            // In one round to all members, the blocks for all that lies behind each.
            cost.and(Cost::fan(tier, m - 1, part(whole, 1, m)))
        } else if work.is_twofold() {
            let bytes = part(whole, 1, width);
            let there = one_way(tier, flat, bytes, work.operator.reduces());
            cost.and(there).and(one_way(tier, flat, bytes, false))
        } else {
            let bytes = part(whole, outer, u64::from(ranks));
            cost.and(one_way(tier, flat, bytes, work.operator.reduces()))
        };
        width = outer;
    }
    cost
}

/// Transfer and reduction at the same time, but for one chunk.
fn chunked(two_shot: Cost, chunks: u32, link: Link) -> Cost {
    let rounds = u64::from(chunks) + 1;
    let (transfer, reduce) = (two_shot.transfer_ns, two_shot.reduce_ns);
    Cost {
        rounds,
        latency_ns: rounds.saturating_mul(link.latency_ns),
        transfer_ns: transfer.max(reduce),
        reduce_ns: transfer.min(reduce) / u64::from(chunks.max(1)),
    }
}

/// Halving and doubling of other numbers than powers of two: a fold before, its return after.
fn folded(work: Work, ranks: u32, all: Tier) -> Cost {
    let whole = work.whole(ranks);
    let reduces = work.operator.reduces();
    let step = |bytes: u64, reduces: bool| {
        Cost::over(all.link, 1, bytes).reducing(if reduces { bytes } else { 0 })
    };
    let block = Tier { size: 1 << ranks.ilog2(), ..all };
    if work.is_twofold() {
        let back =
            if work.operator == Operator::Reduce { Cost::default() } else { step(whole, false) };
        let walk = |reduces| one_way(block, Flat::Rhd, whole, reduces);
        return step(whole, reduces).and(walk(reduces)).and(walk(false)).and(back);
    }
    // A member of the block stands for up to two slices: the upper bound of the form.
    let (p, q) = (u64::from(ranks), u64::from(block.size));
    let bytes = part(whole, 2 * q - 2, p);
    let walk = Cost::over(all.link, log_ceil(block.size), bytes);
    let walk = walk.reducing(if reduces { bytes } else { 0 });
    step(whole, reduces).and(walk).and(step(part(whole, 1, p), false))
}

/// The slowest group inside, then between groups, and back.
fn ahc(groups: &[u32], (inside, between): (Flat, Flat), work: Work, shape: &Shape) -> Cost {
    let (Some(&largest), Some(&smallest)) = (groups.iter().max(), groups.iter().min()) else {
        return Cost::default();
    };
    let [inner, outer] = shape.inside_outside;
    let own = Tier { size: largest.max(1), link: inner, level: 0, is_mesh: shape.meshed };
    let apart = Tier { size: groups.len() as u32, link: outer, level: 1, is_mesh: false };
    let whole = work.whole(shape.ranks);
    let shared = part(whole, 1, u64::from(smallest));
    let way = |reduces| {
        one_way(own, inside, whole, reduces).and(one_way(apart, between, shared, reduces))
    };
    match work.operator {
        Operator::AllReduce => way(true).and(way(false)),
        _ => {
            let exchange = Cost::over(inner, 1, part(whole, 1, u64::from(shape.ranks)));
            way(work.operator.reduces()).and(exchange)
        }
    }
}

/// In each round the slower of one step between servers and one inside, then one more inside.
fn pipeline(group: u32, work: Work, shape: &Shape) -> Cost {
    let [inner, outer] = shape.inside_outside;
    let servers = u64::from(shape.ranks / group.max(1));
    let share = part(work.whole(shape.ranks), 1, u64::from(shape.ranks));
    let round = |link| Cost::over(link, 1, share);
    let (near, far) = (round(inner), round(outer));
    let slower = if near.total_ns() > far.total_ns() { near } else { far };
    let times = |cost: Cost, n: u64| Cost {
        rounds: cost.rounds.saturating_mul(n),
        latency_ns: cost.latency_ns.saturating_mul(n),
        transfer_ns: cost.transfer_ns.saturating_mul(n),
        reduce_ns: 0,
    };
    let way = times(slower, servers.saturating_sub(1)).and(near);
    let reduced = part(work.whole(shape.ranks), u64::from(shape.ranks) - 1, u64::from(shape.ranks));
    match work.operator {
        Operator::AllReduce => times(way, 2).reducing(reduced),
        Operator::ReduceScatter => way.reducing(reduced),
        _ => way,
    }
}

#[cfg(test)]
mod tests;
