//! What graph engines ask and set before they run operators. Operators need neither streams beside
//! their own nor scratch memory here, so what is brought is checked and left alone.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use hccl_abi::c_text;

use super::groups::find;
use crate::border::{hccl_call, present};
use crate::communicators::check_process;
use crate::errors::Failure;
use crate::graph::check_tag;
use crate::resources::halves;
use crate::runtime::c_pointer;

/// `HcclWorkflowMode`: operators of a graph (0), or single ones (1).
static WORKFLOW: AtomicI32 = AtomicI32::new(0);

hccl_call! {
    /// Says for what operators are called. They do the same for both.
    fn HcomSetWorkflowMode(mode: c_int) {
        check_process()?;
        if !(0..=1).contains(&mode) {
            let expect = "HCCL_WORKFLOW_MODE_OPS_KERNEL_INFO_LIB (0) or _OP_BASE (1)";
            return Err(Failure::argument("HcomSetWorkflowMode", "mode", &mode.to_string(), expect));
        }
        WORKFLOW.store(mode, Ordering::Relaxed);
        Ok(())
    }
}

/// What was said last.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub extern "C" fn HcomGetWorkflowMode() -> c_int {
    WORKFLOW.load(Ordering::Relaxed)
}

/// The beginning of `HcomOpParam`; the rest does not matter here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OpParam {
    _group: *const c_char,
    kind: *const c_char,
}

/// `HcomResResponse`.
#[repr(C)]
pub struct Needs {
    streams: u64,
    tasks: u64,
    memory: u64,
}
const _: () = assert!(size_of::<Needs>() == 24);

/// Operators that a graph can have.
const KINDS: [&str; 13] = [
    "HcomAllGather",
    "HcomAllGatherV",
    "HcomAllReduce",
    "HcomAllToAll",
    "HcomAllToAllV",
    "HcomAllToAllVC",
    "HcomBroadcast",
    "HcomReceive",
    "HcomReduce",
    "HcomReduceScatter",
    "HcomReduceScatterV",
    "HcomScatter",
    "HcomSend",
];

/// What an operator needs: nothing but one task of its stream.
///
/// # Safety
/// 1. `param` is NULL or readable; `needs` is NULL or writable.
unsafe fn calculate(call: &str, param: *const OpParam, needs: *mut Needs) -> Result<(), Failure> {
    check_process()?;
    present(call, "hcomOpParam", param)?;
    present(call, "hcomResResponse", needs)?;
    // SAFETY: not NULL; (1).
    let OpParam { kind, .. } = unsafe { *param };
    present(call, "opType", kind)?;
    // SAFETY: not NULL; a C string by (1).
    let kind = unsafe { c_text(kind) }.unwrap_or_default();
    if !KINDS.contains(&kind.as_str()) {
        return Err(Failure::unsupported(call, "opType", &kind, &KINDS.join(", ")));
    }
    // SAFETY: not NULL; (1).
    unsafe { needs.write(Needs { streams: 0, tasks: 1, memory: 0 }) };
    Ok(())
}

hccl_call! {
    /// What an operator of a graph needs, asked where it will run.
    fn HcomCalcOpOnline(param: *const OpParam, needs: *mut Needs) {
        // SAFETY: by the contract of this function.
        unsafe { calculate("HcomCalcOpOnline", param, needs) }
    }
}

hccl_call! {
    /// What an operator of a graph needs, asked elsewhere.
    fn HcomCalcOpResOffline(param: *const OpParam, needs: *mut Needs) {
        // SAFETY: by the contract of this function.
        unsafe { calculate("HcomCalcOpResOffline", param, needs) }
    }
}

/// Refuses a list that is announced and not there.
fn check_list<T>(call: &str, name: &str, list: *const T, len: i64) -> Result<(), Failure> {
    if len < 0 {
        return Err(Failure::argument(call, "len", &len.to_string(), "0 or more"));
    }
    if len > 0 { present(call, name, list) } else { Ok(()) }
}

hccl_call! {
    /// Brings streams and memory for the operators of a tag.
    fn HcomSetWorkspaceResource(
        tag: *const c_char,
        group: *const c_char,
        streams: *const *mut c_void,
        len: i32,
        memory: *mut c_void,
        size: u64,
    ) {
        const CALL: &str = "HcomSetWorkspaceResource";
        // SAFETY: NULL or C strings by the contract of this function.
        unsafe {
            check_tag(CALL, tag)?;
            find(CALL, group)?;
        }
        check_list(CALL, "stream", streams, len.into())?;
        if size > 0 { present(CALL, "memPtr", memory) } else { Ok(()) }
    }
}

hccl_call! {
    /// Brings streams for the operators of a graph.
    fn HcomSetAttachedStream(
        group: *const c_char,
        _graph: u32,
        streams: *const *mut c_void,
        len: i32,
    ) {
        const CALL: &str = "HcomSetAttachedStream";
        // SAFETY: NULL or a C string by the contract of this function.
        unsafe { find(CALL, group) }?;
        check_list(CALL, "stream", streams, len.into())
    }
}

