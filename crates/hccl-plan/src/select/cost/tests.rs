//! The closed forms against the plans, and against numbers made by hand.

use super::*;
use crate::check::prove;
use crate::generate::{Task, supports, volume};
use crate::topology::Topology;

use Operator::{AllGather, AllReduce, AlltoAll, Broadcast, Gather, Reduce, ReduceScatter, Scatter};

const BYTE_A_NS: u64 = 1_000_000_000;

/// Ranks on one switch; a byte takes a nanosecond, and a round a million.
fn switch(ranks: u32) -> Shape {
    let mut topology = Topology::uniform(&[1, ranks]);
    topology.links = vec![Link { latency_ns: 1_000_000, bytes_per_s: BYTE_A_NS, ports: None }; 2];
    Shape::of(&topology, ranks)
}

#[test]
fn rounds_and_bytes_are_those_of_the_plans() {
    let flats = [Algorithm::Ring, Algorithm::Nhr, Algorithm::Nb, Algorithm::Rhd];
    let operators = [AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, Scatter, Gather];
    for ranks in [2u32, 3, 4, 6, 7, 8, 13, 16] {
        let block_bytes = u64::from(ranks) * 1024;
        let shape = switch(ranks);
        let pairs = [(Algorithm::Pairwise, AlltoAll)];
        let all = flats.iter().flat_map(|flat| operators.map(|one| (flat.clone(), one)));
        for (algorithm, operator) in all.chain(pairs) {
            if supports(&algorithm, operator, ranks).is_err() {
                continue;
            }
            let cost = estimate(&algorithm, Work { operator, block_bytes }, &shape);
            let task = Task::new(operator, ranks, 0);
            let name = format!("{algorithm} {operator} of {ranks}");
            let report = prove(&algorithm, &task).unwrap();
            let folded = algorithm == Algorithm::Rhd && !ranks.is_power_of_two();
            // The folded Reduce raises a last level that returns nothing.
            let idle = u32::from(folded && operator == Reduce);
            assert_eq!(cost.rounds, u64::from(report.levels - 1 - idle), "{name}");
            assert_eq!(cost.latency_ns, 1_000_000 * cost.rounds, "{name}");
            // A chain and a tree count the whole block once a round; and the folded forms
            // overlap what the stated volume adds.
            let whole = operator == Broadcast && algorithm == Algorithm::Rhd
                || matches!(operator, Broadcast | Reduce) && algorithm == Algorithm::Ring;
            if !whole && !folded {
                let stated = volume(&algorithm, &task).unwrap();
                assert_eq!(cost.transfer_ns, block_bytes * stated.num / stated.den, "{name}");
            }
        }
    }
}

#[test]
fn folded_forms_are_those_of_the_catalogue() {
    let shape = switch(6);
    let n = 6 * 4096;
    let cost = |operator, block_bytes| {
        estimate(&Algorithm::Rhd, Work { operator, block_bytes }, &shape).transfer_ns
    };
    // q = 4: 2 (q - 1) / q + 2, and one less for Reduce.
    assert_eq!(cost(AllReduce, n), n * 7 / 2);
    assert_eq!(cost(Reduce, n), n * 5 / 2);
    // One whole row, 2 q - 2 slices, one slice.
    assert_eq!(cost(ReduceScatter, n / 6), n + n / 6 * 6 + n / 6);
    assert_eq!(cost(AllGather, n / 6), n + n / 6 * 6 + n / 6);
}

