//! Memory that this process shares with the other ranks of its host: room for what is on its way,
//! and [`Buffer`](crate::Buffer)s.
//!
//! One segment a process, as large as the host's memory, of which only what is touched takes
//! pages. It stays until the process ends, so whatever a late peer does, it finds memory. A forked
//! child has its parent's segment mapped, which is still the parent's: it makes one of its own.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use hccl_fabric::Region;
use hccl_os::host::memory;
use hccl_os::shm::Segment;
use parking_lot::Mutex;
use range_alloc::RangeAllocator;

use crate::memory::{Piece, Workspace};

/// Pieces begin and end at multiples of this.
const GRANULE: u64 = 4096;
/// Least size of the segment that is worth having.
const LEAST: u64 = 64 << 20;
/// Freed pieces of this size give their pages back; smaller ones keep them for the next user.
const RELEASE_FROM: u64 = 1 << 20;

pub(crate) struct Heap {
    segment: Segment,
    /// Granules.
    free: Mutex<RangeAllocator<u64>>,
    /// Of the process that made it.
    generation: u32,
}

/// The heaps of this process and of those that it was forked from; the last is its own. None is
/// ever dropped.
static HEAPS: Mutex<Vec<Arc<Heap>>> = Mutex::new(Vec::new());

impl Heap {
    /// The heap of this process.
    pub(crate) fn of_process() -> Result<Arc<Self>, String> {
        let mut heaps = HEAPS.lock();
        if let Some(heap) = heaps.last().filter(|heap| heap.is_own()) {
            return Ok(heap.clone());
        }
        let heap = Arc::new(Self::new()?);
        heaps.push(heap.clone());
        Ok(heap)
    }

    /// The heap of this process, if it has one already.
    pub(crate) fn of_process_if_any() -> Option<Arc<Self>> {
        HEAPS.lock().last().filter(|heap| heap.is_own()).cloned()
    }

    /// Whether it is this process's, and not that of one that it was forked from.
    pub(crate) fn is_own(&self) -> bool {
        self.generation == hccl_os::fork::generation()
    }

    pub(crate) fn new() -> Result<Self, String> {
        let total = memory().map_or(1 << 30, |memory| memory.total);
        let mut len = total.max(LEAST).next_multiple_of(GRANULE);
        loop {
            match Segment::create("hccl-heap", len as usize) {
                Ok(segment) => {
                    segment.advise_huge();
                    let free = Mutex::new(RangeAllocator::new(0..len / GRANULE));
                    return Ok(Self { segment, free, generation: hccl_os::fork::generation() });
                }
                // Limits of address space or of file size.
                Err(_) if len / 2 >= LEAST => len = (len / 2).next_multiple_of(GRANULE),
                Err(error) => return Err(format!("no memory to share with other ranks: {error}")),
            }
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.segment.len() as u64
    }

    pub(crate) fn region(&self) -> Arc<Region> {
        // SAFETY: the segment is mapped there, and a heap is never dropped: one is always in a static.
        unsafe { Region::local(self.segment.id(), self.segment.base(), self.segment.len()) }
    }

    pub(crate) fn descriptor(&self) -> std::io::Result<OwnedFd> {
        self.segment.as_fd().try_clone_to_owned()
    }

    /// Where memory of this process lies in it, if it does.
    pub(crate) fn locate(&self, address: *const u8, len: u64) -> Option<Piece> {
        let offset = (address.addr() as u64).checked_sub(self.segment.base().addr() as u64)?;
        (offset.checked_add(len)? <= self.len()).then_some(Piece { offset, len })
    }

    /// Address of a piece.
    pub(crate) fn address(&self, piece: Piece) -> *mut u8 {
        self.segment.base().wrapping_add(piece.offset as usize)
    }
}

// SAFETY: the allocator gives each granule to one owner at a time.
unsafe impl Workspace for Heap {
    fn allocate(&self, bytes: u64) -> Result<Piece, String> {
        let granules = bytes.max(1).div_ceil(GRANULE);
        // Asking the kernel takes longer than most messages.
        if bytes >= RELEASE_FROM
            && let Ok(available) = memory().map(|memory| memory.available)
            && bytes > available
        {
            return Err(format!("the host has {available} bytes available"));
        }
        let range = self.free.lock().allocate_range(granules);
        let range = range.map_err(|_| format!("{} bytes are too few for all", self.len()))?;
        Ok(Piece { offset: range.start * GRANULE, len: granules * GRANULE })
    }

    fn free(&self, piece: Piece) {
        // What a child lets go of is still the parent's.
        if !self.is_own() {
            return;
        }
        if piece.len >= RELEASE_FROM {
            // Where the system refuses, the pages stay with the heap.
            let _ = self.segment.release(piece.offset as usize, piece.len as usize);
        }
        let start = piece.offset / GRANULE;
        self.free.lock().free_range(start..start + piece.len / GRANULE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_come_back() {
        let heap = Heap::new().unwrap();
        let first = heap.allocate(5000).unwrap();
        let second = heap.allocate(1).unwrap();
        assert!(first.offset + first.len <= second.offset);
        assert_eq!(heap.allocate(0).unwrap().len, GRANULE);
        heap.free(first);
        assert_eq!(heap.allocate(8192).unwrap(), first);
        assert!(heap.allocate(u64::MAX / 2).is_err());
        assert_eq!(heap.address(second) as usize - heap.address(first) as usize, 8192);
    }
}
