//! Rounds and volumes of the plans are those of the closed forms (section 3 of the catalogue), and
//! reductions have the orders that determinism relies on.

mod common;

use common::{algorithms, applies, task};
use hccl_plan::check::{Report, prove};
use hccl_plan::{Access, Algorithm, Flat, Mesh, Operator, Task, volume};

fn report(algorithm: &Algorithm, operator: Operator, ranks: u32) -> Report {
    prove(algorithm, &Task::new(operator, ranks, 0)).unwrap()
}

fn log_ceil(p: u32) -> u32 {
    p.next_power_of_two().trailing_zeros()
}

/// Rounds: levels above the first.
fn rounds(algorithm: &Algorithm, operator: Operator, ranks: u32) -> u32 {
    report(algorithm, operator, ranks).levels - 1
}

#[test]
fn rounds_are_those_of_the_closed_forms() {
    use Operator::{AllGather, AllReduce, Broadcast, Reduce, ReduceScatter, Scatter};
    for p in 2..=33 {
        for operator in [Scatter, ReduceScatter, AllGather] {
            assert_eq!(rounds(&Algorithm::Mesh(Mesh::TwoShot), operator, p), 1);
            assert_eq!(rounds(&Algorithm::Ring, operator, p), p - 1);
            assert_eq!(rounds(&Algorithm::Nhr, operator, p), log_ceil(p));
            assert_eq!(rounds(&Algorithm::Nb, operator, p), log_ceil(p));
        }
        assert_eq!(rounds(&Algorithm::Ring, AllReduce, p), 2 * (p - 1));
        assert_eq!(rounds(&Algorithm::Ring, Broadcast, p), p - 1);
        assert_eq!(rounds(&Algorithm::Ring, Reduce, p), p - 1);
        assert_eq!(rounds(&Algorithm::Mesh(Mesh::TwoShot), AllReduce, p), 2);
        for algorithm in [Algorithm::Nhr, Algorithm::Nb] {
            assert_eq!(rounds(&algorithm, AllReduce, p), 2 * log_ceil(p));
            assert_eq!(rounds(&algorithm, Broadcast, p), 2 * log_ceil(p));
        }
        assert_eq!(rounds(&Algorithm::Rhd, Broadcast, p), log_ceil(p));
        let fold = if p.is_power_of_two() { 0 } else { 2 };
        assert_eq!(rounds(&Algorithm::Rhd, AllReduce, p), 2 * p.ilog2() + fold);
        assert_eq!(rounds(&Algorithm::Rhd, ReduceScatter, p), p.ilog2() + fold);
    }
    // Pipeline: servers - 1 + 1 for each half; AHC: three phases.
    assert_eq!(rounds(&Algorithm::Pipeline { group: 4 }, AllGather, 24), 6);
    assert_eq!(rounds(&Algorithm::Pipeline { group: 4 }, AllReduce, 24), 12);
    let ahc = Algorithm::Ahc { groups: vec![8, 7], inside: Flat::Nb, between: Flat::Nb };
    assert_eq!(rounds(&ahc, AllReduce, 15), 2 * (3 + 1));
    let tiers = vec![(8, Flat::Mesh), (4, Flat::Nhr), (3, Flat::Ring)];
    assert_eq!(rounds(&Algorithm::Hierarchy(tiers), AllReduce, 96), 2 * (1 + 2 + 2));
}

#[test]
fn volumes_are_reached_and_not_only_respected() {
    for p in [2, 3, 5, 8, 12] {
        for algorithm in algorithms(p) {
            for operator in [Operator::AllReduce, Operator::ReduceScatter, Operator::AllGather] {
                let task = Task::new(operator, p, 0);
                let folded = algorithm == Algorithm::Rhd && !p.is_power_of_two();
                if folded || !applies(&algorithm, &task) {
                    continue;
                }
                let report = prove(&algorithm, &task).unwrap();
                let stated = volume(&algorithm, &task).unwrap();
                let most = report.moved.iter().copied().max().unwrap();
                let ahc = matches!(algorithm, Algorithm::Ahc { .. });
                assert!(ahc || !stated.covers(most + 1, report.unit), "{algorithm:?} {operator}");
            }
        }
    }
}

