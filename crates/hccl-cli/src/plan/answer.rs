//! What there is to say about a question: the choice, the plans of the ranks that are shown, a
//! proof where it is cheap, and what goes over which links.

use anyhow::{Context, Result, bail};
use hccl::Path;
use hccl_plan::check::{Fault, Placement, Report, check};
use hccl_plan::select::{Choice, Reach, select};
use hccl_plan::{Place, Plan, Span, Step, Topology, expand, volume};

use super::Format;
use super::picture::LANES_MAX;
use super::question::Question;

/// The answer to a question.
pub(super) struct Answer {
    pub(super) choice: Choice,
    /// How the data goes on one host.
    pub(super) path: Option<Path>,
    /// The plans to show, by rank.
    pub(super) plans: Vec<Plan>,
    /// Highest level of any of the ranks that were looked at.
    pub(super) levels: u32,
    /// Bytes of scratch memory of a rank, the largest that was seen.
    pub(super) scratch_bytes: u64,
    /// Bytes by tier.
    pub(super) moved: Moved,
    /// What the checker says of the plans of all ranks, or why it was not asked.
    pub(super) proof: Result<Report, String>,
}

/// What ranks read from others and write to others, by the tier that connects them.
pub(super) struct Moved {
    /// Of all ranks together; of rank 0 alone where there are very many.
    pub(super) of_all: bool,
    /// Bytes by tier of the topology, innermost first.
    pub(super) by_tier: Vec<u64>,
}

/// So many ranks are proved then and there.
const PROVED_RANKS_MAX: u32 = 64;

/// And so many steps: more take more than some seconds.
const PROVED_STEPS_MAX: usize = 150_000;

/// The plans of so many ranks are made only to add up what they move.
const ADDED_RANKS_MAX: u32 = 256;

/// If they are not longer than this together.
const ADDED_STEPS_MAX: usize = 4_000_000;

/// Steps of all plans that are shown.
const SHOWN_STEPS_MAX: usize = 10_000_000;

impl Answer {
    /// # Errors
    /// When the plans do not do what the operator promises, which is an error of this program.
    pub(super) fn new(question: &Question, format: Format) -> Result<Self> {
        let choice = select(&question.case());
        let task = &question.task;
        let plan = |rank| {
            expand(&choice.algorithm, task, rank).with_context(|| format!("{}", choice.algorithm))
        };
        let first = plan(0)?;
        let steps = first.steps.len().max(1);
        let is_small = |ranks: usize, limit: usize| ranks.saturating_mul(steps) <= limit;
        let ranks = task.ranks as usize;
        let mut all = vec![first];
        if task.ranks <= ADDED_RANKS_MAX && is_small(ranks, ADDED_STEPS_MAX) {
            for rank in 1..task.ranks {
                all.push(plan(rank)?);
            }
        }
        let of_all = all.len() == task.ranks as usize;
        let shown = match format {
            // Lanes stand side by side, whatever their number.
            Format::Svg if question.shown.is_empty() => (0..LANES_MAX.min(task.ranks)).collect(),
            _ => question.shown.clone(),
        };
        if !of_all && !is_small(shown.len(), SHOWN_STEPS_MAX) {
            bail!("{} plans of about {steps} steps are too many; --rank names fewer", shown.len());
        }
        let proof = match prove(question, &choice, &all) {
            Ok(Err(fault)) => bail!("{} is wrong, which is a bug: {fault}", choice.algorithm),
            Ok(Ok(report)) => Ok(report),
            Err(why) => Err(why),
        };
        let scratch = all.iter().map(|plan| plan.scratch).max().unwrap_or(0);
        let element = question.data_type.size() as u64;
        // A plan of lengths counts elements, others count blocks.
        let unit = if task.extents.is_some() { 1 } else { question.count };
        Ok(Self {
            levels: all.iter().map(level).max().unwrap_or(1),
            scratch_bytes: scratch.saturating_mul(unit).saturating_mul(element),
            moved: Moved { of_all, by_tier: moved(question, &all) },
            plans: shown
                .into_iter()
                .map(|rank| if of_all { Ok(all[rank as usize].clone()) } else { plan(rank) })
                .collect::<Result<_>>()?,
            proof,
            path: path_of(question, &choice),
            choice,
        })
    }
}

