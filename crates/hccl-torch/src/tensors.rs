//! Memory of tensors that other ranks reach where it is: an allocator for PyTorch.

use std::collections::BTreeMap;

use hccl::shared::Block;
use hccl_os::fork::PerProcess;
use parking_lot::Mutex;

struct Entry {
    bytes: u64,
    block: Block,
    /// Whether a call in it did not end well, so that others may still be in it.
    lost: bool,
}

/// Of a forked child none of its parent's is: that memory stays as it is.
static ENTRIES: PerProcess<Mutex<BTreeMap<usize, Entry>>> = PerProcess::new(Mutex::default);

/// Memory of so many bytes; `None` where there is none.
pub(crate) fn allocate(bytes: u64) -> Option<*mut u8> {
    let block = Block::new(bytes).ok()?;
    let address = block.address().as_ptr();
    let entry = Entry { bytes: bytes.max(1), block, lost: false };
    ENTRIES.get().lock().insert(address.addr(), entry);
    Some(address)
}

/// Takes back what [`allocate`] gave; false if it gave nothing there.
pub(crate) fn free(address: *mut u8) -> bool {
    let entry = ENTRIES.get().lock().remove(&address.addr());
    let was_ours = entry.is_some();
    if let Some(entry) = entry
        && entry.lost
    {
        entry.block.leak();
    }
    was_ours
}

/// A call on this memory did not end well: it is not given to anybody else.
pub(crate) fn lose(address: *const u8) {
    let mut entries = ENTRIES.get().lock();
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
        assert!(free(lost));
        let next = allocate(1 << 20).unwrap();
        assert_ne!(lost, next);
        assert!(free(next) && !free(next));
        let again = allocate(1 << 20).unwrap();
        assert_eq!(again, next);
        lose(again.wrapping_add(1 << 20));
        assert!(free(again));
        assert_eq!(allocate(1 << 20).unwrap(), again, "the next block is not this one");
    }
}
