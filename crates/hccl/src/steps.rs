//! The steps of a plan that touch memory, a chunk at a time.

use hccl_kernels::{ReduceOp, Reducer, Stores, copy_with};
use hccl_plan::{Buffer, Operator, Place, Span};

use crate::average::Average;
use crate::error::Error;
use crate::faults::no_copy;
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
        let range = self.range(span, count);
        let element = range.start + self.done;
        let len = range.end.saturating_sub(element).min(most);
        (len > 0).then_some(Chunk { block: 0, element, len })
    }

    fn range(&self, span: Span, count: u64) -> std::ops::Range<u64> {
        span.range(count, (GRANULE_BYTES / self.views.size).max(1))
    }

    /// What a rank reduces of a block where each has its share.
    pub(crate) fn share(&self, rank: u32, count: u64) -> std::ops::Range<u64> {
        let span = Span::Parts { first: rank, len: 1, of: self.inner.fabric.ranks() };
        self.range(span, count)
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
        let own = self.inner.fabric.rank();
        let all = [Place { rank: own, buffer: Buffer::Output, at: 0 }];
        let (span, targets) = if self.one_shot { (Span::WHOLE, &all[..]) } else { (span, targets) };
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
        let mut others_collect = false;
        for place in targets {
            if place.rank != own && self.views.peers[place.rank as usize].collects {
                others_collect = true;
            } else {
                to.push(self.address(*place, chunk)?);
            }
        }
        if others_collect && self.views.peers[own as usize].collects {
            // From private output nobody can.
            let Chunk { block, element, len } = chunk;
            let room = self.views.address_in(&self.rooms.1, (0, block), element, len);
            to.insert(0, room.ok_or_else(|| self.broken_room())?);
        } else {
            others_collect = false;
        }
        let reducer = self.reducer.expect("a request without a reduction was refused");
        let divisor = if let Average::Within(ranks) = self.average { ranks } else { 1 };
        let len = chunk.len as usize;
        // SAFETY: every address is memory of that rank that is mapped here, as long as the chunk;
        // buffers are aligned for the type. By the plan no other rank touches these elements until
        // the next level; buffers that overlap otherwise than by being the same are against the
        // operator's contract and give wrong values, nothing else.
        unsafe {
            match self.stores {
                Stores::Cached => reducer.run_divided(&to, &from, len, divisor),
                Stores::Streaming if others_collect => {
                    // The others read the room soon, nobody the output.
                    reducer.run_divided(&to[..1], &from, len, divisor);
                    for &target in &to[1..] {
                        let bytes = len * self.views.size as usize;
                        copy_with(Stores::Streaming, target, to[0], bytes);
                    }
                }
                Stores::Streaming => reducer.run_past_cache(&to, &from, len, divisor),
            }
        }
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
        if source.buffer == Buffer::Input
            && self.views.peers.get(source.rank as usize).is_some_and(|it| it.input.is_remote())
        {
            let from = from.addr() as u64;
            // SAFETY: as in `reduce` for the target; the kernel checks what is read.
            let copied = unsafe { self.inner.fabric.copy_from(source.rank, from, to, bytes) };
            let fabric = &*self.inner.fabric;
            copied.map_err(|why| no_copy(fabric, self.context(), source.rank, &why))?;
        } else {
            // SAFETY: as in `reduce`.
            unsafe { copy_with(self.stores, to, from.cast_const(), bytes) };
        }
        self.done += chunk.len;
        Ok(self.chunk(span).is_some())
    }

    /// Takes the next chunk of what the others have for the own private output. True if more is left.
    pub(crate) fn collect(&mut self) -> Result<bool, Error> {
        let own = self.inner.fabric.rank();
        if self.one_shot || !self.views.peers[own as usize].collects {
            return Ok(false);
        }
        let ranks = self.inner.fabric.ranks();
        while let Some(peer) = u32::try_from(self.step).ok().filter(|peer| *peer < ranks) {
            let share = Span::Parts { first: peer, len: 1, of: ranks };
            if peer != own && self.chunk(share).is_some() {
                let output = |rank| Place { rank, buffer: Buffer::Output, at: 0 };
                self.copy(share, output(peer), output(own))?;
                return Ok(true);
            }
            (self.step, self.done) = (self.step + 1, 0);
        }
        Ok(false)
    }

    fn broken_room(&self) -> Error {
        let what = "its own room".into();
        Error::Broken { context: self.context(), peer: self.inner.fabric.rank(), what }
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
