//! Device memory, pinned host memory, copies and fills.

use std::ffi::{c_int, c_void};

use softnpu::arena::Pages;
use softnpu::context::current;
use softnpu::copy::{copy_in_order, copy_now, fill_in_order, fill_now, other_process};
use softnpu::runtime::{Device, Located, runtime};
use softnpu::{NpuError, NpuResult, code, host_memory};

use crate::border::{Out, StreamHandle, acl};

/// Pages that a policy asks for; bits above the policy choose kinds of memory that do not differ
/// here.
fn pages(policy: c_int) -> NpuResult<Pages> {
    let refined = 0x100 | 0x1000 | 0x10_0000;
    match policy & !refined {
        0 | 3 => Ok(Pages::HugeFirst),
        1 | 4 | 6 | 7 => Ok(Pages::Huge),
        2 | 5 => Ok(Pages::Normal),
        _ => Err(NpuError::value("policy", policy, "an aclrtMemMallocPolicy from 0 to 7")),
    }
}

/// Takes memory of the current device.
pub(crate) fn allocate(
    out: Out<*mut c_void>,
    size: usize,
    policy: c_int,
    with_tail: bool,
) -> NpuResult<()> {
    out.check("devPtr")?;
    if size == 0 {
        return Err(NpuError::argument("size", 0, "greater than 0"));
    }
    let device = runtime()?.device(current()?.device())?;
    allocate_on(out, device, size, policy, with_tail)
}

/// Takes memory of a device.
pub(crate) fn allocate_on(
    out: Out<*mut c_void>,
    device: &Device,
    size: usize,
    policy: c_int,
    with_tail: bool,
) -> NpuResult<()> {
    if size == 0 {
        return Err(NpuError::argument("size", 0, "greater than 0"));
    }
    let runtime = runtime()?;
    let pages = pages(policy)?;
    let tail = if with_tail { runtime.config().soc.family.allocation_tail() } else { 0 };
    let arena = runtime.arena_of(device)?;
    let block = arena.allocate(size as u64, tail as u64, pages)?;
    let address = arena.segment().base().wrapping_add(block.offset as usize);
    out.put("devPtr", address.cast())
}

acl! {
    /// Allocates device memory.
    fn aclrtMalloc(pointer: Out<*mut c_void>, size: usize, policy: c_int) {
        allocate(pointer, size, policy, true)
    }
}

acl! {
    /// As `aclrtMalloc`, without room behind the rounded size.
    fn aclrtMallocAlign32(pointer: Out<*mut c_void>, size: usize, policy: c_int) {
        allocate(pointer, size, policy, false)
    }
}

acl! {
    /// As `aclrtMalloc`; host caches need no care here.
    fn aclrtMallocCached(pointer: Out<*mut c_void>, size: usize, policy: c_int) {
        allocate(pointer, size, policy, true)
    }
}

fn device_block(name: &str, pointer: *const c_void) -> NpuResult<Located> {
    runtime()?
        .locate(pointer.cast())
        .ok_or_else(|| NpuError::value(name, format!("{pointer:p}"), "an address in device memory"))
}

/// Frees device memory.
pub(crate) fn free(pointer: *mut c_void) -> NpuResult<()> {
    if pointer.is_null() {
        return Err(NpuError::null("devPtr"));
    }
    let found = device_block("devPtr", pointer)?;
    let begins = found.block.is_some_and(|block| block.offset == found.offset);
    let own = found.arena.offset_of(pointer as usize).is_some();
    if !(begins && own && found.arena.free(found.offset)) {
        let allowed = "the start of device memory from aclrtMalloc that was not freed";
        return Err(NpuError::value("devPtr", format!("{pointer:p}"), allowed));
    }
    Ok(())
}

acl! {
    /// Frees device memory. Does not wait for tasks that use it.
    fn aclrtFree(pointer: *mut c_void) {
        free(pointer)
    }
}

/// Takes pinned host memory.
pub(crate) fn allocate_host(out: Out<*mut c_void>, size: usize) -> NpuResult<()> {
    if size == 0 {
        return Err(NpuError::argument("size", 0, "greater than 0"));
    }
    out.put("hostPtr", host_memory::allocate(size)?.as_ptr().cast())
}

acl! {
    /// Allocates pinned host memory.
    fn aclrtMallocHost(pointer: Out<*mut c_void>, size: usize) {
        pointer.check("hostPtr")?;
        allocate_host(pointer, size)
    }
}

acl! {
    /// Frees pinned host memory.
    fn aclrtFreeHost(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(NpuError::null("hostPtr"));
        }
        host_memory::free(pointer.cast())
    }
}

