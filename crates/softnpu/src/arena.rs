//! Memory of one device: one anonymous shareable segment as large as the device, of which pages
//! are taken when touched and given back when freed.
//!
//! One segment a device keeps two things simple: a peer that maps it once reaches every buffer
//! of the device by offset, and a pointer is judged by comparing it with two addresses. Free
//! memory is always zero, so fresh buffers are too.

use std::collections::BTreeMap;

use hccl_os::shm::Segment;
use hccl_os::sync::{AtomicU64, Ordering};
use parking_lot::Mutex;

use crate::config::HUGE_PAGE;
use crate::error::{NpuError, NpuResult, code};

/// Allocations begin at multiples of this; the interface promises 64.
const GRANULE: u64 = 512;
const PAGE: u64 = 4096;
/// Up to this size an allocation that would like huge pages gets normal ones.
const HUGE_FROM: u64 = 1 << 20;
/// Freed pieces below this are cleared by hand: the system call costs more.
const RELEASE_FROM: u64 = 64 << 10;
/// Memory of the host that allocations leave alone.
const HOST_RESERVE: u64 = 128 << 20;

/// Memory that the host can still give; all of it where the host does not say.
pub(crate) fn host_available() -> u64 {
    hccl_os::host::memory().map_or(u64::MAX, |memory| memory.available)
}

/// Which pages an allocation would like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Huge ones if it is large enough for them.
    HugeFirst,
    /// Huge ones.
    Huge,
    /// Normal ones.
    Normal,
}

/// A piece of the arena, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub len: u64,
}

/// The memory of one device in this process.
#[derive(Debug)]
pub struct Arena {
    segment: Segment,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Free pieces by offset; neighbours are merged.
    free: BTreeMap<u64, u64>,
    /// Live allocations by offset.
    live: BTreeMap<u64, Live>,
    /// Allocations that were ever made.
    made: u64,
    used: u64,
    /// The most that was ever used at a time.
    peak: u64,
    /// Counts resets, so that an owner from before one frees nothing after it.
    epoch: u64,
}

#[derive(Clone, Copy, Debug)]
struct Live {
    /// Bytes that the user may touch.
    usable: u64,
    /// Bytes taken.
    taken: u64,
    /// Which allocation of the arena it is.
    number: u64,
}

impl Arena {
    /// The arena of a device with `len` bytes.
    ///
    /// # Errors
    /// 507033 when the system gives no address space or descriptor for it.
    pub fn new(device: u32, len: u64) -> NpuResult<Self> {
        let label = format!("softnpu-device-{device}");
        let segment = Segment::create(&label, len as usize).map_err(|error| {
            let what = format!("device {device} with {len} bytes of memory could not start");
            NpuError::system(code::RT_DEV_SETUP_ERROR, &what, &error)
        })?;
        segment.advise_huge();
        let free = BTreeMap::from([(0, len)]);
        let state = State { free, live: BTreeMap::new(), made: 0, used: 0, peak: 0, epoch: 0 };
        Ok(Self { segment, state: Mutex::new(state) })
    }

