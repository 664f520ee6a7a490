//! Functions of the user's that are called when something happens: to devices, to streams, when
//! tasks are aborted, when a task fails.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use parking_lot::Mutex;
use softnpu::exceptions::{self, Exception};
use softnpu::{NpuError, NpuResult, code};

use crate::border::{Text, acl};

/// An argument that is handed back as it came.
#[derive(Clone, Copy)]
struct Argument(*mut c_void);

// SAFETY: it is only handed back to the function that it came with, whose author answers for it.
unsafe impl Send for Argument {}

type OnDevice = unsafe extern "C" fn(u32, c_int, *mut c_void);
type OnStream = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void);
type OnAbort = unsafe extern "C" fn(u32, c_int, u32, *mut c_void) -> i32;
type OnException = unsafe extern "C" fn(*const Exception);

/// Functions by name.
struct Observers<F>(Mutex<Vec<(String, F, Argument)>>);

impl<F: Copy> Observers<F> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Adds a function under a name, or takes it away where none is given.
    fn register(&self, name: Text, function: Option<F>, argument: *mut c_void) -> NpuResult<()> {
        let name = name.get().ok_or_else(|| NpuError::null("regName"))?;
        if name.is_empty() {
            return Err(NpuError::argument("regName", "\"\"", "a name that is not empty"));
        }
        let mut all = self.0.lock();
        let known = all.iter().position(|(other, _, _)| *other == name);
        match (known, function) {
            (None, Some(function)) => all.push((name, function, Argument(argument))),
            (Some(at), None) => drop(all.remove(at)),
            (Some(_), Some(_)) => {
                return Err(NpuError::value("regName", name, "a name that is not registered"));
            }
            (None, None) => {
                return Err(NpuError::value("regName", name, "a name that is registered"));
            }
        }
        Ok(())
    }

    /// All functions; they are called without the lock, so they may call anything.
    fn all(&self) -> Vec<(F, Argument)> {
        self.0.lock().iter().map(|(_, function, argument)| (*function, *argument)).collect()
    }
}

static DEVICES: Observers<OnDevice> = Observers::new();
static STREAMS: Observers<OnStream> = Observers::new();
static ABORTS: Observers<OnAbort> = Observers::new();

/// What happens to a device.
#[derive(Clone, Copy)]
pub(crate) enum DeviceState {
    SetPre = 0,
    SetPost = 1,
    ResetPre = 2,
    ResetPost = 3,
}

/// What happens to a stream.
#[derive(Clone, Copy)]
pub(crate) enum StreamState {
    CreatePost = 1,
    DestroyPre = 2,
}

/// Tells what happens to a device.
pub(crate) fn tell_device(device: u32, state: DeviceState) {
    for (function, argument) in DEVICES.all() {
        // SAFETY: the user gave the function to be called like this.
        unsafe { function(device, state as c_int, argument.0) };
    }
}

/// Tells what happens to a stream.
pub(crate) fn tell_stream(stream: *mut c_void, state: StreamState) {
    for (function, argument) in STREAMS.all() {
        // SAFETY: as above.
        unsafe { function(stream, state as c_int, argument.0) };
    }
}

/// Tells of an abort of all tasks of a device; false when one of the functions refused.
pub(crate) fn tell_abort(device: u32, is_over: bool, timeout: u32) -> NpuResult<()> {
    for (function, argument) in ABORTS.all() {
        // SAFETY: as above.
        let answer = unsafe { function(device, is_over.into(), timeout, argument.0) };
        if answer != 0 {
            let text = format!("A callback for the abort of device {device} returned {answer}.");
            return Err(NpuError::new(code::RT_TASK_ABORT_STOP, "EE1001", text));
        }
    }
    Ok(())
}

acl! {
    /// Has a function called before and after a device is set and reset.
    fn aclrtRegDeviceStateCallback(name: Text, function: Option<OnDevice>, argument: *mut c_void) {
        DEVICES.register(name, function, argument)
    }
}

