//! Small calls through the Rust API. All ranks are in this process, and one thread does the work of
//! all of them in turn.
//!
//! What is counted is the work of all ranks from the start of a call to its end, or of the last
//! rank to come, which does not have to wait.

use std::time::Duration;

use anyhow::{Context, Result};
use hccl::{
    Algorithm, Buffer, Communicator, Forced, Group, JoinOptions, Options, ReduceOp, Root, Source,
    Target,
};

use crate::{Case, Path, steady};

const SIZES: [(usize, &str); 2] = [(4, "4B"), (4 << 10, "4KiB")];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new("allreduce/1-rank/slices/4B", alone)];
    for (bytes, size) in SIZES {
        let slices = move || all_reduce(meet(2, None)?, || Ok(vec![1f32; bytes / 4]));
        let buffers = move || all_reduce(meet(2, None)?, || Ok(Buffer::<f32>::new(bytes / 4)?));
        cases.push(Case::new(format!("allreduce/2-ranks/slices/{size}"), slices));
        cases.push(Case::new(format!("allreduce/2-ranks/buffers/{size}"), buffers));
    }
    // Many steps on little data: what the engine needs for a step.
    cases.push(Case::new("allreduce/4-ranks/ring/4KiB", || {
        let ring = Forced::Algorithm(Algorithm::Ring);
        all_reduce(meet(4, Some(ring))?, || Ok(Buffer::<f32>::new(1024)?))
    }));
    cases.push(Case::new("barrier/2-ranks", barrier));
    cases.push(Case::new("barrier/last-of-2", last_barrier));
    for (bytes, size) in SIZES {
        let last = move || last_all_reduce(bytes / 4);
        cases.push(Case::new(format!("allreduce/last-of-2/slices/{size}"), last));
    }
    cases.push(Case::new("message/slices/8B", message));
    cases.push(Case::new("message/receive/8B", receive));
    cases
}

/// A call that has nobody to wait for.
fn alone() -> Result<Path> {
    let communicators = meet(1, None)?;
    let (input, mut output) = ([1f32], [0f32]);
    Ok(Box::new(move |meter| {
        meter.call(|| Ok(communicators[0].all_reduce(&input, &mut output, ReduceOp::Sum)?))
    }))
}

fn all_reduce<M: 'static>(
    communicators: Vec<Communicator>,
    memory: impl Fn() -> Result<M>,
) -> Result<Path>
where
    for<'a> &'a M: Source<'a, f32>,
    for<'a> &'a mut M: Target<'a, f32>,
{
    let mut ranks = Vec::new();
    for communicator in communicators {
        ranks.push((communicator, memory()?, memory()?));
    }
    Ok(Box::new(move |meter| {
        meter.call(|| {
            let mut group = Group::new();
            for (communicator, input, output) in &mut ranks {
                group.add(communicator.all_reduce_async(&*input, output, ReduceOp::Sum)?);
            }
            Ok(group.wait()?)
        })
    }))
}

fn barrier() -> Result<Path> {
    let communicators = meet(2, None)?;
    Ok(Box::new(move |meter| {
        meter.call(|| {
            let mut group = Group::new();
            for communicator in &communicators {
                group.add(communicator.barrier_async()?);
            }
            Ok(group.wait()?)
        })
    }))
}

/// A call of a rank that finds the other there: it returns without waiting for anybody.
fn last_all_reduce(elements: usize) -> Result<Path> {
    let communicators = meet(2, None)?;
    let input = vec![1f32; elements];
    let mut outputs = [vec![0f32; elements], vec![0f32; elements]];
    Ok(Box::new(move |meter| {
        let [first, last] = &mut outputs;
        let there = communicators[0].all_reduce_async(&input, first, ReduceOp::Sum)?;
        meter.call(|| Ok(communicators[1].all_reduce(&input, &mut *last, ReduceOp::Sum)?))?;
        Ok(there.wait()?)
    }))
}

fn last_barrier() -> Result<Path> {
    let communicators = meet(2, None)?;
    Ok(Box::new(move |meter| {
        let there = communicators[0].barrier_async()?;
        meter.call(|| Ok(communicators[1].barrier()?))?;
        Ok(there.wait()?)
    }))
}

/// Rank 0 has sent when rank 1 receives.
fn receive() -> Result<Path> {
    let communicators = meet(2, None)?;
    let (sent, mut received) = ([1u64], [0u64]);
    Ok(Box::new(move |meter| {
        let there = communicators[0].send_async(&sent, 1)?;
        meter.call(|| Ok(communicators[1].receive(&mut received, 0)?))?;
        Ok(there.wait()?)
    }))
}

/// Rank 0 sends, rank 1 receives.
fn message() -> Result<Path> {
    let communicators = meet(2, None)?;
    let (sent, mut received) = ([1u64], [0u64]);
    Ok(Box::new(move |meter| {
        meter.call(|| {
            let mut group = Group::new();
            group.add(communicators[0].send_async(&sent, 1)?);
            group.add(communicators[1].receive_async(&mut received, 0)?);
            Ok(group.wait()?)
        })
    }))
}

/// Communicators of all ranks. Joining waits for the others, so it takes a thread for each.
fn meet(ranks: u32, forced: Option<Forced>) -> Result<Vec<Communicator>> {
    let root = Root::open()?;
    // One that waits is a defect, and should not do so for ever.
    let timeout = Some(Duration::from_secs(10));
    let communicator = Options { forced, timeout, ..Options::default() };
    let options = JoinOptions { timeout: None, communicator };
    let joined = std::thread::scope(|scope| {
        let join = |rank| {
            let (info, options) = (root.info(), options.clone());
            scope.spawn(move || Communicator::join(info, rank, ranks, options))
        };
        let threads: Vec<_> = (0..ranks).map(join).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().ok().context("a rank panicked"));
        joined.map(|result| Ok(result??)).collect()
    });
    steady::begin();
    joined
}
