//! Which plans this engine can run, so that others are refused by name and not in the middle.

use hccl_plan::{Buffer, Peers, Plan, Span, Step, VERSION};

/// What [`runnable`] allows, in words.
pub(crate) const RUNNABLE: &str =
    "a plan of blocks without scratch memory that begins by meeting all ranks";

/// Levels that a board can hold.
const LEVELS: u32 = 1 << 24;

/// Why a plan cannot be run, if so.
pub(crate) fn runnable(plan: &Plan) -> Result<(), &'static str> {
    if plan.version != VERSION {
        return Err("another version");
    }
    if plan.scratch > 0 {
        return Err("scratch memory");
    }
    if !matches!(plan.steps.first(), Some(Step::Wait { peers: Peers::All, level: 1 })) {
        return Err("no meeting at its beginning");
    }
    for step in &plan.steps {
        let (span, places) = match step {
            Step::Signal { level } if *level >= LEVELS => return Err("too many levels"),
            Step::Signal { .. } => continue,
            Step::Wait { peers: Peers::One(peer), .. } if *peer >= plan.ranks => {
                return Err("a rank that is none");
            }
            Step::Wait { level, .. } if *level >= LEVELS => return Err("too many levels"),
            Step::Wait { .. } => continue,
            Step::Reduce { span, sources, targets } => {
                (span, sources.iter().chain(targets.iter()).copied().collect())
            }
            Step::Copy { span, source, target } => (span, vec![*source, *target]),
            _ => return Err("a step that is not known"),
        };
        if matches!(span, Span::Exact { .. }) {
            return Err("lengths by rank");
        }
        for place in places {
            if place.rank >= plan.ranks {
                return Err("a rank that is none");
            }
            if place.buffer == Buffer::Scratch {
                return Err("scratch memory");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_plan::{Algorithm, Mesh, Operator, Task, expand, mesh};

    #[test]
    fn the_direct_mesh_runs_and_others_are_refused() {
        for ranks in 1..4 {
            for operator in Operator::ALL.into_iter().filter(|one| !one.has_extents()) {
                assert_eq!(runnable(&mesh(operator, ranks, 0, 0)), Ok(()), "{operator}");
            }
        }
        let task = Task::new(Operator::AllReduce, 4, 0);
        let plan = |algorithm| expand(&algorithm, &task, 0).expect("it has an AllReduce");
        assert_eq!(runnable(&plan(Algorithm::Mesh(Mesh::OneShot))), Err("scratch memory"));
        assert_eq!(runnable(&plan(Algorithm::Nb)), Err("no meeting at its beginning"));
    }
}
