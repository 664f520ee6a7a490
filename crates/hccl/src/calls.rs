//! Typed calls: slices and buffers in, everything checked that the engine does not see.

use std::sync::Arc;

use hccl_kernels::ReduceOp;
use hccl_plan::{Extent, Operator};

use crate::buffer::{Buffer, Use};
use crate::call::Request;
use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::lengths::Lengths;
use crate::memory::Memory;
use crate::pending::Pending;
use crate::transfer::{Direction, Transfer};

/// The memory of a slice that a call reads. The call must not outlive the slice's borrow, which
/// [`Pending`] carries.
pub(crate) fn reads<T: Element>(slice: &[T]) -> Memory {
    // SAFETY: the borrow lives as long as the call, which only reads; the engine touches private
    // memory only while it is polled, so a call that is forgotten touches it no more.
    unsafe { Memory::private(slice.as_ptr().cast_mut().cast(), size_of_val(slice) as u64) }
}

/// The memory of a slice that a call writes.
pub(crate) fn writes<T: Element>(slice: &mut [T]) -> Memory {
    // SAFETY: as in `reads`, and the borrow is exclusive.
    unsafe { Memory::private(slice.as_mut_ptr().cast(), size_of_val(slice) as u64) }
}

/// What a call can read: `&[T]`, `&Vec<T>`, `&[T; N]` or `&Buffer<T>`.
pub trait Source<'a, T: Element>: crate::calls::sealed::Source<'a, T> {}
/// What a call can write: `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]` or `&mut Buffer<T>`.
pub trait Target<'a, T: Element>: crate::calls::sealed::Target<'a, T> {}

pub(crate) mod sealed {
    use super::*;

    pub trait Source<'a, T: Element> {
        fn source(self, on_heap: bool) -> Part;
    }

    pub trait Target<'a, T: Element> {
        fn target(self, on_heap: bool) -> Part;
    }
}

/// A buffer of a call.
pub struct Part {
    pub(crate) memory: Memory,
    pub(crate) elements: u64,
    pub(crate) used: Option<Use>,
}

macro_rules! sides {
    ($([$($generics:tt)*] $kind:ty),+) => {$(
        impl<'a, T: Element, $($generics)*> sealed::Source<'a, T> for &'a $kind {
            fn source(self, _: bool) -> Part {
                let elements = self.len() as u64;
                Part { memory: reads::<T>(&self[..]), elements, used: None }
            }
        }

        impl<'a, T: Element, $($generics)*> sealed::Target<'a, T> for &'a mut $kind {
            fn target(self, _: bool) -> Part {
                let elements = self.len() as u64;
                Part { memory: writes::<T>(&mut self[..]), elements, used: None }
            }
        }

        impl<'a, T: Element, $($generics)*> Source<'a, T> for &'a $kind {}
        impl<'a, T: Element, $($generics)*> Target<'a, T> for &'a mut $kind {}
    )+};
}

sides!([] [T], [] Vec<T>, [const N: usize] [T; N]);

impl<'a, T: Element> sealed::Source<'a, T> for &'a Buffer<T> {
    fn source(self, on_heap: bool) -> Part {
        let elements = self.len() as u64;
        let (memory, used) = if on_heap { self.lend() } else { (reads::<T>(&self[..]), None) };
        Part { memory, elements, used }
    }
}

impl<'a, T: Element> sealed::Target<'a, T> for &'a mut Buffer<T> {
    fn target(self, on_heap: bool) -> Part {
        let elements = self.len() as u64;
        let (memory, used) =
            if on_heap { self.lend_mut() } else { (writes::<T>(&mut self[..]), None) };
        Part { memory, elements, used }
    }
}

impl<'a, T: Element> Source<'a, T> for &'a Buffer<T> {}
impl<'a, T: Element> Target<'a, T> for &'a mut Buffer<T> {}

/// A mistake in the arguments.
fn invalid<R>(what: &'static str, given: String, allowed: String) -> Result<R, Error> {
    Err(Error::Invalid { what, given, allowed })
}

/// Elements of a block of a buffer that has one for each rank.
fn block(what: &'static str, elements: u64, ranks: u32) -> Result<u64, Error> {
    let ranks = u64::from(ranks);
    if elements.is_multiple_of(ranks) {
        return Ok(elements / ranks);
    }
    invalid(what, format!("{elements} elements"), format!("a multiple of {ranks}, the ranks"))
}

