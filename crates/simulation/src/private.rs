//! Memory that a rank keeps to itself: the engine has to move it through its room.

#![allow(unsafe_code, reason = "the engine takes private memory by its address")]

use hccl::{Memory, Piece};

/// Memory of a rank that no other sees. Dropped after the task that uses it.
pub(crate) struct Private {
    words: Vec<u128>,
    /// Where the pieces of shared memory that it stands for begin.
    offset: u64,
}

impl Private {
    /// Stands for both pieces, and has what they have.
    pub(crate) fn new(input: Piece, output: Piece, mirror: &[u8]) -> Self {
        let used = [input, output].into_iter().filter(|piece| piece.len > 0);
        let offset = used.clone().map(|piece| piece.offset).min().unwrap_or(0) / 16 * 16;
        let end = used.map(|piece| piece.offset + piece.len).max().unwrap_or(offset);
        let words = vec![0; (end - offset).div_ceil(16) as usize];
        let mut private = Self { words, offset };
        let bytes = (end - offset) as usize;
        private.bytes()[..bytes].copy_from_slice(&mirror[offset as usize..end as usize]);
        private
    }

    fn bytes(&mut self) -> &mut [u8] {
        let len = self.words.len() * 16;
        // SAFETY: the words are as many bytes, and every byte is a value.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) }
    }

    pub(crate) fn memory(&mut self, piece: Piece) -> Memory {
        if piece.len == 0 {
            return Memory::NONE;
        }
        let at = (piece.offset - self.offset) as usize;
        let bytes = &mut self.bytes()[at..at + piece.len as usize];
        // SAFETY: the words stay where they are until the task is over or dropped, and nobody
        // looks at them before.
        unsafe { Memory::private(bytes.as_mut_ptr(), bytes.len() as u64) }
    }

    pub(crate) fn read(&mut self, piece: Piece) -> Vec<u8> {
        if piece.len == 0 {
            return Vec::new();
        }
        let at = (piece.offset - self.offset) as usize;
        self.bytes()[at..at + piece.len as usize].to_vec()
    }
}
