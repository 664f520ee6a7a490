//! What every rank's output must hold after a call, by the operator's definition.

use std::cell::OnceCell;
use std::rc::Rc;

use hccl::Operator;

use crate::call::Call;
use crate::scenario::Scenario;
use crate::uneven::Uneven;
use crate::values::Values;

/// The oracle of one call.
pub(crate) struct Oracle {
    scenario: Rc<Scenario>,
    index: usize,
    values: Values,
    /// The reduction, or the inputs of all ranks one after the other: what many ranks ask for.
    common: OnceCell<Vec<u8>>,
}

impl Oracle {
    /// The oracle of call number `index`.
    pub(crate) fn new(scenario: &Rc<Scenario>, index: usize) -> Self {
        let Call { seed, data_type, reduce_op, .. } = scenario.calls[index];
        let values = Values { seed, data_type, reduce_op, ranks: scenario.ranks };
        Self { scenario: scenario.clone(), index, values, common: OnceCell::new() }
    }

    fn call(&self) -> &Call {
        &self.scenario.calls[self.index]
    }

    /// Writes a rank's input; what lies between runs of it stays.
    pub(crate) fn fill(&self, rank: u32, input: &mut [u8]) {
        let mut bytes = Vec::new();
        match &self.call().uneven {
            Some(uneven) => {
                let size = self.call().data_type.size();
                for run in uneven.input_runs(rank) {
                    bytes.clear();
                    self.values.append(rank, run.index, run.len, &mut bytes);
                    let first = run.at as usize * size;
                    input[first..first + bytes.len()].copy_from_slice(&bytes);
                }
            }
            None => {
                self.values.append(
                    rank,
                    0,
                    self.call().lens(self.values.ranks, rank).0,
                    &mut bytes,
                );
                input.copy_from_slice(&bytes);
            }
        }
    }

    /// Writes into `output` what the call must have written there on a rank.
    pub(crate) fn apply(&self, rank: u32, output: &mut [u8]) {
        let call = self.call();
        let size = call.data_type.size();
        let mut block = Vec::new();
        match call.operator {
            Operator::AllReduce => output.copy_from_slice(self.common()),
            Operator::Reduce if rank == call.root => output.copy_from_slice(self.common()),
            Operator::ReduceScatter => {
                let first = rank as usize * output.len();
                output.copy_from_slice(&self.common()[first..first + output.len()]);
            }
            Operator::AllGather => output.copy_from_slice(self.common()),
            Operator::Gather if rank == call.root => output.copy_from_slice(self.common()),
            Operator::Broadcast => output.copy_from_slice(self.common()),
            Operator::Scatter => {
                let first = u64::from(rank) * call.count;
                self.values.append(call.root, first, call.count, &mut block);
                output.copy_from_slice(&block);
            }
            Operator::AlltoAll => {
                let first = u64::from(rank) * call.count;
                (0..self.values.ranks)
                    .for_each(|from| self.values.append(from, first, call.count, &mut block));
                output.copy_from_slice(&block);
            }
            _ if call.uneven.is_some() => {
                for run in call.uneven.iter().flat_map(|uneven| uneven.output_runs(rank)) {
                    block.clear();
                    match run.from {
                        Some(from) => self.values.append(from, run.index, run.len, &mut block),
                        None => {
                            let (first, len) = (run.index as usize * size, run.len as usize * size);
                            block.extend_from_slice(&self.common()[first..first + len]);
                        }
                    }
                    let first = run.at as usize * size;
                    output[first..first + block.len()].copy_from_slice(&block);
                }
            }
            _ => {
                for letter in call.letters.to(rank) {
                    block.clear();
                    self.values.append(letter.from, letter.source, letter.count, &mut block);
                    let first = letter.target as usize * size;
                    output[first..first + block.len()].copy_from_slice(&block);
                }
            }
        }
    }

    fn common(&self) -> &[u8] {
        self.common.get_or_init(|| {
            let call = self.call();
            let mut bytes = Vec::new();
            let mut gather = |ranks: std::ops::Range<u32>| {
                ranks.for_each(|rank| self.values.append(rank, 0, call.count, &mut bytes));
            };
            match (call.operator, call.reduce_op) {
                (Operator::ReduceScatter, Some(op)) => {
                    bytes = self.values.reduced(op, call.count * u64::from(self.values.ranks));
                }
                (Operator::ReduceScatterV, Some(op)) => {
                    let row = call.uneven.as_ref().map_or(0, Uneven::row);
                    bytes = self.values.reduced(op, row);
                }
                (_, Some(op)) => bytes = self.values.reduced(op, call.count),
                (Operator::Broadcast, _) => gather(call.root..call.root + 1),
                _ => gather(0..self.values.ranks),
            }
            bytes
        })
    }
}
