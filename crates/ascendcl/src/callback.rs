//! Functions of the user's in stream order.

use std::ffi::{c_int, c_void};

use softnpu::host_call::{
    Function, HostCall, ReportThreads, Target, device_call_threads, report_threads,
};
use softnpu::task::Work;
use softnpu::{NpuError, NpuResult};

use crate::border::{StreamHandle, acl, limit_ms};

/// A function of the user's.
type Entry = Option<unsafe extern "C" fn(*mut c_void)>;

fn function(entry: Entry, argument: *mut c_void) -> NpuResult<Function> {
    let entry = entry.ok_or_else(|| NpuError::null("fn"))?;
    Ok(Function { entry, argument })
}

acl! {
    /// Lets a thread (by its `pthread_t`) run the callbacks of a stream.
    fn aclrtSubscribeReport(thread: u64, stream: StreamHandle) {
        report_threads().subscribe(thread, &stream.get()?)
    }
}

acl! {
    /// Ends `aclrtSubscribeReport`.
    fn aclrtUnSubscribeReport(thread: u64, stream: StreamHandle) {
        report_threads().unsubscribe(thread, &stream.get()?)
    }
}

acl! {
    /// Queues a callback for the thread that is subscribed; with block type 1 the stream waits.
    fn aclrtLaunchCallback(
        entry: Entry,
        argument: *mut c_void,
        block_type: c_int,
        stream: StreamHandle,
    ) {
        let function = function(entry, argument)?;
        if !(0..=1).contains(&block_type) {
            return Err(NpuError::argument("blockType", block_type, "0 (no block) or 1 (block)"));
        }
        let stream = stream.get()?;
        let target = Target::Report(report_threads().mailbox_of(&stream)?);
        stream.submit(Work::Host(HostCall::new(function, target, block_type == 1)))
    }
}

fn process(threads: &ReportThreads, timeout: i32) -> NpuResult<()> {
    if timeout != -1 && timeout <= 0 {
        let allowed = "-1 (no limit) or a positive number of milliseconds";
        return Err(NpuError::argument("timeout", timeout, allowed));
    }
    // SAFETY: asks for the calling thread's own handle.
    let thread = unsafe { libc::pthread_self() };
    threads.process(thread, limit_ms("timeout", timeout)?)
}

acl! {
    /// Runs the callbacks that wait for the calling thread.
    fn aclrtProcessReport(timeout: i32) {
        process(report_threads(), timeout)
    }
}

acl! {
    /// Lets a thread run the functions that a device calls by itself for a stream.
    fn aclrtSubscribeHostFunc(thread: u64, stream: StreamHandle) {
        device_call_threads().subscribe(thread, &stream.get()?)
    }
}

acl! {
    /// Ends `aclrtSubscribeHostFunc`.
    fn aclrtUnSubscribeHostFunc(thread: u64, stream: StreamHandle) {
        device_call_threads().unsubscribe(thread, &stream.get()?)
    }
}

acl! {
    /// Runs what a device called by itself. Devices here never do, so the time runs out.
    fn aclrtProcessHostFunc(timeout: i32) {
        process(device_call_threads(), timeout)
    }
}

acl! {
    /// Queues a function for a thread of the runtime; the stream waits for it.
    fn aclrtLaunchHostFunc(stream: StreamHandle, entry: Entry, argument: *mut c_void) {
        let function = function(entry, argument)?;
        let call = HostCall::new(function, Target::Runtime, true);
        stream.get()?.submit(Work::Host(call))
    }
}