/// Refuses a buffer of another length than the call needs.
fn fits(what: &'static str, elements: u64, needed: u64) -> Result<(), Error> {
    if elements == needed {
        return Ok(());
    }
    invalid(what, format!("{elements} elements"), format!("{needed} elements"))
}

const NOTHING: Part = Part { memory: Memory::NONE, elements: 0, used: None };

/// Runs side by side.
fn packed(lens: &[u64]) -> Vec<Extent> {
    let mut start = 0u64;
    let mut next = |len: &u64| {
        let extent = Extent { start, len: *len };
        start = start.saturating_add(*len);
        extent
    };
    lens.iter().map(&mut next).collect()
}

fn sum(lens: &[u64]) -> u64 {
    lens.iter().fold(0, |sum: u64, len| sum.saturating_add(*len))
}

/// What all collective calls have in common.
struct Collective {
    operator: Operator,
    reduce_op: Option<ReduceOp>,
    root: u32,
    count: u64,
    lengths: Option<Lengths>,
}

impl Collective {
    fn new(operator: Operator, count: u64) -> Self {
        Self { operator, reduce_op: None, root: 0, count, lengths: None }
    }

    fn reducing(operator: Operator, count: u64, op: ReduceOp) -> Self {
        Self { reduce_op: Some(op), ..Self::new(operator, count) }
    }

    fn start<'a, T: Element>(
        self,
        communicator: &Communicator,
        input: Part,
        output: Part,
    ) -> Result<Pending<'a>, Error> {
        let request = Request {
            operator: self.operator,
            data_type: T::DATA_TYPE,
            reduce_op: self.reduce_op,
            root: self.root,
            count: self.count,
            lengths: self.lengths.map(Arc::new),
            input: input.memory,
            output: output.memory,
        };
        match communicator.begin(request) {
            Ok(operation) => Ok(Pending::operation(operation, [input.used, output.used])),
            Err(error) => {
                // Nothing was started, so nobody is in the buffers.
                [input.used, output.used].into_iter().flatten().for_each(Use::end);
                Err(error)
            }
        }
    }
}

/// Ends the uses of buffers of a call that is refused before it starts.
fn checked<const N: usize>(result: Result<(), Error>, parts: [&mut Part; N]) -> Result<(), Error> {
    if result.is_err() {
        parts.into_iter().filter_map(|part| part.used.take()).for_each(Use::end);
    }
    result
}

/// Each call has two forms: one that returns when it is done, and one that gives a [`Pending`],
/// which is a future and can be waited for or put into a [`Group`](crate::Group).
///
/// All ranks of a communicator make the same collective calls in the same order. Messages between
/// two ranks meet in the order in which they were sent and received.
impl Communicator {
    /// Every rank gets the reduction of the inputs of all ranks, in `output`, which is as long.
    ///
    /// Elements are combined in rank order where the algorithm reduces at once, as the default
    /// does; all ranks get the same bits in any case.
    ///
    /// # Errors
    /// When lengths differ, the type cannot be reduced so, another rank calls something else, is
    /// late beyond the time-out, or is gone.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sums = hccl::run_threads(3, |ranks| {
    ///     let input = [f64::from(ranks.rank()), 1.0];
    ///     let mut output = [0.0; 2];
    ///     ranks.all_reduce(&input, &mut output, hccl::ReduceOp::Sum)?;
    ///     Ok::<_, hccl::Error>(output)
    /// })?;
    /// assert!(sums.into_iter().all(|sum| sum == Ok([3.0, 3.0])));
    /// # Ok(())
    /// # }
    /// ```
    pub fn all_reduce<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<(), Error> {
        self.all_reduce_async(input, output, op)?.wait()
    }

