//! Data that a rank publishes beside a call, for all ranks to read.
//!
//! ```text
//! for each rank, two slots, for calls of even and of odd numbers                    [owner writes]
//! 0     number of the call u64, digest u64
//! 16    data, 8,192 bytes
//! ```
//!
//! A small call is one cache line: whoever looks whether it has come has all of it.

use hccl_os::sync::Ordering;

use crate::board::Board;

/// Bytes that a rank can publish beside a call.
pub const INLINE_BYTES: usize = 8192;

/// Before the data of a slot.
const HEAD: usize = 16;
/// Bytes of a slot: whole pairs of cache lines.
const SLOT: usize = (HEAD + INLINE_BYTES).next_multiple_of(128);
/// Bytes of the slots of a rank.
pub(crate) const SLOTS: usize = 2 * SLOT;

/// Bytes somewhere in this process.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Where they begin.
    pub address: *const u8,
    /// How many there are.
    pub len: usize,
}

/// What a rank published beside a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline {
    /// By what ranks compare their calls.
    pub digest: u64,
    /// Where the data is.
    pub data: *const u8,
}

impl Board {
    fn slot(&self, rank: u32, sequence: u64) -> usize {
        self.slots(rank) + if sequence.is_multiple_of(2) { 0 } else { SLOT }
    }

    /// Fills the slot of a call.
    ///
    /// # Safety
    /// 1. The data is readable, and nobody writes it meanwhile.
    pub(crate) unsafe fn write_inline(&self, rank: u32, sequence: u64, digest: u64, data: Data) {
        assert!(data.len <= INLINE_BYTES, "longer data is not published inline");
        let at = self.slot(rank, sequence);
        self.u64(at + 8).store(digest, Ordering::Relaxed);
        // SAFETY: (1), and a slot has room for as much. Other ranks read the slot's data once they
        // find its number, and are through with that before it is filled again.
        unsafe {
            let to = self.u64(at + HEAD).as_ptr().cast::<u8>();
            to.copy_from_nonoverlapping(data.address, data.len);
        }
        // SYNC(inline): pairs with the acquire load in `read_inline`.
        self.u64(at).store(sequence, Ordering::Release);
    }

    /// What a rank published beside a call, once its slot has the call's number.
    #[inline]
    pub(crate) fn read_inline(&self, rank: u32, sequence: u64) -> Option<Inline> {
        let at = self.slot(rank, sequence);
        // SYNC(inline): pairs with the release store in `write_inline`.
        if self.u64(at).load(Ordering::Acquire) != sequence {
            return None;
        }
        let data = self.u64(at + HEAD).as_ptr().cast_const().cast();
        Some(Inline { digest: self.u64(at + 8).load(Ordering::Relaxed), data })
    }
}