hccl_call! {
    /// Brings memory for all operators of a group.
    fn HcomSetGlobalWorkSpace(group: *const c_char, memory: *const *mut c_void, len: u32) {
        const CALL: &str = "HcomSetGlobalWorkSpace";
        // SAFETY: NULL or a C string by the contract of this function.
        unsafe { find(CALL, group) }?;
        check_list(CALL, "globalWorkSpaceAddr", memory, len.into())
    }
}

hccl_call! {
    /// Limits the vector cores of operators, which use none.
    fn HcomSetAivCoreLimit(group: *const c_char, limit: u32) {
        const CALL: &str = "HcomSetAivCoreLimit";
        // SAFETY: NULL or a C string by the contract of this function.
        unsafe { find(CALL, group) }?;
        if limit == 0 {
            return Err(Failure::argument(CALL, "aivCoreLimit", "0", "greater than 0"));
        }
        Ok(())
    }
}

hccl_call! {
    /// Gives up what was kept for the operators of a tag, which is nothing.
    fn HcomUnloadTask(group: *const c_char, tag: *const c_char) {
        const CALL: &str = "HcomUnloadTask";
        // SAFETY: NULL or C strings by the contract of this function.
        unsafe {
            find(CALL, group)?;
            check_tag(CALL, tag)
        }
    }
}

hccl_call! {
    /// Whether reductions have the same result every time, which they do.
    fn HcomSupportDeterministicOptim(group: *const c_char, answer: *mut bool) {
        const CALL: &str = "HcomSupportDeterministicOptim";
        present(CALL, "isDeterministicOptim", answer)?;
        // SAFETY: NULL or a C string by the contract of this function.
        unsafe { find(CALL, group) }?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { answer.write(true) };
        Ok(())
    }
}

hccl_call! {
    /// How many servers the world has, and how many devices the largest of them, which are linked
    /// alike.
    fn HcomGetServerNumAndDeviceNumPerServer(
        servers: *mut u32,
        devices: *mut u32,
        linked: *mut u32,
    ) {
        const CALL: &str = "HcomGetServerNumAndDeviceNumPerServer";
        present(CALL, "serverNum", servers)?;
        present(CALL, "deviceNumPerServer", devices)?;
        present(CALL, "deviceNumPerAggregation", linked)?;
        // SAFETY: NULL stands for the world.
        let (_, comm) = unsafe { find(CALL, std::ptr::null()) }?;
        let alone = vec![comm.engine.ranks()];
        let topology = comm.origin.topology.as_ref();
        let sizes = topology.and_then(|it| it.groups.first()).unwrap_or(&alone);
        let most = sizes.iter().copied().max().unwrap_or(0);
        // SAFETY: none is NULL; writable by the contract of this function.
        unsafe {
            servers.write(sizes.len() as u32);
            devices.write(most);
            linked.write(most);
        }
        Ok(())
    }
}

/// Which half of a communicator's buffer.
#[derive(Clone, Copy)]
enum Half {
    In,
    Out,
}

/// Tells where half of the buffer of a group is.
///
/// # Safety
/// 1. `group` is NULL or a C string; the places are NULL or writable.
unsafe fn half(
    call: &str,
    group: *const c_char,
    which: Half,
    buffer: *mut *mut c_void,
    size: *mut u64,
) -> Result<(), Failure> {
    present(call, "buffer", buffer)?;
    present(call, "size", size)?;
    // SAFETY: (1).
    let (_, comm) = unsafe { find(call, group) }?;
    let (firsts, bytes) = halves(call, &comm)?;
    // SAFETY: neither is NULL; (1).
    unsafe {
        buffer.write(c_pointer(firsts[which as usize]));
        size.write(bytes);
    }
    Ok(())
}

hccl_call! {
    /// Takes memory for the buffer of a group.
    fn HcomCreateCommCCLbuffer(group: *const c_char) {
        const CALL: &str = "HcomCreateCommCCLbuffer";
        // SAFETY: NULL or a C string by the contract of this function.
        let (_, comm) = unsafe { find(CALL, group) }?;
        halves(CALL, &comm).map(drop)
    }
}

hccl_call! {
    /// The half of a group's buffer for what is sent.
    fn HcomGetInCCLbuffer(group: *const c_char, buffer: *mut *mut c_void, size: *mut u64) {
        // SAFETY: by the contract of this function.
        unsafe { half("HcomGetInCCLbuffer", group, Half::In, buffer, size) }
    }
}

hccl_call! {
    /// The half of a group's buffer for what is received.
    fn HcomGetOutCCLbuffer(group: *const c_char, buffer: *mut *mut c_void, size: *mut u64) {
        // SAFETY: by the contract of this function.
        unsafe { half("HcomGetOutCCLbuffer", group, Half::Out, buffer, size) }
    }
}
