//! Plans of a few lines: star, pairwise, chain, tree, transfers, and the barrier.

use crate::extents::{Extents, Transfer};
use crate::operator::Operator;
use crate::plan::Span;

use super::Why;
use super::builder::{Builder, input, output, scratch};
use super::hierarchy::own_block;
use super::walk::log_ceil;

/// All talk to the root in one round.
pub(super) fn star(b: &mut Builder<'_>) -> Result<(), Why> {
    let (rank, ranks, root) = (b.rank, b.task.ranks, b.task.root);
    let others = (0..ranks).filter(|&peer| peer != root);
    match b.task.operator {
        Operator::Broadcast | Operator::Scatter if rank == root => {
            if b.task.operator == Operator::Scatter {
                own_block(b);
            }
            others.for_each(|peer| b.visitor(peer, 2));
        }
        Operator::Reduce | Operator::Gather if rank != root => b.visitor(root, 2),
        Operator::Broadcast => b.copy(Span::WHOLE, input(root, 0), output(rank, 0)),
        Operator::Scatter => b.copy(Span::WHOLE, input(root, u64::from(rank)), output(rank, 0)),
        Operator::Reduce => {
            others.for_each(|peer| b.wait(peer, 1));
            let sources = (0..ranks).map(|peer| input(peer, 0)).collect();
            b.combine(Span::WHOLE, sources, vec![output(rank, 0)]);
        }
        Operator::Gather => {
            others.clone().for_each(|peer| b.wait(peer, 1));
            own_block(b);
            others.for_each(|peer| {
                b.copy(Span::WHOLE, input(peer, 0), output(rank, u64::from(peer)));
            });
        }
        Operator::Barrier => {
            b.wait_all(1);
            return Ok(());
        }
        _ => return Err(Why::Operator),
    }
    b.signal(2);
    Ok(())
}

/// In round k a rank pulls from the one k before it.
pub(super) fn pairwise(b: &mut Builder<'_>) -> Result<(), Why> {
    let (rank, ranks) = (b.rank, b.task.ranks);
    match (b.task.operator, &b.task.extents) {
        (Operator::AlltoAll, _) => {
            own_block(b);
            for k in 1..ranks {
                let peer = (rank + ranks - k) % ranks;
                let (from, to) = (u64::from(rank), u64::from(peer));
                b.copy(Span::WHOLE, input(peer, from), output(rank, to));
                b.signal(k + 1);
                b.visitor((rank + k) % ranks, k + 1);
            }
        }
        (Operator::AlltoAllV | Operator::AlltoAllVC, Some(Extents::Transfers(rows))) => {
            let mut rows: Vec<&Transfer> = rows[rank as usize].iter().collect();
            let distance = |one: &&Transfer| (rank + ranks - one.from) % ranks;
            rows.sort_by_key(distance);
            let mut rows = rows.into_iter().filter(|one| one.len > 0).peekable();
            for k in 0..ranks {
                // Also those who send nothing: each pair meets, and can compare what it expects.
                b.wait((rank + ranks - k) % ranks, 1);
                while let Some(one) = rows.next_if(|one| distance(one) == k) {
                    let span = Span::Exact { len: one.len };
                    b.copy(span, input(one.from, one.source), output(rank, one.target));
                }
                b.signal(k + 1);
                b.visitor((rank + k) % ranks, k + 1);
            }
        }
        (Operator::Send | Operator::BatchSendRecv, _) => return transfers(b),
        (Operator::Barrier, _) => return barrier(b),
        _ => return Err(Why::Operator),
    }
    Ok(())
}

/// Receivers pull what is meant for them; senders wait until that is done.
pub(super) fn transfers(b: &mut Builder<'_>) -> Result<(), Why> {
    let Some(Extents::Transfers(rows)) = &b.task.extents else {
        return Err(Why::Operator);
    };
    let rank = b.rank;
    for one in rows[rank as usize].iter().filter(|one| one.len > 0) {
        let span = Span::Exact { len: one.len };
        b.copy(span, input(one.from, one.source), output(rank, one.target));
    }
    b.signal(2);
    // A send of nothing is a meeting all the same.
    for one in rows.iter().flatten().filter(|one| one.from == rank || one.to == rank) {
        if one.to == rank && one.len == 0 {
            b.wait(one.from, 1);
        }
        b.visitor(one.to, 2);
    }
    Ok(())
}

/// The whole buffer goes from rank to rank: from the root on in Broadcast, to the root in Reduce.
pub(super) fn chain(b: &mut Builder<'_>) -> Result<(), Why> {
    let (rank, ranks, root) = (b.rank, b.task.ranks, b.task.root);
    let reduces = b.task.operator == Operator::Reduce;
    // Place in the chain: the root is the first in Broadcast and the last in Reduce.
    let place = (rank + ranks - root - u32::from(reduces)) % ranks;
    let (before, after) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    if ranks == 1 {
        if reduces {
            b.copy(Span::WHOLE, input(rank, 0), output(rank, 0));
        }
        return Ok(());
    }
    if place > 0 {
        b.wait(before, place);
        let untouched = place == 1;
        if reduces {
            let part = if untouched { input(before, 0) } else { scratch(before, 0) };
            let target = if rank == root { output(rank, 0) } else { scratch(rank, 0) };
            if rank != root {
                b.scratch(1);
            }
            b.combine(Span::WHOLE, vec![part, input(rank, 0)], vec![target]);
        } else {
            let source = if untouched { input(before, 0) } else { output(before, 0) };
            b.copy(Span::WHOLE, source, output(rank, 0));
        }
        b.signal(place + 1);
    }
    if place + 1 < ranks {
        b.visitor(after, place + 2);
    }
    Ok(())
}

/// The whole buffer goes down a binomial tree from the root: in round t all who have it pass it
/// on to those 2^t further.
pub(super) fn tree(b: &mut Builder<'_>) -> Result<(), Why> {
    let (rank, ranks, root) = (b.rank, b.task.ranks, b.task.root);
    let place = (rank + ranks - root) % ranks;
    let at = |place: u32| (place + root) % ranks;
    // The round in which it arrives, counted from 1.
    let arrives = if place == 0 { 0 } else { place.ilog2() + 1 };
    if place > 0 {
        let parent = place - (1 << place.ilog2());
        let source = if parent == 0 { input(root, 0) } else { output(at(parent), 0) };
        let ready = if parent == 0 { 1 } else { parent.ilog2() + 2 };
        b.wait(at(parent), ready);
        b.copy(Span::WHOLE, source, output(rank, 0));
        b.signal(arrives + 1);
    }
    for t in arrives..log_ceil(ranks) {
        if place + (1 << t) < ranks {
            b.visitor(at(place + (1 << t)), t + 2);
        }
    }
    Ok(())
}

/// Dissemination: after round t a rank knows of the 2^(t+1) ranks up to itself.
pub(super) fn barrier(b: &mut Builder<'_>) -> Result<(), Why> {
    let (rank, ranks) = (b.rank, b.task.ranks);
    for t in 0..log_ceil(ranks) {
        b.wait((rank + ranks - (1 << t)) % ranks, t + 1);
        b.signal(t + 2);
    }
    Ok(())
}