/// How the data goes, where all memory is mapped and one length stands for all ranks.
fn path_of(question: &Question, choice: &Choice) -> Option<Path> {
    let task = &question.task;
    let size = (question.count, question.data_type.size() as u64);
    let one_host = question.reach == Reach::Mapped && task.extents.is_none();
    one_host.then(|| hccl::path(&choice.algorithm, task.operator, task.ranks, size))
}

/// Asks the checker, in place too where a call may be; or says why not.
fn prove(
    question: &Question,
    choice: &Choice,
    plans: &[Plan],
) -> Result<Result<Report, Fault>, String> {
    let task = &question.task;
    let steps: usize = plans.iter().map(|plan| plan.steps.len()).sum();
    if task.ranks > PROVED_RANKS_MAX {
        return Err(format!("more than {PROVED_RANKS_MAX} ranks"));
    }
    if steps > PROVED_STEPS_MAX || plans.len() < task.ranks as usize {
        return Err(format!("more than {PROVED_STEPS_MAX} steps"));
    }
    let stated = volume(&choice.algorithm, task);
    // Broadcast has one buffer, and the checker knows.
    let two = task.operator.works_in_place() && task.operator != hccl_plan::Operator::Broadcast;
    let in_place = match two {
        true => check(plans, task, Placement::InPlace, stated).map(|_| ()),
        false => Ok(()),
    };
    Ok(in_place.and_then(|()| check(plans, task, Placement::Apart, stated)))
}

/// The last level that a rank reaches.
fn level(plan: &Plan) -> u32 {
    let reached = |step: &Step| match step {
        Step::Signal { level } => *level,
        _ => 1,
    };
    plan.steps.iter().map(reached).max().unwrap_or(1)
}

/// Bytes of a span.
pub(super) fn bytes(question: &Question, span: Span) -> u64 {
    let range = span.range(question.count, 1);
    (range.end - range.start).saturating_mul(question.data_type.size() as u64)
}

/// The places of other ranks that a step touches: those that it reads, and those that it writes.
pub(super) fn foreign(step: &Step, rank: u32) -> (Vec<Place>, Vec<Place>) {
    let others = |places: &[Place]| places.iter().copied().filter(|one| one.rank != rank).collect();
    match step {
        Step::Copy { source, target, .. } => (others(&[*source]), others(&[*target])),
        Step::Reduce { sources, targets, .. } => (others(sources), others(targets)),
        _ => (Vec::new(), Vec::new()),
    }
}

/// How much a step works on, if it moves anything.
pub(super) fn span(step: &Step) -> Option<Span> {
    match step {
        Step::Copy { span, .. } | Step::Reduce { span, .. } => Some(*span),
        _ => None,
    }
}

fn moved(question: &Question, plans: &[Plan]) -> Vec<u64> {
    let groups = groups(&question.topology);
    let mut by_tier = vec![0u64; groups.len()];
    for plan in plans {
        for step in &plan.steps {
            let Some(span) = span(step) else { continue };
            let (read, written) = foreign(step, plan.rank);
            for place in read.iter().chain(&written) {
                let (a, b) = (plan.rank as usize, place.rank as usize);
                let tier = groups.iter().position(|group| group.get(a) == group.get(b));
                if let Some(sum) = tier.and_then(|tier| by_tier.get_mut(tier)) {
                    *sum = sum.saturating_add(bytes(question, span));
                }
            }
        }
    }
    by_tier
}

/// The group of every rank in each tier, so that many ranks are looked up at once.
fn groups(topology: &Topology) -> Vec<Vec<u32>> {
    let mut tiers: Vec<Vec<u32>> = Vec::new();
    for sizes in &topology.groups {
        let members = (0u32..)
            .zip(sizes)
            .flat_map(|(group, &size)| std::iter::repeat_n(group, size as usize));
        let of_members: Vec<u32> = members.collect();
        tiers.push(match tiers.last() {
            None => of_members,
            Some(inner) => {
                let outer = |group: &u32| of_members.get(*group as usize).copied().unwrap_or(0);
                inner.iter().map(outer).collect()
            }
        });
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_the_topology() {
        for text in ["8", "4x3x2", "2+3+5", "2x2x2+2x2x3"] {
            let topology: Topology = text.parse().unwrap();
            for (tier, groups) in groups(&topology).iter().enumerate() {
                for (rank, &group) in (0u32..).zip(groups) {
                    assert_eq!(topology.place(tier, rank).map(|(group, _)| group), Some(group));
                }
            }
        }
    }
}
