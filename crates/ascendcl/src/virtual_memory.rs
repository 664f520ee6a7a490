//! Virtual device memory.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use softnpu::config::HUGE_PAGE;
use softnpu::runtime::runtime;
use softnpu::virtual_memory::{Physical, map, release, reserve, unmap};
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, acl, handle};

static PHYSICAL: Table<Physical> = Table::new(0x14);

/// `aclrtPhysicalMemProp`: what physical memory is wanted.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Properties {
    handle_type: i32,
    allocation_type: i32,
    attribute: i32,
    location_id: u32,
    location_type: i32,
    reserve: u64,
}
const _: () = assert!(size_of::<Properties>() == 32);

fn physical(given: *mut c_void) -> NpuResult<Arc<Physical>> {
    if given.is_null() {
        return Err(NpuError::null("handle"));
    }
    PHYSICAL.get(given).ok_or_else(|| NpuError::handle("physical memory handle", given))
}

acl! {
    /// Reserves address space.
    fn aclrtReserveMemAddress(
        pointer: Out<*mut c_void>,
        size: usize,
        alignment: usize,
        expected: *mut c_void,
        flags: u64,
    ) {
        pointer.check("virPtr")?;
        if size == 0 {
            return Err(NpuError::argument("size", 0, "greater than 0"));
        }
        if alignment != 0 {
            return Err(NpuError::argument("alignment", alignment, "0"));
        }
        if !expected.is_null() {
            return Err(NpuError::argument("expectPtr", format!("{expected:p}"), "NULL"));
        }
        if flags > 1 {
            return Err(NpuError::argument("flags", flags, "0 or 1"));
        }
        pointer.put("virPtr", reserve(size)?.cast())
    }
}

acl! {
    /// Gives reserved address space back.
    fn aclrtReleaseMemAddress(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(NpuError::null("virPtr"));
        }
        release(pointer.cast())
    }
}

acl! {
    /// Takes physical memory of a device.
    fn aclrtMallocPhysical(
        out: Out<*mut c_void>,
        size: usize,
        properties: In<Properties>,
        flags: u64,
    ) {
        out.check("handle")?;
        let wanted = properties.get("prop")?;
        if flags != 0 {
            return Err(NpuError::argument("flags", flags, "0"));
        }
        if wanted.location_type != 1 {
            let what = "physical memory outside of devices (location type other than 1)";
            return Err(NpuError::unsupported(what));
        }
        let runtime = runtime()?;
        let device = runtime.device_of(i32::try_from(wanted.location_id).unwrap_or(-1))?;
        let arena = runtime.arena_of(device)?;
        let made = Physical::new(device.user(), arena, size as u64)?;
        out.put("handle", handle(&PHYSICAL, Arc::new(made), "physical memory handle")?)
    }
}

acl! {
    /// Gives physical memory back, once nothing maps it.
    fn aclrtFreePhysical(given: *mut c_void) {
        physical(given)?;
        PHYSICAL.remove(given);
        Ok(())
    }
}

acl! {
    /// Backs reserved address space with physical memory.
    fn aclrtMapMem(
        pointer: *mut c_void,
        size: usize,
        offset: usize,
        given: *mut c_void,
        flags: u64,
    ) {
        if pointer.is_null() {
            return Err(NpuError::null("virPtr"));
        }
        if offset != 0 || flags != 0 {
            let given = format!("{offset} and {flags}");
            return Err(NpuError::argument("offset and flags", given, "0 and 0"));
        }
        map(pointer.cast(), size, &physical(given)?)
    }
}

acl! {
    /// Takes the backing away.
    fn aclrtUnmapMem(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(NpuError::null("virPtr"));
        }
        unmap(pointer.cast())
    }
}

acl! {
    /// Least (0) and best (1) size of a piece of physical memory: 2 MiB.
    fn aclrtMemGetAllocationGranularity(
        properties: In<Properties>,
        option: c_int,
        granularity: Out<usize>,
    ) {
        properties.get("prop")?;
        if !(0..=1).contains(&option) {
            return Err(NpuError::argument("option", option, "0 or 1"));
        }
        granularity.put("granularity", HUGE_PAGE as usize)
    }
}

acl! {
    /// Would share physical memory with another process.
    fn aclrtMemExportToShareableHandle(
        _handle: *mut c_void,
        _handle_type: c_int,
        _flags: u64,
        _shareable: Out<u64>,
    ) {
        Err(NpuError::unsupported("aclrtMemExportToShareableHandle"))
    }
}

acl! {
    /// Would take over physical memory of another process.
    fn aclrtMemImportFromShareableHandle(
        _shareable: u64,
        _device: i32,
        _handle: Out<*mut c_void>,
    ) {
        Err(NpuError::unsupported("aclrtMemImportFromShareableHandle"))
    }
}

acl! {
    /// Would let processes take over shared physical memory.
    fn aclrtMemSetPidToShareableHandle(_shareable: u64, _pids: In<i32>, _count: usize) {
        Err(NpuError::unsupported("aclrtMemSetPidToShareableHandle"))
    }
}