#[test]
fn orders_of_reduction() {
    for mesh in [Mesh::Direct, Mesh::OneShot, Mesh::TwoShot, Mesh::Chunked(4)] {
        assert_eq!(report(&Algorithm::Mesh(mesh), Operator::AllReduce, 9).orders, 1);
    }
    // A ring begins each slice elsewhere; which is why it is not strict.
    assert_eq!(report(&Algorithm::Ring, Operator::AllReduce, 9).orders, 9);
    assert_eq!(report(&Algorithm::Ring, Operator::Reduce, 9).orders, 1);
}

#[test]
fn only_the_direct_mesh_writes_to_others() {
    for algorithm in algorithms(8) {
        for operator in Operator::ALL {
            let task = task(operator, 8, 5);
            if applies(&algorithm, &task) {
                let direct = algorithm == Algorithm::Mesh(Mesh::Direct);
                let mapped = prove(&algorithm, &task).unwrap().access == Access::Mapped;
                let reduces = matches!(operator, Operator::AllReduce | Operator::Reduce);
                assert_eq!(mapped, direct && reduces, "{algorithm:?} {operator}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |algorithm: &Algorithm, task: &Task| {
        hccl_plan::expand(algorithm, task, 0).unwrap_err().to_string()
    };
    let task = |operator, ranks, root| Task::new(operator, ranks, root);
    let all_reduce = task(Operator::AllReduce, 6, 0);
    let shape = |algorithm| refused(&algorithm, &all_reduce);
    let ahc = |groups: &[u32], inside| {
        shape(Algorithm::Ahc { groups: groups.to_vec(), inside, between: Flat::Nb })
    };
    assert!(shape(Algorithm::Star).contains("star has no AllReduce"));
    assert!(shape(Algorithm::Pairwise).contains("pairwise has no AllReduce"));
    assert!(shape(Algorithm::Pipeline { group: 4 }).contains("groups of 4"));
    assert!(shape(Algorithm::Pipeline { group: 0 }).contains("groups of 0"));
    assert!(shape(Algorithm::Mesh(Mesh::Chunked(0))).contains("0 chunks"));
    assert!(shape(Algorithm::Hierarchy(vec![(2, Flat::Nb)])).contains("hold 2"));
    assert!(shape(Algorithm::Hierarchy(vec![(6, Flat::Rhd)])).contains("6 members"));
    assert!(shape(Algorithm::Hierarchy(vec![(u32::MAX, Flat::Nb); 2])).contains("too many"));
    assert!(ahc(&[2, 3], Flat::Nb).contains("hold 5"));
    assert!(ahc(&[6, 0], Flat::Nb).contains("empty"));
    assert!(ahc(&[6], Flat::Rhd).contains("none of its parts"));
    let primes = [4_093, 4_091, 4_079];
    let many = task(Operator::AllReduce, primes.iter().sum(), 0);
    let groups = primes.to_vec();
    let ahc = Algorithm::Ahc { groups, inside: Flat::Nb, between: Flat::Nb };
    assert!(refused(&ahc, &many).contains("common multiple"));
    assert!(refused(&Algorithm::Nb, &task(Operator::AllReduce, 0, 0)).contains("no ranks"));
    assert!(refused(&Algorithm::Nb, &task(Operator::Reduce, 3, 3)).contains("root"));
    assert!(refused(&Algorithm::Nb, &task(Operator::AllGatherV, 3, 0)).contains("missing"));
    let lengths =
        |operator, ranks| Task::with_extents(operator, ranks, hccl_plan::Extents::packed(&[1, 2]));
    let ring = |task| refused(&Algorithm::Ring, &task);
    assert!(ring(lengths(Operator::AllReduce, 2)).contains("all are the same"));
    assert!(ring(lengths(Operator::AlltoAllV, 2)).contains("wrong kind"));
    assert!(ring(lengths(Operator::AllGatherV, 3)).contains("other ranks"));
    assert!(hccl_plan::expand(&Algorithm::Nb, &all_reduce, 6).is_err());
}
