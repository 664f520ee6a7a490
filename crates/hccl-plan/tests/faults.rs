//! Every kind of fault, planted in the plans of every generator, is found.
//!
//! A fault that does no harm is none: a wait that follows from other waits may go. So mutants are
//! tried one after the other, and each generator must have some of each kind that is caught, with
//! a fault of the right kind; those that change what is computed must all be caught.

mod common;

use std::collections::BTreeSet;

use common::{algorithms, applies, noise, task};
use hccl_plan::check::{Fault, Placement, check};
use hccl_plan::{Buffer, Operator, Place, Plan, Span, Step, Task, expand};

const RANKS: u32 = 6;

fn plans(algorithm: &hccl_plan::Algorithm, task: &Task) -> Vec<Plan> {
    (0..task.ranks).map(|rank| expand(algorithm, task, rank).unwrap()).collect()
}

/// Every step of every rank that satisfies a condition.
fn steps(plans: &[Plan], which: impl Fn(&Step) -> bool) -> Vec<(usize, usize)> {
    let of = |(rank, plan): (usize, &Plan)| {
        let which = &which;
        let found: Vec<_> = plan
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| which(step))
            .map(|(i, _)| (rank, i))
            .collect();
        found
    };
    plans.iter().enumerate().flat_map(of).collect()
}

/// Whether a step moves or combines something.
fn works(step: &Step) -> bool {
    matches!(step, Step::Copy { .. } | Step::Reduce { .. })
}

fn places(step: &mut Step) -> Vec<&mut Place> {
    match step {
        Step::Copy { source, target, .. } => vec![source, target],
        Step::Reduce { sources, targets, .. } => {
            sources.iter_mut().chain(targets.iter_mut()).collect()
        }
        _ => Vec::new(),
    }
}

fn run(plans: &mut [Plan], task: &Task) -> Result<(), Fault> {
    // Mutants may change what links must allow; that is not what is looked for here.
    for plan in plans.iter_mut() {
        let needed = plan.steps.iter().map(|step| step.access(plan.rank)).max();
        plan.access = needed.unwrap_or(hccl_plan::Access::Own);
    }
    check(plans, task, Placement::Apart, None).map(drop)
}

/// Tries a mutation at some of the steps; gives how many were caught and how many were not, and
/// the kinds of faults.
fn mutants(
    original: &[Plan],
    task: &Task,
    which: impl Fn(&Step) -> bool,
    mutate: impl Fn(&mut Vec<Step>, usize),
) -> (u32, u32, BTreeSet<String>) {
    let (mut caught, mut missed, mut kinds) = (0, 0, BTreeSet::new());
    let mut at = steps(original, which);
    at.sort_by_key(|(rank, step)| noise(*rank as u64 * 1000 + *step as u64));
    for (rank, step) in at.into_iter().take(40) {
        let mut plans = original.to_vec();
        mutate(&mut plans[rank].steps, step);
        match run(&mut plans, task) {
            Ok(()) => missed += 1,
            Err(fault) => {
                caught += 1;
                let kind = format!("{fault:?}");
                kinds.insert(kind.split(' ').next().unwrap().to_owned());
            }
        }
    }
    (caught, missed, kinds)
}

fn each(mut test: impl FnMut(&str, &[Plan], &Task)) {
    for algorithm in algorithms(RANKS) {
        for operator in Operator::ALL {
            let task = task(operator, RANKS, 11);
            if applies(&algorithm, &task) {
                let name = format!("{} {operator}", algorithm.name());
                test(&name, &plans(&algorithm, &task), &task);
            }
        }
    }
}

#[test]
fn a_dropped_step_is_found() {
    each(|name, plans, task| {
        let (_, missed, _) = mutants(plans, task, works, |steps, at| drop(steps.remove(at)));
        assert_eq!(missed, 0, "{name}");
    });
}

#[test]
fn a_doubled_reduction_is_found() {
    each(|name, plans, task| {
        let reduces = |step: &Step| matches!(step, Step::Reduce { .. });
        let (_, missed, _) = mutants(plans, task, reduces, |steps, at| {
            if let Step::Reduce { sources, .. } = &mut steps[at] {
                let mut more = sources.to_vec();
                more.push(more[0]);
                *sources = more.into();
            }
        });
        assert_eq!(missed, 0, "{name}");
    });
}

