//! Virtual device memory.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use softnpu::config::HUGE_PAGE;
use softnpu::context::current;
use softnpu::runtime::runtime;
use softnpu::share;
use softnpu::virtual_memory::{Physical, map, mapped_at, mapped_from, release, reserve, unmap};
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, acl, handle, pids};

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
    /// Named, so that what programs get has no byte of anything else.
    padding: u32,
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
        let made = Physical::new(device.user(), arena, size as u64, wanted.attribute)?;
        out.put("handle", handle(&PHYSICAL, Arc::new(made), "physical memory handle")?)
    }
}

acl! {
    /// Gives physical memory back, once nothing maps it.
    fn aclrtFreePhysical(given: *mut c_void) {
        let found = physical(given)?;
        PHYSICAL.remove(given);
        if PHYSICAL.handle_of(&found).is_none() {
            found.withdraw();
        }
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

/// Flag of an export that anybody may import.
const ANYBODY: u64 = 1;

fn export(given: *mut c_void, flags: u64) -> NpuResult<u64> {
    let found = physical(given)?;
    if flags > ANYBODY {
        return Err(NpuError::argument("flags", flags, "0 or 1"));
    }
    found.export(flags == ANYBODY)
}

/// Kind of memory that an import says it is: ordinary huge pages.
const IMPORTED_ATTRIBUTE: i32 = 4;

fn import(out: Out<*mut c_void>, shareable: u64, device: u32) -> NpuResult<()> {
    let made = Physical::import(device, shareable, IMPORTED_ATTRIBUTE)?;
    out.put("handle", handle(&PHYSICAL, Arc::new(made), "physical memory handle")?)
}

acl! {
    /// A number by which another process finds physical memory.
    fn aclrtMemExportToShareableHandle(
        given: *mut c_void,
        handle_type: c_int,
        flags: u64,
        shareable: Out<u64>,
    ) {
        shareable.check("shareableHandle")?;
        if handle_type != 0 {
            return Err(NpuError::argument("handleType", handle_type, "0"));
        }
        shareable.put("shareableHandle", export(given, flags)?)
    }
}

acl! {
    /// Takes over physical memory of another process.
    fn aclrtMemImportFromShareableHandle(shareable: u64, device: i32, out: Out<*mut c_void>) {
        out.check("handle")?;
        import(out, shareable, runtime()?.device_of(device)?.user())
    }
}

acl! {
    /// Lets processes take over physical memory.
    fn aclrtMemSetPidToShareableHandle(shareable: u64, list: In<i32>, count: usize) {
        share::allow(share::Kind::Physical, shareable, &pids(list, count)?)
    }
}

/// A place for a number that may be larger: eight bytes, or 128 for other servers.
fn shared_kind(kind: c_int) -> NpuResult<()> {
    match kind {
        1 => Ok(()),
        2 => Err(NpuError::unsupported("handles for other servers (share type 2)")),
        other => Err(NpuError::argument("shareType", other, "1 or 2")),
    }
}

acl! {
    /// As `aclrtMemExportToShareableHandle`, with the kind of the handle.
    fn aclrtMemExportToShareableHandleV2(
        given: *mut c_void,
        flags: u64,
        kind: c_int,
        shareable: Out<u64>,
    ) {
        shareable.check("shareableHandle")?;
        shared_kind(kind)?;
        shareable.put("shareableHandle", export(given, flags)?)
    }
}

acl! {
    /// As `aclrtMemImportFromShareableHandle`, for the current device.
    fn aclrtMemImportFromShareableHandleV2(
        shareable: In<u64>,
        kind: c_int,
        flags: u64,
        out: Out<*mut c_void>,
    ) {
        out.check("handle")?;
        let shareable = shareable.get("shareableHandle")?;
        shared_kind(kind)?;
        if flags != 0 {
            return Err(NpuError::argument("flags", flags, "0"));
        }
        import(out, shareable, current()?.device())
    }
}

acl! {
    /// As `aclrtMemSetPidToShareableHandle`, with the kind of the handle.
    fn aclrtMemSetPidToShareableHandleV2(
        shareable: In<u64>,
        kind: c_int,
        list: In<i32>,
        count: usize,
    ) {
        let shareable = shareable.get("shareableHandle")?;
        shared_kind(kind)?;
        share::allow(share::Kind::Physical, shareable, &pids(list, count)?)
    }
}

fn mapped(pointer: *const c_void) -> NpuResult<(usize, Arc<Physical>)> {
    if pointer.is_null() {
        return Err(NpuError::null("virPtr"));
    }
    // Refuses a forked child before it touches what belongs to its parent.
    runtime()?;
    mapped_at(pointer.cast()).ok_or_else(|| {
        let allowed = "an address in a mapping made by aclrtMapMem";
        NpuError::value("virPtr", format!("{pointer:p}"), allowed)
    })
}

acl! {
    /// One more handle of the physical memory at an address.
    fn aclrtMemRetainAllocationHandle(pointer: *mut c_void, out: Out<*mut c_void>) {
        out.check("handle")?;
        let (_, found) = mapped(pointer)?;
        out.put("handle", handle(&PHYSICAL, found, "physical memory handle")?)
    }
}

acl! {
    /// What physical memory was asked for.
    fn aclrtMemGetAllocationPropertiesFromHandle(given: *mut c_void, out: Out<Properties>) {
        out.check("prop")?;
        let found = physical(given)?;
        out.put("prop", Properties {
            handle_type: 0,
            allocation_type: 0,
            attribute: found.attribute(),
            location_id: found.device(),
            location_type: 1,
            padding: 0,
            reserve: 0,
        })
    }
}

/// `aclrtMemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    id: u32,
    kind: i32,
}

/// `aclrtMemAccessDesc`: what a place may do with memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Access {
    flags: c_int,
    location: Location,
    reserved: [u8; 12],
}
const _: () = assert!(size_of::<Access>() == 24);

/// Read and write, which is what every device of the host may do with mapped memory.
const READ_WRITE: c_int = 3;

impl Location {
    fn check(self) -> NpuResult<()> {
        if self.kind != 1 {
            let allowed = "1 (a device)";
            return Err(NpuError::argument("location.type", self.kind, allowed));
        }
        runtime()?.device_of(i32::try_from(self.id).unwrap_or(-1)).map(drop)
    }
}

acl! {
    /// Opens mapped memory to devices, which it is already.
    fn aclrtMemSetAccess(pointer: *mut c_void, size: usize, list: In<Access>, count: usize) {
        mapped(pointer)?;
        if list.is_null() {
            return Err(NpuError::null("desc"));
        }
        let left = mapped_from(pointer.cast()).unwrap_or(0);
        if size == 0 || size as u64 > left {
            let allowed = format!("1 to what is mapped there, {left}");
            return Err(NpuError::value("size", size, &allowed));
        }
        if count == 0 {
            return Err(NpuError::argument("count", 0, "greater than 0"));
        }
        for access in list.list(count)? {
            access.location.check()?;
            match access.flags {
                READ_WRITE => {}
                0 | 1 => return Err(NpuError::unsupported("taking access to mapped memory away")),
                other => return Err(NpuError::argument("desc.flags", other, "3 (read and write)")),
            }
        }
        Ok(())
    }
}

acl! {
    /// What a device may do with mapped memory.
    fn aclrtMemGetAccess(pointer: *mut c_void, location: In<Location>, flags: Out<u64>) {
        flags.check("flag")?;
        mapped(pointer)?;
        location.get("location")?.check()?;
        flags.put("flag", READ_WRITE as u64)
    }
}
