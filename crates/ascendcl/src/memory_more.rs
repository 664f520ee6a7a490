//! The rarer calls on memory: allocation with a configuration, address ranges, fills of numbers,
//! reductions in place, use of memory, overflow state.

use std::ffi::{c_int, c_void};

use hccl_kernels::{DataType, ReduceOp, Reducer};
use softnpu::context::current;
use softnpu::copy::{Place, fill_in_order, fill_words, place};
use softnpu::runtime::{Device, runtime};
use softnpu::task::{Address, Work};
use softnpu::{NpuError, NpuResult, host_memory, ipc_memory, virtual_memory};

use crate::border::{In, Out, StreamHandle, acl};
use crate::memory::{allocate, allocate_host, allocate_on, free};

/// `aclrtMallocAttribute`: a kind, and four bytes whose meaning follows from it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    kind: c_int,
    /// Eight bytes that are aligned as four.
    value: [u32; 2],
}

/// `aclrtMallocConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    attributes: In<Attribute>,
    count: usize,
}
const _: () = assert!(size_of::<Attribute>() == 12 && size_of::<Config>() == 16);

/// Kind of an attribute that names the device.
const DEVICE_ID: c_int = 2;
/// Kinds: reserved, module, device, address flag.
const KINDS: std::ops::RangeInclusive<c_int> = 0..=3;

/// The device that a configuration asks for; what else it says has no meaning here.
fn configured(config: In<Config>) -> NpuResult<Option<i32>> {
    if config.is_null() {
        return Ok(None);
    }
    let Config { attributes, count } = config.get("cfg")?;
    if count > 0 && attributes.is_null() {
        return Err(NpuError::null("cfg.attrs"));
    }
    let mut device = None;
    for attribute in attributes.list(count)? {
        if !KINDS.contains(&attribute.kind) {
            let allowed = "an aclrtMallocAttrType from 0 to 3";
            return Err(NpuError::argument("cfg.attrs.attr", attribute.kind, allowed));
        }
        if attribute.kind == DEVICE_ID {
            device = Some(i32::try_from(attribute.value[0]).unwrap_or(-1));
        }
    }
    Ok(device)
}

fn with_config(
    out: Out<*mut c_void>,
    size: usize,
    policy: c_int,
    config: In<Config>,
) -> NpuResult<()> {
    out.check("devPtr")?;
    match configured(config)? {
        None => allocate(out, size, policy, true),
        Some(device) => {
            current()?;
            allocate_on(out, runtime()?.device_of(device)?, size, policy, true)
        }
    }
}

acl! {
    /// As `aclrtMalloc`, with a configuration that may name the device.
    fn aclrtMallocWithCfg(
        pointer: Out<*mut c_void>,
        size: usize,
        policy: c_int,
        config: In<Config>,
    ) {
        with_config(pointer, size, policy, config)
    }
}

acl! {
    /// As `aclrtMallocWithCfg`, for memory that the task scheduler reads, which is any.
    fn aclrtMallocForTaskScheduler(
        pointer: Out<*mut c_void>,
        size: usize,
        policy: c_int,
        config: In<Config>,
    ) {
        with_config(pointer, size, policy, config)
    }
}

acl! {
    /// As `aclrtMallocHost`, with a configuration.
    fn aclrtMallocHostWithCfg(pointer: Out<*mut c_void>, size: u64, config: In<Config>) {
        pointer.check("ptr")?;
        configured(config)?;
        allocate_host(pointer, usize::try_from(size).unwrap_or(usize::MAX))
    }
}

acl! {
    /// Allocates memory that host and devices reach by one address, as the newest product has it.
    fn aclrtMemAllocManaged(pointer: Out<*mut c_void>, size: u64, flag: u32) {
        pointer.check("ptr")?;
        if runtime()?.config().soc.family != softnpu::soc::Family::Ascend950 {
            return Err(NpuError::unsupported("managed memory"));
        }
        if flag != 1 {
            return Err(NpuError::value("flag", flag, "1"));
        }
        // The host reaches all memory of the software NPU.
        allocate(pointer, usize::try_from(size).unwrap_or(usize::MAX), 0, true)
    }
}

fn device_at(pointer: *const c_void) -> Option<&'static Device> {
    let found = runtime().ok()?.locate(pointer.cast())?;
    runtime().ok()?.device(found.device).ok()
}

acl! {
    /// Waits for the memory's device, and frees the memory.
    fn aclrtFreeWithDevSync(pointer: *mut c_void) {
        if let Some(device) = device_at(pointer) {
            device.drain();
        }
        free(pointer)
    }
}

acl! {
    /// Waits for the current device, and frees pinned host memory.
    fn aclrtFreeHostWithDevSync(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(NpuError::null("hostPtr"));
        }
        // A thread without a context has no device to wait for.
        if let Ok(context) = current() {
            runtime()?.device(context.device())?.drain();
        }
        host_memory::free(pointer.cast())
    }
}

/// What a call on host caches checks: they need no care here.
fn cached(pointer: *mut c_void, size: usize) -> NpuResult<()> {
    if pointer.is_null() {
        return Err(NpuError::null("devPtr"));
    }
    if size == 0 {
        return Err(NpuError::argument("size", 0, "greater than 0"));
    }
    on_device("devPtr", pointer, size)
}

