//! Virtual device memory: address space that is reserved first and backed piece by piece.
//!
//! A physical piece is an allocation of a device's arena; mapping it maps the arena's memory file
//! a second time, so that everything which works by arena and offset works on it too.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use hccl_os::shm::check_sealed;
use hccl_os::sync::{AtomicUsize, Ordering};
use parking_lot::Mutex;
use rustix::mm::{MapFlags, ProtFlags};

use crate::arena::{Arena, Block, Pages};
use crate::config::HUGE_PAGE;
use crate::error::{NpuError, NpuResult, code};
use crate::runtime::Located;
use crate::share::{self, Borrowed};

/// Physical memory of a device without an address.
#[derive(Debug)]
pub struct Physical {
    device: u32,
    len: u64,
    /// The kind of memory that was asked for, kept for whoever asks.
    attribute: i32,
    backing: Backing,
    /// The number under which other processes find it.
    lent: Mutex<Option<u64>>,
}

#[derive(Debug)]
enum Backing {
    /// A block of a device of this process.
    Own { arena: Arc<Arena>, offset: u64, epoch: u64 },
    /// A block that another process lends.
    Other(Borrowed),
}

/// Numbers that this process has imported: each of them once at a time.
static IMPORTED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
/// How many of them there are: most processes have none, and copies ask often.
static IMPORTS: AtomicUsize = AtomicUsize::new(0);

/// Whether any physical memory here may belong to another process.
pub(crate) fn has_imports() -> bool {
    IMPORTS.load(Ordering::Acquire) != 0
}

impl Physical {
    /// Takes `size` bytes, a multiple of the granularity (2 MiB).
    ///
    /// # Errors
    /// 207001 when the device has no room, 107000 for a size that is no multiple.
    pub fn new(device: u32, arena: Arc<Arena>, size: u64, attribute: i32) -> NpuResult<Self> {
        if size == 0 || !size.is_multiple_of(HUGE_PAGE) {
            return Err(NpuError::value("size", size, "a multiple of 2097152"));
        }
        let epoch = arena.epoch();
        let block = arena.allocate(size, 0, Pages::Huge)?;
        let backing = Backing::Own { arena, offset: block.offset, epoch };
        Ok(Self { device, len: block.len, attribute, backing, lent: Mutex::default() })
    }

    /// Takes over memory that another process exported.
    ///
    /// # Errors
    /// As [`share::borrow`]; 107000 for a number that was imported before and not freed.
    pub fn import(device: u32, id: u64, attribute: i32) -> NpuResult<Self> {
        if !IMPORTED.lock().insert(id) {
            let allowed = "a handle that this process has not imported, or has freed again";
            return Err(NpuError::value("shareableHandle", id, allowed));
        }
        let made = share::borrow(share::Kind::Physical, id).and_then(|borrowed| {
            let len = borrowed.place.len;
            let fits = len.is_multiple_of(HUGE_PAGE) && borrowed.place.offset.is_multiple_of(4096);
            let sealed = check_sealed(&borrowed.fd, borrowed.place.file_len as usize);
            if !fits || sealed.is_err() {
                let text = format!("Another process shares no memory: {:?}.", borrowed.place);
                return Err(NpuError::new(code::RT_IPC_ERROR, "EE9999", text));
            }
            let backing = Backing::Other(borrowed);
            IMPORTS.fetch_add(1, Ordering::AcqRel);
            Ok(Self { device, len, attribute, backing, lent: Mutex::default() })
        });
        if made.is_err() {
            IMPORTED.lock().remove(&id);
        }
        made
    }

    /// A number by which other processes find it: any of them if `open`.
    ///
    /// # Errors
    /// 107000 for memory that was imported or exported before.
    pub fn export(self: &Arc<Self>, open: bool) -> NpuResult<u64> {
        let refused = |what: &str| {
            Err(NpuError::value("handle", what, "memory of this process that was not exported yet"))
        };
        let Backing::Own { arena, offset, epoch } = &self.backing else {
            return refused("imported memory");
        };
        let mut lent = self.lent.lock();
        if lent.is_some() {
            return refused("memory that was exported before");
        }
        let host_device = crate::runtime::runtime()?.device(self.device)?.host();
        let fd = arena.segment().as_fd().try_clone_to_owned().map_err(|error| {
            let text = format!("No descriptor is left to share memory: {error}.");
            NpuError::new(code::RT_INTERNAL_ERROR, "EE9999", text)
        })?;
        let file_len = arena.segment().len() as u64;
        let place = share::Place { host_device, file_len, offset: *offset, len: self.len };
        let (lender, epoch) = (arena.clone(), *epoch);
        let is_valid = Box::new(move || lender.epoch() == epoch);
        let offer = share::Offer { place, fd, is_valid, keep: Some(self.clone()) };
        let id = share::lend(share::Kind::Physical, offer, open)?;
        *lent = Some(id);
        Ok(id)
    }

