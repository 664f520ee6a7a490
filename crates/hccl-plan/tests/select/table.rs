//! The rows of the table by example, and what reasons say.

use hccl_plan::select::{Case, Reach};
use hccl_plan::{Algorithm, Link, Mesh, Operator};

use super::{case, chosen, topology};

#[test]
fn large_clusters_have_plans() {
    for text in ["8x32", "8x125", "16x8x8", "1x1000", "8x64+8x61", "64+63+61"] {
        let topology = topology(text);
        for operator in Operator::ALL {
            for block_bytes in [1 << 10, 1 << 20, 1 << 30] {
                chosen(&case(operator, &topology, block_bytes));
            }
        }
    }
}

#[test]
fn one_host_runs_the_direct_mesh() {
    for text in ["1", "2", "8", "64", "4x2", "2+3"] {
        let topology = topology(text);
        for operator in Operator::ALL {
            let case = Case { reach: Reach::Mapped, ..case(operator, &topology, 1 << 20) };
            let choice = chosen(&case);
            assert_eq!(choice.algorithm, Algorithm::Mesh(Mesh::Direct));
            assert_eq!(choice.row, if topology.ranks() == 1 { "alone" } else { "mapped" });
            assert!(choice.notes.is_empty());
        }
    }
}

#[test]
fn the_table_by_example() {
    use Operator::{AllGather, AllReduce, AlltoAll, Barrier, Broadcast, Gather, ReduceScatterV};
    let (k, m, g) = (1u64 << 10, 1u64 << 20, 1u64 << 30);
    for (text, operator, bytes, row, algorithm) in [
        ("8", AllReduce, 64 * k, "all-reduce in a mesh", "mesh:one-shot"),
        ("8", AllReduce, m, "all-reduce in a mesh", "mesh:two-shot"),
        ("8", AllReduce, g, "large all-reduce in a mesh", "mesh:chunked:16"),
        ("2", AllReduce, m, "all-reduce in a mesh", "mesh:one-shot"),
        ("8", AllGather, m, "mesh", "mesh:two-shot"),
        ("8", Broadcast, k, "broadcast or reduce in a mesh", "star"),
        ("8", Broadcast, m, "broadcast or reduce in a mesh", "mesh:two-shot"),
        ("8", AlltoAll, m, "all-to-all in a mesh", "mesh"),
        ("8", Operator::AlltoAllV, m, "all-to-all in a mesh", "mesh"),
        ("1x8", AllReduce, m, "one tier", "nhr"),
        ("1x2", AllReduce, m, "one tier", "ring"),
        ("1x8", Broadcast, k, "one tier", "star"),
        ("1x8", Broadcast, m, "one tier", "rhd"),
        ("1x8", Broadcast, 64 * m, "one tier", "nhr"),
        ("1x8", Gather, m, "one tier", "star"),
        ("1x1000", Gather, k, "one tier", "nhr"),
        ("1x8", Operator::AlltoAllVC, m, "all-to-all of lengths", "pairwise"),
        ("8x4", AllReduce, k, "tiers", "hierarchy:8*mesh,4*nhr"),
        ("8x2", AllReduce, k, "tiers", "hierarchy:8*mesh,2*ring"),
        ("8x4", AllGather, k, "tiers", "hierarchy:8*mesh,4*nhr"),
        ("8x4", AllGather, 4 * m, "tiers", "pipeline:8"),
        ("8x4", ReduceScatterV, m, "tiers", "hierarchy:8*mesh,4*nhr"),
        ("8x4x2", AllReduce, m, "tiers", "hierarchy:8*mesh,4*nhr,2*ring"),
        ("8x4+8x3", AllReduce, m, "tiers", "hierarchy:8*mesh,7*nhr"),
        ("8x4", AlltoAll, 64, "all-to-all over servers", "hierarchy:8*mesh,4*mesh"),
        ("8x4", AlltoAll, 16 * m, "all-to-all over servers", "pairwise"),
        ("8+7", AllReduce, 16 * m, "uneven servers", "ahc:8+7:mesh:ring"),
        ("8+7", AllGather, m, "uneven servers", "nhr"),
        ("8x4", Barrier, 0, "barrier", "mesh"),
        ("8x128", Barrier, 0, "barrier", "nb"),
        ("8x4", Operator::BatchSendRecv, m, "messages", "pairwise"),
    ] {
        let topology = topology(text);
        let choice = chosen(&case(operator, &topology, bytes));
        let found = (choice.row.as_str(), choice.algorithm.to_string());
        assert_eq!(found, (row, algorithm.to_owned()), "{operator} on {text}: {choice:#?}");
    }
}

#[test]
fn reasons_name_the_numbers_that_were_compared() {
    let mut topology = topology("8x4");
    let choice = chosen(&case(Operator::AllReduce, &topology, 1 << 10));
    for part in [
        "60 us and 25 GB/s between servers, assumed",
        "hierarchy:8*mesh,4*nhr is estimated at 250 us in 6 rounds",
    ] {
        assert!(choice.reason.contains(part), "{part}: {choice:#?}");
    }
    let why = |algorithm: &str| {
        let algorithm: Algorithm = algorithm.parse().unwrap();
        let one = choice.rejected.iter().find(|one| one.algorithm == algorithm);
        one.map(|one| one.reason.clone()).unwrap_or_default()
    };
    assert!(why("mesh").contains("does not map"));
    assert!(why("mesh:two-shot").contains("link for each pair"));
    assert!(why("double-ring").contains("share one port"));
    assert!(why("ring").contains("estimated at 3.72 ms in 62 rounds"), "{}", why("ring"));
    // Links that are known decide instead of those that are assumed.
    let link = |latency_ns, bytes_per_s| Link { latency_ns, bytes_per_s, ports: None };
    topology.links = vec![link(1_000, 1_000_000_000), link(1_000_000, 1_000_000_000)];
    let choice = chosen(&case(Operator::AllReduce, &topology, 1 << 10));
    assert!(choice.reason.contains("1 ms and 1 GB/s between servers)"), "{}", choice.reason);
    assert!(choice.reason.contains("4 ms"), "{}", choice.reason);
}
