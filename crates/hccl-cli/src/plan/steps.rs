//! Steps in plain words.

use hccl_plan::{Buffer, Peers, Place, Plan, Span, Step};

use super::amount::Amount;
use super::answer::bytes;
use super::question::Question;
use crate::units;

/// One step of a plan.
pub(super) fn words(question: &Question, plan: &Plan, step: &Step) -> String {
    let how_much = |span: &Span| share(*span, bytes(question, *span), is_single(question));
    let places = |places: &[Place]| listed(question, plan.rank, places);
    match step {
        Step::Wait { peers: Peers::All, level: 1 } => "wait until all ranks have called".into(),
        Step::Wait { peers: Peers::All, level } => {
            format!("wait until all ranks have reached level {level}")
        }
        Step::Wait { peers: Peers::One(peer), level: 1 } => {
            format!("wait until rank {peer} has called")
        }
        Step::Wait { peers: Peers::One(peer), level } => {
            format!("wait for rank {peer} to reach level {level}")
        }
        Step::Signal { level } => format!("reach level {level}"),
        Step::Copy { span, source, target } => {
            format!("copy {} from {} to {}", how_much(span), places(&[*source]), places(&[*target]))
        }
        Step::Reduce { span, sources, targets } => {
            format!("reduce {} from {} to {}", how_much(span), places(sources), places(targets))
        }
        other => format!("{other:?}"),
    }
}

/// How much a step works on: `1/8 of the block (part 3, 8 MiB)`.
fn share(span: Span, bytes: u64, is_single: bool) -> String {
    let size = units::bytes(bytes);
    let block = if is_single { "the block" } else { "a block" };
    match span {
        Span::Parts { first, len: 1, of } => {
            format!("1/{of} of {block} (part {first}, {size})")
        }
        Span::Parts { first, len, of } => {
            let last = first.saturating_add(len).saturating_sub(1);
            let fraction = Amount::of(span);
            format!("{fraction} of {block} (parts {first}-{last} of {of}, {size})")
        }
        Span::Blocks { len: 1 } => format!("{block} ({size})"),
        Span::Blocks { len } => format!("{len} blocks ({size})"),
        Span::Exact { len: 1 } => format!("1 element ({size})"),
        Span::Exact { len } => format!("{len} elements ({size})"),
    }
}

/// Places in their order; ranks that follow one another at the same place become a run.
fn listed(question: &Question, own: u32, places: &[Place]) -> String {
    let mut runs: Vec<(Place, u32)> = Vec::new();
    for &place in places {
        match runs.last_mut() {
            Some((first, last))
                if (first.buffer, first.at) == (place.buffer, place.at)
                    && *last + 1 == place.rank =>
            {
                *last = place.rank;
            }
            _ => runs.push((place, place.rank)),
        }
    }
    let one = |&(place, last): &(Place, u32)| {
        let Place { rank, buffer, at } = place;
        let buffer = match buffer {
            Buffer::Input => "input",
            Buffer::Output => "output",
            Buffer::Scratch => "scratch memory",
        };
        let whose = match (rank, last) {
            (rank, last) if rank == last && rank == own => format!("the own {buffer}"),
            (rank, last) if rank == last => format!("the {buffer} of rank {rank}"),
            (rank, last) => format!("the {buffer} of ranks {rank}-{last}"),
        };
        // Buffers of one block have nothing to number.
        match question.task.extents {
            Some(_) => format!("{whose} at element {at}"),
            None if at == 0 && is_single(question) => whose,
            None => format!("{whose} at block {at}"),
        }
    };
    runs.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Whether all buffers of the operator are one block.
fn is_single(question: &Question) -> bool {
    let operator = question.task.operator;
    operator.input_blocks(2, true) <= 1 && operator.output_blocks(2, true) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fractions_with_their_parts() {
        let parts = |len, of| Span::Parts { first: 0, len, of };
        assert_eq!(share(Span::Exact { len: 1 }, 4, true), "1 element (4 B)");
        assert_eq!(share(parts(2, 8), 9, true), "1/4 of the block (parts 0-1 of 8, 9 B)");
        assert_eq!(share(parts(1, 8), 9, false), "1/8 of a block (part 0, 9 B)");
    }
}
