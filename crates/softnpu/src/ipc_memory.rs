//! Device memory that processes share by a key: the exporter lends a range of its arena, the
//! importer maps that range of the same file.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

use hccl_os::shm::Mapping;
use hccl_os::sync::{AtomicUsize, Ordering};
use parking_lot::Mutex;

use crate::context::current;
use crate::error::{NpuError, NpuResult, code};
use crate::runtime::runtime;
use crate::share::{self, Borrowed, Kind, Offer, Place};

/// Shared ranges begin at multiples of this.
const PAGE: u64 = 4096;

/// A range of another process, mapped here.
#[derive(Debug)]
struct Imported {
    device: u32,
    borrowed: Borrowed,
    mapping: Mapping,
}

/// What is imported, by the address at which it is mapped.
static IMPORTED: Mutex<BTreeMap<usize, Imported>> = Mutex::new(BTreeMap::new());
/// How many of them there are: most processes have none, and copies ask often.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Memory of another process that an address lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// User id of the device that it counts to here.
    pub device: u32,
    /// Where the range begins.
    pub base: usize,
    /// Bytes of the range.
    pub len: usize,
}

/// A key for `size` bytes of device memory from an address on: for any process if `open`, else for
/// those that [`allow`] names.
///
/// # Errors
/// 107000 for a range that begins inside a page or is not in one allocation of this process.
pub fn export(address: *mut u8, size: usize, open: bool) -> NpuResult<String> {
    let found = runtime()?.locate(address);
    // One allocation, also where the next one is mapped right behind it.
    let found = found.and_then(|found| {
        found.arena.allocation_at(found.offset).map(|allocation| (found, allocation))
    });
    let Some((found, (block, number))) = found else {
        let given = format!("{address:p}");
        return Err(NpuError::value("devPtr", given, "device memory that this process allocated"));
    };
    let left = block.offset + block.len - found.offset;
    if size as u64 > left {
        let given = format!("{size} at {address:p}");
        let allowed = format!("at most what is allocated there, {left} bytes");
        return Err(NpuError::value("size", given, &allowed));
    }
    if !found.offset.is_multiple_of(PAGE) {
        let given = format!("{address:p}");
        return Err(NpuError::value("devPtr", given, "a multiple of 4096"));
    }
    let arena = found.arena;
    let fd = arena.segment().as_fd().try_clone_to_owned().map_err(|error| {
        let text = format!("No descriptor is left to share memory: {error}.");
        NpuError::new(code::RT_INTERNAL_ERROR, "EE9999", text)
    })?;
    let place = Place {
        host_device: runtime()?.device(found.device)?.host(),
        file_len: arena.segment().len() as u64,
        offset: found.offset,
        len: size as u64,
    };
    let start = found.offset;
    // A key of memory that was freed leads nowhere, whatever is allocated there by then.
    let is_valid = move || arena.allocation_at(start).is_some_and(|(_, now)| now == number);
    let offer = Offer { place, fd, is_valid: Box::new(is_valid), keep: None };
    Ok(share::key(Kind::Memory, share::lend(Kind::Memory, offer, open)?))
}

/// Lets processes import what a key of this process stands for.
///
/// # Errors
/// 107000 for a key of another process, or one that was closed.
pub fn allow(key: &str, processes: &[i32]) -> NpuResult<()> {
    share::allow(Kind::Memory, share::parse_key(Kind::Memory, key)?, processes)
}

/// Maps what another process exported.
///
/// # Errors
/// As [`share::borrow`]; 107000 for a key that was imported before and not closed.
pub fn import(key: &str) -> NpuResult<*mut u8> {
    let context = current()?;
    let id = share::parse_key(Kind::Memory, key)?;
    let once = |imported: &BTreeMap<usize, Imported>| {
        if imported.values().any(|one| one.borrowed.id == id) {
            let allowed = "a key that this process has not imported, or has closed again";
            return Err(NpuError::value("key", key, allowed));
        }
        Ok(())
    };
    once(&IMPORTED.lock())?;
    // Not under the lock: the other process may be slow, and copies want the lock.
    let borrowed = share::borrow(Kind::Memory, id)?;
    let Place { host_device, file_len, offset, len } = borrowed.place;
    let (file_len, offset, len) = (file_len as usize, offset as usize, len as usize);
    let mapping = Mapping::adopt_piece(&borrowed.fd, file_len, offset, len).map_err(|error| {
        NpuError::system(code::RT_IPC_ERROR, "memory of another process", &error)
    })?;
    // The device as this process knows it; one that it does not see counts to the current one.
    let devices = runtime()?.devices();
    let device = devices.iter().find(|device| device.host() == host_device);
    let device = device.map_or(context.device(), |device| device.user());
    let base = mapping.base();
    let mut imported = IMPORTED.lock();
    once(&imported)?;
    imported.insert(base as usize, Imported { device, borrowed, mapping });
    COUNT.store(imported.len(), Ordering::Release);
    Ok(base)
}

/// Ends an import, or, at the exporter, the export.
///
/// # Errors
/// 107000 for a key that is neither, and for an export that others have still imported.
pub fn close(key: &str) -> NpuResult<()> {
    let id = share::parse_key(Kind::Memory, key)?;
    let mut imported = IMPORTED.lock();
    let base = imported.iter().find(|(_, one)| one.borrowed.id == id).map(|(&base, _)| base);
    if let Some(base) = base {
        // Unmapped before the lender is told that it is.
        if let Some(Imported { borrowed, mapping, .. }) = imported.remove(&base) {
            drop(mapping);
            drop(borrowed);
        }
        COUNT.store(imported.len(), Ordering::Release);
        return Ok(());
    }
    drop(imported);
    if !share::lends(Kind::Memory, id) {
        let allowed = "a key that this process exported or imported, and did not close";
        return Err(NpuError::value("key", key, allowed));
    }
    match share::borrowers(Kind::Memory, id)? {
        0 => {
            share::withdraw(id);
            Ok(())
        }
        others => {
            let given = format!("{key}, which {others} other process(es) still have imported");
            let allowed = "a key that all importers have closed: the exporter is the last";
            Err(NpuError::value("key", given, allowed))
        }
    }
}

/// Whether an address lies in imported memory.
pub fn at(address: *const u8) -> Option<Foreign> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    let imported = IMPORTED.lock();
    let (&base, one) = imported.range(..=address as usize).next_back()?;
    let len = one.mapping.len();
    (address as usize - base < len).then_some(Foreign { device: one.device, base, len })
}