    /// Takes `size` bytes, of which the user may touch `size + tail`.
    ///
    /// # Errors
    /// 207001 when the device, or the host under it, has no room.
    pub fn allocate(&self, size: u64, tail: u64, pages: Pages) -> NpuResult<Block> {
        let full = |reason: String| {
            Err(NpuError::new(
                code::RT_MEMORY_ALLOCATION,
                "EL0004",
                format!("Failed to allocate memory requested by the application: {reason}."),
            ))
        };
        let total = self.segment.len() as u64;
        let huge = match pages {
            Pages::Huge => true,
            Pages::HugeFirst => size > HUGE_FROM,
            Pages::Normal => false,
        };
        // Whole pages begin with one, so that they can be shared with other processes.
        let small = if size >= PAGE { PAGE } else { GRANULE };
        let align = if huge { HUGE_PAGE } else { small };
        let usable = size.checked_next_multiple_of(32).and_then(|n| n.checked_add(tail));
        // As long as it is aligned, so that there are no holes between allocations of a kind.
        let taken = usable.and_then(|n| n.checked_next_multiple_of(align));
        let (Some(usable), Some(taken)) = (usable, taken) else {
            return full(format!("{size} bytes asked, the device has {total}"));
        };
        if size >= HUGE_FROM {
            let available = host_available();
            if taken.saturating_add(HOST_RESERVE) > available {
                return full(format!(
                    "{size} bytes asked, the host has {available} available of which \
                     {HOST_RESERVE} stay reserved"
                ));
            }
        }
        let mut state = self.state.lock();
        let fit = state.free.iter().find_map(|(&offset, &len)| {
            let start = offset.next_multiple_of(align);
            (start + taken <= offset + len).then_some((offset, len, start))
        });
        let Some((offset, len, start)) = fit else {
            let free = total - state.used;
            drop(state);
            return full(format!(
                "{size} bytes asked, for which {taken} are needed in one piece; {free} of {total} bytes \
                 are free (SOFTNPU_MEMORY sets the size of a device)"
            ));
        };
        state.free.remove(&offset);
        if start > offset {
            state.free.insert(offset, start - offset);
        }
        if start + taken < offset + len {
            state.free.insert(start + taken, offset + len - start - taken);
        }
        state.made += 1;
        let number = state.made;
        state.live.insert(start, Live { usable, taken, number });
        state.used += taken;
        state.peak = state.peak.max(state.used);
        Ok(Block { offset: start, len: usable })
    }

    /// Gives back the allocation that begins at `offset`. False if none does.
    pub fn free(&self, offset: u64) -> bool {
        let mut state = self.state.lock();
        changed();
        let Some(Live { taken, .. }) = state.live.remove(&offset) else {
            return false;
        };
        self.clear(Block { offset, len: taken });
        state.used -= taken;
        let (mut start, mut len) = (offset, taken);
        if let Some((&before, &before_len)) = state.free.range(..offset).next_back()
            && before + before_len == offset
        {
            state.free.remove(&before);
            (start, len) = (before, before_len + len);
        }
        if let Some(after_len) = state.free.remove(&(offset + taken)) {
            len += after_len;
        }
        state.free.insert(start, len);
        true
    }

    /// Frees everything. The segment stays where it is: peers, and tasks of theirs that are under
    /// way, find zeros there and no hole.
    pub fn reset(&self) {
        let mut state = self.state.lock();
        changed();
        let len = self.segment.len();
        if self.segment.release(0, len).is_err() {
            for (&offset, live) in &state.live {
                self.clear(Block { offset, len: live.taken });
            }
        }
        let (epoch, made) = (state.epoch + 1, state.made);
        *state = State {
            free: BTreeMap::from([(0, len as u64)]),
            live: BTreeMap::new(),
            made,
            used: 0,
            peak: 0,
            epoch,
        };
    }

    /// Number of resets so far.
    pub fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    /// As [`Self::free`], unless a reset came between.
    pub fn free_of_epoch(&self, offset: u64, epoch: u64) -> bool {
        self.epoch() == epoch && self.free(offset)
    }

    /// Makes a block read as zero, and gives its whole pages back to the system.
    fn clear(&self, block: Block) {
        let whole = block.offset.next_multiple_of(PAGE);
        let whole_len = (block.offset + block.len).saturating_sub(whole) / PAGE * PAGE;
        let by_hand = |offset: u64, len: u64| {
            // SAFETY: the range lies in an allocation that was just given up and is not yet free,
            // so it is mapped and nobody has a right to it.
            unsafe { self.segment.base().add(offset as usize).write_bytes(0, len as usize) };
        };
        let released = whole_len >= RELEASE_FROM
            && self.segment.release(whole as usize, whole_len as usize).is_ok();
        if released {
            by_hand(block.offset, whole - block.offset);
            let end = whole + whole_len;
            by_hand(end, block.offset + block.len - end);
        } else {
            by_hand(block.offset, block.len);
        }
    }

    /// The live allocation that holds `offset`.
    pub fn block_at(&self, offset: u64) -> Option<Block> {
        self.allocation_at(offset).map(|(block, _)| block)
    }

