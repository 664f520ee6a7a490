//! Virtual device memory: address space that is reserved first and backed piece by piece.
//!
//! A physical piece is an allocation of a device's arena; mapping it maps the arena's memory file
//! a second time, so that everything which works by arena and offset works on it too.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::mm::{MapFlags, ProtFlags};

use crate::arena::{Arena, Block, Pages};
use crate::config::HUGE_PAGE;
use crate::error::{NpuError, NpuResult, code};
use crate::runtime::Located;

/// Physical memory of a device without an address.
#[derive(Debug)]
pub struct Physical {
    device: u32,
    arena: Arc<Arena>,
    block: Block,
    epoch: u64,
}

impl Physical {
    /// Takes `size` bytes, a multiple of the granularity (2 MiB).
    ///
    /// # Errors
    /// 207001 when the device has no room, 107000 for a size that is no multiple.
    pub fn new(device: u32, arena: Arc<Arena>, size: u64) -> NpuResult<Self> {
        if size == 0 || !size.is_multiple_of(HUGE_PAGE) {
            return Err(NpuError::value("size", size, "a multiple of 2097152"));
        }
        let epoch = arena.epoch();
        let block = arena.allocate(size, 0, Pages::Huge)?;
        Ok(Self { device, arena, block, epoch })
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        self.arena.free_of_epoch(self.block.offset, self.epoch);
    }
}

#[derive(Debug)]
struct Reservation {
    len: usize,
    mappings: BTreeMap<usize, Arc<Physical>>,
}

static RESERVED: Mutex<BTreeMap<usize, Reservation>> = Mutex::new(BTreeMap::new());

fn nothing_there() -> MapFlags {
    MapFlags::PRIVATE | MapFlags::NORESERVE
}

/// Reserves address space.
///
/// # Errors
/// 207001 when there is none.
pub fn reserve(size: usize) -> NpuResult<*mut u8> {
    let none = || {
        let text = format!("Failed to reserve {size} bytes of address space.");
        NpuError::new(code::RT_MEMORY_ALLOCATION, "EL0004", text)
    };
    let len = size.checked_next_multiple_of(HUGE_PAGE as usize).ok_or_else(none)?;
    let padded = len.checked_add(HUGE_PAGE as usize).ok_or_else(none)?;
    // Huge pages begin at multiples of their size: reserve more and give the ends back.
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            padded,
            ProtFlags::empty(),
            nothing_there(),
        )
    }
    .map_err(|_| none())? as usize;
    let base = start.next_multiple_of(HUGE_PAGE as usize);
    for (from, to) in [(start, base), (base + len, start + padded)] {
        if to > from {
            // SAFETY: an end of the mapping just made, which nobody knows of yet.
            let _ = unsafe { rustix::mm::munmap(from as *mut _, to - from) };
        }
    }
    RESERVED.lock().insert(base, Reservation { len, mappings: BTreeMap::new() });
    Ok(base as *mut u8)
}

/// Gives reserved address space back.
///
/// # Errors
/// 107000 when it was not reserved or something is mapped in it.
pub fn release(address: *mut u8) -> NpuResult<()> {
    let mut reserved = RESERVED.lock();
    let base = address as usize;
    match reserved.get(&base) {
        Some(piece) if piece.mappings.is_empty() => {
            let len = piece.len;
            reserved.remove(&base);
            // SAFETY: a reservation of ours without mappings, just taken off the list.
            let _ = unsafe { rustix::mm::munmap(address.cast(), len) };
            Ok(())
        }
        Some(piece) => {
            let given = format!("{address:p} with {} mappings in it", piece.mappings.len());
            Err(NpuError::value("virPtr", given, "reserved memory with nothing mapped"))
        }
        None => {
            let allowed = "an address from aclrtReserveMemAddress";
            Err(NpuError::value("virPtr", format!("{address:p}"), allowed))
        }
    }
}

