//! Arrays whose entries belong together: many copies in one call, and where memory is to be.

use parking_lot::Mutex;

use super::draw::{ENTRIES, Pools, Random, Scratch, leaked};
use super::table::{Kind, List};

/// Bytes of one of many copies, at most.
const PIECE_BYTES: u64 = 2048;
/// Arrays of a call.
const LISTS: usize = 8;
/// Words of the longest entry.
const ENTRY: usize = 4;

/// Kinds of places where memory is.
const HOST: u64 = 0;
const DEVICE: u64 = 1;
/// Rights to read and to write.
const ALL_RIGHTS: u64 = 3;

/// The arrays, by the slot of the argument.
pub(super) struct Lists([*mut u64; LISTS]);

impl Lists {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| leaked(0, ENTRIES * ENTRY)))
    }
}

/// An `aclrtMemLocation`.
fn location(random: &mut Random, kind: u64) -> u64 {
    let kind = if random.one_in(12) { random.below(6) } else { kind };
    kind << 32 | if kind == DEVICE { random.below(2) } else { 0 }
}

impl Scratch {
    /// An array of a kind.
    pub(super) fn list(
        &mut self,
        random: &mut Random,
        pools: &Mutex<Pools>,
        list: List,
        slot: usize,
    ) -> usize {
        let array = self.lists.0[slot % LISTS];
        let whose = random.below(7);
        let mut next = 0;
        for i in 0..ENTRIES {
            let entry: [u64; ENTRY] = match list {
                // Copies go from one side to the other, mostly.
                List::Addresses => {
                    let address = match whose {
                        0 => self.draw(random, pools, Kind::Memory, slot),
                        1..=3 => self.host_memory(random),
                        _ => self.device_memory(random, pools),
                    };
                    [address as u64, 0, 0, 0]
                }
                List::Sizes => [1 + random.below(PIECE_BYTES - 1), 0, 0, 0],
                List::Rooms if random.one_in(40) => [0; ENTRY],
                List::Rooms => [PIECE_BYTES, 0, 0, 0],
                List::Firsts => {
                    let first = next;
                    next += random.below(6);
                    [first, 0, 0, 0]
                }
                List::Ends => {
                    let (to, from) = if whose < 4 { (HOST, DEVICE) } else { (DEVICE, HOST) };
                    [location(random, to), location(random, from), 0, 0]
                }
                List::Property => {
                    let place = location(random, DEVICE);
                    [0, place << 32, place >> 32, 0]
                }
                List::Rights => {
                    let rights = random.pick(&[ALL_RIGHTS, ALL_RIGHTS, ALL_RIGHTS, 1, 0]);
                    let place = location(random, DEVICE);
                    [rights | place << 32, place >> 32, 0, 0]
                }
            };
            let words = list.words();
            // SAFETY: the array has room for as many entries of the longest kind.
            unsafe { array.add(i * words).copy_from(entry.as_ptr(), words) };
        }
        array.addr()
    }
}
