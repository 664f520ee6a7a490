//! From the arguments of a call to a request: everything is checked here that the engine does not
//! see.

use std::sync::Arc;

use hccl_kernels::ReduceOp;
use hccl_plan::{Extent, Operator};

use crate::buffer::{Lent, Use};
use crate::call::Request;
use crate::communicator::{Admitted, Communicator, Ran};
use crate::element::Element;
use crate::error::Error;
use crate::exchange::LOOKS;
use crate::lengths::Lengths;
use crate::memory::Memory;
use crate::parts::{NOTHING, Part, Source, Target};
use crate::pending::Pending;
use crate::transfer::{Direction, Transfer};

/// A mistake in the arguments.
pub(crate) fn invalid<R>(what: &'static str, given: String, allowed: String) -> Result<R, Error> {
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

    #[inline(always)]
    fn request<T: Element>(self, input: &Part<'_>, output: &Part<'_>) -> Request {
        Request {
            operator: self.operator,
            data_type: T::DATA_TYPE,
            reduce_op: self.reduce_op,
            root: self.root,
            count: self.count,
            lengths: self.lengths.map(Arc::new),
            input: input.memory,
            output: output.memory,
        }
    }

    /// Inlined, as the one above: their calls would cost a small collective a tenth of its
    /// instructions.
    #[inline(always)]
    fn prepare<'c, 'a, T: Element>(
        self,
        communicator: &'c Communicator,
        input: Part<'a>,
        output: Part<'a>,
    ) -> Result<Prepared<'c, 'a>, Error> {
        let request = self.request::<T>(&input, &output);
        Ok(Prepared { communicator, request, lent: [input.lent, output.lent] })
    }
}

/// A call whose arguments fit together.
pub(crate) struct Prepared<'c, 'a> {
    communicator: &'c Communicator,
    request: Request,
    lent: [Option<Lent<'a>>; 2],
}

impl<'a> Prepared<'_, 'a> {
    /// Starts it.
    pub(crate) fn start(self) -> Result<Pending<'a>, Error> {
        let admitted = self.communicator.admit(&self.request)?;
        let uses = self.mark(&admitted);
        let operation = self.communicator.start_admitted(self.request, &admitted);
        Ok(Pending::operation(operation, uses))
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Result<(), Error> {
        let admitted = match self.communicator.run_at_once(&self.request, LOOKS)? {
            Ran::Through => return Ok(()),
            Ran::Admitted(admitted) => admitted,
        };
        let uses = self.mark(&admitted);
        self.communicator.start_admitted(self.request, &admitted).wait()?;
        uses.into_iter().flatten().for_each(Use::end);
        Ok(())
    }

    /// Marks the buffers in which other ranks will be.
    fn mark(&self, admitted: &Admitted) -> [Option<Use>; 2] {
        self.lent.map(|lent| lent.filter(|_| admitted.is_shared()).map(Lent::mark))
    }
}

/// A message to or from another rank.
pub(crate) struct Message<'c, 'a> {
    communicator: &'c Communicator,
    transfer: Transfer,
    lent: Option<Lent<'a>>,
}

impl<'a> Message<'_, 'a> {
    /// Starts it.
    pub(crate) fn start(self) -> Result<Pending<'a>, Error> {
        let transfers = self.communicator.begin_transfers(&[self.transfer])?;
        Ok(Pending::transfers(transfers, self.lent.map(Lent::mark)))
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Result<(), Error> {
        let Some(mut transfers) = self.communicator.transfer_at_once(&self.transfer)? else {
            return Ok(());
        };
        let used = self.lent.map(Lent::mark);
        transfers.wait()?;
        used.into_iter().for_each(Use::end);
        Ok(())
    }
}

