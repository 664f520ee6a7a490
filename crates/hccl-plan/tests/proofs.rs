//! Every generator is proved for every number of ranks that the project promises.

mod common;

use std::collections::BTreeMap;

use common::{algorithms, applies, task};
use hccl_plan::check::prove;
use hccl_plan::{Algorithm, Operator};

/// Proves all that applies, and gives how many tasks each family of algorithms had.
fn prove_all(ranks: u32) -> BTreeMap<String, u32> {
    let mut proved = BTreeMap::new();
    let mut panics = Vec::new();
    for (i, algorithm) in (0u32..).zip(algorithms(ranks)) {
        for operator in Operator::ALL {
            let task = task(operator, ranks, u64::from(ranks));
            // AHC on rows has a step a block and column; of its groups, one has to stand for all.
            let dear = matches!(algorithm, Algorithm::Ahc { .. })
                && matches!(operator, Operator::AllGather | Operator::ReduceScatter);
            if !applies(&algorithm, &task) || dear && ranks > 24 && !(i + ranks).is_multiple_of(4) {
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

#[test]
fn up_to_sixty_four_ranks() {
    // From both ends, so that two cores are busy.
    std::thread::scope(|scope| {
        for odd in [0, 1] {
            scope.spawn(move || {
                (1..=64).filter(|ranks| ranks % 2 == odd).for_each(|ranks| {
                    prove_all(ranks);
                })
            });
        }
    });
}

/// Prints what each proof costs; for people.
#[test]
#[ignore = "prints times"]
fn times() {
    let ranks = std::env::var("RANKS").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    for algorithm in algorithms(ranks) {
        for operator in Operator::ALL {
            let task = task(operator, ranks, u64::from(ranks));
            if applies(&algorithm, &task) {
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
