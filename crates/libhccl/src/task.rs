//! Operations and transfers as tasks of a stream.

use std::ffi::c_void;

use hccl::{Operation, Polled, Transfers};
use hccl_abi::contain;
use hccl_abi::extension::{POLL_DONE, POLL_PENDING, POLL_PROGRESS, Task, Wake};
use hccl_os::wait::Scope;

use crate::errors::{Failure, record_of, stream_code};
use crate::runtime::{log_line, report, submit};

/// A panic in a poll: `ACL_ERROR_RT_INTERNAL_ERROR`.
const POLL_DEFECT: i32 = 507_000;

/// Bytes of a task's name, with the NUL at its end.
const NAME_BYTES: usize = 32;

/// What a stream can run.
pub(crate) trait Pollable: Send {
    /// See [`Operation::poll`].
    fn poll(&mut self, arm: bool) -> Polled;
}

impl Pollable for Operation {
    fn poll(&mut self, arm: bool) -> Polled {
        self.poll(arm)
    }
}

impl Pollable for Transfers {
    fn poll(&mut self, arm: bool) -> Polled {
        self.poll(arm)
    }
}

/// # Safety
/// 1. `data` is what [`enqueue`] of a `T` gave to the runtime, not yet released, and polled by one
///    thread at a time.
/// 2. `wake` is writable.
unsafe extern "C" fn poll<T: Pollable>(data: *mut c_void, arm: u32, wake: *mut Wake) -> i32 {
    // SAFETY: (1).
    let task = unsafe { &mut *data.cast::<T>() };
    let polled = match contain(|| task.poll(arm != 0)) {
        Ok(polled) => polled,
        Err(panic) => {
            log_line!(Error, "poll", "a defect of this library: {}", panic.0);
            return POLL_DEFECT;
        }
    };
    match polled {
        Polled::Done => POLL_DONE,
        Polled::Progress => POLL_PROGRESS,
        Polled::Pending { watch, spin, sleep } => {
            let mut wait = watch.map_or(Wake::NONE, |watch| Wake {
                word: watch.word.cast(),
                seen: watch.seen,
                shared: u32::from(watch.scope == Scope::Shared),
                ..Wake::NONE
            });
            wait.spin = spin.into();
            wait.sleep_us = u32::try_from(sleep.as_micros()).unwrap_or(u32::MAX).max(1);
            // SAFETY: (2).
            unsafe { wake.write(wait) };
            POLL_PENDING
        }
        Polled::Failed(error) => {
            let record = record_of(&error);
            log_line!(Error, "poll", "{}{} {}", record.keys, record.code, record.text);
            report(&record);
            stream_code(&error)
        }
    }
}

/// # Safety
/// 1. As (1) of [`poll`]; nothing uses `data` afterwards.
unsafe extern "C" fn release<T: Pollable>(data: *mut c_void) {
    // SAFETY: (1): it came from `Box::into_raw`, once.
    let task = unsafe { Box::from_raw(data.cast::<T>()) };
    if let Err(panic) = contain(|| drop(task)) {
        log_line!(Error, "release", "a defect of this library: {}", panic.0);
    }
}

/// Queues an operation on a stream.
pub(crate) fn enqueue<T: Pollable>(
    name: &str,
    task: T,
    stream: *mut c_void,
) -> Result<(), Failure> {
    let mut text = [0u8; NAME_BYTES];
    let len = name.len().min(NAME_BYTES - 1);
    text[..len].copy_from_slice(&name.as_bytes()[..len]);
    let task = Task {
        size: size_of::<Task>(),
        name: text.as_ptr().cast(),
        data: Box::into_raw(Box::new(task)).cast(),
        poll: Some(poll::<T>),
        release: Some(release::<T>),
    };
    submit(stream, &task)
}
