//! Everything that an operator could run on a topology, and why it does not.

use crate::generate::{Algorithm, Flat, Mesh};
use crate::operator::Operator;

use super::table::{
    BETWEEN, DIRECT, ONE_SHOT, TWO_SHOT, View, ahc, bundles, flat_over_all, hierarchies, pipeline,
};
use super::{Reach, obstacle};

/// What the row compared, and all else that the operator has.
pub(super) fn considered(view: &View<'_>, compared: &[Algorithm]) -> Vec<Algorithm> {
    use Operator::{AlltoAll, AlltoAllV, AlltoAllVC, BatchSendRecv, Send};
    let mut all = compared.to_vec();
    if view.case.ranks <= 1 {
        return all;
    }
    let more = match view.case.operator {
        Operator::Barrier => vec![DIRECT, Algorithm::Star, Algorithm::Nb],
        // Their walks would be these under other names.
        AlltoAll | AlltoAllV | AlltoAllVC | Send | BatchSendRecv => {
            [DIRECT, Algorithm::Pairwise].into_iter().chain(bundles(view)).collect()
        }
        _ => {
            let mut more = vec![DIRECT, ONE_SHOT, TWO_SHOT, Algorithm::Mesh(Mesh::Chunked(4))];
            more.extend([Algorithm::Star]);
            let flats = [Flat::Ring, Flat::DoubleRing, Flat::Nhr, Flat::Nb, Flat::Rhd];
            more.extend(flats.map(flat_over_all));
            if view.shape.tiers.len() > 1 {
                more.extend(hierarchies(view, &[], &BETWEEN));
                more.extend(pipeline(view));
            }
            more.extend(ahc(view, Flat::Nhr));
            more
        }
    };
    for algorithm in more {
        if view.has(&algorithm) && !all.contains(&algorithm) {
            all.push(algorithm);
        }
    }
    all
}

/// Why an algorithm that has the operator does not run.
pub(super) fn why_not(
    view: &View<'_>,
    algorithm: &Algorithm,
    chosen: &Algorithm,
    asked: bool,
) -> String {
    let (mine, its) = (view.cost(algorithm), view.cost(chosen));
    let operator = view.case.operator;
    if let Some(why) = obstacle(view, algorithm) {
        return why;
    }
    if asked {
        return format!("{chosen} was asked for; this is estimated at {mine}, against {its}");
    }
    if view.case.reach == Reach::Mapped {
        return on_mapped_memory(algorithm, mine.rounds);
    }
    if matches!(operator, Operator::Send | Operator::BatchSendRecv) {
        return "its plan is the same".into();
    }
    let is_mesh = matches!(algorithm, Algorithm::Mesh(_));
    if is_mesh && operator != Operator::Barrier && !view.shape.is_one_mesh() {
        return "it needs a link for each pair of ranks, and servers share theirs".into();
    }
    match algorithm {
        Algorithm::DoubleRing if !view.shape.is_one_mesh() => {
            "both of its rings would share one port, so it is a ring with more messages".into()
        }
        Algorithm::Mesh(Mesh::Chunked(_)) if mine.total_ns() < its.total_ns() => {
            "the block times 8 by the square of the ranks is not above 32 MiB, so its chunks would \
             be too small to fill a link"
                .into()
        }
        Algorithm::Hierarchy(_)
            if operator == Operator::AlltoAll && mine.total_ns() < its.total_ns() =>
        {
            "it would need more than 200 MiB of scratch memory for its bundles".into()
        }
        Algorithm::Pipeline { .. } if mine.total_ns() < its.total_ns() => {
            "a rank would pass on less than 32 KiB in a round (AllReduce: 1 MiB), too little for \
             rounds to hide one another"
                .into()
        }
        Algorithm::Ahc { .. } if mine.total_ns() < its.total_ns() => {
            "it cuts every block into pieces by the sizes of the servers, where others move whole \
             blocks; it runs when it is asked for"
                .into()
        }
        _ if mine.total_ns() > its.total_ns() && mine.to_string() == its.to_string() => {
            format!("estimated at {mine}, some nanoseconds above the choice")
        }
        _ if mine.total_ns() > its.total_ns() => {
            format!("estimated at {mine}, against {its}")
        }
        _ if mine.total_ns() == its.total_ns() => {
            format!("estimated at {mine}, not less than the choice, which comes first")
        }
        _ => format!("estimated at {mine}, but the row does not compare it"),
    }
}

fn on_mapped_memory(algorithm: &Algorithm, rounds: u64) -> String {
    match algorithm {
        Algorithm::Mesh(Mesh::OneShot) => {
            "every rank would read and combine the whole of all inputs, and copy the result".into()
        }
        _ if rounds > 1 => {
            format!("{rounds} rounds, each with a wait, where the direct mesh has one")
        }
        _ => "it has one round as well, and no less to move".into(),
    }
}