acl! {
    /// Lets the device reach page-aligned host memory of the caller's.
    fn aclrtHostRegister(pointer: *mut c_void, size: u64, kind: c_int, device: Out<*mut c_void>) {
        if pointer.is_null() {
            return Err(NpuError::null("ptr"));
        }
        device.check("devPtr")?;
        if !matches!(kind, 0 | 4 | 8) {
            return Err(NpuError::argument("type", kind, "0, 4 or 8"));
        }
        if size == 0 || !(pointer as usize).is_multiple_of(4096) {
            let given = format!("{pointer:p} with size {size}");
            return Err(NpuError::value("ptr", given, "a multiple of 4096, with a size above 0"));
        }
        host_memory::register(pointer.cast(), usize::try_from(size).unwrap_or(usize::MAX), true)?;
        device.put("devPtr", pointer)
    }
}

acl! {
    /// Ends `aclrtHostRegister`.
    fn aclrtHostUnregister(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(NpuError::null("ptr"));
        }
        host_memory::unregister(pointer.cast())
    }
}

/// What a copy checks before it looks at addresses. False if there is nothing to copy.
fn copies(
    to: *const c_void,
    room: usize,
    from: *const c_void,
    count: usize,
    kind: c_int,
) -> NpuResult<bool> {
    if count == 0 {
        return Ok(false);
    }
    if to.is_null() {
        return Err(NpuError::null("dst"));
    }
    if from.is_null() {
        return Err(NpuError::null("src"));
    }
    if count > room {
        return Err(NpuError::value("count", count, &format!("at most destMax, {room}")));
    }
    if !(0..=7).contains(&kind) {
        return Err(NpuError::argument("kind", kind, "an aclrtMemcpyKind from 0 to 7"));
    }
    current()?;
    Ok(!std::ptr::eq(to, from))
}

acl! {
    /// Copies at once. The direction comes from the addresses.
    fn aclrtMemcpy(
        to: *mut c_void,
        room: usize,
        from: *const c_void,
        count: usize,
        kind: c_int,
    ) {
        if !(0..=5).contains(&kind) && count != 0 {
            return Err(NpuError::argument("kind", kind, "an aclrtMemcpyKind from 0 to 5"));
        }
        if copies(to, room, from, count, kind)? {
            // SAFETY: not NULL; host memory is valid by the contract of this function.
            unsafe { copy_now(to.cast(), from.cast(), count)? };
        }
        Ok(())
    }
}

/// Kind of a copy that takes the source away before the call returns.
const HOST_TO_BUF_TO_DEVICE: c_int = 5;

acl! {
    /// Copies in stream order.
    fn aclrtMemcpyAsync(
        to: *mut c_void,
        room: usize,
        from: *const c_void,
        count: usize,
        kind: c_int,
        stream: StreamHandle,
    ) {
        if copies(to, room, from, count, kind)? {
            let stream = stream.here()?;
            let take = kind == HOST_TO_BUF_TO_DEVICE;
            // SAFETY: not NULL; host memory stays valid until the stream has passed the copy, by
            // the contract of this function.
            unsafe { copy_in_order(to.cast(), from.cast(), count, take, &stream)? };
        }
        Ok(())
    }
}

acl! {
    /// As `aclrtMemcpyAsync`, under its older name.
    fn aclrtMemcpyAsyncWithCondition(
        to: *mut c_void,
        room: usize,
        from: *const c_void,
        count: usize,
        kind: c_int,
        stream: StreamHandle,
    ) {
        if copies(to, room, from, count, kind)? {
            let stream = stream.here()?;
            let take = kind == HOST_TO_BUF_TO_DEVICE;
            // SAFETY: as in `aclrtMemcpyAsync`.
            unsafe { copy_in_order(to.cast(), from.cast(), count, take, &stream)? };
        }
        Ok(())
    }
}

fn fills(pointer: *const c_void, room: usize, count: usize) -> NpuResult<bool> {
    if count == 0 {
        return Ok(false);
    }
    if pointer.is_null() {
        return Err(NpuError::null("devPtr"));
    }
    if count > room {
        return Err(NpuError::value("count", count, &format!("at most maxCount, {room}")));
    }
    current()?;
    Ok(true)
}

acl! {
    /// Fills with a byte at once.
    fn aclrtMemset(pointer: *mut c_void, room: usize, value: i32, count: usize) {
        if fills(pointer, room, count)? {
            // SAFETY: not NULL; host memory is valid by the contract of this function.
            unsafe { fill_now(pointer.cast(), value as u8, count)? };
        }
        Ok(())
    }
}

acl! {
    /// Fills with a byte in stream order.
    fn aclrtMemsetAsync(
        pointer: *mut c_void,
        room: usize,
        value: i32,
        count: usize,
        stream: StreamHandle,
    ) {
        if fills(pointer, room, count)? {
            let stream = stream.here()?;
            // SAFETY: not NULL; host memory stays valid until the stream has passed the fill, by
            // the contract of this function.
            unsafe { fill_in_order(pointer.cast(), value as u8, count, &stream)? };
        }
        Ok(())
    }
}

