//! Small calls: each rank shows its data beside its call, and takes what it needs of what it finds
//! beside the calls of the others. There is one meeting, nothing to look up, and nothing to wait for
//! afterwards: what a rank showed stays until all are in a later call.
//!
//! Which calls go this way follows from the operator and its size alone, so all ranks agree, be
//! their memory shared or private.

use hccl_fabric::{Call, Data, INLINE_BYTES, Inline, SIGNATURE_BYTES};
use hccl_kernels::{Reducer, copy};
use hccl_os::sync::Ordering;
use hccl_plan::Operator;
use smallvec::SmallVec;

use crate::average::Average;
use crate::call::Request;
use crate::communicator::Inner;
use crate::lengths::Digest;

/// Bytes that a rank may take of all ranks together.
pub(crate) const READ_BYTES: u64 = 64 << 10;
/// Looks of a caller with a core of its own before it waits as others do.
pub(crate) const LOOKS: u32 = 256;
/// Ranks whose addresses need no memory of their own.
const FEW: usize = 16;

/// How a small call is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    signature: [u8; SIGNATURE_BYTES],
    digest: u64,
    reducer: Option<Reducer>,
    divisor: u32,
    /// Bytes of a block.
    block: usize,
    /// Blocks that the own rank shows, and those that it takes.
    shown: u32,
    taken: u32,
    /// What an address must be a multiple of.
    align: u64,
}

/// Blocks that a rank shows at most, and how many ranks show as many.
fn blocks(operator: Operator, ranks: u32) -> (u32, u32) {
    let shown = operator.input_blocks(ranks, true);
    let one = matches!(operator, Operator::Broadcast | Operator::Scatter);
    (shown, if one { 1 } else { ranks })
}

/// Whether blocks of so many bytes go beside the calls.
pub(crate) fn fits(operator: Operator, ranks: u32, block_bytes: u64) -> bool {
    let (shown, by) = blocks(operator, ranks);
    let bytes = block_bytes.saturating_mul(shown.into());
    !operator.has_extents()
        && bytes <= INLINE_BYTES as u64
        && bytes.saturating_mul(by.into()) <= READ_BYTES
}

impl Exchange {
    /// For a request that [`fits`].
    pub(crate) fn new(
        request: &Request,
        (ranks, rank): (u32, u32),
        signature: [u8; SIGNATURE_BYTES],
        (reducer, average): (Option<Reducer>, Average),
    ) -> Self {
        let mut digest = Digest::default();
        digest.bytes(&signature);
        Self {
            signature,
            digest: digest.0,
            reducer,
            divisor: if let Average::Within(ranks) = average { ranks } else { 1 },
            block: (request.count * request.data_type.size() as u64) as usize,
            shown: request.operator.input_blocks(ranks, rank == request.root),
            taken: request.operator.output_blocks(ranks, rank == request.root),
            align: if request.operator.reduces() { request.data_type.align() as u64 } else { 1 },
        }
    }

    /// Whether the buffers of a request of the same kind are as [`Request::check`] wants them.
    pub(crate) fn has_memory(&self, request: &Request) -> bool {
        [(self.shown, request.input), (self.taken, request.output)].iter().all(
            |(blocks, memory)| {
                let needed = u64::from(*blocks) * self.block as u64;
                memory.len() >= needed && (needed == 0 || memory.place().is_multiple_of(self.align))
            },
        )
    }

    /// The call as the others read it.
    pub(crate) fn call(&self) -> Call {
        Call { signature: self.signature, ..Call::default() }
    }

    /// Publishes the call with the own data. All ranks were found in the call before. `None` where
    /// the own buffer is not where it was said to be.
    pub(crate) fn show(&self, inner: &Inner, request: &Request, sequence: u64) -> Option<()> {
        let len = self.block * self.shown as usize;
        let rank = inner.fabric.rank();
        let address = inner.address(rank, request.input, 0, len as u64)?.cast_const();
        let data = Data { address, len };
        // SAFETY: the buffer was checked to be as long, and whoever started the call vouched that
        // nobody writes it.
        unsafe { inner.fabric.publish_inline(sequence, &self.call(), self.digest, data) };
        Some(())
    }

    /// Whether a rank called the same.
    pub(crate) fn is_same(&self, inline: Inline) -> bool {
        inline.digest == self.digest
    }

