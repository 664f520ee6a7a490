//! Channels of the board: from each rank to each, for messages between two ranks, and the words
//! that a waiter can sleep on.
//!
//! ```text
//! 0     number of the newest message u64, its signature 16, its body 104           [sender writes]
//! 128   number of the newest message that was taken u64                     [receiver writes]
//! ```
//!
//! A channel holds one message: the next is posted when the one before was taken. The body of a
//! message is for the ranks to agree on: short data, or where long data is. A message with up to 40
//! bytes is one cache line. Whoever changes a channel rings the mail word of the rank at its other
//! end, which may have many channels to look after and one word to sleep on.

use hccl_os::sync::{AtomicU32, AtomicU64, Ordering, low_half};
use hccl_os::wait::{Scope, Watch, wake_all};

use crate::board::Board;

/// Bytes of a channel.
pub(crate) const BYTES: usize = 256;

const TAKEN: usize = 128;

/// Bytes by which the receiver sees whether it is what it expects.
pub const MESSAGE_SIGNATURE_BYTES: usize = 16;
/// Bytes of a message's body, at most.
pub const BODY_BYTES: usize = 104;
const BODY: usize = 8 + MESSAGE_SIGNATURE_BYTES;

/// A message from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Bytes that the receiver compares with what it expects.
    pub signature: [u8; MESSAGE_SIGNATURE_BYTES],
    /// What it says, beginning at the first byte.
    pub body: [u8; BODY_BYTES],
    /// Bytes of the body that count; a receiver may find more, of any value.
    pub len: usize,
}

impl Default for Message {
    fn default() -> Self {
        Self::new([0; MESSAGE_SIGNATURE_BYTES], &[])
    }
}

impl Message {
    /// A message.
    ///
    /// # Panics
    /// When the body is longer than [`BODY_BYTES`].
    pub fn new(signature: [u8; MESSAGE_SIGNATURE_BYTES], body: &[u8]) -> Self {
        let mut message = Self { signature, body: [0; BODY_BYTES], len: body.len() };
        message.body[..body.len()].copy_from_slice(body);
        message
    }
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
        self.pair.rarely();
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
        self.put(at + 8, &message.signature);
        self.put(at + BODY, &message.body[..message.len.next_multiple_of(8).min(BODY_BYTES)]);
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
        let (signature, body) = (self.get(at + 8), self.get(at + BODY));
        Some(Message { signature, body, len: BODY_BYTES })
    }

    /// Stores whole words.
    fn put(&self, at: usize, bytes: &[u8]) {
        for (i, bytes) in bytes.chunks_exact(8).enumerate() {
            let word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight"));
            self.u64(at + 8 * i).store(word, Ordering::Relaxed);
        }
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        for (i, bytes) in bytes.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&self.u64(at + 8 * i).load(Ordering::Relaxed).to_le_bytes());
        }
        bytes
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

    /// Rings a rank's mail word, if anybody listens.
    fn ring(&self, rank: u32) {
        // SYNC(sleepers): the fence stands between the change of the channel and this look at the
        // waiters, as that in `announce` stands between a waiter's mark and its look at its
        // channels: one of the two sees the other.
        self.pair.often();
        if self.mail_waiters(rank).load(Ordering::Relaxed) != 0 {
            self.mail(rank).fetch_add(1, Ordering::SeqCst);
            wake_all(low_half(self.mail(rank)), Scope::Shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_os::barrier::Pair;
    use hccl_os::shm::Mapping;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_message_goes_one_way_and_once() {
        let segment = Board::create(3, &[1; 16]).unwrap();
        let fd = segment.as_fd().try_clone_to_owned().unwrap();
        let board =
            Board::adopt(Mapping::adopt(&fd, segment.len()).unwrap(), 3, Pair::Fences).unwrap();
        let message = Message::new([9; 16], &[5; BODY_BYTES]);
        assert_eq!(board.posted(0, 2, 1), None);
        board.post(0, 2, 1, &message);
        assert_eq!(board.posted(0, 2, 1), Some(message));
        assert_eq!((board.posted(2, 0, 1), board.posted(0, 1, 1)), (None, None));
        assert!(!board.taken(0, 2, 1));
        board.take(0, 2, 1);
        assert!(board.taken(0, 2, 1) && !board.taken(0, 2, 2));
    }
}