fn on_device(name: &str, pointer: *const c_void, size: usize) -> NpuResult<()> {
    match place(name, pointer.cast(), size)? {
        Place::Device(_) => Ok(()),
        Place::Pinned | Place::Pageable => {
            Err(NpuError::value(name, format!("{pointer:p}"), "an address in device memory"))
        }
    }
}

acl! {
    /// Writes the host's caches back.
    fn aclrtMemFlush(pointer: *mut c_void, size: usize) {
        cached(pointer, size)
    }
}

acl! {
    /// Empties the host's caches.
    fn aclrtMemInvalidate(pointer: *mut c_void, size: usize) {
        cached(pointer, size)
    }
}

acl! {
    /// Opens memory to another device, as it is already.
    fn aclrtMemP2PMap(pointer: *mut c_void, size: usize, device: i32, flags: u64) {
        cached(pointer, size)?;
        if flags != 0 {
            return Err(NpuError::argument("flags", flags, "0"));
        }
        runtime()?.device_of(device).map(drop)
    }
}

acl! {
    /// The allocation that an address lies in.
    fn aclrtMemGetAddressRange(
        pointer: *mut c_void,
        base: Out<*mut c_void>,
        size: Out<usize>,
    ) {
        if pointer.is_null() {
            return Err(NpuError::null("ptr"));
        }
        let runtime = runtime()?;
        let address = pointer as usize;
        let (start, bytes) = if let Some((start, mapped)) = virtual_memory::mapped_at(pointer.cast()) {
            (start, mapped.bytes() as usize)
        } else if let Some(foreign) = ipc_memory::at(pointer.cast()) {
            (foreign.base, foreign.len)
        } else {
            let found = runtime.locate(pointer.cast());
            let found = found.and_then(|found| found.block.map(|block| (found.offset, block)));
            let Some((offset, block)) = found else {
                let allowed = "an address in device memory that is allocated";
                return Err(NpuError::value("ptr", format!("{pointer:p}"), allowed));
            };
            (address - (offset - block.offset) as usize, block.len as usize)
        };
        base.put_if_wanted(start as *mut c_void);
        size.put_if_wanted(bytes);
        Ok(())
    }
}

fn words(
    pointer: *mut c_void,
    room: usize,
    value: u32,
    count: usize,
    stream: Option<StreamHandle>,
) -> NpuResult<()> {
    if pointer.is_null() {
        return Err(NpuError::null("devPtr"));
    }
    if !(pointer as usize).is_multiple_of(4) {
        return Err(NpuError::argument("devPtr", format!("{pointer:p}"), "a multiple of 4"));
    }
    if count.checked_mul(4).is_none_or(|bytes| bytes > room) {
        let allowed = format!("at most a quarter of memSize, {room}");
        return Err(NpuError::argument("num", count, &allowed));
    }
    if count == 0 {
        return Ok(());
    }
    current()?;
    let stream = stream.map(StreamHandle::here).transpose()?;
    // SAFETY: aligned, as was just checked.
    unsafe { fill_words(pointer.cast(), value, count, stream.as_ref()) }
}

acl! {
    /// Fills with a number of 32 bits at once.
    fn aclrtMemsetD32(pointer: *mut c_void, room: usize, value: u32, count: usize) {
        words(pointer, room, value, count, None)
    }
}

acl! {
    /// Fills with a number of 32 bits in stream order.
    fn aclrtMemsetD32Async(
        pointer: *mut c_void,
        room: usize,
        value: u32,
        count: usize,
        stream: StreamHandle,
    ) {
        words(pointer, room, value, count, Some(stream))
    }
}

/// The kernel for an `aclrtReduceKind` and an `aclDataType`.
fn reducer(kind: c_int, data_type: c_int) -> NpuResult<Reducer> {
    let op = match kind {
        10 => ReduceOp::Sum,
        11 => ReduceOp::Max,
        12 => ReduceOp::Min,
        13 => return Err(NpuError::unsupported("the reduction EQUAL (13)")),
        other => return Err(NpuError::argument("kind", other, "10, 11, 12 or 13")),
    };
    let known = match data_type {
        0 => Some(DataType::F32),
        1 => Some(DataType::F16),
        2 => Some(DataType::I8),
        3 => Some(DataType::I32),
        4 => Some(DataType::U8),
        6 => Some(DataType::I16),
        7 => Some(DataType::U16),
        8 => Some(DataType::U32),
        9 => Some(DataType::I64),
        10 => Some(DataType::U64),
        11 => Some(DataType::F64),
        27 => Some(DataType::Bf16),
        _ => None,
    };
    known.and_then(|data_type| Reducer::new(data_type, op)).ok_or_else(|| {
        NpuError::unsupported(format!("a reduction of numbers of aclDataType {data_type}"))
    })
}

