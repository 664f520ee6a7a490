//! Which algorithm has which operator, without making a plan: a choice among algorithms asks this
//! about all of them.

use crate::operator::Operator;

use super::{Algorithm, Flat, Mesh, Unsupported, Why, ahc, hierarchy, mesh, pipeline};

/// Whether [`super::expand`] has plans of an operator for so many ranks. Lengths and roots are not
/// looked at.
///
/// # Errors
/// That the algorithm does not have the operator, or cannot run so many ranks.
pub fn supports(algorithm: &Algorithm, operator: Operator, ranks: u32) -> Result<(), Unsupported> {
    let flat = |flat| hierarchy::check(ranks, &[(ranks, flat)]).and_then(|()| walks(operator));
    let answer = match algorithm {
        Algorithm::Mesh(Mesh::Direct) => Ok(()),
        Algorithm::Pairwise => only(pairs(operator) || operator == Operator::Barrier),
        Algorithm::Star => only(operator.is_rooted() || operator == Operator::Barrier),
        _ if operator == Operator::Barrier => Ok(()),
        Algorithm::Mesh(Mesh::OneShot) => only(operator == Operator::AllReduce),
        Algorithm::Mesh(Mesh::Chunked(chunks)) => only(operator == Operator::AllReduce)
            .and_then(|()| mesh::parts(ranks, *chunks).map(|_| ())),
        Algorithm::Mesh(Mesh::TwoShot) => flat(Flat::Mesh),
        Algorithm::Ring => flat(Flat::Ring),
        Algorithm::DoubleRing => flat(Flat::DoubleRing),
        Algorithm::Nhr => flat(Flat::Nhr),
        Algorithm::Nb => flat(Flat::Nb),
        Algorithm::Rhd if operator == Operator::Broadcast => Ok(()),
        Algorithm::Rhd if ranks.is_power_of_two() => flat(Flat::Rhd),
        Algorithm::Rhd => only(folds(operator)),
        Algorithm::Ahc { groups, inside, between } => {
            ahc::columns(ranks, groups, *inside, *between).and_then(|_| only(layers(operator)))
        }
        Algorithm::Pipeline { group } => {
            pipeline::check(ranks, *group).and_then(|()| only(layers(operator)))
        }
        Algorithm::Hierarchy(tiers) => {
            hierarchy::check(ranks, tiers).and_then(|()| walks(operator))
        }
    };
    answer.map_err(|why| why.of(algorithm, operator, ranks))
}

fn only(known: bool) -> Result<(), Why> {
    if known { Ok(()) } else { Err(Why::Operator) }
}

/// Operators between pairs.
fn pairs(operator: Operator) -> bool {
    use Operator::{AlltoAll, AlltoAllV, AlltoAllVC, BatchSendRecv, Send};
    matches!(operator, AlltoAll | AlltoAllV | AlltoAllVC | Send | BatchSendRecv)
}

/// Operators of walks: all but those whose lengths differ by pair.
fn walks(operator: Operator) -> Result<(), Why> {
    only(operator == Operator::AlltoAll || !pairs(operator))
}

/// Operators of the folded halving.
fn folds(operator: Operator) -> bool {
    use Operator::{AllGatherV, Reduce, ReduceScatterV};
    layers(operator) || matches!(operator, AllGatherV | ReduceScatterV | Reduce)
}

/// Operators of AHC and of the pipeline.
fn layers(operator: Operator) -> bool {
    matches!(operator, Operator::AllReduce | Operator::ReduceScatter | Operator::AllGather)
}
