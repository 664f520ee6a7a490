//! Where a slice lies at each rank while an operator is under way, and in which pieces.

use std::sync::Arc;

use crate::extents::Extent;
use crate::operator::Operator;
use crate::plan::{Place, Span};

use super::builder::{input, output, scratch};

/// What the cells of a lane are.
#[derive(Clone, Debug)]
pub(super) enum Grid {
    /// Equal parts of one block.
    Parts(u32),
    /// Blocks of a row; cell i belongs to rank i.
    Blocks,
    /// A part of each block of a row: which parts, of how many; cell i belongs to rank i.
    Columns(u32, u32, u32),
    /// Parts of all blocks of a row of so many; cells are the parts, of so many.
    Across(u32, u32),
    /// Runs of elements; cell i belongs to rank i.
    Rows(Rows),
}

/// Runs of elements, one for each rank: all that the rank has, or a piece of it.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    runs: Arc<[Extent]>,
    /// First element of all that a rank has.
    starts: Arc<[u64]>,
    /// Where that would be if there were no gaps: so it lies in scratch memory.
    packed: Arc<[u64]>,
}

impl Rows {
    pub(super) fn new(runs: &[Extent]) -> Self {
        let packed = runs.iter().scan(0u64, |next, run| {
            let packed = *next;
            *next = next.saturating_add(run.len);
            Some(packed)
        });
        Self {
            runs: runs.into(),
            starts: runs.iter().map(|run| run.start).collect(),
            packed: packed.collect(),
        }
    }

    /// The first or the second half of each run.
    pub(super) fn half(&self, second: bool) -> Self {
        let half = |run: &Extent| {
            let first = run.len / 2;
            if second {
                Extent { start: run.start + first, len: run.len - first }
            } else {
                Extent { len: first, ..*run }
            }
        };
        Self { runs: self.runs.iter().map(half).collect(), ..self.clone() }
    }

    fn piece(&self, owner: u32) -> Option<Piece> {
        let i = owner as usize;
        let Extent { start, len } = self.runs[i];
        let own = start - self.starts[i];
        let piece = Piece {
            owner,
            at: start,
            own,
            packed: self.packed[i] + own,
            span: Span::Exact { len },
        };
        (len > 0).then_some(piece)
    }
}

/// Some cells, as far as one step can take them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Whose cell, for grids of rows.
    owner: u32,
    /// Place in the row.
    at: u64,
    /// Place in the owner's block alone.
    own: u64,
    /// Place in the row without its gaps.
    packed: u64,
    pub(super) span: Span,
}

impl Grid {
    /// The pieces of cells `first..first + len`.
    pub(super) fn pieces(&self, first: u32, len: u32) -> Vec<Piece> {
        let block = |owner: u32, span| {
            let at = u64::from(owner);
            Piece { owner, at, own: 0, packed: at, span }
        };
        match self {
            Self::Parts(of) => {
                let span = Span::Parts { first, len, of: *of };
                vec![block(0, span)]
            }
            Self::Blocks => (first..first + len).map(|i| block(i, Span::WHOLE)).collect(),
            &Self::Columns(part, parts, of) => {
                let span = Span::Parts { first: part, len: parts, of };
                (first..first + len).map(|i| block(i, span)).collect()
            }
            &Self::Across(ranks, of) => {
                let span = Span::Parts { first, len, of };
                (0..ranks).map(|i| block(i, span)).collect()
            }
            Self::Rows(rows) => (first..first + len).filter_map(|i| rows.piece(i)).collect(),
        }
    }
}

/// Where the data of an operator live.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    pub(super) operator: Operator,
    pub(super) root: u32,
}

impl Store {
    /// The place of a piece at a rank. `merged` says whether anything has come in for it there:
    /// until then a reduction finds it in the input, which is never written.
    pub(super) fn place(self, rank: u32, piece: Piece, merged: bool) -> Place {
        let is_root = rank == self.root;
        let own = rank == piece.owner;
        match self.operator {
            Operator::AllReduce | Operator::Reduce if !merged => input(rank, piece.at),
            Operator::Reduce if !is_root => scratch(rank, piece.at),
            Operator::AllReduce | Operator::Reduce => output(rank, piece.at),
            Operator::Broadcast if is_root => input(rank, piece.at),
            Operator::Broadcast => output(rank, piece.at),
            Operator::ReduceScatter | Operator::ReduceScatterV if !merged => input(rank, piece.at),
            Operator::ReduceScatter | Operator::ReduceScatterV if own => output(rank, piece.own),
            Operator::Scatter if is_root => input(rank, piece.at),
            Operator::Scatter if own => output(rank, piece.own),
            Operator::Gather if is_root => output(rank, piece.at),
            // What a rank brings is in its input, also when it stands in its output later.
            Operator::Gather | Operator::AllGather | Operator::AllGatherV if own => {
                input(rank, piece.own)
            }
            Operator::ReduceScatter
            | Operator::ReduceScatterV
            | Operator::Scatter
            | Operator::Gather => scratch(rank, piece.packed),
            _ => output(rank, piece.at),
        }
    }

    /// Scratch memory that a rank needs for this: blocks, or elements of a row of that length.
    pub(super) fn scratch(self, rank: u32, ranks: u32, row: u64) -> u64 {
        let is_root = rank == self.root;
        match self.operator {
            _ if ranks == 1 => 0,
            Operator::Reduce => u64::from(!is_root),
            Operator::ReduceScatter => u64::from(ranks),
            Operator::ReduceScatterV => row,
            Operator::Scatter | Operator::Gather if !is_root => u64::from(ranks),
            _ => 0,
        }
    }
}