#[test]
fn a_swapped_slice_is_found() {
    each(|name, plans, task| {
        // Parts move on by one, blocks and elements are taken from one place further.
        let swaps = |step: &Step| match step {
            Step::Copy { span: Span::Parts { first, len, of }, .. }
            | Step::Reduce { span: Span::Parts { first, len, of }, .. } => first + len < *of,
            _ => works(step),
        };
        let (caught, missed, _) = mutants(plans, task, swaps, |steps, at| match &mut steps[at] {
            Step::Copy { span: Span::Parts { first, .. }, .. }
            | Step::Reduce { span: Span::Parts { first, .. }, .. } => *first += 1,
            Step::Copy { source, .. } => source.at += 1,
            Step::Reduce { sources, .. } => sources[0].at += 1,
            _ => unreachable!("only steps that work"),
        });
        let any = plans.iter().any(|plan| plan.steps.iter().any(swaps));
        assert!(missed == 0 && (caught > 0 || !any), "{name}: {missed} missed");
    });
}

#[test]
fn a_missing_wait_is_found() {
    each(|name, plans, task| {
        let waits = |step: &Step| matches!(step, Step::Wait { .. });
        let (caught, missed, kinds) =
            mutants(plans, task, waits, |steps, at| drop(steps.remove(at)));
        let right = ["Race", "Late", "Early", "Undefined", "Unmet", "Wrong"];
        assert!(kinds.iter().all(|kind| right.contains(&kind.as_str())), "{name}: {kinds:?}");
        // A wait for a peer may follow from others in a chain; most do not.
        assert!(caught > 0 || task.operator == Operator::Send, "{name}: {missed} missed");
    });
}

#[test]
fn a_wait_for_too_little_is_found() {
    each(|name, plans, task| {
        let later = |step: &Step| matches!(step, Step::Wait { level: 2.., .. });
        let (caught, missed, _) = mutants(plans, task, later, |steps, at| {
            if let Step::Wait { level, .. } = &mut steps[at] {
                *level -= 1;
            }
        });
        let any = plans.iter().any(|plan| plan.steps.iter().any(later));
        assert!(caught > 0 || !any, "{name}: {missed} missed");
    });
}

#[test]
fn a_signal_that_is_never_raised_is_found() {
    each(|name, plans, task| {
        let signals = |step: &Step| matches!(step, Step::Signal { .. });
        let (caught, _, kinds) = mutants(plans, task, signals, |steps, at| {
            steps.truncate(at);
        });
        let any = plans.iter().any(|plan| plan.steps.iter().any(signals));
        assert!(caught > 0 || !any, "{name}");
        assert!(!kinds.contains("Step"), "{name}: {kinds:?}");
        let mut circle = plans.to_vec();
        let far = circle.iter().flat_map(|plan| &plan.steps).filter_map(|step| match step {
            Step::Signal { level } => Some(*level),
            _ => None,
        });
        let far = far.max().unwrap_or(1) + 1;
        for (rank, plan) in (0u32..).zip(&mut circle) {
            let peers = hccl_plan::Peers::One((rank + 1) % RANKS);
            plan.steps.push(Step::Wait { peers, level: far });
            plan.steps.push(Step::Signal { level: far });
        }
        let fault = run(&mut circle, task).unwrap_err();
        assert!(matches!(fault, Fault::Deadlock { others: 5, .. }), "{name}: {fault}");
        let mut unreached = plans.to_vec();
        let peers = hccl_plan::Peers::All;
        unreached[0].steps.push(Step::Wait { peers, level: far });
        let fault = run(&mut unreached, task).unwrap_err();
        assert!(matches!(fault, Fault::Unreached { rank: 0, .. }), "{name}: {fault}");
    });
}

#[test]
fn a_race_is_found() {
    each(|name, plans, task| {
        // A peer scribbles over what somebody writes, without a wait.
        let (caught, missed, kinds) = mutants(plans, task, works, |steps, at| {
            let step = steps[at].clone();
            steps.truncate(0);
            steps.push(Step::Wait { peers: hccl_plan::Peers::All, level: 1 });
            let mut step = step;
            let own = places(&mut step).last().unwrap().rank;
            for place in places(&mut step) {
                if place.buffer != Buffer::Input && place.rank == own {
                    place.rank = (own + 1) % RANKS;
                }
            }
            steps.push(step);
        });
        assert!(missed == 0, "{name}: {caught} {missed} {kinds:?}");
    });
}