acl! {
    /// Combines memory with other memory in stream order; `bytes` of it.
    fn aclrtReduceAsync(
        to: *mut c_void,
        from: *const c_void,
        bytes: u64,
        kind: c_int,
        data_type: c_int,
        stream: StreamHandle,
        reserve: *mut c_void,
    ) {
        if to.is_null() {
            return Err(NpuError::null("dst"));
        }
        if from.is_null() {
            return Err(NpuError::null("src"));
        }
        if !reserve.is_null() {
            return Err(NpuError::argument("reserve", format!("{reserve:p}"), "NULL"));
        }
        let reducer = reducer(kind, data_type)?;
        let element = reducer.data_type().size();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let fits = |address: usize| address.is_multiple_of(element);
        if bytes == 0 || !bytes.is_multiple_of(element) || !fits(to as usize) || !fits(from as usize) {
            let given = format!("{bytes} from {from:p} to {to:p}");
            let allowed = format!("more than 0 and a multiple of {element}, as both addresses");
            return Err(NpuError::value("count", given, &allowed));
        }
        let distance = (to as usize).abs_diff(from as usize);
        if distance != 0 && distance < bytes {
            let given = format!("{bytes} from {from:p} to {to:p}");
            let allowed = "the same memory, or memory that does not overlap";
            return Err(NpuError::value("dst", given, allowed));
        }
        let stream = stream.here()?;
        on_device("dst", to, bytes)?;
        on_device("src", from, bytes)?;
        let (to, from) = (Address(to.cast()), Address(from.cast_mut().cast()));
        stream.submit(Work::Run(Some(Box::new(move || {
            let (to, from) = (to, from);
            // SAFETY: both were found to be device memory of that many aligned elements, equal or
            // apart; the caller answers for them until the stream has passed the task.
            unsafe { reducer.run(&[to.0], &[to.0.cast_const(), from.0.cast_const()], bytes / element) };
        }))))
    }
}

acl! {
    /// Writes in stream order whether anything overflowed: nothing did.
    fn aclrtGetOverflowStatus(output: *mut c_void, size: usize, stream: StreamHandle) {
        if output.is_null() {
            return Err(NpuError::null("outputAddr"));
        }
        if size == 0 {
            return Err(NpuError::argument("outputSize", 0, "greater than 0"));
        }
        let stream = stream.here()?;
        on_device("outputAddr", output, size)?;
        // SAFETY: it was found to be device memory of that size.
        unsafe { fill_in_order(output.cast(), 0, size, &stream) }
    }
}

acl! {
    /// Forgets in stream order whether anything overflowed.
    fn aclrtResetOverflowStatus(stream: StreamHandle) {
        stream.here().map(drop)
    }
}

acl! {
    /// The device's address of pinned host memory.
    fn aclrtHostGetDevicePointer(host: *mut c_void, device: Out<*mut c_void>, flag: u32) {
        if host.is_null() {
            return Err(NpuError::null("pHost"));
        }
        device.check("pDevice")?;
        if flag != 0 {
            return Err(NpuError::argument("flag", flag, "0"));
        }
        device.put("pDevice", host_memory::device_address(host.cast())?.cast())
    }
}

/// Flags of `aclrtHostRegisterV2`: mapped, device registers, read only, pinned.
const HOST_FLAGS: u32 = 2 | 4 | 8 | 0x1000_0000;
const HOST_MAPPED: u32 = 2;

acl! {
    /// Pins page-aligned host memory of the caller's.
    fn aclrtHostRegisterV2(pointer: *mut c_void, size: u64, flags: u32) {
        if pointer.is_null() {
            return Err(NpuError::null("ptr"));
        }
        if flags == 0 || flags & !HOST_FLAGS != 0 {
            let allowed = "one or more of 0x2, 0x4, 0x8 and 0x10000000";
            return Err(NpuError::value("flag", format!("{flags:#x}"), allowed));
        }
        if size == 0 || !(pointer as usize).is_multiple_of(4096) {
            let given = format!("{pointer:p} with size {size}");
            return Err(NpuError::value("ptr", given, "a multiple of 4096, with a size above 0"));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        host_memory::register(pointer.cast(), size, flags & HOST_MAPPED != 0)
    }
}

/// `aclrtMemUsageInfo`: what one part of a program uses.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Usage {
    name: [u8; 32],
    current: u64,
    peak: u64,
    reserved: [usize; 8],
}
const _: () = assert!(size_of::<Usage>() == 112);

acl! {
    /// Memory that this process has on a device, by component; there is one.
    fn aclrtGetMemUsageInfo(device: u32, list: Out<Usage>, count: usize, got: Out<usize>) {
        list.check("memUsageInfo")?;
        got.check("outputNum")?;
        if count == 0 {
            return Err(NpuError::argument("inputNum", 0, "greater than 0"));
        }
        let runtime = runtime()?;
        let device = runtime.device_of(i32::try_from(device).unwrap_or(-1))?;
        let arena = runtime.arena_of(device)?;
        let mut name = [0; 32];
        name[..7].copy_from_slice(b"RUNTIME");
        let (current, peak) = (arena.used(), arena.peak());
        list.put("memUsageInfo", Usage { name, current, peak, reserved: [0; 8] })?;
        got.put("outputNum", 1)
    }
}
