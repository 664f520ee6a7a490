//! Memory of the thread that is counted, at addresses that are the same in each run.
//!
//! A communicator is made by several threads, and what they leave of the C library's heap differs
//! from run to run. So do the addresses that come from it later, and with them the branches of a
//! copy. The steady thread gets blocks of a piece of memory of its own: powers of two, which stay of
//! their size for ever. All others have the system's memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};

use super::is_steady;

#[global_allocator]
static MEMORY: Pool = Pool {
    bytes: Bytes(UnsafeCell::new([0; BYTES])),
    taken: Cell::new(0),
    free: [const { Cell::new(std::ptr::null_mut()) }; CLASSES],
};

const BYTES: usize = 32 << 20;
/// Powers of two from 1 to 1 MiB; what is larger is the system's.
const CLASSES: usize = 21;
/// So that a free block has room for the address of the next.
const LEAST: usize = 16;

struct Pool {
    bytes: Bytes,
    /// Bytes from the front that were given out at least once.
    taken: Cell<usize>,
    /// Free blocks of each power of two; a block begins with the address of the next.
    free: [Cell<*mut u8>; CLASSES],
}

#[repr(C, align(4096))]
struct Bytes(UnsafeCell<[u8; BYTES]>);

// SAFETY: only the steady thread looks into the fields, and there is one.
unsafe impl Sync for Pool {}

// SAFETY: a block is in one hand at a time: it comes from the untouched part once, and after that
// from a list on which only its owner put it. Its class is at least as long as asked for, and so
// aligned: blocks begin at multiples of their class from a page on, and a larger alignment than a
// page is refused.
unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_steady()
            && let Some(class) = class(layout)
        {
            return self.take(class);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !self.has(block) {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(block, layout) };
        }
        // What another thread frees is not used again.
        if is_steady()
            && let Some(class) = class(layout)
        {
            // SAFETY: the block is ours, of `LEAST` bytes or more, and nobody's any more.
            unsafe { block.cast::<*mut u8>().write(self.free[class].get()) };
            self.free[class].set(block);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_steady() && !self.has(block) {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: `size` does not overflow with this alignment, says the caller.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `wanted` is not empty; both blocks are as long as copied and apart; the old one is
        // the caller's to give up.
        unsafe {
            let to = self.alloc(wanted);
            if !to.is_null() {
                to.copy_from_nonoverlapping(block, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            to
        }
    }
}

impl Pool {
    fn take(&self, class: usize) -> *mut u8 {
        let block = self.free[class].get();
        if !block.is_null() {
            // SAFETY: a block on a list begins with the address of the next.
            self.free[class].set(unsafe { block.cast::<*mut u8>().read() });
            return block;
        }
        let begin = self.taken.get().next_multiple_of(1 << class);
        let end = begin + (1 << class);
        if end > BYTES {
            return std::ptr::null_mut();
        }
        self.taken.set(end);
        self.bytes.0.get().cast::<u8>().wrapping_add(begin)
    }

    fn has(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.bytes.0.get().addr()) < BYTES
    }
}

/// The power of two of a block; none for what is not pooled.
fn class(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(LEAST).next_power_of_two();
    let class = bytes.trailing_zeros() as usize;
    (class < CLASSES && layout.align() <= align_of::<Bytes>()).then_some(class)
}