/// A copy of rows.
struct Rows {
    to: *mut u8,
    to_pitch: usize,
    from: *const u8,
    from_pitch: usize,
    width: usize,
    height: usize,
}

impl Rows {
    fn check(&self, kind: c_int) -> NpuResult<bool> {
        if self.width == 0 || self.height == 0 {
            return Ok(false);
        }
        if self.width > self.to_pitch || self.width > self.from_pitch {
            let allowed =
                format!("at most both pitches, {} and {}", self.to_pitch, self.from_pitch);
            return Err(NpuError::argument("width", self.width, &allowed));
        }
        if !(1..=4).contains(&kind) {
            return Err(NpuError::argument("kind", kind, "1, 2, 3 or 4"));
        }
        copies(self.to.cast(), self.width, self.from.cast(), self.width, kind)
    }

    fn rows(&self) -> impl Iterator<Item = (*mut u8, *const u8)> + '_ {
        (0..self.height).map(|row| {
            (
                self.to.wrapping_add(row * self.to_pitch),
                self.from.wrapping_add(row * self.from_pitch),
            )
        })
    }
}

acl! {
    /// Copies rows at once.
    fn aclrtMemcpy2d(
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) {
        let copy =
            Rows { to: to.cast(), to_pitch, from: from.cast(), from_pitch, width, height };
        if copy.check(kind)? {
            for (to, from) in copy.rows() {
                // SAFETY: as in `aclrtMemcpy`, for each row.
                unsafe { copy_now(to, from, width)? };
            }
        }
        Ok(())
    }
}

acl! {
    /// Copies rows in stream order.
    fn aclrtMemcpy2dAsync(
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: StreamHandle,
    ) {
        let copy =
            Rows { to: to.cast(), to_pitch, from: from.cast(), from_pitch, width, height };
        if copy.check(kind)? {
            let stream = stream.here()?;
            for (to, from) in copy.rows() {
                // SAFETY: as in `aclrtMemcpyAsync`, for each row.
                unsafe { copy_in_order(to, from, width, false, &stream)? };
            }
        }
        Ok(())
    }
}

acl! {
    /// Free and total memory of the current device, bytes.
    fn aclrtGetMemInfo(attribute: c_int, free: Out<usize>, total: Out<usize>) {
        free.check("free")?;
        total.check("total")?;
        if !(0..=17).contains(&attribute) {
            return Err(NpuError {
                code: code::RT_INVALID_MEMORY_TYPE,
                ..NpuError::value("attr", attribute, "an aclrtMemAttr from 0 to 17")
            });
        }
        let runtime = runtime()?;
        let arena = runtime.arena_of(runtime.device(current()?.device())?)?;
        let size = runtime.config().memory;
        free.put("free", (size - arena.used()) as usize)?;
        total.put("total", size as usize)
    }
}

/// `aclrtPtrAttributes`: where a pointer lives.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PointerAttributes {
    device: u32,
    kind: i32,
    page_size: u32,
    reserved: [u32; 4],
}
const _: () = assert!(size_of::<PointerAttributes>() == 28);

acl! {
    /// Where a pointer lives: device (1), pinned host memory (0), or elsewhere (2).
    fn aclrtPointerGetAttributes(pointer: *const c_void, attributes: Out<PointerAttributes>) {
        if pointer.is_null() {
            return Err(NpuError::null("ptr"));
        }
        let (device, kind) = match runtime()?.locate(pointer.cast()) {
            Some(found) => (found.device, 1),
            None if let Some((device, _)) = other_process(pointer.cast()) => (device, 1),
            None if host_memory::pinned_from(pointer.cast()).is_some() => (0, 0),
            None => (0, 2),
        };
        let answer = PointerAttributes { device, kind, page_size: 4096, reserved: [0; 4] };
        attributes.put("attributes", answer)
    }
}

acl! {
    /// Would load device memory into the cache; there is no cache of its own to load.
    fn aclrtCmoAsync(pointer: *mut c_void, size: usize, kind: c_int, stream: StreamHandle) {
        if pointer.is_null() {
            return Err(NpuError::null("src"));
        }
        if size == 0 {
            return Err(NpuError::argument("size", 0, "greater than 0"));
        }
        match kind {
            0 => stream.here().map(drop),
            1..=3 => Err(NpuError::unsupported(format!("cache maintenance of kind {kind}"))),
            other => Err(NpuError::argument("cmoType", other, "an aclrtCmoType from 0 to 3")),
        }
    }
}
