//! What one rank does: fill, warm up, measure, check, and bring the times together.

use std::time::Instant;

use anyhow::{Result, bail};
use hccl::{Buffer, Communicator, Error};

use super::case::{Case, Dtype, Measured, MemoryKind};
use super::report::Row;
use super::sample::{Sample, reduced, value};

/// Runs all sizes of a case; rank 0 hands a row out for each.
pub(super) fn run(
    communicator: &Communicator,
    case: &Case,
    row: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    match case.dtype {
        Dtype::Int8 => typed::<i8>(communicator, case, row),
        Dtype::Int16 => typed::<i16>(communicator, case, row),
        Dtype::Int32 => typed::<i32>(communicator, case, row),
        Dtype::Int64 => typed::<i64>(communicator, case, row),
        Dtype::Uint8 => typed::<u8>(communicator, case, row),
        Dtype::Uint16 => typed::<u16>(communicator, case, row),
        Dtype::Uint32 => typed::<u32>(communicator, case, row),
        Dtype::Uint64 => typed::<u64>(communicator, case, row),
        Dtype::Fp16 => typed::<half::f16>(communicator, case, row),
        Dtype::Fp32 => typed::<f32>(communicator, case, row),
        Dtype::Fp64 => typed::<f64>(communicator, case, row),
        Dtype::Bf16 => typed::<half::bf16>(communicator, case, row),
    }
}

/// A buffer of either kind.
enum Data<T: Sample> {
    Shared(Buffer<T>),
    Private(Vec<T>),
}

impl<T: Sample> Data<T> {
    fn new(kind: MemoryKind, len: usize) -> Result<Self, Error> {
        Ok(match kind {
            MemoryKind::Shared => Self::Shared(Buffer::new(len)?),
            MemoryKind::Private => Self::Private(vec![T::from_small(0); len]),
        })
    }

    fn slice(&mut self) -> &mut [T] {
        match self {
            Self::Shared(buffer) => buffer,
            Self::Private(vector) => vector,
        }
    }
}

/// Makes a call with buffers of whatever kind.
macro_rules! with {
    ($input:expr, |$a:ident| $call:expr) => {
        match $input {
            Data::Shared($a) => $call,
            Data::Private($a) => $call,
        }
    };
    ($input:expr, $output:expr, |$a:ident, $b:ident| $call:expr) => {
        match ($input, $output) {
            (Data::Shared($a), Data::Shared($b)) => $call,
            (Data::Private($a), Data::Private($b)) => $call,
            _ => unreachable!("both buffers are of the kind of the case"),
        }
    };
}

struct Run<'a, T: Sample> {
    communicator: &'a Communicator,
    case: &'a Case,
    count: usize,
    input: Data<T>,
    output: Data<T>,
}

fn typed<T: Sample>(
    communicator: &Communicator,
    case: &Case,
    row: &mut dyn FnMut(Row) -> Result<()>,
) -> Result<()> {
    let ranks = communicator.ranks();
    for &bytes in &case.sizes {
        let count = case.count(bytes, ranks);
        let (one, all) = (count, count * ranks as usize);
        let (input, output) = match case.operator {
            Measured::Barrier => (0, 0),
            Measured::AllReduce | Measured::Broadcast if case.in_place => (one, 0),
            Measured::AllGather | Measured::ReduceScatter if case.in_place => (all, 0),
            Measured::AllGather | Measured::Gather => (one, all),
            Measured::ReduceScatter | Measured::Scatter => (all, one),
            Measured::AlltoAll => (all, all),
            _ => (one, one),
        };
        let mut run = Run::<T> {
            communicator,
            case,
            count,
            input: Data::new(case.memory, input)?,
            output: Data::new(case.memory, output)?,
        };
        let times = run.measure(bytes)?;
        if communicator.rank() == 0 {
            let done = input.max(output) as u64 * case.dtype.size();
            row(Row::new(case, done, count as u64, times))?;
        }
    }
    Ok(())
}

