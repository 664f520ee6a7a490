//! Typed calls: slices and buffers in.

use hccl_kernels::ReduceOp;

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::parts::{Source, Target};
use crate::pending::Pending;

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
        self.prepare_all_reduce(input, output, op)?.run()
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
        self.prepare_all_reduce(input, output, op)?.start()
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
        self.prepare_all_reduce_in_place(buffer, op)?.run()
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
        self.prepare_all_reduce_in_place(buffer, op)?.start()
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
        self.prepare_reduce(input, output, op, root)?.run()
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
        self.prepare_reduce(input, output, op, root)?.start()
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
        self.prepare_broadcast(buffer, root)?.run()
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
        self.prepare_broadcast(buffer, root)?.start()
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
        self.prepare_all_gather(input, output)?.run()
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
        self.prepare_all_gather(input, output)?.start()
    }

    /// As [`Self::all_gather`], where the input of a rank is its own block of `buffer`.
    ///
    /// # Errors
    /// When `buffer` holds no whole block for each rank; else as [`Self::broadcast`].
    pub fn all_gather_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
    ) -> Result<(), Error> {
        self.prepare_all_gather_in_place(buffer)?.run()
    }

    /// As [`Self::all_gather_in_place`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn all_gather_in_place_async<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
    ) -> Result<Pending<'a>, Error> {
        self.prepare_all_gather_in_place(buffer)?.start()
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
        self.prepare_all_gather_v(input, output, lengths)?.run()
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
        self.prepare_all_gather_v(input, output, lengths)?.start()
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
        self.prepare_reduce_scatter(input, output, op)?.run()
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
        self.prepare_reduce_scatter(input, output, op)?.start()
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
        self.prepare_reduce_scatter_in_place(buffer, op)?.run()
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
        self.prepare_reduce_scatter_in_place(buffer, op)?.start()
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
        self.prepare_reduce_scatter_v(input, output, lengths, op)?.run()
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
        self.prepare_reduce_scatter_v(input, output, lengths, op)?.start()
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
        self.prepare_scatter(input, output, root)?.run()
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
        self.prepare_scatter(input, output, root)?.start()
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
        self.prepare_gather(input, output, root)?.run()
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
        self.prepare_gather(input, output, root)?.start()
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
        self.prepare_all_to_all(input, output)?.run()
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
        self.prepare_all_to_all(input, output)?.start()
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
        self.prepare_all_to_all_v(input, sends, output, receives)?.run()
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
        self.prepare_all_to_all_v(input, sends, output, receives)?.start()
    }

    /// Gives elements to a rank that receives as many. A message of up to 104 bytes is on its way
    /// when this returns; whether it fits is for its receiver to say.
    ///
    /// # Errors
    /// When the rank is none, receives another number or type, is late beyond the time-out, or is
    /// gone.
    pub fn send<'a, T: Element>(&self, elements: impl Source<'a, T>, to: u32) -> Result<(), Error> {
        self.prepare_send(elements, to)?.run()
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
        self.prepare_send(elements, to)?.start()
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
        self.prepare_receive(elements, from)?.run()
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
        self.prepare_receive(elements, from)?.start()
    }

    /// Nobody goes on before all have come.
    ///
    /// # Errors
    /// As [`Self::broadcast`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.prepare_barrier()?.run()
    }

    /// As [`Self::barrier`], without waiting.
    ///
    /// # Errors
    /// As [`Self::all_reduce_async`].
    pub fn barrier_async(&self) -> Result<Pending<'static>, Error> {
        self.prepare_barrier()?.start()
    }
}