#[test]
fn scratch_that_is_too_small_is_found() {
    each(|name, original, task| {
        for rank in 0..RANKS as usize {
            if original[rank].scratch == 0 {
                continue;
            }
            // The least that is enough: what the last touch of it needs.
            let mut plans = original.to_vec();
            plans[rank].scratch = 0;
            let uses = original.iter().flat_map(|plan| plan.steps.clone()).any(|mut step| {
                places(&mut step)
                    .iter()
                    .any(|place| place.buffer == Buffer::Scratch && place.rank == rank as u32)
            });
            let fault = run(&mut plans, task);
            match fault {
                Err(Fault::Bounds { buffer: Buffer::Scratch, owner, .. }) => {
                    assert_eq!(owner, rank as u32, "{name}");
                }
                Ok(()) => assert!(!uses, "{name}"),
                Err(other) => panic!("{name}: {other}"),
            }
        }
    });
}

#[test]
fn a_written_input_is_found() {
    each(|name, plans, task| {
        let (_, missed, _) = mutants(plans, task, works, |steps, at| {
            if let Some(place) = places(&mut steps[at]).pop() {
                place.buffer = Buffer::Input;
            }
        });
        assert_eq!(missed, 0, "{name}");
    });
}

#[test]
fn headers_and_links_and_traffic_are_checked() {
    let task = Task::new(Operator::AllReduce, 4, 0);
    let ring = || plans(&hccl_plan::Algorithm::Ring, &task);
    let check = |plans: &[Plan]| check(plans, &task, Placement::Apart, None);
    assert!(check(&ring()).is_ok());
    assert!(matches!(check(&ring()[..3]), Err(Fault::Header { .. })));
    for change in [
        |plan: &mut Plan| plan.version += 1,
        |plan: &mut Plan| plan.ranks = 5,
        |plan: &mut Plan| plan.rank = 0,
        |plan: &mut Plan| plan.operator = Operator::Reduce,
    ] {
        let mut plans = ring();
        change(&mut plans[2]);
        let fault = check(&plans).unwrap_err();
        assert!(matches!(fault, Fault::Header { index: 2, .. }), "{fault}");
    }
    let mut plans = ring();
    plans[1].access = hccl_plan::Access::Own;
    assert!(matches!(check(&plans), Err(Fault::Access { rank: 1, .. })));
    let stated = hccl_plan::Volume { num: 149, den: 100 };
    let fault = hccl_plan::check::check(&ring(), &task, Placement::Apart, Some(stated));
    assert!(matches!(fault, Err(Fault::Traffic { moved: 6, unit: 4, .. })));
}

#[test]
fn absurd_steps_are_refused_without_panic() {
    let task = Task::new(Operator::AllReduce, 3, 0);
    let place = |at| Place { rank: 0, buffer: Buffer::Output, at };
    let copy = |span, at| Step::Copy {
        span,
        source: Place { buffer: Buffer::Input, ..place(0) },
        target: place(at),
    };
    let absurd = [
        copy(Span::Blocks { len: 0 }, 0),
        copy(Span::Blocks { len: u32::MAX }, u64::MAX),
        copy(Span::Exact { len: 1 }, 0),
        copy(Span::Parts { first: u32::MAX, len: u32::MAX, of: 1 }, 0),
        copy(Span::Parts { first: 0, len: 1, of: 0 }, 0),
        copy(Span::WHOLE, u64::MAX),
        Step::Copy { span: Span::WHOLE, source: Place { rank: 9, ..place(0) }, target: place(0) },
        Step::Wait { peers: hccl_plan::Peers::One(3), level: 1 },
        Step::Signal { level: 1 },
        Step::Reduce { span: Span::WHOLE, sources: [].into(), targets: [place(0)].into() },
        Step::Reduce { span: Span::WHOLE, sources: [place(0)].into(), targets: [].into() },
    ];
    for step in absurd {
        let mut plans = plans(&hccl_plan::Algorithm::Ring, &task);
        plans[0].steps.push(step.clone());
        assert!(run(&mut plans, &task).is_err(), "{step:?}");
    }
}
