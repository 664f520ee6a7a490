//! The way of private memory through the communicator's room, and the room itself.

use hccl_fabric::{Call, Span};
use hccl_kernels::{Stores, copy};
use hccl_plan::Operator;

use crate::error::Error;
use crate::lengths::Run;
use crate::memory::{Memory, Piece};
use crate::operation::{CHUNK_BYTES, Lists, Operation};
use crate::route;
use crate::views::{Peer, View};

/// Parts of the room begin at multiples of this.
const ALIGN: u64 = 128;

/// Bytes that a rank may read of all others where it reduces a block by itself.
pub(crate) const ONE_SHOT_BYTES: u64 = 64 << 10;

/// Bytes of a row of the table in which a rank says where it has what it sends to whom.
pub(crate) const ROW_BYTES: u64 = 16;

/// Bits of the second word of a call.
pub(crate) const INPUT_IN_ROOM: u64 = 1;
pub(crate) const OUTPUT_IN_ROOM: u64 = 2;
/// The room has two halves, for even and for odd rounds.
pub(crate) const HALVES: u64 = 4;
/// The input is private: its offset is an address, to copy from.
pub(crate) const INPUT_REMOTE: u64 = 8;

impl Operation {
    /// Finds the own buffers, and room for what needs some. It is this operation's turn: nobody
    /// is in the room any more.
    pub(crate) fn prepare(&mut self) -> Result<(), Error> {
        let (ranks, rank) = (self.inner.fabric.ranks(), self.inner.fabric.rank());
        let Lists { peers, runs, sources, targets } = self.inner.take_lists();
        (self.views.peers, self.runs) = (peers, runs);
        (self.sources, self.targets) = (sources, targets);
        self.views.peers.resize(ranks as usize, Peer::UNKNOWN);
        let (input, output) = self.room_elements();
        let size = self.views.size;
        let table =
            self.request.lengths.as_ref().map_or_else(Vec::new, |it| it.table(self.in_room.0));
        let scratch = match self.request.lengths {
            Some(_) => self.plan.scratch,
            None => self.plan.scratch.saturating_mul(self.cut.chunk),
        };
        let scratch = scratch.saturating_mul(size).max(table.len() as u64 * ROW_BYTES);
        let halves = if self.has_halves() { 2 } else { 1 };
        let bytes = |elements: u64| elements.saturating_mul(size).saturating_mul(halves);
        let parts = [scratch, bytes(input), bytes(output)];
        let total =
            parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.next_multiple_of(ALIGN)));
        let mut next =
            if total == 0 { 0 } else { self.inner.room(total, || self.context())?.offset };
        let spans = parts.map(|len| {
            let span = Span { offset: next, len };
            next += len.next_multiple_of(ALIGN);
            if len == 0 { Span::default() } else { span }
        });
        let elements = self.request.elements(ranks, rank);
        // Lines of an input that is its own output are in the cache when the result is stored.
        let in_place =
            self.request.operator.reduces() && self.request.input.overlaps(&self.request.output);
        // Other algorithms read again what they have written, and so does a root with room.
        let is_last = self.direct && (!self.in_room.1 || self.can_collect());
        let bytes = elements.0.saturating_add(elements.1).saturating_mul(size);
        let of_all = bytes.saturating_mul(ranks.into());
        if is_last && !in_place && of_all > hccl_os::cpu::last_level_cache() {
            self.stores = Stores::Streaming;
        }
        let find = |span: Span| {
            if span.len == 0 {
                return Ok(std::ptr::null_mut());
            }
            self.inner.fabric.memory(rank, span.offset, span.len).ok_or_else(|| Error::Broken {
                context: self.context(),
                peer: rank,
                what: format!("{} bytes at offset {}", span.len, span.offset),
            })
        };
        let view = |memory: Memory, in_room: bool, elements: u64, room: Span| {
            let span = match memory {
                _ if in_room => room,
                Memory::Shared(piece) if elements > 0 => {
                    Span { offset: piece.offset, len: elements * size }
                }
                _ => Span::default(),
            };
            let base = find(span)?;
            let view = match memory {
                _ if in_room && self.has_halves() => View::halves(base, span.len, self.cut.chunk),
                _ if in_room => View::round(base, span.len, self.cut.chunk),
                // Nobody else sees it.
                Memory::Private(private) if elements > 0 => {
                    View::whole(private.address(), elements * size, self.cut.count)
                }
                _ => View::whole(base, span.len, self.cut.count),
            };
            Ok::<_, Error>((span, view))
        };
        let (mut input_span, input) =
            view(self.request.input, self.in_room.0, elements.0, spans[1])?;
        if self.remote {
            input_span = Span { offset: self.request.input.place(), len: elements.0 * size };
        }
        let (output_span, output) =
            view(self.request.output, self.in_room.1, elements.1, spans[2])?;
        let scratch = View::round(find(spans[0])?, spans[0].len, self.cut.chunk);
        self.rooms = (input, output);
        self.room_chunk = self.cut.chunk;
        let base = scratch.base().cast::<u64>();
        for (i, extent) in table.iter().enumerate() {
            // SAFETY: the room has two numbers for each rank, and nobody else is in it.
            unsafe {
                base.add(2 * i).write(extent.start.to_le());
                base.add(2 * i + 1).write(extent.len.to_le());
            }
        }
        // What a broadcasting root reads it has; nobody writes its output.
        let keeps = self.request.operator == Operator::Broadcast && rank == self.request.root;
        let output = if keeps { input } else { output };
        let collects = self.can_collect() && self.in_room.1;
        self.collecting = collects;
        let mut own = Peer { met: true, collects, input, output, scratch };
        if self.direct && self.request.lengths.is_none() {
            // What no other rank reads or writes needs not pass through the room.
            let whole = |memory: Memory, elements: u64| match memory {
                Memory::Private(private) => {
                    Some(View::whole(private.address(), elements * size, self.cut.count))
                }
                Memory::Shared(_) => None,
            };
            if let Some(input) = whole(self.request.input, elements.0).filter(|_| self.in_room.0) {
                own.input = input;
            }
            if let Some(output) = whole(self.request.output, elements.1).filter(|_| collects) {
                own.output = output;
            }
        }
        if let Some(extent) = table.get(rank as usize) {
            own.input = self.part_of(own.input, extent.start, extent.len);
        }
        self.views.peers[rank as usize] = own;
        let chunk = if self.in_room.0 || self.in_room.1 { self.cut.chunk } else { u64::MAX };
        let flags = if self.in_room.0 { INPUT_IN_ROOM } else { 0 }
            | if self.in_room.1 { OUTPUT_IN_ROOM } else { 0 }
            | if self.has_halves() { HALVES } else { 0 }
            | if self.remote { INPUT_REMOTE } else { 0 };
        self.call = Call {
            signature: self.signature,
            input: input_span,
            output: output_span,
            scratch: spans[0],
            words: [chunk, flags],
        };
        self.find_runs(true);
        Ok(())
    }

    /// Whether there are halves of the room for even and for odd rounds.
    fn has_halves(&self) -> bool {
        self.direct && self.cut.rounds() > 1 && (self.in_room.0 || self.in_room.1)
    }

    /// Whether ranks with private output collect it from the others.
    pub(crate) fn can_collect(&self) -> bool {
        self.direct && self.request.operator == Operator::AllReduce
    }

    /// Whether a block is small enough that each rank had better reduce all of it than wait for what
    /// the others have reduced.
    pub(crate) fn is_small(&self) -> bool {
        let ranks = u64::from(self.inner.fabric.ranks());
        let bytes = self.cut.count.saturating_mul(self.views.size).saturating_mul(ranks);
        self.can_collect() && bytes <= ONE_SHOT_BYTES && self.cut.rounds() == 1
    }

    /// The part of a rank's input that a row of its table stands for.
    pub(crate) fn part_of(&self, view: View, start: u64, len: u64) -> View {
        let (skip, bytes) =
            (start.saturating_mul(self.views.size), len.saturating_mul(self.views.size));
        match skip.checked_add(bytes) {
            Some(end) if len > 0 && end <= view.len() => {
                View::whole(view.base().wrapping_add(skip as usize), bytes, 0)
            }
            _ => View::NONE,
        }
    }

    /// Elements of input and output that pass through the room at a time.
    fn room_elements(&self) -> (u64, u64) {
        let rank = self.inner.fabric.rank();
        let operator = self.request.operator;
        let (input, output) = match &self.request.lengths {
            Some(lengths) => {
                let sum = |runs: Vec<Run>| runs.iter().map(|run| run.len).sum::<u64>();
                (sum(lengths.incoming(operator, rank)), sum(lengths.outgoing(operator, rank)))
            }
            None => {
                let (input, output) = self.blocks_of(rank);
                (input * self.cut.chunk, output * self.cut.chunk)
            }
        };
        let (into, out) = self.in_room;
        (if into { input } else { 0 }, if out { output } else { 0 })
    }

    /// Blocks of a rank's input and output, where all have the same length.
    pub(crate) fn blocks_of(&self, rank: u32) -> (u64, u64) {
        let operator = self.request.operator;
        let (ranks, is_root) = (self.inner.fabric.ranks(), rank == self.request.root);
        (
            operator.input_blocks(ranks, is_root).into(),
            operator.output_blocks(ranks, is_root).into(),
        )
    }

    /// Says that the own buffers may be touched, and which they are.
    pub(crate) fn publish(&self) {
        self.inner.fabric.publish(self.sequence, &self.call);
    }

    /// Lists what passes in or out in this round.
    pub(crate) fn find_runs(&mut self, into: bool) {
        self.runs.clear();
        let (first, count) = self.cut.round(self.round);
        (self.views.first, self.views.odd) = (first, self.round % 2 == 1);
        if !(if into { self.in_room.0 } else { self.in_room.1 && !self.can_collect() }) {
            return;
        }
        let (ranks, rank) = (self.inner.fabric.ranks(), self.inner.fabric.rank());
        let (operator, is_root) = (self.request.operator, rank == self.request.root);
        if let Some(lengths) = &self.request.lengths {
            self.runs = if into {
                lengths.incoming(operator, rank)
            } else {
                lengths.outgoing(operator, rank)
            };
            return;
        }
        let blocks = match operator {
            _ if into => operator.input_blocks(ranks, is_root),
            Operator::Broadcast if is_root => 0,
            _ => operator.output_blocks(ranks, is_root),
        };
        // The room keeps the shape that was published, also where another rank has smaller rounds.
        let (whole, chunk) = (self.cut.count, self.room_chunk);
        let run = |block: u32| Run {
            user: u64::from(block) * whole + first,
            room: u64::from(block) * chunk,
            len: count,
        };
        let mut runs = std::mem::take(&mut self.runs);
        let is_read = |block: u32| !into || !self.direct || !self.is_own_block(block, is_root);
        runs.extend((0..blocks).filter(|block| is_read(*block)).map(run));
        if into && self.direct && !route::pulls(operator) && !self.is_small() {
            // The own share of the one block is reduced from where it is.
            let share = self.share(rank, count);
            runs.clear();
            runs.push(Run { user: first, room: 0, len: share.start });
            let (user, len) = (first + share.end, count - share.end);
            runs.push(Run { user, room: share.end, len });
        }
        runs.retain(|run| run.len > 0);
        self.runs = runs;
    }

    /// Whether only the own rank reads a block of its input in the direct mesh.
    fn is_own_block(&self, block: u32, is_root: bool) -> bool {
        match self.request.operator {
            Operator::ReduceScatter | Operator::AlltoAll | Operator::Scatter => {
                block == self.inner.fabric.rank()
            }
            Operator::Gather => is_root,
            _ => false,
        }
    }

    /// Copies the next chunk between a buffer and the room. True if more is left.
    pub(crate) fn pass(&mut self, into: bool) -> Result<bool, Error> {
        let Some(run) = self.runs.get(self.step) else {
            return Ok(false);
        };
        let size = self.views.size;
        let (memory, room) = if into {
            (self.request.input, self.rooms.0)
        } else {
            (self.request.output, self.rooms.1)
        };
        let room = room.base_of(self.views.odd);
        let user = match memory {
            Memory::Private(private) => Some(private.address()),
            Memory::Shared(Piece { offset, len }) => {
                self.inner.fabric.memory(self.inner.fabric.rank(), offset, len)
            }
        };
        let Some(user) = user else {
            return Err(Error::Broken {
                context: self.context(),
                peer: self.inner.fabric.rank(),
                what: "a buffer of its own".into(),
            });
        };
        let len = (run.len - self.done).min(CHUNK_BYTES / size);
        let user = user.wrapping_add(((run.user + self.done) * size) as usize);
        let room = room.wrapping_add(((run.room + self.done) * size) as usize);
        let (to, from) = if into { (room, user) } else { (user, room) };
        // SAFETY: `Request::check` saw to it that the buffer is long enough, and `prepare` that the
        // room is; between rounds nobody else is in the room.
        unsafe { copy(to, from.cast_const(), (len * size) as usize) };
        self.done += len;
        if self.done == run.len {
            (self.step, self.done) = (self.step + 1, 0);
        }
        Ok(true)
    }
}
