//! Memory that other ranks reach where it is, for callers that keep track of it themselves.
//!
//! What [`Buffer`](crate::Buffer) is for Rust programs, blocks are for runtimes with allocators of
//! their own: they give addresses away, and find out later whether an address is in a block.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::Error;
use crate::heap::Heap;
use crate::memory::{Memory, Piece, Workspace as _};

/// A piece of the memory that this process shares with the other ranks of its host. It is freed
/// when it is dropped.
pub struct Block {
    heap: Arc<Heap>,
    piece: Piece,
}

impl Block {
    /// A block of so many bytes, which begins at a page. What is in it is not defined.
    ///
    /// # Errors
    /// When the host has no memory for it.
    pub fn new(bytes: u64) -> Result<Self, Error> {
        let no_memory = |why: String| Error::Invalid {
            what: "shared memory",
            given: format!("{bytes} bytes"),
            allowed: format!("as much as there is: {why}"),
        };
        let heap = Heap::of_process().map_err(no_memory)?;
        let piece = heap.allocate(bytes).map_err(no_memory)?;
        Ok(Self { heap, piece })
    }

    /// Where it is.
    pub fn address(&self) -> NonNull<u8> {
        NonNull::new(self.heap.address(self.piece)).expect("the heap is mapped somewhere")
    }

    /// The first bytes of it, as memory of a call.
    pub fn memory(&self, bytes: u64) -> Memory {
        Memory::Shared(self.piece).part(0, bytes)
    }

    /// Never frees it, since other ranks may be in it for who knows how long.
    pub fn leak(self) {
        // The heap itself is never dropped, so nothing else is kept by this.
        let _ = std::mem::ManuallyDrop::new(self);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.heap.free(self.piece);
    }
}

/// The memory of a call that lies in a block of this process; `None` for all other memory, and in a
/// forked child for blocks of its parent.
pub fn find(address: *const u8, bytes: u64) -> Option<Memory> {
    let heap = Heap::of_process_if_any()?;
    heap.locate(address, bytes).map(Memory::Shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_its_addresses_and_nothing_else_is() {
        let block = Block::new(10_000).unwrap();
        let start = block.address().as_ptr();
        let found = find(start.wrapping_add(100), 50).unwrap();
        assert_eq!(found, block.memory(10_000).part(100, 50));
        let other = [0u8; 16];
        assert_eq!(find(other.as_ptr(), 16), None);
        assert_eq!(find(start, u64::MAX), None);
    }
}
