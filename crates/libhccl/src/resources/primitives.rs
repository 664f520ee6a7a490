//! The tasks that operators of a program's own are made of. They need threads and channels of
//! [`absent`](super::absent), so there is nothing that they could work on.

use std::ffi::{c_char, c_void};

use crate::border::{hccl_call, present};
use crate::communicators::check_process;
use crate::errors::Failure;

const NO_TASKS: &str = "a software NPU has no threads or channels that tasks of a program's own could \
                        use";

/// What all of them answer.
fn answer(call: &str, pointers: &[(&str, *const c_void)]) -> Result<(), Failure> {
    check_process()?;
    for (name, pointer) in pointers {
        present(call, name, *pointer)?;
    }
    Err(Failure::absent(call, NO_TASKS))
}

hccl_call! {
    /// Would take a communicator for the tasks that follow.
    fn HcommAcquireComm(name: *const c_char) {
        answer("HcommAcquireComm", &[("commId", name.cast())])
    }
}

hccl_call! {
    /// Would give a communicator back.
    fn HcommReleaseComm(name: *const c_char) {
        answer("HcommReleaseComm", &[("commId", name.cast())])
    }
}

hccl_call! {
    /// Would collect the tasks that follow.
    fn HcommBatchModeStart(tag: *const c_char) {
        answer("HcommBatchModeStart", &[("batchTag", tag.cast())])
    }
}

hccl_call! {
    /// Would start collected tasks.
    fn HcommBatchModeEnd(tag: *const c_char) {
        answer("HcommBatchModeEnd", &[("batchTag", tag.cast())])
    }
}

hccl_call! {
    /// Would copy memory of the own device.
    fn HcommLocalCopyOnThread(
        _thread: u64,
        target: *mut c_void,
        source: *const c_void,
        _len: u64,
    ) {
        answer("HcommLocalCopyOnThread", &[("dst", target.cast_const()), ("src", source)])
    }
}

hccl_call! {
    /// Would copy memory to another rank.
    fn HcommWriteOnThread(
        _thread: u64,
        _channel: u64,
        target: *mut c_void,
        source: *const c_void,
        _len: u64,
    ) {
        answer("HcommWriteOnThread", &[("dst", target.cast_const()), ("src", source)])
    }
}

hccl_call! {
    /// Would copy memory from another rank.
    fn HcommReadOnThread(
        _thread: u64,
        _channel: u64,
        target: *mut c_void,
        source: *const c_void,
        _len: u64,
    ) {
        answer("HcommReadOnThread", &[("dst", target.cast_const()), ("src", source)])
    }
}

hccl_call! {
    /// Would give a sign to another thread.
    fn HcommThreadNotifyRecordOnThread(_thread: u64, _target: u64, _index: u32) {
        answer("HcommThreadNotifyRecordOnThread", &[])
    }
}

hccl_call! {
    /// Would wait for a sign of another thread.
    fn HcommThreadNotifyWaitOnThread(_thread: u64, _index: u32, _timeout: u32) {
        answer("HcommThreadNotifyWaitOnThread", &[])
    }
}

hccl_call! {
    /// Would give a sign to another rank.
    fn HcommChannelNotifyRecordOnThread(_thread: u64, _channel: u64, _index: u32) {
        answer("HcommChannelNotifyRecordOnThread", &[])
    }
}

hccl_call! {
    /// Would wait for a sign of another rank.
    fn HcommChannelNotifyWaitOnThread(_thread: u64, _channel: u64, _index: u32, _timeout: u32) {
        answer("HcommChannelNotifyWaitOnThread", &[])
    }
}