/// Backs a piece of reserved address space.
///
/// # Errors
/// 107000 when the piece is not reserved, is backed already, or has another size.
pub fn map(address: *mut u8, size: usize, physical: &Arc<Physical>) -> NpuResult<()> {
    let mut reserved = RESERVED.lock();
    let start = address as usize;
    let given = format!("{address:p}+{size}");
    if size as u64 != physical.block.len {
        let allowed = format!("the size of the physical memory, {}", physical.block.len);
        return Err(NpuError::value("size", size, &allowed));
    }
    let holder = reserved.range_mut(..=start).next_back();
    let holder = holder.filter(|(base, piece)| {
        start.is_multiple_of(HUGE_PAGE as usize) && start - **base + size <= piece.len
    });
    let Some((_, piece)) = holder else {
        let allowed = "a multiple of 2 MiB inside memory from aclrtReserveMemAddress";
        return Err(NpuError::value("virPtr", given, allowed));
    };
    let taken = piece
        .mappings
        .range(..start + size)
        .next_back()
        .is_some_and(|(&other, mapped)| other + mapped.block.len as usize > start);
    if taken {
        return Err(NpuError::value("virPtr", given, "a place where nothing is mapped yet"));
    }
    // SAFETY: the range is reserved by us and nothing is mapped there, so replacing it harms
    // nobody; the file offset lies in the arena.
    let mapped = unsafe {
        rustix::mm::mmap(
            address.cast(),
            size,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED,
            physical.arena.segment().as_fd(),
            physical.block.offset,
        )
    };
    if let Err(errno) = mapped {
        let text = format!("Mapping {given} failed: {errno}.");
        return Err(NpuError::new(code::RT_MEMORY_ALLOCATION, "EL0004", text));
    }
    piece.mappings.insert(start, physical.clone());
    crate::arena::changed();
    Ok(())
}

/// Takes the backing of a piece away.
///
/// # Errors
/// 107000 when no mapping begins there.
pub fn unmap(address: *mut u8) -> NpuResult<()> {
    let mut reserved = RESERVED.lock();
    crate::arena::changed();
    let start = address as usize;
    let holder = reserved.range_mut(..=start).next_back();
    let Some(physical) = holder.and_then(|(_, piece)| piece.mappings.remove(&start)) else {
        let allowed = "the start of a mapping made by aclrtMapMem";
        return Err(NpuError::value("virPtr", format!("{address:p}"), allowed));
    };
    // SAFETY: replaces exactly the mapping that was just taken off the list by an empty one, so
    // that the reservation stays whole.
    let _ = unsafe {
        rustix::mm::mmap_anonymous(
            address.cast(),
            physical.block.len as usize,
            ProtFlags::empty(),
            nothing_there() | MapFlags::FIXED,
        )
    };
    Ok(())
}

/// Finds the device memory that backs an address. The block goes on over neighbouring mappings
/// as far as their memory is neighbouring too.
pub(crate) fn locate(address: *const u8) -> Option<Located> {
    let reserved = RESERVED.lock();
    let address = address as usize;
    let (_, piece) = reserved.range(..=address).next_back()?;
    let (&start, physical) = piece.mappings.range(..=address).next_back()?;
    let inside = (address - start) as u64;
    if inside >= physical.block.len {
        return None;
    }
    let mut block = physical.block;
    for (&next, other) in piece.mappings.range(start + 1..) {
        let adjoins = next == start + block.len as usize
            && Arc::ptr_eq(&other.arena, &physical.arena)
            && other.block.offset == block.offset + block.len;
        if !adjoins {
            break;
        }
        block.len += other.block.len;
    }
    Some(Located {
        device: physical.device,
        arena: physical.arena.clone(),
        offset: physical.block.offset + inside,
        block: Some(block),
    })
}

/// Bytes from an address to the end of the mappings that follow each other without a gap,
/// wherever their memory is.
pub(crate) fn mapped_from(address: *const u8) -> Option<u64> {
    let reserved = RESERVED.lock();
    let address = address as usize;
    let (_, piece) = reserved.range(..=address).next_back()?;
    let (&start, first) = piece.mappings.range(..=address).next_back()?;
    let mut end = start + first.block.len as usize;
    for (&next, other) in piece.mappings.range(start + 1..) {
        if next != end {
            break;
        }
        end += other.block.len as usize;
    }
    (address < end).then(|| (end - address) as u64)
}
