//! Channels of the board: from each rank to each, for messages between two ranks, and the words
//! that a waiter can sleep on.
//!
//! ```text
//! 0     number of the newest message u64, its signature 32, offset u64, length u64 [sender writes]
//! 128   number of the newest message that was taken u64                     [receiver writes]
//! ```
//!
//! A channel holds one message: the next is posted when the one before was taken. A message is
//! where the data is in the sender's memory; the receiver copies it from there. Whoever changes a
//! channel rings the mail word of the rank at its other end, which may have many channels to look
//! after and one word to sleep on.

use hccl_os::sync::{AtomicU32, AtomicU64, Ordering, fence, low_half};
use hccl_os::wait::{Scope, Watch, wake_all};

use crate::board::{Board, SIGNATURE_BYTES, Span};

/// Bytes of a channel.
pub(crate) const BYTES: usize = 256;

const TAKEN: usize = 128;

/// A message from one rank to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Bytes that the receiver compares with what it expects.
    pub signature: [u8; SIGNATURE_BYTES],
    /// Where the data is in the sender's memory.
    pub span: Span,
}

/// A word that changes when somebody gets on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// The progress of a rank.
    Progress(u32),
    /// Something in the channels to or from a rank.
    Mail(u32),
}

impl Board {
    pub(crate) fn word(&self, line: Line) -> &AtomicU64 {
        match line {
            Line::Progress(rank) => self.progress(rank),
            Line::Mail(rank) => self.mail(rank),
        }
    }

    fn waiters_of(&self, line: Line) -> &AtomicU32 {
        match line {
            Line::Progress(rank) => self.waiters(rank),
            Line::Mail(rank) => self.mail_waiters(rank),
        }
    }

    /// Marks the caller as one that will sleep on a line.
    pub(crate) fn announce(&self, line: Line) {
        self.waiters_of(line).fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Takes the mark away.
    pub(crate) fn retract(&self, line: Line) {
        self.waiters_of(line).fetch_sub(1, Ordering::SeqCst);
    }

    /// What to sleep on for a line.
    pub(crate) fn watch(&self, line: Line) -> Watch {
        let word = self.word(line);
        let seen = word.load(Ordering::SeqCst) as u32;
        Watch::new(low_half(word), seen, Scope::Shared)
    }

    /// Puts a message into a channel whose former message was taken.
    pub(crate) fn post(&self, from: u32, to: u32, number: u64, message: &Message) {
        let at = self.channel(from, to);
        for (i, bytes) in message.signature.chunks_exact(8).enumerate() {
            let word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight"));
            self.u64(at + 8 + 8 * i).store(word, Ordering::Relaxed);
        }
        self.u64(at + 8 + SIGNATURE_BYTES).store(message.span.offset, Ordering::Relaxed);
        self.u64(at + 16 + SIGNATURE_BYTES).store(message.span.len, Ordering::Relaxed);
        // SYNC(posted): pairs with the acquire load in `posted`.
        self.u64(at).store(number, Ordering::Release);
        self.ring(to);
    }

    /// The message of a number, once it is there.
    pub(crate) fn posted(&self, from: u32, to: u32, number: u64) -> Option<Message> {
        let at = self.channel(from, to);
        // SYNC(posted): pairs with the release store in `post`.
        if self.u64(at).load(Ordering::Acquire) != number {
            return None;
        }
        let mut message = Message::default();
        for (i, bytes) in message.signature.chunks_exact_mut(8).enumerate() {
            let word = self.u64(at + 8 + 8 * i).load(Ordering::Relaxed);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        message.span.offset = self.u64(at + 8 + SIGNATURE_BYTES).load(Ordering::Relaxed);
        message.span.len = self.u64(at + 16 + SIGNATURE_BYTES).load(Ordering::Relaxed);
        Some(message)
    }

    /// Says that a message was taken: the sender may use its memory again.
    pub(crate) fn take(&self, from: u32, to: u32, number: u64) {
        // SYNC(taken): pairs with the acquire load in `taken`.
        self.u64(self.channel(from, to) + TAKEN).store(number, Ordering::Release);
        self.ring(from);
    }

    /// Whether a message was taken.
    pub(crate) fn taken(&self, from: u32, to: u32, number: u64) -> bool {
        // SYNC(taken): pairs with the release store in `take`.
        self.u64(self.channel(from, to) + TAKEN).load(Ordering::Acquire) >= number
    }

    /// Rings a rank's mail word.
    fn ring(&self, rank: u32) {
        // SYNC(sleepers): the increment is sequentially consistent, as is the waiter's mark, and
        // both sides look after they wrote: one of them sees the other.
        self.mail(rank).fetch_add(1, Ordering::SeqCst);
        if self.mail_waiters(rank).load(Ordering::SeqCst) != 0 {
            wake_all(low_half(self.mail(rank)), Scope::Shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_os::shm::Mapping;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_message_goes_one_way_and_once() {
        let segment = Board::create(3, &[1; 16]).unwrap();
        let fd = segment.as_fd().try_clone_to_owned().unwrap();
        let board = Board::adopt(Mapping::adopt(&fd, segment.len()).unwrap(), 3).unwrap();
        let message = Message { signature: [9; 32], span: Span { offset: 5, len: 6 } };
        assert_eq!(board.posted(0, 2, 1), None);
        board.post(0, 2, 1, &message);
        assert_eq!(board.posted(0, 2, 1), Some(message));
        assert_eq!((board.posted(2, 0, 1), board.posted(0, 1, 1)), (None, None));
        assert!(!board.taken(0, 2, 1));
        board.take(0, 2, 1);
        assert!(board.taken(0, 2, 1) && !board.taken(0, 2, 2));
    }
}
