//! Memory that this process shares with the other ranks of its host: room for what is on its way,
//! and [`Buffer`](crate::Buffer)s.
//!
//! One segment a process, as large as the host's memory, of which only what is touched takes
//! pages. It stays until the process ends, so whatever a late peer does, it finds memory. A forked
//! child has its parent's segment mapped, which is still the parent's: it makes one of its own.

use std::collections::VecDeque;
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
/// Freed pieces of this size give their pages back, but for the latest; smaller ones keep them.
const RELEASE_FROM: u64 = 1 << 20;
/// Of the host's memory, this part is kept in pages of freed pieces: who frees much in a step of a
/// loop asks for as much in the next, and new pages take longer than what is done with them.
const KEPT_SHARE: u64 = 128;
/// At most so many bytes, however large the host is: there may be many processes.
const KEPT_MAX: u64 = 1 << 30;

pub(crate) struct Heap {
    segment: Segment,
    free: Mutex<Free>,
    /// Of the process that made it.
    generation: u32,
}

/// What nobody has.
struct Free {
    /// Granules.
    ranges: RangeAllocator<u64>,
    /// Pieces that keep their pages, for who asks for as much; the oldest is first.
    kept: VecDeque<Piece>,
    kept_bytes: u64,
    kept_max: u64,
}

impl Free {
    /// A kept piece of so many bytes, the latest.
    fn take(&mut self, len: u64) -> Option<Piece> {
        let index = self.kept.iter().rposition(|piece| piece.len == len)?;
        self.kept_bytes -= len;
        self.kept.remove(index)
    }

    /// Keeps a piece; what has to make room for it.
    fn keep(&mut self, piece: Piece) -> Vec<Piece> {
        self.kept.push_back(piece);
        self.kept_bytes += piece.len;
        self.evict(self.kept_max)
    }

    /// Takes out the oldest pieces that are more than so many bytes.
    fn evict(&mut self, most: u64) -> Vec<Piece> {
        let mut out = Vec::new();
        while self.kept_bytes > most {
            let Some(piece) = self.kept.pop_front() else { break };
            self.kept_bytes -= piece.len;
            out.push(piece);
        }
        out
    }

    fn give_back(&mut self, piece: Piece) {
        let start = piece.offset / GRANULE;
        self.ranges.free_range(start..start + piece.len / GRANULE);
    }
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
                    let free = Mutex::new(Free {
                        ranges: RangeAllocator::new(0..len / GRANULE),
                        kept: VecDeque::new(),
                        kept_bytes: 0,
                        kept_max: (total / KEPT_SHARE).min(KEPT_MAX),
                    });
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

    /// Gives pages back, and what they were for.
    fn release(&self, pieces: Vec<Piece>) {
        for piece in pieces {
            // Where the system refuses, the pages stay with the heap.
            let _ = self.segment.release(piece.offset as usize, piece.len as usize);
            self.free.lock().give_back(piece);
        }
    }

    /// Gives all pages back that are kept; whether there were any.
    fn release_kept(&self) -> bool {
        let evicted = self.free.lock().evict(0);
        let some = !evicted.is_empty();
        self.release(evicted);
        some
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
        let len = granules.saturating_mul(GRANULE);
        // Asking the kernel takes longer than most messages.
        if len >= RELEASE_FROM {
            if let Some(kept) = self.free.lock().take(len) {
                return Ok(kept);
            }
            let available = || memory().map_or(u64::MAX, |memory| memory.available);
            if len > available() && !(self.release_kept() && len <= available()) {
                return Err(format!("the host has {} bytes available", available()));
            }
        }
        let allocate = || self.free.lock().ranges.allocate_range(granules);
        let range = allocate().or_else(|error| {
            // What is kept may lie where it would fit.
            if self.release_kept() { allocate() } else { Err(error) }
        });
        let range = range.map_err(|_| format!("{} bytes are too few for all", self.len()))?;
        Ok(Piece { offset: range.start * GRANULE, len })
    }

    fn free(&self, piece: Piece) {
        // What a child lets go of is still the parent's.
        if !self.is_own() {
            return;
        }
        if piece.len < RELEASE_FROM {
            self.free.lock().give_back(piece);
            return;
        }
        let evicted = self.free.lock().keep(piece);
        self.release(evicted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_large_pieces_keep_their_pages() {
        let heap = Heap::new().unwrap();
        let most = heap.free.lock().kept_max;
        assert!(most >= 4 * RELEASE_FROM, "the host has little memory");
        let sizes = [RELEASE_FROM, 2 * RELEASE_FROM, RELEASE_FROM + 1];
        let pieces = sizes.map(|bytes| heap.allocate(bytes).unwrap());
        pieces.iter().for_each(|piece| heap.free(*piece));
        for (bytes, piece) in sizes.into_iter().zip(pieces) {
            assert_eq!(heap.allocate(bytes).unwrap(), piece);
        }
        assert_eq!(heap.free.lock().kept_bytes, 0);
        // One that is larger than all that may be kept makes the others go, and goes too.
        pieces.iter().for_each(|piece| heap.free(*piece));
        let large = heap.allocate(most + RELEASE_FROM).unwrap();
        heap.free(large);
        let free = heap.free.lock();
        assert!(free.kept.is_empty() && free.kept_bytes == 0);
    }

    #[test]
    fn what_is_kept_goes_where_it_is_in_the_way() {
        let heap = Heap::new().unwrap();
        let all = heap.len() / GRANULE;
        // All of it, but for a piece in the middle.
        heap.free.lock().ranges.allocate_range(all).unwrap();
        let piece = Piece { offset: all / 2 * GRANULE, len: RELEASE_FROM };
        heap.free(piece);
        assert_eq!(heap.allocate(5000).unwrap().offset, piece.offset);
        assert_eq!(heap.free.lock().kept_bytes, 0);
    }

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