    /// Ends the export, if there is one; memory that others have imported stays theirs.
    pub fn withdraw(&self) {
        let lent = self.lent.lock().take();
        if let Some(id) = lent {
            share::withdraw(id);
        }
    }

    /// User id of the device.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// The kind of memory that was asked for.
    pub fn attribute(&self) -> i32 {
        self.attribute
    }

    /// The arena and the place there, of memory of this process.
    fn own(&self) -> Option<(&Arc<Arena>, Block)> {
        match &self.backing {
            Backing::Own { arena, offset, .. } => {
                Some((arena, Block { offset: *offset, len: self.len }))
            }
            Backing::Other(_) => None,
        }
    }

    fn file(&self) -> (BorrowedFd<'_>, u64) {
        match &self.backing {
            Backing::Own { arena, offset, .. } => (arena.segment().as_fd(), *offset),
            Backing::Other(borrowed) => (borrowed.fd.as_fd(), borrowed.place.offset),
        }
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        match &self.backing {
            Backing::Own { arena, offset, epoch } => {
                arena.free_of_epoch(*offset, *epoch);
            }
            Backing::Other(borrowed) => {
                IMPORTED.lock().remove(&borrowed.id);
                IMPORTS.fetch_sub(1, Ordering::AcqRel);
            }
        }
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
    if size as u64 != physical.len {
        let allowed = format!("the size of the physical memory, {}", physical.len);
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
        .is_some_and(|(&other, mapped)| other + mapped.len as usize > start);
    if taken {
        return Err(NpuError::value("virPtr", given, "a place where nothing is mapped yet"));
    }
    let (file, offset) = physical.file();
    // SAFETY: the range is reserved by us and nothing is mapped there, so replacing it harms
    // nobody; the range lies in the file, which cannot be shortened.
    let mapped = unsafe {
        rustix::mm::mmap(
            address.cast(),
            size,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED,
            file,
            offset,
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
            physical.len as usize,
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
    if inside >= physical.len {
        return None;
    }
    let (arena, mut block) = physical.own()?;
    let offset = block.offset + inside;
    for (&next, other) in piece.mappings.range(start + 1..) {
        let adjoins = other.own().is_some_and(|(other_arena, other_block)| {
            next == start + block.len as usize
                && Arc::ptr_eq(other_arena, arena)
                && other_block.offset == block.offset + block.len
        });
        if !adjoins {
            break;
        }
        block.len += other.len;
    }
    Some(Located { device: physical.device, arena: arena.clone(), offset, block: Some(block) })
}

/// The physical memory that is mapped at an address, and where its mapping begins.
pub fn mapped_at(address: *const u8) -> Option<(usize, Arc<Physical>)> {
    let reserved = RESERVED.lock();
    let address = address as usize;
    let (_, piece) = reserved.range(..=address).next_back()?;
    let (&start, physical) = piece.mappings.range(..=address).next_back()?;
    (((address - start) as u64) < physical.len).then(|| (start, physical.clone()))
}

/// Bytes from an address to the end of the mappings that follow each other without a gap,
/// wherever their memory is.
pub fn mapped_from(address: *const u8) -> Option<u64> {
    let reserved = RESERVED.lock();
    let address = address as usize;
    let (_, piece) = reserved.range(..=address).next_back()?;
    let (&start, first) = piece.mappings.range(..=address).next_back()?;
    let mut end = start + first.len as usize;
    for (&next, other) in piece.mappings.range(start + 1..) {
        if next != end {
            break;
        }
        end += other.len as usize;
    }
    (address < end).then(|| (end - address) as u64)
}
