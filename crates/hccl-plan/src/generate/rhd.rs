//! Recursive halving and doubling when the number of ranks is not a power of two.
//!
//! With q the power of two below p, the first 2(p - q) ranks form pairs. One of each pair, the
//! keeper, first merges the partner's data into its own; the q ranks that are left (the block) run
//! the plain form; last, each partner gets its result from its keeper. The keeper is the even one,
//! unless the odd one is the root. On rows a keeper stands for two cells, so slices differ in
//! length.

use crate::extents::Extents;
use crate::operator::Operator;

use super::Why;
use super::builder::{Builder, input};
use super::hierarchy::own_block;
use super::phase::{Lane, Member, Rounds, all_gather, gather, reduce_scatter};
use super::store::{Grid, Piece, Rows, Store};
use super::walk::{Walk, reversed};

/// Who is who.
struct Fold {
    /// Number of pairs.
    pairs: u32,
    /// Ranks of the block.
    block: u32,
    root: u32,
}

enum Role {
    Alone,
    Keeper(u32),
    Partner(u32),
}

impl Fold {
    fn keeper(&self, pair: u32) -> u32 {
        if self.root / 2 == pair { self.root } else { 2 * pair }
    }

    fn role(&self, rank: u32) -> Role {
        match rank / 2 {
            pair if pair >= self.pairs => Role::Alone,
            pair if self.keeper(pair) == rank => Role::Keeper(rank ^ 1),
            _ => Role::Partner(rank ^ 1),
        }
    }

    fn member(&self, index: u32) -> u32 {
        if index < self.pairs { self.keeper(index) } else { index + self.pairs }
    }

    /// The member for a rank; of a pair, the keeper.
    fn index(&self, rank: u32) -> u32 {
        if rank / 2 < self.pairs { rank / 2 } else { rank - self.pairs }
    }

    /// Cells of a row that a member stands for.
    fn cells(&self, index: u32) -> (u32, u32) {
        if index < self.pairs { (2 * index, 2) } else { (index + self.pairs, 1) }
    }
}

pub(super) fn folded(b: &mut Builder<'_>) -> Result<(), Why> {
    let task = b.task;
    let block = 1 << task.ranks.ilog2();
    let is_rooted = task.operator.is_rooted();
    let root = if is_rooted { task.root } else { 0 };
    let fold = Fold { pairs: task.ranks - block, block, root };
    let store = Store { operator: task.operator, root };
    let (merges, spreads, on_row) = match task.operator {
        Operator::AllReduce => (true, true, false),
        Operator::Reduce => (true, false, false),
        Operator::ReduceScatter | Operator::ReduceScatterV => (true, false, true),
        Operator::AllGather | Operator::AllGatherV => (false, true, true),
        _ => return Err(Why::Operator),
    };
    b.scratch(store.scratch(b.rank, task.ranks, task.row()));
    let grid = match &task.extents {
        Some(Extents::Rows(rows)) => Grid::Rows(Rows::new(rows)),
        _ if on_row => Grid::Blocks,
        _ => Grid::Parts(block),
    };
    // The fold.
    let role = fold.role(b.rank);
    match role {
        Role::Alone => {}
        Role::Keeper(partner) if merges => {
            b.wait(partner, 1);
            let low = b.rank.min(partner);
            let whole = if on_row { task.ranks } else { block };
            for piece in grid.pieces(0, whole) {
                let place = |rank| store.place(rank, piece, false);
                let places = vec![place(low), place(low ^ 1)];
                b.combine(piece.span, places, vec![store.place(b.rank, piece, true)]);
            }
        }
        Role::Keeper(partner) => {
            for piece in grid.pieces(partner, 1) {
                let source = store.place(partner, piece, true);
                b.copy(piece.span, source, store.place(b.rank, piece, true));
            }
        }
        Role::Partner(keeper) => b.visitor(keeper, 2),
    }
    b.signal(2);
    // The block.
    let rounds = Walk::Halving.rounds(block);
    let mut at = Rounds { base: 2, rounds };
    let next = |at: Rounds| Rounds { base: at.end(), rounds };
    let lane = lane(&fold, b.rank, grid.clone(), on_row);
    let lanes: &[Lane] = if matches!(role, Role::Partner(_)) { &[] } else { &[lane] };
    if merges {
        reduce_scatter(b, store, lanes, at);
        at = next(at);
    }
    match task.operator {
        Operator::Reduce if lanes.is_empty() => b.signal(at.end()),
        Operator::Reduce => gather(b, store, lanes, at, root),
        _ if spreads => all_gather(b, store, lanes, at),
        _ => at = Rounds { base: at.base, rounds: 0 },
    }
    // The result for the partners.
    let end = at.end();
    let result: Vec<Piece> = match task.operator {
        Operator::Reduce => Vec::new(),
        Operator::AllReduce => grid.pieces(0, block),
        _ if merges => match role {
            Role::Keeper(partner) => grid.pieces(partner, 1),
            _ => grid.pieces(b.rank, 1),
        },
        _ => grid.pieces(0, task.ranks),
    };
    match role {
        Role::Partner(keeper) if !result.is_empty() => {
            b.wait(keeper, end);
            for piece in result {
                let target = store.place(b.rank, piece, true);
                if target != input(b.rank, target.at) {
                    b.copy(piece.span, store.place(keeper, piece, true), target);
                }
            }
        }
        Role::Keeper(partner) if !result.is_empty() => b.visitor(partner, end + 1),
        _ => {}
    }
    b.signal(end + 1);
    if matches!(task.operator, Operator::AllGather | Operator::AllGatherV) {
        own_block(b);
    }
    Ok(())
}

fn lane(fold: &Fold, rank: u32, grid: Grid, on_row: bool) -> Lane {
    let block = fold.block;
    let member = |index| Member { rank: fold.member(index), merged: index < fold.pairs };
    if on_row {
        let members = (0..block).map(member).collect();
        let slices = (0..block).map(|index| fold.cells(index)).collect();
        return Lane::new(Walk::Halving, members, fold.index(rank), grid, slices);
    }
    // On parts any order will do: the one whose first partners are neighbours.
    let bits = block.trailing_zeros();
    let members = (0..block).map(|i| member(reversed(i, bits))).collect();
    let slices = (0..block).map(|i| (i, 1)).collect();
    Lane::new(Walk::Halving, members, reversed(fold.index(rank), bits), grid, slices)
}
