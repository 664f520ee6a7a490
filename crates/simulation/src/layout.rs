//! Where each rank has its buffers. Places differ by rank, so that an engine that takes one rank's
//! offsets for another's is found out, and there are gaps that nobody may touch.

use hccl::{Operator, Piece};
use hccl_fabric::simulated::{Dice, mix_all};

use crate::call::Call;
use crate::scenario::Scenario;

/// The longest gap between buffers, in units of an element.
const GAP_MAX: u64 = 9;

/// Input and output of one call on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buffers {
    pub(crate) input: Piece,
    pub(crate) output: Piece,
    /// Whether the rank calls with memory of its own instead, of the same lengths.
    pub(crate) private: bool,
}

/// Buffers of all calls of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) calls: Vec<Buffers>,
    /// Bytes of memory that it takes.
    pub(crate) bytes: u64,
}

impl Layout {
    pub(crate) fn new(scenario: &Scenario, rank: u32) -> Self {
        let mut dice = Dice::new(mix_all([scenario.seed, rank.into(), 77]));
        let mut end = 0;
        let mut take = |len: u64, unit: u64| {
            let offset = (end + 1 + dice.below(GAP_MAX * unit)).next_multiple_of(unit);
            end = offset + len;
            Piece { offset, len }
        };
        let calls = scenario.calls.iter().map(|call| {
            let size = call.data_type.size() as u64;
            // Only reductions ask for elements that are aligned.
            let unit = if call.operator.reduces() { size } else { 1 };
            let (input, output) = call.lens(scenario.ranks, rank);
            if call.in_place {
                in_place(call, rank, (input * size, output * size), |len| take(len, unit))
            } else {
                let (input, output) = (take(input * size, unit), take(output * size, unit));
                Buffers { input, output, private: false }
            }
        });
        let mut calls: Vec<Buffers> = calls.collect();
        for buffers in &mut calls {
            buffers.private = scenario.private && dice.once_in(3);
        }
        Self { calls, bytes: end + GAP_MAX }
    }
}

/// The smaller buffer is the own slice of the larger one, or both are the same.
fn in_place(
    call: &Call,
    rank: u32,
    (input, output): (u64, u64),
    take: impl FnOnce(u64) -> Piece,
) -> Buffers {
    let whole = take(input.max(output));
    let private = false;
    let own = |len: u64| Piece { offset: whole.offset + u64::from(rank) * len, len };
    match call.operator {
        Operator::AllGather => Buffers { input: own(input), output: whole, private },
        Operator::ReduceScatter => Buffers { input: whole, output: own(output), private },
        _ => {
            let (input, output) = (Piece { len: input, ..whole }, Piece { len: output, ..whole });
            Buffers { input, output, private }
        }
    }
}
