//! Algorithms and tasks that several tests go through.

#![allow(dead_code, reason = "each test uses a part of it")]

use hccl_plan::{
    Algorithm, Extent, Extents, Flat, Mesh, Operator, Task, Transfer, Unsupported, expand,
};

/// Every algorithm that has a plan for some operator of so many ranks, with its parameters.
pub(crate) fn algorithms(ranks: u32) -> Vec<Algorithm> {
    let mut all = vec![
        Algorithm::Mesh(Mesh::Direct),
        Algorithm::Mesh(Mesh::OneShot),
        Algorithm::Mesh(Mesh::TwoShot),
        Algorithm::Mesh(Mesh::Chunked(3)),
        Algorithm::Ring,
        Algorithm::DoubleRing,
        Algorithm::Rhd,
        Algorithm::Nhr,
        Algorithm::Nb,
        Algorithm::Pairwise,
        Algorithm::Star,
    ];
    let flats = [Flat::Mesh, Flat::Ring, Flat::Nhr, Flat::Nb, Flat::DoubleRing];
    // Groups of the smallest and of the largest divisor, and both ways round.
    let divisors: Vec<u32> = (2..ranks).filter(|d| ranks.is_multiple_of(*d)).collect();
    for (i, &size) in
        divisors.iter().enumerate().filter(|(i, _)| *i == 0 || i + 1 == divisors.len())
    {
        all.push(Algorithm::Pipeline { group: size });
        let (inner, outer) = (flats[i % 5], flats[(i + 2 + ranks as usize) % 5]);
        all.push(Algorithm::Hierarchy(vec![(size, inner), (ranks / size, outer)]));
        let rest = ranks / size;
        if let Some(middle) = (2..rest).find(|d| rest.is_multiple_of(*d)) {
            let tiers = [size, middle, rest / middle];
            let flat = |i: usize| {
                if tiers[i].is_power_of_two() { Flat::Rhd } else { flats[(i + size as usize) % 5] }
            };
            all.push(Algorithm::Hierarchy((0..3).map(|i| (tiers[i], flat(i))).collect()));
        }
    }
    let mut uneven = |groups: Vec<u32>| {
        let at = groups.len() + ranks as usize;
        let (inside, between) = (flats[at % 4], flats[(at + 1) % 4]);
        all.push(Algorithm::Ahc { groups, inside, between });
    };
    uneven(vec![ranks]);
    if ranks > 1 {
        uneven(vec![ranks / 2, ranks - ranks / 2]);
        uneven(vec![1, ranks - 1]);
    }
    if ranks > 8 {
        let fives = std::iter::repeat_n(5, ranks as usize / 5).chain([ranks % 5]);
        uneven(fives.filter(|&size| size > 0).collect());
    }
    if ranks > 4 {
        uneven([2, 3, ranks - 5].into_iter().filter(|&size| size > 0).collect());
    }
    all
}

/// A number that looks random, the same every time.
pub(crate) fn noise(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Runs of these lengths, the last first, so far from each other.
fn rows(lens: &[u64], distance: u64) -> Vec<Extent> {
    let row = |(i, &len): (u64, &u64)| Extent { start: (lens.len() as u64 - i) * distance, len };
    (0..).zip(lens).map(row).collect()
}

/// A task of an operator; lengths vary, and some are zero.
pub(crate) fn task(operator: Operator, ranks: u32, seed: u64) -> Task {
    let root = if operator.is_rooted() { (noise(seed) % u64::from(ranks)) as u32 } else { 0 };
    let len = |i: u64| noise(seed * 1000 + i) % 5;
    let lens: Vec<u64> = (0..u64::from(ranks)).map(len).collect();
    let extents = match operator {
        Operator::AllGatherV | Operator::ReduceScatterV if seed.is_multiple_of(2) => {
            Extents::packed(&lens)
        }
        // With gaps and backwards; inputs may overlap.
        Operator::AllGatherV => Extents::Rows(rows(&lens, 6)),
        Operator::ReduceScatterV => Extents::Rows(rows(&lens, 3)),
        Operator::AlltoAllV | Operator::AlltoAllVC => {
            let row = |i| (0..u64::from(ranks)).map(|j| len(i * 64 + j)).collect();
            Extents::matrix(&(0..u64::from(ranks)).map(row).collect::<Vec<Vec<u64>>>())
        }
        Operator::Send => {
            let to = (noise(seed + 1) % u64::from(ranks)) as u32;
            let from = (noise(seed + 2) % u64::from(ranks)) as u32;
            Extents::transfers(ranks, [Transfer { from, source: 0, to, target: 0, len: 7 }])
        }
        Operator::BatchSendRecv => {
            let mut next = vec![(0, 0); ranks as usize];
            let mut all = Vec::new();
            for i in 0..2 * u64::from(ranks) {
                let from = (noise(seed + 3 * i) % u64::from(ranks)) as u32;
                let to = (noise(seed + 3 * i + 1) % u64::from(ranks)) as u32;
                let len = len(i);
                let (source, target) = (next[from as usize].0, next[to as usize].1);
                next[from as usize].0 += len;
                next[to as usize].1 += len;
                all.push(Transfer { from, source, to, target, len });
            }
            Extents::transfers(ranks, all)
        }
        _ => return Task::new(operator, ranks, root),
    };
    Task::with_extents(operator, ranks, extents)
}

/// Whether the algorithm has plans for the task.
pub(crate) fn applies(algorithm: &Algorithm, task: &Task) -> bool {
    match expand(algorithm, task, 0) {
        Ok(_) => true,
        Err(Unsupported::Operator { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}
