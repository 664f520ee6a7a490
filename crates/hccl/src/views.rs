//! The buffers of all ranks at their addresses here.

use hccl_plan::{Buffer, Place};

/// A buffer of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    base: *mut u8,
    /// Bytes that may be touched.
    len: u64,
    /// Elements from a block to the next.
    stride: u64,
    /// Whether it holds the elements of all rounds, or of one at a time.
    whole: bool,
    /// Bytes from the memory of even rounds to that of odd ones.
    half: u64,
    /// Whether it is private memory of another rank: addresses are that rank's, to copy from.
    remote: bool,
}

// SAFETY: an address and numbers; whoever follows the address answers for the access.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// No buffer at all.
    pub(crate) const NONE: Self =
        Self { base: std::ptr::null_mut(), len: 0, stride: 0, whole: true, half: 0, remote: false };

    /// A buffer with the blocks of the whole call.
    pub(crate) fn whole(base: *mut u8, len: u64, count: u64) -> Self {
        Self { base, len, stride: count, ..Self::NONE }
    }

    /// A buffer with the blocks of one round.
    pub(crate) fn round(base: *mut u8, len: u64, chunk: u64) -> Self {
        Self { base, len, stride: chunk, whole: false, ..Self::NONE }
    }

    /// As [`Self::round`], with halves for even and for odd rounds.
    pub(crate) fn halves(base: *mut u8, len: u64, chunk: u64) -> Self {
        Self { base, len: len / 2, stride: chunk, whole: false, half: len / 2, remote: false }
    }

    /// Private memory of another rank, from an address there on.
    pub(crate) fn remote(address: u64, len: u64, count: u64) -> Self {
        let base = std::ptr::without_provenance_mut(address as usize);
        Self { remote: true, ..Self::whole(base, len, count) }
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.remote
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where the memory of a round begins.
    pub(crate) fn base_of(&self, odd: bool) -> *mut u8 {
        self.base.wrapping_add(if odd { self.half as usize } else { 0 })
    }

    /// Address of `len` bytes from an element of a block on, if the buffer has them.
    fn at(&self, block: u64, element: u64, round: Round, len: u64) -> Option<*mut u8> {
        let element = if self.whole { round.first.checked_add(element)? } else { element };
        let offset = block.checked_mul(self.stride)?.checked_add(element)?;
        let offset = offset.checked_mul(round.size)?;
        let end = offset.checked_add(len)?;
        // An offset inside the length of a buffer fits an address.
        (end <= self.len).then(|| self.base_of(round.odd).wrapping_add(offset as usize))
    }
}

/// What of a buffer a round works on.
#[derive(Clone, Copy)]
struct Round {
    first: u64,
    odd: bool,
    size: u64,
}

/// What this rank knows of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Whether its call was looked at.
    pub(crate) met: bool,
    /// Whether others do not write to its output: it takes from theirs what it needs.
    pub(crate) collects: bool,
    pub(crate) input: View,
    pub(crate) output: View,
    pub(crate) scratch: View,
}

impl Peer {
    pub(crate) const UNKNOWN: Self = Self {
        met: false,
        collects: false,
        input: View::NONE,
        output: View::NONE,
        scratch: View::NONE,
    };
}

/// The buffers of all ranks, and which elements are worked on.
#[derive(Debug, Default)]
pub(crate) struct Views {
    pub(crate) peers: Vec<Peer>,
    /// Bytes of an element.
    pub(crate) size: u64,
    /// First element of the round.
    pub(crate) first: u64,
    /// Whether the round has an odd number.
    pub(crate) odd: bool,
    /// Whether places count elements instead of blocks.
    pub(crate) exact: bool,
}

impl Views {
    /// Address of `elements` elements from a place on, if the rank has such a place.
    pub(crate) fn address(
        &self,
        place: Place,
        block: u64,
        element: u64,
        elements: u64,
    ) -> Option<*mut u8> {
        let peer = self.peers.get(place.rank as usize)?;
        let view = match place.buffer {
            Buffer::Input => &peer.input,
            Buffer::Output => &peer.output,
            Buffer::Scratch => &peer.scratch,
        };
        self.address_in(view, (place.at, block), element, elements)
    }

    /// Address of `elements` elements in a buffer, from so many blocks (or elements) on.
    pub(crate) fn address_in(
        &self,
        view: &View,
        (at, block): (u64, u64),
        element: u64,
        elements: u64,
    ) -> Option<*mut u8> {
        let len = elements.checked_mul(self.size)?;
        let mut round = Round { first: self.first, odd: self.odd, size: self.size };
        if self.exact {
            round.first = 0;
            return view.at(0, at.checked_add(element)?, round, len);
        }
        view.at(at.checked_add(block)?, element, round, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_inside_their_buffers() {
        let base = std::ptr::without_provenance_mut::<u8>(4096);
        let input = View::whole(base, 2 * 10 * 4, 10);
        let scratch = View::round(base, 2 * 3 * 4, 3);
        let peer = Peer { met: true, input, scratch, ..Peer::UNKNOWN };
        let mut views = Views { peers: vec![peer], size: 4, first: 6, odd: false, exact: false };
        let place = |buffer, at| Place { rank: 0, buffer, at };
        let address = |views: &Views, buffer, at, element, len| {
            views.address(place(buffer, at), 0, element, len).map(|it| it as usize - 4096)
        };
        assert_eq!(address(&views, Buffer::Input, 1, 2, 2), Some((10 + 6 + 2) * 4));
        assert_eq!(address(&views, Buffer::Input, 1, 2, 3), None);
        assert_eq!(address(&views, Buffer::Scratch, 1, 2, 1), Some((3 + 2) * 4));
        assert_eq!(address(&views, Buffer::Scratch, 1, 2, 2), None);
        assert_eq!(address(&views, Buffer::Output, 0, 0, 1), None);
        assert_eq!(address(&views, Buffer::Input, u64::MAX, 1, 1), None);
        views.peers[0].scratch = View::halves(base, 2 * 2 * 3 * 4, 3);
        assert_eq!(address(&views, Buffer::Scratch, 1, 2, 1), Some((3 + 2) * 4));
        views.odd = true;
        assert_eq!(address(&views, Buffer::Scratch, 1, 2, 1), Some((6 + 3 + 2) * 4));
        assert_eq!(address(&views, Buffer::Scratch, 1, 2, 2), None);
        let stranger = Place { rank: 1, buffer: Buffer::Input, at: 0 };
        assert_eq!(views.address(stranger, 0, 0, 0), None);
    }
}
