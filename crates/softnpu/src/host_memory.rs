//! Pinned and registered host memory: what of the host's own memory the device may reach.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use parking_lot::RwLock;

use crate::error::{NpuError, NpuResult, code};

/// Where pinned memory begins, and how that piece came to be.
static PINNED: RwLock<BTreeMap<usize, Pinned>> = RwLock::new(BTreeMap::new());

#[derive(Clone, Copy, Debug)]
struct Pinned {
    len: usize,
    /// Made by [`allocate`], so ours to free.
    owned: bool,
    /// The device has an address for it.
    mapped: bool,
}

const PAGE: usize = 4096;

/// Allocates pinned host memory, zeroed.
///
/// # Errors
/// 207001 when the host has none.
pub fn allocate(size: usize) -> NpuResult<NonNull<u8>> {
    let full = || {
        let text = format!("Failed to allocate {size} bytes of host memory via aclrtMallocHost.");
        NpuError::new(code::RT_MEMORY_ALLOCATION, "EE1013", text)
    };
    let available = usize::try_from(crate::arena::host_available()).unwrap_or(usize::MAX);
    if size > available {
        return Err(full());
    }
    let layout = layout(size).ok_or_else(full)?;
    // SAFETY: the layout has a size above zero.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    let memory = NonNull::new(memory).ok_or_else(full)?;
    PINNED
        .write()
        .insert(memory.as_ptr() as usize, Pinned { len: size, owned: true, mapped: true });
    Ok(memory)
}

fn layout(size: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(size, if size >= PAGE { PAGE } else { 64 }).ok()
}

/// Frees what [`allocate`] gave.
///
/// # Errors
/// 107000 for an address that it did not give.
pub fn free(address: *mut u8) -> NpuResult<()> {
    let mut pinned = PINNED.write();
    match pinned.get(&(address as usize)) {
        Some(&Pinned { len, owned: true, .. }) => {
            pinned.remove(&(address as usize));
            let layout = layout(len).expect("the layout was valid when it was allocated");
            let memory = std::ptr::with_exposed_provenance_mut(address as usize);
            // SAFETY: allocated by `allocate` with this layout, and just taken off the list, so
            // freed once.
            unsafe { std::alloc::dealloc(memory, layout) };
            Ok(())
        }
        _ => Err(NpuError::value(
            "hostPtr",
            format!("{address:p}"),
            "the start of memory from aclrtMallocHost that was not freed",
        )),
    }
}

/// Lets the device reach memory of the caller's; with `mapped` it has an address there.
///
/// # Errors
/// 507910 when part of it is pinned already.
pub fn register(address: *mut u8, size: usize, mapped: bool) -> NpuResult<()> {
    let start = address as usize;
    let Some(end) = start.checked_add(size) else {
        return Err(NpuError::value("size", size, "a range inside the address space"));
    };
    let mut pinned = PINNED.write();
    let overlaps =
        pinned.range(..end).next_back().is_some_and(|(&other, piece)| other + piece.len > start);
    if overlaps {
        let text = format!("The host memory {address:p}+{size} is registered already.");
        return Err(NpuError::new(code::RT_HOST_MEMORY_ALREADY_REGISTERED, "EE1001", text));
    }
    pinned.insert(start, Pinned { len: size, owned: false, mapped });
    Ok(())
}

/// Ends what [`register`] began.
///
/// # Errors
/// 507911 when the address was not registered.
pub fn unregister(address: *mut u8) -> NpuResult<()> {
    let mut pinned = PINNED.write();
    if pinned.get(&(address as usize)).is_some_and(|piece| !piece.owned) {
        pinned.remove(&(address as usize));
        return Ok(());
    }
    let text = format!("The host memory {address:p} is not registered.");
    Err(NpuError::new(code::RT_HOST_MEMORY_NOT_REGISTERED, "EE1001", text))
}

/// The device's address of pinned memory: the same one.
///
/// # Errors
/// 107000 for memory that is not pinned or has no address on the device.
pub fn device_address(address: *mut u8) -> NpuResult<*mut u8> {
    let pinned = PINNED.read();
    let found = pinned.range(..=address as usize).next_back();
    match found {
        Some((&start, piece)) if (address as usize) - start < piece.len && piece.mapped => {
            Ok(address)
        }
        _ => Err(NpuError::value(
            "hostPtr",
            format!("{address:p}"),
            "pinned host memory, registered with ACL_HOST_REG_MAPPED",
        )),
    }
}

/// Bytes from `address` to the end of the pinned piece that holds it.
pub fn pinned_from(address: *const u8) -> Option<usize> {
    let address = address as usize;
    let pinned = PINNED.read();
    let (&start, piece) = pinned.range(..=address).next_back()?;
    (address < start + piece.len).then(|| start + piece.len - address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_memory_is_known_by_any_address_inside() {
        let memory = allocate(10_000).unwrap().as_ptr();
        assert_eq!(memory as usize % 64, 0);
        assert_eq!(pinned_from(memory.wrapping_add(9_999)), Some(1));
        assert_eq!(pinned_from(memory.wrapping_add(10_000)), None);
        assert!(register(memory.wrapping_add(5), 10, true).is_err());
        assert!(unregister(memory).is_err());
        free(memory).unwrap();
        assert!(free(memory).is_err());
        assert!(allocate(usize::MAX / 2).is_err());
    }

    #[test]
    fn registration_is_once() {
        let mut own = vec![0u8; 8192];
        register(own.as_mut_ptr(), own.len(), false).unwrap();
        let again = register(own.as_mut_ptr(), 1, true).unwrap_err();
        assert_eq!(again.code, code::RT_HOST_MEMORY_ALREADY_REGISTERED);
        assert!(device_address(own.as_mut_ptr()).is_err());
        unregister(own.as_mut_ptr()).unwrap();
        let twice = unregister(own.as_mut_ptr()).unwrap_err();
        assert_eq!(twice.code, code::RT_HOST_MEMORY_NOT_REGISTERED);
    }
}
