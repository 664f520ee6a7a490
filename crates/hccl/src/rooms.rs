//! Room for messages, kept for the next ones: the workspace may have to ask the kernel for more.

use crate::communicator::Inner;
use crate::error::{Context, Error};
use crate::memory::Piece;

/// Bytes that a communicator keeps while no message is in them.
const KEPT_MAX: u64 = 4 << 20;

/// Pieces of the workspace that are free.
#[derive(Debug, Default)]
pub(crate) struct Rooms(Vec<Piece>);

impl Rooms {
    /// The smallest piece that is large enough, unless it is far too large.
    fn take(&mut self, bytes: u64) -> Option<Piece> {
        let most = bytes.max(4096).saturating_mul(4);
        let fits = |piece: &Piece| (bytes..=most).contains(&piece.len);
        let best =
            (0..self.0.len()).filter(|&at| fits(&self.0[at])).min_by_key(|&at| self.0[at].len);
        best.map(|at| self.0.swap_remove(at))
    }

    /// Keeps a piece; gives it back if there is enough already.
    fn keep(&mut self, piece: Piece) -> Option<Piece> {
        let kept: u64 = self.0.iter().map(|piece| piece.len).sum();
        if kept.saturating_add(piece.len) > KEPT_MAX {
            return Some(piece);
        }
        self.0.push(piece);
        None
    }

    /// All that is kept.
    pub(crate) fn drain(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.0)
    }
}

impl Inner {
    /// Room for messages.
    pub(crate) fn room_for_messages(
        &self,
        bytes: u64,
        context: impl FnOnce() -> Context,
    ) -> Result<Piece, Error> {
        match self.rooms.lock().take(bytes) {
            Some(piece) => Ok(piece),
            None => self.allocate(bytes, context),
        }
    }

    /// Nobody is in the room any more, unless the communicator failed: then it is left alone.
    pub(crate) fn keep_room(&self, room: Piece) {
        if self.failure().is_none()
            && let Some(room) = self.rooms.lock().keep(room)
        {
            self.free(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_fit_are_used_again_and_few_are_kept() {
        let mut rooms = Rooms::default();
        let piece = |offset, len| Piece { offset, len };
        for one in [piece(0, 4096), piece(8192, 1 << 20), piece(1 << 22, 16384)] {
            assert_eq!(rooms.keep(one), None);
        }
        assert_eq!(rooms.take(10), Some(piece(0, 4096)));
        assert_eq!(rooms.take(10), Some(piece(1 << 22, 16384)));
        assert_eq!(rooms.take(10), None, "a megabyte is too much for ten bytes");
        assert_eq!(rooms.take(1 << 19), Some(piece(8192, 1 << 20)));
        let large = piece(1 << 23, KEPT_MAX);
        assert_eq!(rooms.keep(large), None);
        assert_eq!(rooms.keep(piece(0, 1)), Some(piece(0, 1)));
        assert_eq!(rooms.drain(), [large]);
    }
}
