//! Where the buffers of an operation are: in memory that the rank shares, or in memory of its own.

/// A piece of the memory that the rank shares with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in that memory.
    pub offset: u64,
    /// Bytes that the operator may use there.
    pub len: u64,
}

/// A buffer of an operation.
///
/// Shared memory is read and written by the other ranks where it is. Private memory is touched by
/// the own rank only: what others read of it, or have for it, passes through memory of the
/// communicator, in rounds that fit there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In the memory that the rank shares.
    Shared(Piece),
    /// Anywhere else in this process.
    Private(Private),
}

/// Memory of this process that no other rank sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Private {
    address: *mut u8,
    len: u64,
}

// SAFETY: an address and a length; whoever made the value vouches for the memory.
unsafe impl Send for Private {}
// SAFETY: as above.
unsafe impl Sync for Private {}

impl Memory {
    /// No buffer, where an operator reads or writes nothing.
    pub const NONE: Self = Self::Shared(Piece { offset: 0, len: 0 });

    /// Private memory of `len` bytes.
    ///
    /// # Safety
    /// 1. Until the operation that gets it is over or dropped, the memory is readable, and writable
    ///    if the operation writes it; nothing else writes what it reads, or touches what it writes.
    pub unsafe fn private(address: *mut u8, len: u64) -> Self {
        Self::Private(Private { address, len })
    }

    /// Bytes of it.
    pub fn len(&self) -> u64 {
        match self {
            Self::Shared(piece) => piece.len,
            Self::Private(private) => private.len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part of it from a byte on, of so many bytes; what lies beyond its end is left out.
    pub fn part(&self, start: u64, len: u64) -> Self {
        let start = start.min(self.len());
        let len = len.min(self.len() - start);
        match *self {
            Self::Shared(piece) => Self::Shared(Piece { offset: piece.offset + start, len }),
            Self::Private(private) => Self::Private(Private {
                address: private.address.wrapping_add(start as usize),
                len,
            }),
        }
    }

    /// Whether it has bytes in common with another buffer of the same rank.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let range = |memory: &Self| match memory {
            Self::Shared(piece) => (false, piece.offset, piece.offset.saturating_add(piece.len)),
            Self::Private(private) => {
                let start = private.address.addr() as u64;
                (true, start, start.saturating_add(private.len))
            }
        };
        let (one, other) = (range(self), range(other));
        one.0 == other.0 && one.1 < other.2 && other.1 < one.2
    }

    /// Where it begins, in whatever memory.
    pub(crate) fn place(&self) -> u64 {
        match self {
            Self::Shared(piece) => piece.offset,
            Self::Private(private) => private.address.addr() as u64,
        }
    }

    pub(crate) fn is_private(&self) -> bool {
        matches!(self, Self::Private(_))
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<Piece> for Memory {
    fn from(piece: Piece) -> Self {
        Self::Shared(piece)
    }
}

impl Private {
    pub(crate) fn address(&self) -> *mut u8 {
        self.address
    }
}

/// Gives a communicator room in the memory that its rank shares, for what is on its way.
///
/// # Safety
/// 1. A piece lies in the memory that the rank shares, and until it is freed nobody but the
///    communicator reads or writes it.
pub unsafe trait Workspace: Send + Sync {
    /// Room for so many bytes, aligned to 128 bytes at least.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn allocate(&self, bytes: u64) -> Result<Piece, String>;

    /// Takes back what [`Self::allocate`] gave. Nobody uses it any more.
    fn free(&self, piece: Piece);
}
