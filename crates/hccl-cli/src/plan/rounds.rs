//! Which transfers happen in which round, for a picture.
//!
//! Levels are rounds that all ranks agree on. What a rank does belongs to the highest level that it
//! has reached or waited for.

use hccl_plan::{Plan, Step};

use super::answer::{foreign, span};

/// Something that goes from one rank to another.
pub(super) struct Transfer<'a> {
    pub(super) round: u32,
    /// Whose data.
    pub(super) from: u32,
    /// Who gets them.
    pub(super) to: u32,
    /// Who does it: the receiver reads, or the sender writes.
    pub(super) by: u32,
    pub(super) step: &'a Step,
}

/// The transfers of a plan, in order.
pub(super) fn transfers(plan: &Plan) -> Vec<Transfer<'_>> {
    let (rank, mut round) = (plan.rank, 1);
    let mut all = Vec::new();
    for step in &plan.steps {
        match step {
            Step::Signal { level } | Step::Wait { level, .. } => round = round.max(*level),
            _ if span(step).is_some() => {
                let (read, written) = foreign(step, rank);
                let reads = read.iter().map(|place| (place.rank, rank));
                let writes = written.iter().map(|place| (rank, place.rank));
                let transfer = |(from, to)| Transfer { round, from, to, by: rank, step };
                all.extend(reads.chain(writes).map(transfer));
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_plan::{Algorithm, Mesh, Operator, Task, expand};

    #[test]
    fn rounds_are_levels_that_were_reached_or_waited_for() {
        let task = Task::new(Operator::AllReduce, 4, 0);
        let plan = expand(&Algorithm::Ring, &task, 2).unwrap();
        // Back the way that it came.
        let rounds: Vec<_> = transfers(&plan).iter().map(|one| (one.round, one.from)).collect();
        assert_eq!(rounds, [(1, 1), (2, 1), (3, 1), (4, 3), (5, 3), (6, 3)]);
        // In a chain the last waits for a level that it has not reached itself.
        let task = Task::new(Operator::Broadcast, 4, 0);
        let plan = expand(&Algorithm::Ring, &task, 3).unwrap();
        assert_eq!(transfers(&plan)[0].round, 3);
        let task = Task::new(Operator::AllReduce, 3, 0);
        let plan = expand(&Algorithm::Mesh(Mesh::Direct), &task, 0).unwrap();
        let all: Vec<_> = transfers(&plan).iter().map(|one| (one.from, one.to)).collect();
        assert_eq!(all, [(1, 0), (2, 0), (0, 1), (0, 2)]);
        assert!(transfers(&plan).iter().all(|one| one.by == 0 && one.round == 1));
    }
}