    /// As [`Self::block_at`], and a number that no other allocation of the arena ever has.
    pub fn allocation_at(&self, offset: u64) -> Option<(Block, u64)> {
        let state = self.state.lock();
        let (&start, &live) = state.live.range(..=offset).next_back()?;
        let block = Block { offset: start, len: live.usable };
        (offset < start + live.usable).then_some((block, live.number))
    }

    /// Offset of an address of this process, if it lies in the arena.
    pub fn offset_of(&self, address: usize) -> Option<u64> {
        let offset = address.checked_sub(self.segment.base() as usize)?;
        (offset < self.segment.len()).then_some(offset as u64)
    }

    /// The memory itself.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The most bytes that were taken at a time since the last reset.
    pub fn peak(&self) -> u64 {
        self.state.lock().peak
    }

    /// Bytes taken now.
    pub fn used(&self) -> u64 {
        self.state.lock().used
    }
}

/// Changes whenever memory that was found at an address may not be there any more, or not end where
/// it did. Part of the C interface: libraries that remember where memory is compare it.
#[allow(non_upper_case_globals, reason = "the name is the symbol of the C interface")]
// SAFETY: the name is this project's own; nothing else in a process defines it.
#[unsafe(no_mangle)]
pub static softnpuMemoryChanges: AtomicU64 = AtomicU64::new(1);

/// Places that were found before are to be looked up again.
pub(crate) fn changed() {
    softnpuMemoryChanges.fetch_add(1, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena() -> Arena {
        Arena::new(0, 64 << 20).unwrap()
    }

    #[test]
    fn blocks_are_aligned_disjoint_and_found_by_any_address_inside() {
        let arena = arena();
        let small = arena.allocate(1, 32, Pages::HugeFirst).unwrap();
        let large = arena.allocate(3 << 20, 32, Pages::HugeFirst).unwrap();
        assert_eq!((small.offset % 64, large.offset % HUGE_PAGE), (0, 0));
        assert_eq!((small.len, large.len), (64, (3 << 20) + 32));
        assert_eq!(arena.block_at(large.offset + 5), Some(large));
        assert_eq!(arena.block_at(small.offset + 64), None);
    }

    #[test]
    fn out_of_memory_is_an_error_and_nothing_is_lost() {
        let arena = arena();
        for size in [65 << 20, u64::MAX, u64::MAX - 64] {
            let error = arena.allocate(size, 32, Pages::Huge).unwrap_err();
            assert_eq!(error.code, code::RT_MEMORY_ALLOCATION);
        }
        let blocks: Vec<_> =
            (0..31).map(|_| arena.allocate(2 << 20, 0, Pages::Huge).unwrap()).collect();
        for block in &blocks {
            assert!(arena.free(block.offset));
            assert!(!arena.free(block.offset));
        }
        assert_eq!(arena.used(), 0);
        arena.allocate(64 << 20, 0, Pages::Huge).unwrap();
    }

    #[test]
    fn there_are_no_holes_between_allocations_of_a_kind() {
        for size in [100, 4096, 70_000, 1 << 20] {
            let arena = arena();
            for _ in 0..10 {
                arena.allocate(size, 32, Pages::HugeFirst).unwrap();
            }
            assert_eq!(arena.state.lock().free.len(), 1, "{size}");
        }
    }

    #[test]
    fn memory_that_was_used_before_is_zero_again() {
        let arena = arena();
        for size in [100u64, 5000, 70_000, 3 << 20] {
            let block = arena.allocate(size, 32, Pages::HugeFirst).unwrap();
            // SAFETY: the block is live and this test alone uses it.
            let bytes = unsafe {
                let base = arena.segment().base().add(block.offset as usize);
                base.write_bytes(0xa5, block.len as usize);
                arena.free(block.offset);
                let again = arena.allocate(size, 32, Pages::HugeFirst).unwrap();
                assert_eq!(again, block);
                std::slice::from_raw_parts(base, block.len as usize)
            };
            assert!(bytes.iter().all(|&byte| byte == 0), "{size}");
            arena.free(block.offset);
        }
    }
}
