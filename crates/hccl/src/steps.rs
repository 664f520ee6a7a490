//! The steps of a plan that touch memory, a chunk at a time.

use hccl_kernels::{ReduceOp, Reducer, copy};
use hccl_plan::{Buffer, Operator, Place, Span};

use crate::average::Average;
use crate::error::Error;
use crate::operation::{CHUNK_BYTES, Operation};

/// Borders between ranks fall on multiples of this: two cache lines, which are fetched together.
const GRANULE_BYTES: u64 = 128;

/// Elements that a poll works on: how many, from which element of which block on.
#[derive(Clone, Copy)]
struct Chunk {
    block: u64,
    element: u64,
    len: u64,
}

impl Operation {
    /// The next elements of a step; `None` when the step is done.
    fn chunk(&self, span: Span) -> Option<Chunk> {
        let size = self.views.size;
        let (_, count) = self.cut.round(self.round);
        let most = CHUNK_BYTES / size;
        if let Span::Blocks { len: blocks } = span
            && self.cut.rounds() > 1
        {
            // From block to block the buffers of different ranks differ in their strides.
            let (block, element) = (self.done / count.max(1), self.done % count.max(1));
            let len = (count - element).min(most);
            let more = count > 0 && block < u64::from(blocks);
            return more.then_some(Chunk { block, element, len });
        }
        let range = span.range(count, (GRANULE_BYTES / size).max(1));
        let element = range.start + self.done;
        let len = range.end.saturating_sub(element).min(most);
        (len > 0).then_some(Chunk { block: 0, element, len })
    }

    fn address(&self, place: Place, chunk: Chunk) -> Result<*mut u8, Error> {
        let Chunk { block, element, len } = chunk;
        self.views.address(place, block, element, len).ok_or_else(|| {
            let buffer = match place.buffer {
                Buffer::Input => "input",
                Buffer::Output => "output",
                Buffer::Scratch => "scratch memory",
            };
            Error::Broken {
                context: self.context(),
                peer: place.rank,
                what: format!(
                    "{len} elements from element {element} of block {} of its {buffer} on",
                    place.at.saturating_add(block)
                ),
            }
        })
    }

    /// Combines the next chunk. True if more is left.
    pub(crate) fn reduce(
        &mut self,
        span: Span,
        sources: &[Place],
        targets: &[Place],
    ) -> Result<bool, Error> {
        let Some(chunk) = self.chunk(span) else {
            return Ok(false);
        };
        let mut from = std::mem::take(&mut self.sources);
        let mut to = std::mem::take(&mut self.targets);
        from.clear();
        to.clear();
        for place in sources {
            from.push(self.address(*place, chunk)?.cast_const());
        }
        for place in targets {
            to.push(self.address(*place, chunk)?);
        }
        let reducer = self.reducer.expect("a request without a reduction was refused");
        let divisor = if let Average::Within(ranks) = self.average { ranks } else { 1 };
        // SAFETY: every address is memory of that rank that is mapped here, as long as the chunk;
        // buffers are aligned for the type. By the plan no other rank touches these elements until
        // the next level; buffers that overlap otherwise than by being the same are against the
        // operator's contract and give wrong values, nothing else.
        unsafe { reducer.run_divided(&to, &from, chunk.len as usize, divisor) };
        (self.sources, self.targets) = (from, to);
        self.done += chunk.len;
        Ok(self.chunk(span).is_some())
    }

    /// Copies the next chunk. True if more is left.
    pub(crate) fn copy(&mut self, span: Span, source: Place, target: Place) -> Result<bool, Error> {
        let Some(chunk) = self.chunk(span) else {
            return Ok(false);
        };
        let (to, from) = (self.address(target, chunk)?, self.address(source, chunk)?);
        let bytes = chunk.len as usize * self.views.size as usize;
        // SAFETY: as in `reduce`.
        unsafe { copy(to, from.cast_const(), bytes) };
        self.done += chunk.len;
        Ok(self.chunk(span).is_some())
    }

    /// Divides the next chunk of the own output, where the plan only added. True if more is left.
    pub(crate) fn divide(&mut self) -> Result<bool, Error> {
        let Average::After(divisor) = self.average else {
            return Ok(false);
        };
        let rank = self.inner.fabric.rank();
        let (_, count) = self.cut.round(self.round);
        let is_root = rank == self.request.root;
        let len = match &self.request.lengths {
            Some(lengths) => lengths.needed(self.request.operator, rank).1,
            None if self.request.operator == Operator::Reduce && !is_root => 0,
            None => count,
        };
        let left = len.saturating_sub(self.done);
        if left == 0 {
            return Ok(false);
        }
        let now = left.min(CHUNK_BYTES / self.views.size);
        let place = Place { rank, buffer: Buffer::Output, at: 0 };
        let to = self.address(place, Chunk { block: 0, element: self.done, len: now })?;
        let reducer = Reducer::new(self.request.data_type, ReduceOp::Avg)
            .expect("a request without a reduction was refused");
        // SAFETY: as in `reduce`; the plan is over and nobody else is in the own output.
        unsafe { reducer.run_divided(&[to], &[to.cast_const()], now as usize, divisor) };
        self.done += now;
        Ok(left > now)
    }
}
