//! What is said to have plans has them, and nothing else does.

mod common;

use common::{algorithms, task};
use hccl_plan::{Algorithm, Flat, Mesh, Operator, Unsupported, expand, supports};

/// Algorithms that cannot run every number of ranks, or none.
fn odd_ones() -> Vec<Algorithm> {
    let ahc = |groups: &[u32], inside, between| Algorithm::Ahc {
        groups: groups.to_vec(),
        inside,
        between,
    };
    vec![
        Algorithm::Mesh(Mesh::Chunked(0)),
        Algorithm::Mesh(Mesh::Chunked(u32::MAX)),
        Algorithm::Pipeline { group: 0 },
        Algorithm::Pipeline { group: 4 },
        Algorithm::Hierarchy(vec![]),
        Algorithm::Hierarchy(vec![(0, Flat::Nb)]),
        Algorithm::Hierarchy(vec![(2, Flat::Rhd), (3, Flat::Mesh)]),
        Algorithm::Hierarchy(vec![(2, Flat::Mesh), (3, Flat::Rhd)]),
        Algorithm::Hierarchy(vec![(u32::MAX, Flat::Nb), (u32::MAX, Flat::Nb)]),
        ahc(&[2, 4], Flat::Mesh, Flat::Nhr),
        ahc(&[2, 3], Flat::Rhd, Flat::Nhr),
        ahc(&[6], Flat::Ring, Flat::DoubleRing),
        ahc(&[0, 6], Flat::Ring, Flat::Ring),
        ahc(&[], Flat::Ring, Flat::Ring),
    ]
}

#[test]
fn the_answer_is_that_of_the_generators() {
    for ranks in (1..=12).chain([16, 24]) {
        for algorithm in algorithms(ranks).into_iter().chain(odd_ones()) {
            for operator in Operator::ALL {
                let task = task(operator, ranks, u64::from(ranks));
                let made = expand(&algorithm, &task, ranks - 1).map(|_| ());
                let said = supports(&algorithm, operator, ranks);
                let name = algorithm.name();
                assert_eq!(said.is_ok(), made.is_ok(), "{name} {operator} of {ranks}: {made:?}");
            }
        }
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let no = supports(&Algorithm::Star, Operator::AllReduce, 4).unwrap_err();
    assert_eq!(no.to_string(), "star has no AllReduce");
    let no = supports(&Algorithm::Pipeline { group: 3 }, Operator::AllReduce, 4).unwrap_err();
    assert!(matches!(&no, Unsupported::Shape { ranks: 4, .. }), "{no}");
    assert!(no.to_string().contains("groups of 3"), "{no}");
}
