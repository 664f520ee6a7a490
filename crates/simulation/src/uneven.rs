//! Lengths of operators whose ranks differ in them, and where each rank has its data: with gaps of
//! its own.

use std::sync::Arc;

use hccl::{Extent, Lengths, Operator};
use hccl_fabric::simulated::Dice;

/// A run of elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Its first element.
    pub(crate) at: u64,
    /// How many.
    pub(crate) len: u64,
    /// Number of its first value.
    pub(crate) index: u64,
    /// Whose values, in an output; `None` for the reduction of all.
    pub(crate) from: Option<u32>,
}

/// Lengths of one call.
#[derive(Clone, Debug)]
pub(crate) struct Uneven {
    operator: Operator,
    ranks: u32,
    /// A row for operators with one, else a number for each pair, sender by sender.
    lens: Vec<u64>,
    /// Gaps of a rank are as long as this and its number say.
    gap: u64,
    /// The matrix, where all ranks have it.
    matrix: Option<Arc<Lengths>>,
}

impl Uneven {
    /// Of many ranks a few have anything.
    pub(crate) fn draw(operator: Operator, ranks: u32, many: bool, dice: &mut Dice) -> Self {
        let is_row = matches!(operator, Operator::AllGatherV | Operator::ReduceScatterV);
        let p = ranks as usize;
        let mut lens = vec![0; if is_row { p } else { p * p }];
        if many {
            let speakers = if is_row { 20 } else { 4 * p };
            for _ in 0..speakers {
                let at = dice.below(lens.len() as u64) as usize;
                lens[at] = dice.below(40);
            }
        } else {
            lens.iter_mut().for_each(|len| *len = dice.below(12).saturating_sub(3));
        }
        let matrix = (operator == Operator::AlltoAllVC)
            .then(|| Arc::new(Lengths::Matrix(lens.chunks(p).map(<[u64]>::to_vec).collect())));
        let gap = if operator == Operator::AlltoAllVC { 0 } else { dice.below(3) };
        Self { operator, ranks, lens, gap, matrix }
    }

    /// Elements of all rows.
    pub(crate) fn row(&self) -> u64 {
        self.lens.iter().sum()
    }

    fn pair(&self, from: u32, to: u32) -> u64 {
        self.lens[from as usize * self.ranks as usize + to as usize]
    }

    fn all(&self) -> std::ops::Range<u32> {
        0..self.ranks
    }

    /// Runs with the gaps of a rank.
    fn with_gaps(&self, rank: u32, lens: impl Iterator<Item = u64>) -> Vec<Extent> {
        let gap = if self.gap == 0 { 0 } else { (u64::from(rank) + self.gap) % 3 };
        let mut next = gap;
        let run = |len: u64| {
            let start = next;
            next += len + gap;
            Extent { start, len }
        };
        lens.map(run).collect()
    }

    fn sends(&self, rank: u32) -> Vec<Extent> {
        self.with_gaps(rank, self.all().map(|to| self.pair(rank, to)))
    }

    fn receives(&self, rank: u32) -> Vec<Extent> {
        self.with_gaps(rank + 1, self.all().map(|from| self.pair(from, rank)))
    }

    fn rows(&self, rank: u32) -> Vec<Extent> {
        self.with_gaps(rank, self.lens.iter().copied())
    }

    /// What a rank says to the engine.
    pub(crate) fn lengths(&self, rank: u32) -> Arc<Lengths> {
        if let Some(matrix) = &self.matrix {
            return matrix.clone();
        }
        Arc::new(match self.operator {
            Operator::AlltoAllV => {
                Lengths::Pairs { sends: self.sends(rank), receives: self.receives(rank) }
            }
            _ => Lengths::Rows(self.rows(rank)),
        })
    }

    /// Elements of a rank's input and output, gaps and all.
    pub(crate) fn lens(&self, rank: u32) -> (u64, u64) {
        let end = |runs: Vec<Run>| runs.iter().map(|run| run.at + run.len).max().unwrap_or(0);
        (end(self.input_runs(rank)), end(self.output_runs(rank)))
    }

    /// What a rank reads.
    pub(crate) fn input_runs(&self, rank: u32) -> Vec<Run> {
        let extents = match self.operator {
            Operator::AllGatherV => {
                vec![Extent { start: 0, len: self.lens[rank as usize] }]
            }
            Operator::ReduceScatterV => self.rows(rank),
            _ => self.sends(rank),
        };
        let mut index = 0;
        let run = |extent: Extent| {
            let run = Run { at: extent.start, len: extent.len, index, from: None };
            index += extent.len;
            run
        };
        extents.into_iter().map(run).filter(|run| run.len > 0).collect()
    }

    /// What a rank gets.
    pub(crate) fn output_runs(&self, rank: u32) -> Vec<Run> {
        let own = rank as usize;
        let runs: Vec<Run> = match self.operator {
            Operator::AllGatherV => (0u32..)
                .zip(self.rows(rank))
                .map(|(from, Extent { start: at, len })| Run {
                    at,
                    len,
                    index: 0,
                    from: Some(from),
                })
                .collect(),
            Operator::ReduceScatterV => {
                let index = self.lens[..own].iter().sum();
                vec![Run { at: 0, len: self.lens[own], index, from: None }]
            }
            _ => (0u32..)
                .zip(self.receives(rank))
                .map(|(from, Extent { start: at, len })| {
                    // Values of a sender are numbered as it has them, without gaps.
                    let index = (0..rank).map(|to| self.pair(from, to)).sum();
                    Run { at, len, index, from: Some(from) }
                })
                .collect(),
        };
        runs.into_iter().filter(|run| run.len > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_buffer_do_not_overlap_and_fit_the_lengths() {
        let mut dice = Dice::new(8);
        for ranks in [1, 3, 8, 70] {
            for operator in [
                Operator::AllGatherV,
                Operator::ReduceScatterV,
                Operator::AlltoAllV,
                Operator::AlltoAllVC,
            ] {
                let uneven = Uneven::draw(operator, ranks, ranks > 64, &mut dice);
                for rank in 0..ranks {
                    let (input, output) = uneven.lens(rank);
                    for (runs, end) in
                        [(uneven.input_runs(rank), input), (uneven.output_runs(rank), output)]
                    {
                        let apart = |pair: &[Run]| pair[0].at + pair[0].len <= pair[1].at;
                        assert!(runs.windows(2).all(apart), "{operator} {runs:?}");
                        assert!(runs.iter().all(|run| run.at + run.len <= end));
                    }
                }
            }
        }
    }
}