    /// First of the peers from `from` on that has not come.
    pub(crate) fn behind(&self, inner: &Inner, sequence: u64, from: u32) -> Option<u32> {
        let fabric = &*inner.fabric;
        (from..fabric.ranks()).find(|&peer| fabric.inline_of(peer, sequence).is_none())
    }

    /// Looks a number of times whether all have come.
    fn all_come(&self, inner: &Inner, sequence: u64, looks: u32) -> bool {
        let mut next = 0;
        for _ in 0..looks {
            match self.behind(inner, sequence, next) {
                Some(peer) => next = peer,
                None => return true,
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Takes what the own rank needs. `None` where a rank called something else, or where the own
    /// buffer is not where it was said to be.
    pub(crate) fn finish(&self, inner: &Inner, request: &Request, sequence: u64) -> Option<()> {
        let fabric = &*inner.fabric;
        let (ranks, rank) = (fabric.ranks(), fabric.rank());
        let mut shown: SmallVec<[*const u8; FEW]> = SmallVec::with_capacity(ranks as usize);
        for peer in 0..ranks {
            let inline = fabric.inline_of(peer, sequence)?;
            if !self.is_same(inline) {
                return None;
            }
            shown.push(inline.data);
        }
        let is_root = rank == request.root;
        let len = u64::from(self.taken) * self.block as u64;
        let output = inner.address(rank, request.output, 0, len)?;
        let own_block = |data: *const u8| data.wrapping_add(rank as usize * self.block);
        // SAFETY: each rank shows its blocks, which have room in its slot, as it called the same;
        // they stay as they are until this rank is in a later call. The output was checked to be
        // as long as its blocks, and whoever started the call vouched that nobody else is in it.
        unsafe {
            match request.operator {
                Operator::AllReduce | Operator::Reduce | Operator::ReduceScatter => {
                    if len == 0 {
                        return Some(());
                    }
                    if request.operator == Operator::ReduceScatter {
                        shown.iter_mut().for_each(|data| *data = own_block(*data));
                    }
                    let count = request.count as usize;
                    self.reducer?.run_divided(&[output], &shown, count, self.divisor);
                }
                Operator::Broadcast if is_root => {}
                Operator::Broadcast => copy(output, shown[request.root as usize], self.block),
                Operator::Scatter => {
                    copy(output, own_block(shown[request.root as usize]), self.block);
                }
                Operator::AllGather | Operator::Gather | Operator::AlltoAll if len > 0 => {
                    for (peer, data) in shown.iter().enumerate() {
                        let own = request.operator == Operator::AlltoAll;
                        let from = if own { own_block(*data) } else { *data };
                        copy(output.wrapping_add(peer * self.block), from, self.block);
                    }
                }
                _ => {}
            }
        }
        inner.seen_all(sequence);
        Some(())
    }

    /// Runs a call to its end, if it is its turn and the others are quick. Else tells how far it
    /// came.
    pub(crate) fn run(&self, inner: &Inner, request: &Request, sequence: u64, looks: u32) -> Came {
        if !inner.is_turn_of(sequence) || !inner.all_in(sequence - 1) {
            return Came::Nowhere;
        }
        if self.show(inner, request, sequence).is_none() {
            return Came::Nowhere;
        }
        if !self.all_come(inner, sequence, looks) {
            return Came::Shown;
        }
        match self.finish(inner, request, sequence) {
            Some(()) => Came::Through,
            None => Came::Shown,
        }
    }
}

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// It was not begun.
    Nowhere,
    /// It was published.
    Shown,
    /// To the end.
    Through,
}

impl Inner {
    /// All ranks were found in a call.
    pub(crate) fn seen_all(&self, sequence: u64) {
        if self.seen_all.load(Ordering::Relaxed) < sequence {
            self.seen_all.store(sequence, Ordering::Relaxed);
        }
    }

    /// Whether all ranks are in a call or in a later one, as far as was seen.
    pub(crate) fn all_in(&self, sequence: u64) -> bool {
        if self.seen_all.load(Ordering::Relaxed) >= sequence {
            return true;
        }
        let all = (0..self.fabric.ranks()).all(|peer| self.fabric.reached(peer, sequence, 1));
        if all {
            self.seen_all(sequence);
        }
        all
    }
}
