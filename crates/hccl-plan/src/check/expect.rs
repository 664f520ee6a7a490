//! What the operator promises.

use crate::extents::Extents;
use crate::generate::Task;
use crate::operator::Operator;

/// Where a run of an output comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// The reduction over all ranks.
    All,
    /// The input of one.
    One(u32),
}

/// A run of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) source: Source,
    /// Where it begins in the inputs.
    pub(super) from: u64,
}

/// Lengths of input and output of each rank, in units, with so many of them in a block.
pub(super) fn lens(task: &Task, unit: u64) -> Vec<(u64, u64)> {
    if let Some(extents) = &task.extents {
        let swap = task.operator == Operator::AllGatherV;
        let both = |(row, own)| if swap { (own, row) } else { (row, own) };
        return extents.lens(task.ranks).into_iter().map(both).collect();
    }
    let blocks = |rank: u32| {
        let is_root = rank == task.root;
        let input = task.operator.input_blocks(task.ranks, is_root);
        let output = task.operator.output_blocks(task.ranks, is_root);
        (u64::from(input) * unit, u64::from(output) * unit)
    };
    (0..task.ranks).map(blocks).collect()
}

/// What a rank's output must hold. What no promise covers may hold anything.
pub(super) fn promises(task: &Task, rank: u32, unit: u64) -> Vec<Promise> {
    let own = u64::from(rank) * unit;
    let one = |source, from| Promise { start: 0, len: unit, source, from };
    let each = |from: u64| {
        let promise = move |peer: u32| Promise {
            start: u64::from(peer) * unit,
            ..one(Source::One(peer), from)
        };
        (0..task.ranks).map(promise).collect()
    };
    let rows = match &task.extents {
        Some(Extents::Rows(rows)) => rows.as_slice(),
        _ => &[],
    };
    match task.operator {
        Operator::AllReduce => vec![one(Source::All, 0)],
        Operator::Reduce if rank == task.root => vec![one(Source::All, 0)],
        Operator::ReduceScatter => vec![one(Source::All, own)],
        Operator::Broadcast => vec![one(Source::One(task.root), 0)],
        Operator::Scatter => vec![one(Source::One(task.root), own)],
        Operator::AllGather => each(0),
        Operator::AlltoAll => each(own),
        Operator::Gather if rank == task.root => each(0),
        Operator::ReduceScatterV => {
            let row = rows[rank as usize];
            vec![Promise { start: 0, len: row.len, source: Source::All, from: row.start }]
        }
        Operator::AllGatherV => (0..)
            .zip(rows)
            .map(|(peer, row)| Promise {
                start: row.start,
                len: row.len,
                source: Source::One(peer),
                from: 0,
            })
            .collect(),
        _ => match &task.extents {
            Some(Extents::Transfers(rows)) => rows[rank as usize]
                .iter()
                .map(|one| Promise {
                    start: one.target,
                    len: one.len,
                    source: Source::One(one.from),
                    from: one.source,
                })
                .collect(),
            _ => Vec::new(),
        },
    }
}
