//! Memory in which other ranks read and write directly.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use hccl_os::sync::{AtomicBool, AtomicU32, Ordering};

use crate::element::Element;
use crate::error::Error;
use crate::heap::Heap;
use crate::memory::{Memory, Piece, Workspace as _};

/// A slice in memory that this process shares with the other ranks of its host.
///
/// What is in a buffer is not copied on its way: other ranks read and write it where it is. All
/// calls take buffers and ordinary slices alike.
///
/// Where a call fails, or is thrown away before its end, other ranks may still be at work in its
/// buffers. Such a buffer gets fresh memory, all zeros, the next time that it is looked at. So does
/// a buffer in a forked child, where its memory is the parent's.
pub struct Buffer<T: Element> {
    block: Arc<Block>,
    len: usize,
    /// What is in its place once the block is lost.
    fresh: OnceLock<Box<[T]>>,
    _elements: PhantomData<T>,
}

struct Block {
    heap: Arc<Heap>,
    piece: Piece,
    /// Calls that read it and did not end well, or not yet.
    readers: AtomicU32,
    /// A call that writes it did not end well, or not yet.
    written: AtomicBool,
}

impl Drop for Block {
    fn drop(&mut self) {
        // What somebody may still be in stays theirs.
        if *self.readers.get_mut() == 0 && !*self.written.get_mut() {
            self.heap.free(self.piece);
        }
    }
}

/// A buffer that a call may use.
#[derive(Clone, Copy)]
pub(crate) struct Lent<'a> {
    block: &'a Arc<Block>,
    writes: bool,
}

impl Lent<'_> {
    /// Marks the buffer: other ranks may be in it from now on.
    pub(crate) fn mark(self) -> Use {
        if self.writes {
            self.block.written.store(true, Ordering::Release);
        } else {
            self.block.readers.fetch_add(1, Ordering::AcqRel);
        }
        Use { block: self.block.clone(), writes: self.writes }
    }
}

/// A use of a buffer by a call. Forgotten or dropped early, it leaves the buffer marked.
pub(crate) struct Use {
    block: Arc<Block>,
    writes: bool,
}

impl Use {
    /// The call ended well: nobody is in the buffer.
    pub(crate) fn end(self) {
        if self.writes {
            self.block.written.store(false, Ordering::Release);
        } else {
            self.block.readers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl<T: Element> Buffer<T> {
    /// A buffer of zeros.
    ///
    /// # Errors
    /// When the host has no memory for it.
    pub fn new(len: usize) -> Result<Self, Error> {
        Self::on(Heap::of_process(), len)
    }

    fn on(heap: Result<Arc<Heap>, String>, len: usize) -> Result<Self, Error> {
        let no_memory = |why: String| Error::Invalid {
            what: "buffer",
            given: format!("{len} elements of {}", T::DATA_TYPE),
            allowed: format!("as much as there is memory: {why}"),
        };
        let heap = heap.map_err(no_memory)?;
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let piece = heap.allocate(bytes).map_err(no_memory)?;
        // Small pieces may hold what was in them before.
        // SAFETY: the piece was just given to us alone and is that long.
        unsafe { heap.address(piece).write_bytes(0, bytes as usize) };
        let (readers, written) = (AtomicU32::new(0), AtomicBool::new(false));
        let block = Arc::new(Block { heap, piece, readers, written });
        Ok(Self { block, len, fresh: OnceLock::new(), _elements: PhantomData })
    }

    /// A buffer with the elements of a slice.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_slice(elements: &[T]) -> Result<Self, Error> {
        let mut buffer = Self::new(elements.len())?;
        buffer.copy_from_slice(elements);
        Ok(buffer)
    }

    fn is_lost(&self, for_writing: bool) -> bool {
        let written = self.block.written.load(Ordering::Acquire);
        written
            || !self.block.heap.is_own()
            || for_writing && self.block.readers.load(Ordering::Acquire) != 0
    }

    fn fresh(&self) -> &[T] {
        // SAFETY: zeros are a value of every element type.
        self.fresh.get_or_init(|| vec![unsafe { std::mem::zeroed() }; self.len].into())
    }

    fn address(&self) -> *mut T {
        self.block.heap.address(self.block.piece).cast()
    }

    /// What a call that reads the buffer gets.
    pub(crate) fn lend(&self) -> (Memory, Option<Lent<'_>>) {
        if self.fresh.get().is_some() || self.is_lost(false) {
            return (crate::parts::reads(self.fresh()), None);
        }
        (Memory::Shared(self.piece()), Some(Lent { block: &self.block, writes: false }))
    }

    /// What a call that writes the buffer gets.
    pub(crate) fn lend_mut(&mut self) -> (Memory, Option<Lent<'_>>) {
        if self.fresh.get().is_some() || self.is_lost(true) {
            self.fresh();
            return (crate::parts::writes(self.fresh.get_mut().expect("just made")), None);
        }
        (Memory::Shared(self.piece()), Some(Lent { block: &self.block, writes: true }))
    }

    fn piece(&self) -> Piece {
        Piece { offset: self.block.piece.offset, len: (self.len * size_of::<T>()) as u64 }
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.fresh.get().is_some() || self.is_lost(false) {
            return self.fresh();
        }
        // SAFETY: the block is this buffer's, that long, aligned to a page, and initialised; calls
        // that write it borrow the buffer, and those that did not end well have marked it.
        unsafe { std::slice::from_raw_parts(self.address(), self.len) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if self.fresh.get().is_some() || self.is_lost(true) {
            self.fresh();
            return self.fresh.get_mut().expect("just made");
        }
        // SAFETY: as above; nobody reads it either.
        unsafe { std::slice::from_raw_parts_mut(self.address(), self.len) }
    }
}

// SAFETY: a buffer owns its memory as a box would; other ranks are in it only while a call borrows
// it, or after it was given up.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: as above; shared access only reads.
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T: Element + std::fmt::Debug> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_in_which_others_may_be_is_replaced() {
        let mut buffer = Buffer::from_slice(&[1u32, 2, 3]).unwrap();
        let (_, used) = buffer.lend_mut();
        used.unwrap().mark().end();
        assert_eq!(*buffer, [1, 2, 3]);
        let used = buffer.lend().1.map(Lent::mark);
        // Reading goes on beside readers.
        assert_eq!(*buffer, [1, 2, 3]);
        std::mem::drop(used);
        assert_eq!(*buffer, [1, 2, 3]);
        buffer[0] = 9;
        assert_eq!(*buffer, [9, 0, 0], "writing does not");
        let (memory, used) = buffer.lend_mut();
        assert!(memory.is_private() && used.is_none());
    }

    #[test]
    fn memory_comes_back_when_nobody_is_in_it() {
        // A heap that no other test takes from.
        let heap = Arc::new(Heap::new().unwrap());
        let new = || Buffer::<u8>::on(Ok(heap.clone()), 10_000_000).unwrap();
        let first = new();
        let at = first.block.piece.offset;
        drop(first);
        let mut again = new();
        assert_eq!(again.block.piece.offset, at);
        drop(again.lend_mut().1.map(Lent::mark));
        drop(again);
        assert_ne!(new().block.piece.offset, at);
    }
}
