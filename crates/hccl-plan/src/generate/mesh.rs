//! Mesh: every rank reaches every other at once, so a phase is one round.
//!
//! The direct form is for memory that all ranks map. Each rank owns a share of the result. It reads
//! that share of all inputs and writes it to all outputs that need it; nobody else touches these
//! bytes, so the only synchronisation is a meeting before (the buffers are there) and one after
//! (nobody will touch them any more). Source: the one-shot, two-shot and chunked mesh of the
//! catalogue of HCCL's algorithms; reduction is in rank order throughout.

use crate::extents::Extents;
use crate::operator::Operator;
use crate::plan::{Plan, Span};

use super::builder::{Builder, input, output, scratch};
use super::hierarchy::own_block;
use super::{Algorithm, Mesh, Task, Why, expand, simple};

/// The plan of one rank in the direct form, for operators of equal lengths.
///
/// # Panics
/// When the rank or the root is not one of the ranks, or the operator needs lengths.
pub fn mesh(operator: Operator, ranks: u32, rank: u32, root: u32) -> Plan {
    expand(&Algorithm::Mesh(Mesh::Direct), &Task::new(operator, ranks, root), rank)
        .expect("the caller gave an operator of equal lengths, and ranks that exist")
}

pub(super) fn direct(b: &mut Builder<'_>) -> Result<(), Why> {
    let (rank, ranks, root) = (b.rank, b.task.ranks, b.task.root);
    if matches!(b.task.operator, Operator::Send | Operator::BatchSendRecv) {
        return simple::transfers(b);
    }
    let all = 0..ranks;
    b.wait_all(1);
    // Readers pull. Each begins with itself and goes on with its successors, so that not all read
    // one rank's memory at a time.
    let others = (1..ranks).map(|i| (rank + i) % ranks);
    let share = Span::Parts { first: rank, len: 1, of: ranks };
    match (b.task.operator, &b.task.extents) {
        (Operator::AllReduce, _) => b.combine(
            share,
            all.clone().map(|peer| input(peer, 0)).collect(),
            all.map(|peer| output(peer, 0)).collect(),
        ),
        (Operator::Reduce, _) => {
            b.combine(share, all.map(|peer| input(peer, 0)).collect(), vec![output(root, 0)])
        }
        (Operator::ReduceScatter, _) => b.combine(
            Span::WHOLE,
            all.map(|peer| input(peer, u64::from(rank))).collect(),
            vec![output(rank, 0)],
        ),
        (Operator::ReduceScatterV, Some(Extents::Rows(rows))) => {
            let row = rows[rank as usize];
            if row.len > 0 {
                b.combine(
                    Span::Exact { len: row.len },
                    all.map(|peer| input(peer, row.start)).collect(),
                    vec![output(rank, 0)],
                );
            }
        }
        (Operator::AllGather, _) => {
            own_block(b);
            for peer in others {
                b.copy(Span::WHOLE, input(peer, 0), output(rank, u64::from(peer)));
            }
        }
        (Operator::AllGatherV, Some(Extents::Rows(rows))) => {
            own_block(b);
            for peer in others {
                let row = rows[peer as usize];
                if row.len > 0 {
                    b.copy(Span::Exact { len: row.len }, input(peer, 0), output(rank, row.start));
                }
            }
        }
        (Operator::AlltoAll, _) => {
            own_block(b);
            for peer in others {
                let (from, to) = (u64::from(rank), u64::from(peer));
                b.copy(Span::WHOLE, input(peer, from), output(rank, to));
            }
        }
        (Operator::AlltoAllV | Operator::AlltoAllVC, Some(Extents::Transfers(rows))) => {
            for one in rows[rank as usize].iter().filter(|one| one.len > 0) {
                let span = Span::Exact { len: one.len };
                b.copy(span, input(one.from, one.source), output(rank, one.target));
            }
        }
        (Operator::Broadcast, _) if rank == root => {}
        (Operator::Broadcast, _) => b.copy(Span::WHOLE, input(root, 0), output(rank, 0)),
        (Operator::Scatter, _) => {
            b.copy(Span::WHOLE, input(root, u64::from(rank)), output(rank, 0));
        }
        (Operator::Gather, _) => {
            for peer in all.filter(|_| rank == root) {
                b.copy(Span::WHOLE, input(peer, 0), output(rank, u64::from(peer)));
            }
        }
        _ => {}
    }
    if b.task.operator != Operator::Barrier {
        b.signal(2);
        b.wait_all(2);
    }
    Ok(())
}

/// Everybody reads everything. The result waits in scratch memory until all have read, since a
/// call may be in place.
pub(super) fn one_shot(b: &mut Builder<'_>) -> Result<(), Why> {
    if b.task.operator != Operator::AllReduce {
        return Err(Why::Operator);
    }
    let (rank, ranks) = (b.rank, b.task.ranks);
    b.wait_all(1);
    if ranks == 1 {
        b.copy(Span::WHOLE, input(rank, 0), output(rank, 0));
        return Ok(());
    }
    b.scratch(1);
    let sources = (0..ranks).map(|peer| input(peer, 0)).collect();
    b.combine(Span::WHOLE, sources, vec![scratch(rank, 0)]);
    b.signal(2);
    b.wait_all(2);
    b.copy(Span::WHOLE, scratch(rank, 0), output(rank, 0));
    Ok(())
}

/// More would be rounds without data.
const CHUNKS_MAX: u32 = 1024;

/// A plan has a source and a copy for each part.
const PARTS_MAX: u32 = 1 << 20;

/// Into how many parts so many chunks cut a block.
pub(super) fn parts(ranks: u32, chunks: u32) -> Result<u32, Why> {
    let of = chunks.checked_mul(ranks).filter(|of| *of <= PARTS_MAX);
    of.filter(|_| (1..=CHUNKS_MAX).contains(&chunks)).ok_or_else(|| {
        Why::Shape(format!(
            "{chunks} chunks; allowed are 1 to {CHUNKS_MAX}, and {PARTS_MAX} parts of all ranks"
        ))
    })
}

/// Two shots a chunk. In round t the shares of chunk t are reduced, and those of chunk t - 1
/// gathered.
pub(super) fn chunked(b: &mut Builder<'_>, chunks: u32) -> Result<(), Why> {
    if b.task.operator != Operator::AllReduce {
        return Err(Why::Operator);
    }
    let (rank, ranks) = (b.rank, b.task.ranks);
    let of = parts(ranks, chunks)?;
    let share = |chunk: u32, peer: u32| Span::Parts { first: chunk * ranks + peer, len: 1, of };
    b.wait_all(1);
    for t in 0..=chunks {
        if t > 0 {
            b.wait_all(t + 1);
            for peer in (1..ranks).map(|i| (rank + i) % ranks) {
                b.copy(share(t - 1, peer), output(peer, 0), output(rank, 0));
            }
        }
        if t < chunks {
            let sources = (0..ranks).map(|peer| input(peer, 0)).collect();
            b.combine(share(t, rank), sources, vec![output(rank, 0)]);
        }
        b.signal(t + 2);
    }
    b.wait_all(chunks + 2);
    Ok(())
}