impl<T: Sample> Run<'_, T> {
    /// Times of the measured calls, each that of the slowest rank, seconds.
    fn measure(&mut self, bytes: u64) -> Result<Vec<f64>> {
        if self.case.check {
            self.fill();
            self.call()?;
            self.check(bytes)?;
        }
        for _ in 0..self.case.warm_up(bytes) {
            self.call()?;
        }
        let iterations = self.case.iterations(bytes) as usize;
        let mut times = Vec::with_capacity(iterations);
        self.communicator.barrier()?;
        for _ in 0..iterations {
            let begun = Instant::now();
            self.call()?;
            times.push(begun.elapsed().as_secs_f64());
        }
        if self.case.operator == Measured::PingPong {
            times.iter_mut().for_each(|time| *time /= 2.0);
        }
        self.communicator.all_reduce_in_place(&mut times, hccl::ReduceOp::Max)?;
        Ok(times)
    }

    fn call(&mut self) -> Result<(), Error> {
        let Self { communicator: c, case, input, output, .. } = self;
        let (op, root) = (case.op.op(), case.root);
        match (case.operator, case.in_place) {
            (Measured::AllReduce, true) => with!(input, |a| c.all_reduce_in_place(a, op)),
            (Measured::AllReduce, false) => with!(input, output, |a, b| c.all_reduce(&*a, b, op)),
            (Measured::Reduce, _) => with!(input, output, |a, b| c.reduce(&*a, b, op, root)),
            (Measured::Broadcast, _) => with!(input, |a| c.broadcast(a, root)),
            (Measured::Barrier, _) => c.barrier(),
            (Measured::AlltoAll, _) => with!(input, output, |a, b| c.all_to_all(&*a, b)),
            (Measured::AllGather, true) => with!(input, |a| c.all_gather_in_place(a)),
            (Measured::AllGather, false) => with!(input, output, |a, b| c.all_gather(&*a, b)),
            (Measured::ReduceScatter, true) => {
                with!(input, |a| c.reduce_scatter_in_place(a, op))
            }
            (Measured::ReduceScatter, false) => {
                with!(input, output, |a, b| c.reduce_scatter(&*a, b, op))
            }
            (Measured::Scatter, _) => with!(input, output, |a, b| c.scatter(&*a, b, root)),
            (Measured::Gather, _) => with!(input, output, |a, b| c.gather(&*a, b, root)),
            (Measured::PingPong, _) => match c.rank() {
                0 => {
                    with!(input, |a| c.send(&*a, 1))?;
                    with!(output, |b| c.receive(b, 1))
                }
                1 => {
                    with!(&mut *output, |b| c.receive(b, 0))?;
                    with!(output, |b| c.send(&*b, 0))
                }
                _ => Ok(()),
            },
        }
    }

    fn fill(&mut self) {
        let (op, rank, n) = (self.case.op.op(), self.communicator.rank(), self.count);
        // The input of an in-place all-gather is the own block of what is gathered.
        let skipped = match (self.case.operator, self.case.in_place) {
            (Measured::AllGather, true) => rank as usize * n,
            _ => 0,
        };
        for (i, element) in self.input.slice().iter_mut().enumerate() {
            *element = T::from_small(value(op, rank, i.wrapping_sub(skipped)));
        }
    }

    fn check(&mut self, bytes: u64) -> Result<()> {
        let (ranks, rank, n) = (self.communicator.ranks(), self.communicator.rank(), self.count);
        let (op, case, own) = (self.case.op.op(), self.case, rank as usize * n);
        let is_root = rank == case.root;
        let given = |peer: u32, i: usize| T::from_small(value(op, peer, i));
        let expected = |i: usize| match case.operator {
            Measured::AllReduce | Measured::Reduce => reduced(op, ranks, i),
            Measured::ReduceScatter => reduced(op, ranks, own + i),
            Measured::Broadcast => given(case.root, i),
            Measured::Scatter => given(case.root, own + i),
            Measured::AllGather | Measured::Gather => given((i / n) as u32, i % n),
            Measured::AlltoAll => given((i / n) as u32, own + i % n),
            Measured::PingPong | Measured::Barrier => given(0, i),
        };
        let results = match (case.operator, case.in_place) {
            (Measured::Barrier, _) => return Ok(()),
            (Measured::Reduce | Measured::Gather, _) if !is_root => return Ok(()),
            (Measured::PingPong, _) if rank > 1 => return Ok(()),
            (Measured::ReduceScatter, true) => &mut self.input.slice()[own..own + n],
            (Measured::Broadcast, _) | (_, true) => self.input.slice(),
            _ => self.output.slice(),
        };
        for (i, result) in results.iter().enumerate() {
            let expected = expected(i);
            if *result != expected {
                bail!(
                    "{:?} of {bytes} bytes: element {i} on rank {rank} is {result:?} instead of \
                     {expected:?}",
                    case.operator
                );
            }
        }
        Ok(())
    }
}
