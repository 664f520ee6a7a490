//! Every generator is proved for every number of ranks that the project promises.

mod common;

use std::collections::BTreeMap;

use common::{algorithms, applies, task};
use hccl_plan::check::prove;
use hccl_plan::{Algorithm, Flat, Mesh, Operator, Task};

/// AHC on rows has a step a block and column: large groups are left out for many ranks.
fn is_dear(algorithm: &Algorithm, task: &Task) -> bool {
    let on_row = matches!(task.operator, Operator::AllGather | Operator::ReduceScatter);
    match algorithm {
        Algorithm::Ahc { groups, .. } => {
            on_row && task.ranks > 24 && groups.iter().any(|size| *size > 5)
        }
        _ => false,
    }
}

/// Proves all that applies, and gives how many tasks each family of algorithms had.
fn prove_all(ranks: u32) -> BTreeMap<String, u32> {
    let mut proved = BTreeMap::new();
    let mut panics = Vec::new();
    for algorithm in algorithms(ranks) {
        for operator in Operator::ALL {
            let task = task(operator, ranks, u64::from(ranks));
            if !applies(&algorithm, &task) || is_dear(&algorithm, &task) {
                continue;
            }
            let name = algorithm.name();
            if let Err(fault) = prove(&algorithm, &task) {
                panics.push(format!("{name} {operator} of {ranks} (root {}): {fault}", task.root));
            }
            let family = format!("{algorithm:?}");
            let family = family.split(['(', ' ']).next().unwrap().to_owned();
            *proved.entry(family).or_default() += 1;
        }
    }
    assert!(panics.is_empty(), "{}", panics.join("\n"));
    proved
}

/// Proves for several numbers of ranks, on two threads.
fn prove_each(mut ranks: Vec<u32>) {
    ranks.sort_unstable();
    let queue = std::sync::Mutex::new(ranks);
    let next = || queue.lock().expect("no prover holds the lock when it panics").pop();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(ranks) = next() {
                    prove_all(ranks);
                }
            });
        }
    });
}

#[test]
fn up_to_sixty_four_ranks() {
    prove_each((1..=64).collect());
}

#[test]
fn some_hundred_ranks() {
    prove_each(vec![100, 127, 128]);
}

#[test]
#[ignore = "a minute or two in a release build"]
fn some_hundred_ranks_more() {
    prove_each(vec![255, 256]);
}

/// One of each family for a thousand ranks; the families' members differ in nothing that depends
/// on size.
#[test]
fn a_thousand_ranks_in_few_rounds() {
    let tiers = |sizes: &[u32], flats: &[Flat]| {
        Algorithm::Hierarchy(sizes.iter().copied().zip(flats.iter().copied()).collect())
    };
    let (mesh, ring, nhr, nb, rhd) = (Flat::Mesh, Flat::Ring, Flat::Nhr, Flat::Nb, Flat::Rhd);
    let ahc = |groups: &[u32]| Algorithm::Ahc { groups: groups.to_vec(), inside: nb, between: nhr };
    let cases = [
        (1000, Algorithm::Nhr, Operator::AllReduce),
        (1000, Algorithm::Nb, Operator::AllReduce),
        (1000, Algorithm::Nb, Operator::Broadcast),
        (1000, Algorithm::Rhd, Operator::AllReduce),
        (1024, Algorithm::Rhd, Operator::AllReduce),
        (1024, Algorithm::Nhr, Operator::Broadcast),
        (1024, Algorithm::Nhr, Operator::Scatter),
        (1024, Algorithm::Star, Operator::Reduce),
        (1024, Algorithm::Ring, Operator::Broadcast),
        (1024, Algorithm::Mesh(Mesh::Direct), Operator::AllReduce),
        (1000, tiers(&[8, 125], &[mesh, nhr]), Operator::AllReduce),
        (1024, tiers(&[8, 16, 8], &[mesh, nhr, rhd]), Operator::AllReduce),
        (1024, tiers(&[8, 16, 8], &[mesh, ring, nb]), Operator::Reduce),
        (1024, tiers(&[16, 64], &[mesh, rhd]), Operator::Broadcast),
        (1024, Algorithm::Nb, Operator::Barrier),
        (1000, ahc(&[500, 500]), Operator::AllReduce),
    ];
    for (ranks, algorithm, operator) in cases {
        let task = task(operator, ranks, 7);
        if let Err(fault) = prove(&algorithm, &task) {
            panic!("{} {operator} of {ranks}: {fault}", algorithm.name());
        }
    }
}

/// Everything for a thousand ranks, except AHC on rows, which has a step a block and column.
#[test]
#[ignore = "long; in a release build"]
fn a_thousand_ranks() {
    for ranks in [1000, 1024] {
        prove_all(ranks);
    }
}

/// Prints what each proof costs; for people. `RANKS` says for how many, `ONLY` which names have to
/// begin with.
#[test]
#[ignore = "prints times"]
fn times() {
    let ranks = std::env::var("RANKS").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    let only = std::env::var("ONLY").unwrap_or_default();
    for algorithm in algorithms(ranks) {
        for operator in Operator::ALL {
            let task = task(operator, ranks, u64::from(ranks));
            let is_wanted = format!("{} {operator}", algorithm.name()).starts_with(&only);
            if is_wanted && applies(&algorithm, &task) && !is_dear(&algorithm, &task) {
                let begun = std::time::Instant::now();
                let report = prove(&algorithm, &task);
                println!(
                    "{:8.3} s  {} {operator}: {:?}",
                    begun.elapsed().as_secs_f64(),
                    algorithm.name(),
                    report.map(|report| (report.steps, report.levels, report.orders))
                );
            }
        }
    }
}