#[test]
fn a_mesh_uses_all_its_links_and_a_port_serves_one_after_the_other() {
    let mut topology = Topology::uniform(&[8]);
    topology.links = vec![Link { latency_ns: 5, bytes_per_s: BYTE_A_NS, ports: None }];
    let mesh = Shape::of(&topology, 8);
    let n = 8 * 1000;
    let of = |algorithm: Algorithm, operator, shape: &Shape| {
        let cost = estimate(&algorithm, Work { operator, block_bytes: n }, shape);
        (cost.rounds, cost.latency_ns, cost.transfer_ns)
    };
    let (direct, two_shot) = (Algorithm::Mesh(Mesh::Direct), Algorithm::Mesh(Mesh::TwoShot));
    assert_eq!(of(two_shot.clone(), AllReduce, &mesh), (2, 10, 2 * n / 8));
    assert_eq!(of(Algorithm::Mesh(Mesh::OneShot), AllReduce, &mesh), (1, 5, n));
    assert_eq!(of(direct.clone(), AllReduce, &mesh), (1, 5, 2 * n / 8));
    assert_eq!(of(direct.clone(), Broadcast, &mesh), (1, 5, n));
    assert_eq!(of(two_shot, AllGather, &mesh), (1, 5, n));
    assert_eq!(of(Algorithm::DoubleRing, AllGather, &mesh), (7, 35, 7 * n / 2));
    assert_eq!(of(Algorithm::Star, Scatter, &mesh), (1, 5, n));
    assert_eq!(of(Algorithm::Star, Reduce, &switch(8)), (1, 1_006_000, 7 * n));
    assert_eq!(of(direct, Operator::AlltoAllV, &mesh), (1, 5, n / 8));
}

#[test]
fn tiers_and_pipelines_are_priced_link_by_link() {
    let mut topology = Topology::uniform(&[4, 3]);
    let link = |latency_ns, bytes_per_s| Link { latency_ns, bytes_per_s, ports: None };
    topology.links = vec![link(1, BYTE_A_NS), link(100, BYTE_A_NS / 10)];
    let shape = Shape::of(&topology, 12);
    let n = 12 * 1000;
    let of = |algorithm: &str, operator, block_bytes| {
        let algorithm = algorithm.parse().unwrap();
        let cost = estimate(&algorithm, Work { operator, block_bytes }, &shape);
        (cost.rounds, cost.latency_ns, cost.transfer_ns)
    };
    // Inside n / 4 each way; between, two thirds of a quarter each way, ten times as slow.
    let both = 2 * (n / 4) + 2 * (n / 4 * 2 / 3 * 10);
    assert_eq!(of("hierarchy:4*mesh,3*ring", AllReduce, n), (6, 402, both));
    // Inside one block; between, two rows of four blocks.
    let rows = 1000 + 8 * 1000 * 10;
    assert_eq!(of("hierarchy:4*mesh,3*nhr", AllGather, 1000), (3, 201, rows));
    // Two rounds between of one block, and one inside.
    assert_eq!(of("pipeline:4", AllGather, 1000), (3, 201, 21_000));
    assert_eq!(of("pipeline:4", AllReduce, n), (6, 402, 42_000));
    // Other tiers than those of the topology run over its slowest link.
    assert_eq!(of("hierarchy:6*ring,2*ring", AllGather, 1000).1, 600);
    let ahc = "ahc:4+4+4:mesh:ring";
    assert_eq!(of(ahc, AllReduce, n), of("hierarchy:4*mesh,3*ring", AllReduce, n));
    assert_eq!(of(ahc, AllGather, 1000).0, 1 + 2 + 1);
    let bundles = (1 + 1, 1 + 100 + 1000, 3 * 1000 + 8 * 1000 * 10);
    assert_eq!(of("hierarchy:4*mesh,3*mesh", AlltoAll, 1000), bundles);
}

#[test]
fn absurd_numbers_saturate() {
    let mut topology = Topology::uniform(&[3, 5]);
    topology.links = vec![Link { latency_ns: u64::MAX, bytes_per_s: 0, ports: None }; 2];
    let shape = Shape::of(&topology, 15);
    for operator in Operator::ALL {
        for text in ["ring", "star", "rhd", "mesh", "pipeline:3", "mesh:chunked:9", "pairwise"] {
            let algorithm = text.parse().unwrap();
            let cost = estimate(&algorithm, Work { operator, block_bytes: u64::MAX }, &shape);
            assert_eq!(cost.total_ns(), u64::MAX, "{text} {operator}");
        }
    }
}