acl! {
    /// Has a function called after a stream is made and before it is destroyed.
    fn aclrtRegStreamStateCallback(name: Text, function: Option<OnStream>, argument: *mut c_void) {
        STREAMS.register(name, function, argument)
    }
}

acl! {
    /// Has a function called before and after all tasks of a device are aborted.
    fn aclrtSetDeviceTaskAbortCallback(
        name: Text,
        function: Option<OnAbort>,
        argument: *mut c_void,
    ) {
        ABORTS.register(name, function, argument)
    }
}

fn listen(number: usize, function: OnException) -> bool {
    exceptions::listen(
        number,
        // SAFETY: the user gave the function to be called with an exception that lives until it
        // returns.
        Arc::new(move |exception| unsafe { function(&raw const exception) }),
    )
}

/// The number of the one listener that `aclrtSetExceptionInfoCallback` sets; others have their
/// address.
const THE_ONE: usize = 0;

acl! {
    /// Sets the function that is told of failed tasks; NULL for none.
    fn aclrtSetExceptionInfoCallback(function: Option<OnException>) {
        exceptions::forget(THE_ONE);
        if let Some(function) = function {
            listen(THE_ONE, function);
        }
        Ok(())
    }
}

acl! {
    /// Adds a function that is told of failed tasks.
    fn aclrtExceptionInfoCallbackRegister(function: Option<OnException>) {
        let function = function.ok_or_else(|| NpuError::null("callback"))?;
        if !listen(function as usize, function) {
            let allowed = "a function that is not registered";
            return Err(NpuError::value("callback", "one that is registered", allowed));
        }
        Ok(())
    }
}

acl! {
    /// Takes a function away that is told of failed tasks.
    fn aclrtExceptionInfoCallbackUnregister(function: Option<OnException>) {
        let function = function.ok_or_else(|| NpuError::null("callback"))?;
        if !exceptions::forget(function as usize) {
            let allowed = "a function that is registered";
            return Err(NpuError::value("callback", "one that is not registered", allowed));
        }
        Ok(())
    }
}

/// What getters answer for NULL.
const UNKNOWN: u32 = u32::MAX;

/// A field of an exception.
///
/// # Safety
/// 1. `info` is NULL or what a callback was given and has not returned from.
unsafe fn field(info: *const Exception, get: impl Fn(&Exception) -> u32) -> u32 {
    // SAFETY: (1).
    unsafe { info.as_ref() }.map_or(UNKNOWN, get)
}

/// Number of the task that failed.
///
/// # Safety
/// 1. As for [`field`].
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclrtGetTaskIdFromExceptionInfo(info: *const Exception) -> u32 {
    // SAFETY: (1).
    unsafe { field(info, |info| info.task) }
}

/// Number of the stream whose task failed.
///
/// # Safety
/// 1. As for [`field`].
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclrtGetStreamIdFromExceptionInfo(info: *const Exception) -> u32 {
    // SAFETY: (1).
    unsafe { field(info, |info| info.stream) }
}

/// The thread that gave the stream its last task.
///
/// # Safety
/// 1. As for [`field`].
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclrtGetThreadIdFromExceptionInfo(info: *const Exception) -> u32 {
    // SAFETY: (1).
    unsafe { field(info, |info| info.thread) }
}

/// The device of the stream whose task failed.
///
/// # Safety
/// 1. As for [`field`].
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclrtGetDeviceIdFromExceptionInfo(info: *const Exception) -> u32 {
    // SAFETY: (1).
    unsafe { field(info, |info| info.device) }
}

/// Code of the failure.
///
/// # Safety
/// 1. As for [`field`].
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclrtGetErrorCodeFromExceptionInfo(info: *const Exception) -> u32 {
    // SAFETY: (1).
    unsafe { field(info, |info| info.code) }
}
