//! Memory of tensors that other ranks reach where it is: an allocator for PyTorch.

use std::collections::BTreeMap;

use hccl::shared::Block;
use parking_lot::Mutex;

struct Entry {
    bytes: u64,
    block: Block,
    /// Whether a call in it did not end well, so that others may still be in it.
    lost: bool,
}

static ENTRIES: Mutex<BTreeMap<usize, Entry>> = Mutex::new(BTreeMap::new());

/// Memory of so many bytes; `None` where there is none.
pub(crate) fn allocate(bytes: u64) -> Option<*mut u8> {
    let block = Block::new(bytes).ok()?;
    let address = block.address().as_ptr();
    let entry = Entry { bytes: bytes.max(1), block, lost: false };
    ENTRIES.lock().insert(address.addr(), entry);
    Some(address)
}

/// Takes back what [`allocate`] gave.
pub(crate) fn free(address: *mut u8) {
    let entry = ENTRIES.lock().remove(&address.addr());
    match entry {
        Some(entry) if entry.lost => entry.block.leak(),
        _ => {}
    }
}

/// A call on this memory did not end well: it is not given to anybody else.
pub(crate) fn lose(address: *const u8) {
    let mut entries = ENTRIES.lock();
    if let Some((start, entry)) = entries.range_mut(..=address.addr()).next_back()
        && address.addr() - start < entry.bytes as usize
    {
        entry.lost = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_may_be_in_is_not_given_again() {
        let lost = allocate(1 << 20).unwrap();
        lose(lost.wrapping_add(5000));
        free(lost);
        let next = allocate(1 << 20).unwrap();
        assert_ne!(lost, next);
        free(next);
        let again = allocate(1 << 20).unwrap();
        assert_eq!(again, next);
        lose(again.wrapping_add(1 << 20));
        free(again);
        assert_eq!(allocate(1 << 20).unwrap(), again, "the next block is not this one");
    }
}
