//! What needs kernels of the device, or channels between NPUs: threads that run tasks, channels, and
//! launches. There are none under a software NPU, so all of it says so, once it was called rightly.

use std::ffi::{c_char, c_int, c_void};

use super::{Engine, channel_config, memory::CommMem};
use crate::border::{check_rank, hccl_call, present};
use crate::communicators::comm;
use crate::errors::Failure;

/// `CommAbiHeader`: with which structure a program was compiled.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Header {
    pub(crate) version: u32,
    pub(crate) magic: u32,
    pub(crate) size: u32,
    pub(crate) reserved: u32,
}
const _: () = assert!(size_of::<Header>() == 16);

/// `ThreadConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ThreadConfig {
    header: Header,
    _notifies: u16,
    _reserved: [u8; 14],
}
const _: () = assert!(size_of::<ThreadConfig>() == 32);

/// The beginning of an `HcclChannelDesc`, and how long it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ChannelDesc {
    header: Header,
    remote_rank: u32,
    _rest: [u32; 119],
}
const _: () = assert!(size_of::<ChannelDesc>() == 496);

const THREAD_MAGIC: u32 = 0x0f0f_0f2f;
const MAGIC: u32 = 0x0f0f_0f0f;

const NO_THREADS: &str = "a software NPU has no threads that run the tasks of an operator, so \
                          operators of a program's own cannot run on it";
const NO_CHANNELS: &str = "a software NPU has no channels to others, so operators of a program's own \
                           cannot run on it";
const NO_KERNELS: &str = "a software NPU has no AI CPU, so kernels cannot run on it";

/// Refuses a structure that its initialisation has not seen.
fn check_header(call: &str, name: &str, header: Header, magic: u32) -> Result<(), Failure> {
    if header.magic != magic {
        let value = format!("magic word {:#x}", header.magic);
        let expect = format!("{magic:#x}, as the function that initialises it writes");
        return Err(Failure::argument(call, name, &value, &expect));
    }
    Ok(())
}

fn check_number(call: &str, name: &str, number: u32) -> Result<(), Failure> {
    if number == 0 {
        return Err(Failure::argument(call, name, "0", "greater than 0"));
    }
    Ok(())
}

hccl_call! {
    /// Would take threads of an engine.
    fn HcclThreadAcquire(
        handle: *mut c_void,
        engine: c_int,
        count: u32,
        _notifies: u32,
        threads: *mut u64,
    ) {
        const CALL: &str = "HcclThreadAcquire";
        comm(CALL, handle)?;
        present(CALL, "threads", threads)?;
        Engine::parse(CALL, "engine", engine)?;
        check_number(CALL, "threadNum", count)?;
        Err(Failure::absent(CALL, NO_THREADS))
    }
}

hccl_call! {
    /// Would take threads of an engine, each with wishes of its own.
    fn HcclThreadAcquireWithConfig(
        handle: *mut c_void,
        engine: c_int,
        count: u32,
        kind: c_int,
        configs: *const ThreadConfig,
        threads: *mut u64,
    ) {
        const CALL: &str = "HcclThreadAcquireWithConfig";
        comm(CALL, handle)?;
        present(CALL, "config", configs)?;
        present(CALL, "threads", threads)?;
        Engine::parse(CALL, "engine", engine)?;
        check_number(CALL, "threadNum", count)?;
        if kind != 0 {
            let expect = "THREAD_TYPE_TS (0)";
            return Err(Failure::argument(CALL, "type", &kind.to_string(), expect));
        }
        // SAFETY: not NULL; readable for `count` structures by the contract of this function.
        for config in unsafe { std::slice::from_raw_parts(configs, count as usize) } {
            check_header(CALL, "config", config.header, THREAD_MAGIC)?;
        }
        Err(Failure::absent(CALL, NO_THREADS))
    }
}

hccl_call! {
    /// Would make a thread of a stream.
    fn HcclThreadAcquireWithStream(
        handle: *mut c_void,
        engine: c_int,
        stream: *mut c_void,
        _notifies: u32,
        thread: *mut u64,
    ) {
        const CALL: &str = "HcclThreadAcquireWithStream";
        comm(CALL, handle)?;
        present(CALL, "stream", stream)?;
        present(CALL, "thread", thread)?;
        Engine::parse(CALL, "engine", engine)?;
        Err(Failure::absent(CALL, NO_THREADS))
    }
}

hccl_call! {
    /// Would take a thread for a purpose.
    fn HcclDedicatedThreadAcquire(
        handle: *mut c_void,
        purpose: c_int,
        _notifies: u32,
        thread: *mut u64,
    ) {
        const CALL: &str = "HcclDedicatedThreadAcquire";
        comm(CALL, handle)?;
        present(CALL, "thread", thread)?;
        if !(0..=5).contains(&purpose) {
            let expect = "a purpose from 0 to 5";
            return Err(Failure::argument(CALL, "useType", &purpose.to_string(), expect));
        }
        Err(Failure::absent(CALL, NO_THREADS))
    }
}