impl Communicator {
    pub(crate) fn prepare_all_reduce<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        fits("output", output.elements, count)?;
        Collective::reducing(Operator::AllReduce, count, op).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_all_reduce_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let output = buffer.target(self.0.on_heap);
        let count = output.elements;
        let input = Part { memory: output.memory, ..NOTHING };
        Collective::reducing(Operator::AllReduce, count, op).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_reduce<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
        root: u32,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        if self.rank() == root {
            fits("output", output.elements, count)?;
        }
        let call = Collective::reducing(Operator::Reduce, count, op);
        Collective { root, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_broadcast<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        root: u32,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let output = buffer.target(self.0.on_heap);
        let count = output.elements;
        let input = Part { memory: output.memory, ..NOTHING };
        let call = Collective::new(Operator::Broadcast, count);
        Collective { root, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_all_gather<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        let needed = count.saturating_mul(self.ranks().into());
        fits("output", output.elements, needed)?;
        Collective::new(Operator::AllGather, count).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_all_gather_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let output = buffer.target(self.0.on_heap);
        block("buffer", output.elements, self.ranks())?;
        let (count, own) = self.own_block::<T>(&output);
        let input = Part { memory: own, ..NOTHING };
        Collective::new(Operator::AllGather, count).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_all_gather_v<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        lengths: &[u64],
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let own = self.own_length(lengths)?;
        fits("input", input.elements, own)?;
        fits("output", output.elements, sum(lengths))?;
        let lengths = Some(Lengths::Rows(packed(lengths)));
        let call = Collective::new(Operator::AllGatherV, 0);
        Collective { lengths, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_reduce_scatter<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = output.elements;
        let needed = count.saturating_mul(self.ranks().into());
        fits("input", input.elements, needed)?;
        Collective::reducing(Operator::ReduceScatter, count, op).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_reduce_scatter_in_place<'a, T: Element>(
        &self,
        buffer: impl Target<'a, T>,
        op: ReduceOp,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let input = buffer.target(self.0.on_heap);
        block("buffer", input.elements, self.ranks())?;
        let (count, own) = self.own_block::<T>(&input);
        let output = Part { memory: own, ..NOTHING };
        Collective::reducing(Operator::ReduceScatter, count, op).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_reduce_scatter_v<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        lengths: &[u64],
        op: ReduceOp,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let own = self.own_length(lengths)?;
        fits("output", output.elements, own)?;
        fits("input", input.elements, sum(lengths))?;
        let lengths = Some(Lengths::Rows(packed(lengths)));
        let call = Collective::reducing(Operator::ReduceScatterV, 0, op);
        Collective { lengths, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_scatter<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        root: u32,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = output.elements;
        if self.rank() == root {
            let needed = count.saturating_mul(self.ranks().into());
            fits("input", input.elements, needed)?;
        }
        let call = Collective::new(Operator::Scatter, count);
        Collective { root, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_gather<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
        root: u32,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        let count = input.elements;
        if self.rank() == root {
            let needed = count.saturating_mul(self.ranks().into());
            fits("output", output.elements, needed)?;
        }
        let call = Collective::new(Operator::Gather, count);
        Collective { root, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_all_to_all<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        output: impl Target<'a, T>,
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        fits("output", output.elements, input.elements)?;
        block("input", input.elements, self.ranks()).map(drop)?;
        let count = input.elements / u64::from(self.ranks());
        Collective::new(Operator::AlltoAll, count).prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_all_to_all_v<'a, T: Element>(
        &self,
        input: impl Source<'a, T>,
        sends: &[u64],
        output: impl Target<'a, T>,
        receives: &[u64],
    ) -> Result<Prepared<'_, 'a>, Error> {
        let (input, output) = (input.source(self.0.on_heap), output.target(self.0.on_heap));
        fits("input", input.elements, sum(sends))?;
        fits("output", output.elements, sum(receives))?;
        let (sends, receives) = (packed(sends), packed(receives));
        let lengths = Some(Lengths::Pairs { sends, receives });
        let call = Collective::new(Operator::AlltoAllV, 0);
        Collective { lengths, ..call }.prepare::<T>(self, input, output)
    }

    pub(crate) fn prepare_barrier(&self) -> Result<Prepared<'_, 'static>, Error> {
        Collective::new(Operator::Barrier, 0).prepare::<u8>(self, NOTHING, NOTHING)
    }

    pub(crate) fn prepare_send<'a, T: Element>(
        &self,
        elements: impl Source<'a, T>,
        to: u32,
    ) -> Result<Message<'_, 'a>, Error> {
        self.message::<T>(Direction::Send, to, elements.source(self.0.on_heap))
    }

    pub(crate) fn prepare_receive<'a, T: Element>(
        &self,
        elements: impl Target<'a, T>,
        from: u32,
    ) -> Result<Message<'_, 'a>, Error> {
        self.message::<T>(Direction::Receive, from, elements.target(self.0.on_heap))
    }

    fn message<'a, T: Element>(
        &self,
        direction: Direction,
        peer: u32,
        part: Part<'a>,
    ) -> Result<Message<'_, 'a>, Error> {
        if peer == self.rank() {
            let allowed = "another rank than the own".into();
            return invalid("peer", peer.to_string(), allowed);
        }
        let Part { memory, elements: count, lent } = part;
        let transfer = Transfer { direction, peer, data_type: T::DATA_TYPE, count, tag: 0, memory };
        Ok(Message { communicator: self, transfer, lent })
    }

    /// Elements of a block of a buffer with one for each rank, and the own block.
    fn own_block<T: Element>(&self, part: &Part<'_>) -> (u64, Memory) {
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