    /// As [`Self::all_reduce`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce`]; what happens on the way is the result of the [`Pending`].
    pub fn all_reduce_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        checked(fits("output", output.elements, count), [&mut input, &mut output])?;
        Collective::reducing(Operator::AllReduce, count, op).start::<T>(self, input, output)
    }

    /// As [`Self::all_reduce`], the result in place of the input.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn all_reduce_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<(), Error> {
        self.all_reduce_in_place_async(buffer, op)?.wait()
    }

    /// As [`Self::all_reduce_in_place`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_reduce_in_place_async<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Pending<'a>, Error> {
        let output = buffer.target(self.0.on_heap);
        let count = output.elements;
        let input = Part { memory: output.memory, ..NOTHING };
        Collective::reducing(Operator::AllReduce, count, op).start::<T>(self, input, output)
    }

    /// The root gets the reduction of the inputs of all ranks, in `output`, which is as long there
    /// and is not looked at on other ranks.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn reduce<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
        root: u32,
    ) -> Result<(), Error> {
        self.reduce_async(input, output, op, root)?.wait()
    }

    /// As [`Self::reduce`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn reduce_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
        root: u32,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        if self.rank() == root {
            checked(fits("output", output.elements, count), [&mut input, &mut output])?;
        }
        let call = Collective::reducing(Operator::Reduce, count, op);
        Collective { root, ..call }.start::<T>(self, input, output)
    }

    /// Every rank gets the root's buffer.
    ///
    /// # Errors
    /// When the root is none, another rank calls something else or has another length, is late
    /// beyond the time-out, or is gone.
    pub fn broadcast<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        root: u32,
    ) -> Result<(), Error> {
        self.broadcast_async(buffer, root)?.wait()
    }

    /// As [`Self::broadcast`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn broadcast_async<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        root: u32,
    ) -> Result<Pending<'a>, Error> {
        let output = buffer.target(self.0.on_heap);
        let count = output.elements;
        let input = Part { memory: output.memory, ..NOTHING };
        let call = Collective::new(Operator::Broadcast, count);
        Collective { root, ..call }.start::<T>(self, input, output)
    }

    /// Every rank gets the inputs of all ranks, in rank order.
    ///
    /// # Errors
    /// When `output` is not as long as all inputs together; else as [`Self::broadcast`].
    pub fn all_gather<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
    ) -> Result<(), Error> {
        self.all_gather_async(input, output)?.wait()
    }

    /// As [`Self::all_gather`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_gather_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        let needed = count.saturating_mul(self.ranks().into());
        checked(fits("output", output.elements, needed), [&mut input, &mut output])?;
        Collective::new(Operator::AllGather, count).start::<T>(self, input, output)
    }

    /// As [`Self::all_gather`], where the input of a rank is its own block of `buffer`.
    ///
    /// # Errors
    /// When `buffer` holds no whole block for each rank; else as [`Self::broadcast`].
    pub fn all_gather_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
    ) -> Result<(), Error> {
        self.all_gather_in_place_async(buffer)?.wait()
    }

    /// As [`Self::all_gather_in_place`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_gather_in_place_async<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
    ) -> Result<Pending<'a>, Error> {
        let mut output = buffer.target(self.0.on_heap);
        let check = block("buffer", output.elements, self.ranks()).map(drop);
        checked(check, [&mut output])?;
        let (count, own) = self.own_block::<T>(&output);
        let input = Part { memory: own, ..NOTHING };
        Collective::new(Operator::AllGather, count).start::<T>(self, input, output)
    }

    /// Every rank gets the inputs of all ranks, of which that of rank i has `lengths[i]` elements,
    /// one behind the other.
    ///
    /// # Errors
    /// When a buffer is not as long as `lengths` say; else as [`Self::broadcast`].
    pub fn all_gather_v<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        lengths: &[u64],
    ) -> Result<(), Error> {
        self.all_gather_v_async(input, output, lengths)?.wait()
    }

    /// As [`Self::all_gather_v`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_gather_v_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        lengths: &[u64],
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let own = self.own_length(lengths);
        let check = own
            .and_then(|own| fits("input", input.elements, own))
            .and_then(|()| fits("output", output.elements, sum(lengths)));
        checked(check, [&mut input, &mut output])?;
        let lengths = Some(Lengths::Rows(packed(lengths)));
        let call = Collective::new(Operator::AllGatherV, 0);
        Collective { lengths, ..call }.start::<T>(self, input, output)
    }

    /// Rank r gets block r of the reduction of the inputs of all ranks, which hold a block for
    /// each rank.
    ///
    /// # Errors
    /// When `input` is not as long as the blocks of all ranks; else as [`Self::all_reduce`].
    pub fn reduce_scatter<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<(), Error> {
        self.reduce_scatter_async(input, output, op)?.wait()
    }

    /// As [`Self::reduce_scatter`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn reduce_scatter_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = output.elements;
        let needed = count.saturating_mul(self.ranks().into());
        checked(fits("input", input.elements, needed), [&mut input, &mut output])?;
        Collective::reducing(Operator::ReduceScatter, count, op).start::<T>(self, input, output)
    }

    /// As [`Self::reduce_scatter`], where the output of a rank is its own block of `buffer`; the
    /// other blocks are as before.
    ///
    /// # Errors
    /// When `buffer` holds no whole block for each rank; else as [`Self::all_reduce`].
    pub fn reduce_scatter_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<(), Error> {
        self.reduce_scatter_in_place_async(buffer, op)?.wait()
    }

    /// As [`Self::reduce_scatter_in_place`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn reduce_scatter_in_place_async<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Pending<'a>, Error> {
        let mut input = buffer.target(self.0.on_heap);
        let check = block("buffer", input.elements, self.ranks()).map(drop);
        checked(check, [&mut input])?;
        let (count, own) = self.own_block::<T>(&input);
        let output = Part { memory: own, ..NOTHING };
        Collective::reducing(Operator::ReduceScatter, count, op).start::<T>(self, input, output)
    }

    /// As [`Self::reduce_scatter`], where block i has `lengths[i]` elements.
    ///
    /// # Errors
    /// When a buffer is not as long as `lengths` say; else as [`Self::all_reduce`].
    pub fn reduce_scatter_v<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        lengths: &[u64],
        op: ReduceOp,
    ) -> Result<(), Error> {
        self.reduce_scatter_v_async(input, output, lengths, op)?.wait()
    }

    /// As [`Self::reduce_scatter_v`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn reduce_scatter_v_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        lengths: &[u64],
        op: ReduceOp,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let own = self.own_length(lengths);
        let check = own
            .and_then(|own| fits("output", output.elements, own))
            .and_then(|()| fits("input", input.elements, sum(lengths)));
        checked(check, [&mut input, &mut output])?;
        let lengths = Some(Lengths::Rows(packed(lengths)));
        let call = Collective::reducing(Operator::ReduceScatterV, 0, op);
        Collective { lengths, ..call }.start::<T>(self, input, output)
    }

    /// Rank r gets block r of the root's input, which is not looked at on other ranks.
    ///
    /// # Errors
    /// When the root's input is not as long as the blocks of all ranks; else as
    /// [`Self::broadcast`].
    pub fn scatter<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        root: u32,
    ) -> Result<(), Error> {
        self.scatter_async(input, output, root)?.wait()
    }

    /// As [`Self::scatter`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn scatter_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        root: u32,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = output.elements;
        if self.rank() == root {
            let needed = count.saturating_mul(self.ranks().into());
            checked(fits("input", input.elements, needed), [&mut input, &mut output])?;
        }
        let call = Collective::new(Operator::Scatter, count);
        Collective { root, ..call }.start::<T>(self, input, output)
    }

    /// The root gets the inputs of all ranks, in rank order; `output` is not looked at on others.
    ///
    /// # Errors
    /// When the root's output is not as long as the inputs of all ranks; else as
    /// [`Self::broadcast`].
    pub fn gather<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        root: u32,
    ) -> Result<(), Error> {
        self.gather_async(input, output, root)?.wait()
    }

    /// As [`Self::gather`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn gather_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        root: u32,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        if self.rank() == root {
            let needed = count.saturating_mul(self.ranks().into());
            checked(fits("output", output.elements, needed), [&mut input, &mut output])?;
        }
        let call = Collective::new(Operator::Gather, count);
        Collective { root, ..call }.start::<T>(self, input, output)
    }

    /// Rank j gets from each rank i the block that i holds for j.
    ///
    /// # Errors
    /// When the buffers differ in length or hold no whole block for each rank; else as
    /// [`Self::broadcast`].
    pub fn all_to_all<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
    ) -> Result<(), Error> {
        self.all_to_all_async(input, output)?.wait()
    }

    /// As [`Self::all_to_all`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_to_all_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let check = fits("output", output.elements, input.elements)
            .and_then(|()| block("input", input.elements, self.ranks()).map(drop));
        checked(check, [&mut input, &mut output])?;
        let count = input.elements / u64::from(self.ranks());
        Collective::new(Operator::AlltoAll, count).start::<T>(self, input, output)
    }

    /// Rank i gives `sends[j]` elements to rank j, which expects `receives[i]`; blocks lie one
    /// behind the other in both buffers.
    ///
    /// # Errors
    /// When a buffer is not as long as its lengths say, or a rank sends another number than is
    /// expected; else as [`Self::broadcast`].
    pub fn all_to_all_v<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        sends: &[u64],
        output: impl Target<'a, T>,
        receives: &[u64],
    ) -> Result<(), Error> {
        self.all_to_all_v_async(input, sends, output, receives)?.wait()
    }

    /// As [`Self::all_to_all_v`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_to_all_v_async<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        sends: &[u64],
        output: impl Target<'a, T>,
        receives: &[u64],
    ) -> Result<Pending<'a>, Error> {
        let (mut input, mut output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let check = fits("input", input.elements, sum(sends))
            .and_then(|()| fits("output", output.elements, sum(receives)));
        checked(check, [&mut input, &mut output])?;
        let (sends, receives) = (packed(sends), packed(receives));
        let lengths = Some(Lengths::Pairs { sends, receives });
        let call = Collective::new(Operator::AlltoAllV, 0);
        Collective { lengths, ..call }.start::<T>(self, input, output)
    }

    /// Gives elements to a rank that receives as many.
    ///
    /// # Errors
    /// When the rank is none, receives another number or type, is late beyond the time-out, or is
    /// gone.
    pub fn send<'a, T: Element>(&self, elements: impl Source<'a, T>, to: u32) -> Result<(), Error> {
        self.send_async(elements, to)?.wait()
    }

    /// As [`Self::send`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn send_async<'a, T: Element>(
        &self,
        elements: impl Source<'a, T>,
        to: u32,
    ) -> Result<Pending<'a>, Error> {
        self.message::<T>(Direction::Send, to, elements.source(self.0.on_heap))
    }

    /// Takes elements from a rank that sends as many.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn receive<'a, T: Element>(
        &self,
        elements: impl Target<'a, T>,
        from: u32,
    ) -> Result<(), Error> {
        self.receive_async(elements, from)?.wait()
    }

    /// As [`Self::receive`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn receive_async<'a, T: Element>(
        &self,
        elements: impl Target<'a, T>,
        from: u32,
    ) -> Result<Pending<'a>, Error> {
        self.message::<T>(Direction::Receive, from, elements.target(self.0.on_heap))
    }

    /// Nobody goes on before all have come.
    ///
    /// # Errors
    /// As [`Self::broadcast`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.barrier_async()?.wait()
    }

    /// As [`Self::barrier`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn barrier_async(&self) -> Result<Pending<'static>, Error> {
        Collective::new(Operator::Barrier, 0).start::<u8>(self, NOTHING, NOTHING)
    }

    fn message<'a, T: Element>(
        &self,
        direction: Direction,
        peer: u32,
        part: Part,
    ) -> Result<Pending<'a>, Error> {
        if peer == self.rank() {
            part.used.into_iter().for_each(Use::end);
            let allowed = "another rank than the own".into();
            return invalid("peer", peer.to_string(), allowed);
        }
        let Part { memory, elements: count, used } = part;
        let transfer = Transfer { direction, peer, data_type: T::DATA_TYPE, count, memory };
        match self.begin_transfers(&[transfer]) {
            Ok(transfers) => Ok(Pending::transfers(transfers, used)),
            Err(error) => {
                used.into_iter().for_each(Use::end);
                Err(error)
            }
        }
    }

    /// Elements of a block of a buffer with one for each rank, and the own block.
    fn own_block<T: Element>(&self, part: &Part) -> (u64, Memory) {
        let count = part.elements / u64::from(self.ranks());
        let bytes = count * size_of::<T>() as u64;
        (count, part.memory.part(u64::from(self.rank()) * bytes, bytes))
    }

    fn own_length(&self, lengths: &[u64]) -> Result<u64, Error> {
        let ranks = self.ranks();
        match lengths.get(self.rank() as usize) {
            Some(own) if lengths.len() == ranks as usize => Ok(*own),
            _ => invalid("lengths", format!("{} of them", lengths.len()), format!("{ranks}")),
        }
    }
}
