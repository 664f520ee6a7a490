//! Room for a rank's communicator, behind the buffers of all calls.

#![allow(unsafe_code, reason = "a workspace vouches for the memory that it gives out")]

use hccl::{Piece, Workspace};
use parking_lot::Mutex;

use crate::scenario::Scenario;

/// The most that a call takes before it goes in rounds.
pub(crate) const ROOM_BYTES: u64 = 64 << 10;
/// Pieces begin at multiples of this.
pub(crate) const ALIGN: u64 = 128;

/// A part of a rank's memory that is given out piece by piece.
pub(crate) struct Room {
    end: u64,
    state: Mutex<State>,
}

struct State {
    first: u64,
    /// Pieces that are out, in the order of their places.
    out: Vec<Piece>,
}

impl Room {
    /// Bytes that the calls of a scenario can need at a time: rounds of one call, all elements of
    /// those that have lengths, and messages.
    pub(crate) fn bytes(scenario: &Scenario) -> u64 {
        let uneven = |call: &crate::call::Call| {
            let size = call.data_type.size() as u64;
            let most = (0..scenario.ranks.min(8)).map(|rank| {
                let (input, output) = call.lens(scenario.ranks, rank);
                input + output
            });
            let row = call.uneven.as_ref().map_or(0, crate::uneven::Uneven::row);
            4 * size * (most.max().unwrap_or(0) + row) + 16 * u64::from(scenario.ranks)
        };
        let calls: u64 =
            scenario.calls.iter().filter(|call| call.operator.has_extents()).map(uneven).sum();
        2 * scenario.buffer_bytes + 128 * u64::from(scenario.ranks) + calls + (64 << 10)
    }

    pub(crate) fn new(first: u64, scenario: &Scenario) -> Self {
        let state = State { first, out: Vec::new() };
        Self { end: first + Self::bytes(scenario), state: Mutex::new(state) }
    }
}

// SAFETY: pieces that are out do not overlap, and lie behind the buffers of all calls.
unsafe impl Workspace for Room {
    fn allocate(&self, bytes: u64) -> Result<Piece, String> {
        let mut state = self.state.lock();
        let len = bytes.next_multiple_of(ALIGN);
        let mut offset = state.first;
        let mut index = 0;
        for piece in &state.out {
            if piece.offset - offset >= len {
                break;
            }
            offset = piece.offset + piece.len;
            index += 1;
        }
        if offset + len > self.end {
            let (first, end) = (state.first, self.end);
            return Err(format!("{bytes} bytes between {first} and {end}, {:?} out", state.out));
        }
        let piece = Piece { offset, len };
        state.out.insert(index, piece);
        Ok(piece)
    }

    fn free(&self, piece: Piece) {
        let mut state = self.state.lock();
        let index = state.out.iter().position(|one| *one == piece);
        state.out.remove(index.expect("it was given out"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_come_back() {
        let room = Room { end: 1280, state: Mutex::new(State { first: 256, out: Vec::new() }) };
        let pieces = [1, 129, 128].map(|bytes| room.allocate(bytes).unwrap());
        assert_eq!(
            pieces.map(|piece| (piece.offset, piece.len)),
            [(256, 128), (384, 256), (640, 128)]
        );
        assert!(room.allocate(513).is_err());
        room.free(pieces[1]);
        assert_eq!(room.allocate(200).unwrap(), pieces[1]);
        assert_eq!(room.allocate(512).unwrap().offset, 768);
    }
}