hccl_call! {
    /// Would make threads of one engine known to another.
    fn HcclThreadExportToCommEngine(
        handle: *mut c_void,
        count: u32,
        threads: *const u64,
        engine: c_int,
        exported: *mut u64,
    ) {
        const CALL: &str = "HcclThreadExportToCommEngine";
        comm(CALL, handle)?;
        present(CALL, "threads", threads)?;
        present(CALL, "exportedThreads", exported)?;
        check_number(CALL, "threadNum", count)?;
        Engine::parse(CALL, "dstCommEngine", engine)?;
        Err(Failure::absent(CALL, NO_THREADS))
    }
}

hccl_call! {
    /// Would tell the stream of a thread.
    fn HcclThreadResGetInfo(
        handle: *mut c_void,
        _thread: u64,
        kind: c_int,
        len: u32,
        info: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclThreadResGetInfo";
        comm(CALL, handle)?;
        present(CALL, "info", info)?;
        if kind != 0 {
            let expect = "THREAD_RES_TYPE_STREAM (0)";
            return Err(Failure::argument(CALL, "resType", &kind.to_string(), expect));
        }
        if len as usize != size_of::<*mut c_void>() {
            return Err(Failure::argument(CALL, "infoLen", &len.to_string(), "8"));
        }
        Err(Failure::absent(CALL, NO_THREADS))
    }
}

/// What both ways to ask for channels check.
///
/// # Safety
/// 1. `descs` is NULL or readable for `count` structures.
unsafe fn channels(
    call: &str,
    handle: *mut c_void,
    engine: c_int,
    (descs, count): (*const ChannelDesc, u32),
    config: *mut c_void,
    channels: *mut u64,
) -> Result<(), Failure> {
    let comm = comm(call, handle)?;
    present(call, "channelDescs", descs)?;
    present(call, "channels", channels)?;
    Engine::parse(call, "engine", engine)?;
    check_number(call, "channelNum", count)?;
    channel_config::check(call, config)?;
    // SAFETY: not NULL; (1).
    for desc in unsafe { std::slice::from_raw_parts(descs, count as usize) } {
        check_header(call, "channelDescs", desc.header, MAGIC)?;
        check_rank(call, "remoteRank", desc.remote_rank, comm.engine.ranks())?;
    }
    Err(Failure::absent(call, NO_CHANNELS))
}

hccl_call! {
    /// Would open channels to other ranks.
    fn HcclChannelAcquire(
        handle: *mut c_void,
        engine: c_int,
        descs: *const ChannelDesc,
        count: u32,
        out: *mut u64,
    ) {
        let none = std::ptr::null_mut();
        // SAFETY: NULL or readable by the contract of this function.
        unsafe { channels("HcclChannelAcquire", handle, engine, (descs, count), none, out) }
    }
}

hccl_call! {
    /// Would open channels to other ranks, with wishes.
    fn HcclChannelAcquireWithConfig(
        handle: *mut c_void,
        engine: c_int,
        descs: *const ChannelDesc,
        count: u32,
        config: *mut c_void,
        out: *mut u64,
    ) {
        const CALL: &str = "HcclChannelAcquireWithConfig";
        // SAFETY: NULL or readable by the contract of this function.
        unsafe { channels(CALL, handle, engine, (descs, count), config, out) }
    }
}

hccl_call! {
    /// Would tell the buffer of the rank at the other end.
    fn HcclChannelGetHcclBuffer(
        handle: *mut c_void,
        _channel: u64,
        buffer: *mut *mut c_void,
        size: *mut u64,
    ) {
        const CALL: &str = "HcclChannelGetHcclBuffer";
        comm(CALL, handle)?;
        present(CALL, "buffer", buffer)?;
        present(CALL, "size", size)?;
        Err(Failure::absent(CALL, NO_CHANNELS))
    }
}

hccl_call! {
    /// Would tell the registered memory of the rank at the other end.
    fn HcclChannelGetRemoteMems(
        handle: *mut c_void,
        _channel: u64,
        count: *mut u32,
        memory: *mut *mut CommMem,
        tags: *mut *mut *mut c_char,
    ) {
        const CALL: &str = "HcclChannelGetRemoteMems";
        comm(CALL, handle)?;
        present(CALL, "memNum", count)?;
        present(CALL, "remoteMems", memory)?;
        present(CALL, "memTags", tags)?;
        Err(Failure::absent(CALL, NO_CHANNELS))
    }
}

hccl_call! {
    /// Would run a kernel on the AI CPU.
    fn HcclAicpuKernelLaunch(
        handle: *mut c_void,
        operator: *const Header,
        kernel: *const c_void,
        _thread: u64,
        stream: *mut c_void,
        config: *const Header,
    ) {
        const CALL: &str = "HcclAicpuKernelLaunch";
        comm(CALL, handle)?;
        present(CALL, "opInfo", operator)?;
        present(CALL, "kernelFuncInfo", kernel)?;
        present(CALL, "stream", stream)?;
        present(CALL, "kernelLaunchCfg", config)?;
        // SAFETY: neither is NULL; both are readable by the contract of this function.
        let (operator, config) = unsafe { (*operator, *config) };
        check_header(CALL, "opInfo", operator, MAGIC)?;
        check_header(CALL, "kernelLaunchCfg", config, MAGIC)?;
        Err(Failure::absent(CALL, NO_KERNELS))
    }
}
