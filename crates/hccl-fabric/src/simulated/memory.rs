//! The memory that the ranks share: one arena a rank that all see, or a view of every arena for
//! every rank.
//!
//! With one arena a rank, a write is visible at once, as early as hardware could show it. With
//! views it is visible as late as the contract of [`crate::Fabric`] allows; see `views.rs`. An
//! engine has to be right with both.

use parking_lot::Mutex;

use super::views::Views;

/// When a rank's writes are visible to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// At once: all ranks look at the same bytes.
    Early,
    /// Not before a rank sees a signal that was given after the write, be it by way of others. Costs
    /// twice the memory of all ranks, for each rank.
    Late,
}

/// Arenas begin at multiples of this, as device memory does.
const ALIGNMENT: usize = 128;

#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Block([u8; ALIGNMENT]);

/// Zeroed bytes at an address that stays.
#[derive(Debug)]
pub(super) struct Arena {
    base: *mut Block,
    blocks: usize,
}

// SAFETY: an address and a length; whoever follows the address answers for the access.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    pub(super) fn new(len: usize) -> Self {
        let blocks = vec![Block([0; ALIGNMENT]); len.div_ceil(ALIGNMENT)].into_boxed_slice();
        let blocks_len = blocks.len();
        Self { base: Box::into_raw(blocks).cast(), blocks: blocks_len }
    }

    pub(super) fn base(&self) -> *mut u8 {
        self.base.cast()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: made from a box of as many blocks in `new`, and given back once.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.base, self.blocks)) });
    }
}

#[derive(Debug)]
pub(super) struct Memory {
    ranks: u32,
    /// Bytes of a rank.
    len: usize,
    /// One a rank; or, with views, what rank o sees of rank r at o * ranks + r.
    arenas: Vec<Arena>,
    views: Option<Mutex<Views>>,
}

impl Memory {
    pub(super) fn new(ranks: u32, len: usize, visibility: Visibility) -> Self {
        let many = |count: usize| (0..count).map(|_| Arena::new(len)).collect::<Vec<_>>();
        let count = ranks as usize;
        match visibility {
            Visibility::Early => Self { ranks, len, arenas: many(count), views: None },
            Visibility::Late => {
                let views = Views::new(count, len, many(count * count));
                Self { ranks, len, arenas: many(count * count), views: Some(Mutex::new(views)) }
            }
        }
    }

    /// Where a rank finds bytes of a rank, if there are such.
    #[inline]
    pub(super) fn at(&self, observer: u32, owner: u32, offset: u64, len: u64) -> Option<*mut u8> {
        let end = offset.checked_add(len)?;
        if owner >= self.ranks || end > self.len as u64 {
            return None;
        }
        let first = match &self.views {
            Some(views) => {
                views.lock().note_use(observer, owner);
                observer as usize * self.ranks as usize
            }
            None => 0,
        };
        let arena = self.arenas.get(first + owner as usize)?;
        Some(arena.base().wrapping_add(offset as usize))
    }

    /// Whether ranks have views of their own.
    pub(super) fn is_late(&self) -> bool {
        self.views.is_some()
    }

    /// Gathers what a rank has written since the last time. What comes back stands for it, and for
    /// all that the rank has seen of others.
    pub(super) fn release(&self, rank: u32) -> u64 {
        self.views.as_ref().map_or(0, |views| views.lock().release(rank, &self.arenas))
    }

    /// Lets a rank see what another one had written, or seen, by `mark`.
    pub(super) fn acquire(&self, observer: u32, from: u32, mark: u64) {
        if let Some(views) = self.views.as_ref().filter(|_| observer != from) {
            views.lock().acquire(observer, from, mark, &self.arenas);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_to_the_byte() {
        for visibility in [Visibility::Early, Visibility::Late] {
            let memory = Memory::new(2, 1000, visibility);
            assert!(memory.at(0, 1, 0, 1000).is_some());
            assert!(memory.at(0, 1, 1000, 0).is_some());
            let outside = [(0, 1001), (1000, 1), (u64::MAX, 1), (1, u64::MAX)];
            assert!(outside.iter().all(|&(offset, len)| memory.at(0, 1, offset, len).is_none()));
            assert!(memory.at(0, 2, 0, 1).is_none());
            assert_eq!(memory.at(1, 1, 0, 1).unwrap().addr() % ALIGNMENT, 0);
            let same = memory.at(0, 1, 5, 1) == memory.at(1, 1, 5, 1);
            assert_eq!(same, visibility == Visibility::Early);
        }
    }
}
