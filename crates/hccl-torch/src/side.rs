//! The input or the output of a call: tensors, as one row of memory.
//!
//! A row is where the tensor is, if there is one and its elements lie in order, or several that lie
//! behind each other. Else it is a block of memory that ranks share, into which the elements are
//! copied when the call begins (not earlier: calls before it may still write them), or out of which
//! they are copied when it ends.

use hccl::Memory;
use hccl::shared::{self, Block};

use crate::abi::View;
use crate::layout::Layout;
use crate::tensors;
use crate::ticket::Failure;

pub(crate) enum Side {
    /// No tensor.
    Nothing,
    /// A row in place.
    InPlace { address: *mut u8, bytes: u64 },
    /// Tensors that are copied.
    Copied { layouts: Vec<Layout>, bytes: u64, block: Option<Block> },
}

// SAFETY: addresses, which whoever follows them answers for.
unsafe impl Send for Side {}

impl Side {
    /// # Safety
    /// 1. So many views can be read, and their sizes and strides.
    pub(crate) unsafe fn new(views: *const View, len: u64, size: usize) -> Result<Self, Failure> {
        if len == 0 {
            return Ok(Self::Nothing);
        }
        // SAFETY: (1); a list that is not empty has an address.
        let views = unsafe { std::slice::from_raw_parts(views, len as usize) };
        let mut layouts = Vec::with_capacity(views.len());
        for view in views {
            // SAFETY: (1).
            layouts.push(unsafe { Layout::new(view, size) }?);
        }
        Ok(Self::of(layouts))
    }

    fn of(layouts: Vec<Layout>) -> Self {
        let bytes = layouts.iter().map(Layout::bytes).fold(0, u64::saturating_add);
        let mut filled = layouts.iter().filter(|layout| layout.bytes() > 0);
        let Some(address) = filled.next().map(Layout::in_order) else {
            return Self::InPlace { address: std::ptr::null_mut(), bytes: 0 };
        };
        let mut next = address;
        let in_a_row = layouts.iter().filter(|layout| layout.bytes() > 0).all(|layout| {
            let here = next.is_some() && layout.in_order() == next;
            next = next.map(|next| next.wrapping_add(layout.bytes() as usize));
            here
        });
        match address {
            Some(address) if in_a_row => Self::InPlace { address, bytes },
            _ => Self::Copied { layouts, bytes, block: None },
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::InPlace { bytes, .. } | Self::Copied { bytes, .. } => *bytes,
        }
    }

    /// Where a row in place begins, if it is one.
    pub(crate) fn in_place(&self) -> Option<usize> {
        match self {
            Self::InPlace { address, bytes } if *bytes > 0 => Some(address.addr()),
            _ => None,
        }
    }

    /// Whether two rows in place have bytes in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.in_place(), other.in_place()) else { return false };
        let before = |from: usize, bytes: u64, to: usize| from as u64 + bytes <= to as u64;
        !before(one, self.bytes(), two) && !before(two, other.bytes(), one)
    }

    /// A row in place is copied from now on.
    pub(crate) fn set_apart(&mut self) {
        if let Self::InPlace { address, bytes } = *self
            && bytes > 0
        {
            let layouts = vec![Layout::row(address, bytes)];
            *self = Self::Copied { layouts, bytes, block: None };
        }
    }

    /// Memory for the call.
    pub(crate) fn memory(&mut self) -> Result<Memory, Failure> {
        match self {
            Self::Nothing | Self::InPlace { bytes: 0, .. } | Self::Copied { bytes: 0, .. } => {
                Ok(Memory::NONE)
            }
            Self::InPlace { address, bytes } => Ok(shared::find(*address, *bytes).unwrap_or_else(
                // SAFETY: C++ holds the tensors until the call is over, and their users leave them
                // alone meanwhile, as PyTorch asks of them.
                || unsafe { Memory::private(*address, *bytes) },
            )),
            Self::Copied { block: Some(block), bytes, .. } => Ok(block.memory(*bytes)),
            Self::Copied { block, bytes, .. } => {
                Ok(block.insert(Block::new(*bytes)?).memory(*bytes))
            }
        }
    }

    /// Copies the tensors into the row, if that is apart.
    pub(crate) fn fill(&self) {
        if let Self::Copied { layouts, block: Some(block), .. } = self {
            let mut row = block.address().as_ptr();
            for layout in layouts {
                // SAFETY: C++ holds the tensors; the block is as long as all of them.
                unsafe { layout.pack(row) };
                row = row.wrapping_add(layout.bytes() as usize);
            }
        }
    }

    /// Copies the row into the tensors, if it is apart.
    pub(crate) fn empty(&self) {
        if let Self::Copied { layouts, block: Some(block), .. } = self {
            unpack(layouts, block.address().as_ptr());
        }
    }

    /// Copies a row from elsewhere into the tensors.
    pub(crate) fn put(&self, row: *const u8) {
        match self {
            Self::InPlace { address, bytes } if *bytes > 0 => {
                // SAFETY: C++ holds the tensor; whoever calls this has a row as long.
                unsafe { address.copy_from_nonoverlapping(row, *bytes as usize) };
            }
            Self::Copied { layouts, .. } => unpack(layouts, row),
            _ => {}
        }
    }

    /// The call did not end well: others may still be in the row.
    pub(crate) fn abandon(&mut self) {
        match self {
            Self::Copied { block, .. } => {
                if let Some(block) = block.take() {
                    block.leak();
                }
            }
            Self::InPlace { address, .. } => tensors::lose(*address),
            Self::Nothing => {}
        }
    }
}

fn unpack(layouts: &[Layout], mut row: *const u8) {
    for layout in layouts {
        // SAFETY: C++ holds the tensors; the row is as long as all of them.
        unsafe { layout.unpack(row) };
        row = row.wrapping_add(layout.bytes() as usize);
    }
}
