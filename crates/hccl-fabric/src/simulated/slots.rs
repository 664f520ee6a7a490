//! Data that a rank published beside a call with an even and with an odd number, as on a board.

use parking_lot::Mutex;

use crate::inline::{Data, INLINE_BYTES, Inline};

/// Words of a slot, which is aligned to them.
const WORDS: usize = INLINE_BYTES / size_of::<u128>();

#[derive(Debug, Default)]
struct Slot {
    sequence: u64,
    digest: u64,
    /// Made when it is needed first, and never again, so that addresses stay.
    data: Vec<u128>,
}

/// The slots of a rank.
#[derive(Debug, Default)]
pub(super) struct Slots([Mutex<Slot>; 2]);

impl Slots {
    /// Fills the slot of a call.
    ///
    /// # Safety
    /// 1. The data is readable, and nobody writes it meanwhile.
    pub(super) unsafe fn fill(&self, sequence: u64, digest: u64, data: Data) {
        assert!(data.len <= INLINE_BYTES, "longer data is not published inline");
        let mut slot = self.0[(sequence % 2) as usize].lock();
        (slot.sequence, slot.digest) = (sequence, digest);
        slot.data.resize(WORDS, 0);
        let to = slot.data.as_mut_ptr().cast::<u8>();
        // SAFETY: (1), and a slot has room for as much. Ranks that still read it break the
        // contract, and may find anything.
        unsafe { to.copy_from_nonoverlapping(data.address, data.len) };
    }

    /// What was published beside a call, unless it was never, or is overwritten.
    pub(super) fn get(&self, sequence: u64) -> Option<Inline> {
        let slot = self.0[(sequence % 2) as usize].lock();
        let found = slot.sequence == sequence && sequence > 0;
        found.then(|| Inline { digest: slot.digest, data: slot.data.as_ptr().cast() })
    }
}
