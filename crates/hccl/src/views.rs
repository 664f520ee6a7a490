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
}

// SAFETY: an address and numbers; whoever follows the address answers for the access.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// No buffer at all.
    pub(crate) const NONE: Self =
        Self { base: std::ptr::null_mut(), len: 0, stride: 0, whole: true };

    /// A buffer with the blocks of the whole call.
    pub(crate) fn whole(base: *mut u8, len: u64, count: u64) -> Self {
        Self { base, len, stride: count, whole: true }
    }

    /// A buffer with the blocks of one round.
    pub(crate) fn round(base: *mut u8, len: u64, chunk: u64) -> Self {
        Self { base, len, stride: chunk, whole: false }
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Address of `len` bytes from an element of a block on, if the buffer has them.
    fn at(&self, block: u64, element: u64, first: u64, size: u64, len: u64) -> Option<*mut u8> {
        let element = if self.whole { first.checked_add(element)? } else { element };
        let offset = block.checked_mul(self.stride)?.checked_add(element)?.checked_mul(size)?;
        let end = offset.checked_add(len)?;
        // An offset inside the length of a buffer fits an address.
        (end <= self.len).then(|| self.base.wrapping_add(offset as usize))
    }
}

/// What this rank knows of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Whether its call was looked at.
    pub(crate) met: bool,
    pub(crate) input: View,
    pub(crate) output: View,
    pub(crate) scratch: View,
}

impl Peer {
    pub(crate) const UNKNOWN: Self =
        Self { met: false, input: View::NONE, output: View::NONE, scratch: View::NONE };
}

/// The buffers of all ranks, and which elements are worked on.
#[derive(Debug, Default)]
pub(crate) struct Views {
    pub(crate) peers: Vec<Peer>,
    /// Bytes of an element.
    pub(crate) size: u64,
    /// First element of the round.
    pub(crate) first: u64,
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
        let len = elements.checked_mul(self.size)?;
        if self.exact {
            let element = place.at.checked_add(element)?;
            return view.at(0, element, 0, self.size, len);
        }
        view.at(place.at.checked_add(block)?, element, self.first, self.size, len)
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
        let views = Views { peers: vec![peer], size: 4, first: 6, exact: false };
        let place = |buffer, at| Place { rank: 0, buffer, at };
        let address = |buffer, at, element, len| {
            views.address(place(buffer, at), 0, element, len).map(|it| it as usize - 4096)
        };
        assert_eq!(address(Buffer::Input, 1, 2, 2), Some((10 + 6 + 2) * 4));
        assert_eq!(address(Buffer::Input, 1, 2, 3), None);
        assert_eq!(address(Buffer::Scratch, 1, 2, 1), Some((3 + 2) * 4));
        assert_eq!(address(Buffer::Scratch, 1, 2, 2), None);
        assert_eq!(address(Buffer::Output, 0, 0, 1), None);
        assert_eq!(address(Buffer::Input, u64::MAX, 1, 1), None);
        let stranger = Place { rank: 1, buffer: Buffer::Input, at: 0 };
        assert_eq!(views.address(stranger, 0, 0, 0), None);
    }
}
