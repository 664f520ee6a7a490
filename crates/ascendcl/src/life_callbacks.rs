//! Functions of other libraries that are called when AscendCL begins and ends.

use std::ffi::{CString, c_char, c_int, c_void};

use parking_lot::Mutex;
use softnpu::{NpuError, NpuResult};

use crate::border::{acl, relay};

type OnInit = unsafe extern "C" fn(*const c_char, usize, *mut c_void) -> c_int;
type OnFinalize = unsafe extern "C" fn(*mut c_void) -> c_int;

struct Entry<F> {
    kind: c_int,
    function: F,
    argument: usize,
}

static INIT: Mutex<Vec<Entry<OnInit>>> = Mutex::new(Vec::new());
static FINALIZE: Mutex<Vec<Entry<OnFinalize>>> = Mutex::new(Vec::new());

/// Kinds of libraries: 0 to 7, and others.
fn check(kind: c_int) -> NpuResult<()> {
    if (0..=7).contains(&kind) || kind == 0xffff {
        return Ok(());
    }
    let allowed = "an aclRegisterCallbackType from 0 to 7, or 0xffff";
    Err(NpuError::argument("type", kind, allowed))
}

fn add<F: Copy>(
    list: &Mutex<Vec<Entry<F>>>,
    kind: c_int,
    function: F,
    argument: *mut c_void,
    same: impl Fn(F) -> bool,
) -> NpuResult<()> {
    let mut list = list.lock();
    if list.iter().any(|entry| entry.kind == kind && same(entry.function)) {
        let allowed = "a function that is not registered for this type";
        return Err(NpuError::argument("cbFunc", "one that is registered", allowed));
    }
    list.push(Entry { kind, function, argument: argument as usize });
    Ok(())
}

fn remove<F: Copy>(
    list: &Mutex<Vec<Entry<F>>>,
    kind: c_int,
    same: impl Fn(F) -> bool,
) -> NpuResult<()> {
    check(kind)?;
    let mut list = list.lock();
    match list.iter().position(|entry| entry.kind == kind && same(entry.function)) {
        Some(at) => {
            list.remove(at);
            Ok(())
        }
        None => {
            let allowed = "a function that is registered for this type";
            Err(NpuError::argument("cbFunc", "one that is not registered", allowed))
        }
    }
}

/// Calls a function with the configuration. What it returns is what its caller returns.
fn begin_one(function: OnInit, argument: usize, config: &str) -> NpuResult<()> {
    // A configuration with a NUL inside is no JSON, and was refused.
    let text = CString::new(config).unwrap_or_default();
    // SAFETY: the user gave the function to be called like this.
    relay(unsafe { function(text.as_ptr(), config.len(), argument as *mut c_void) })
}

/// Tells everybody that AscendCL begins. Called without locks, so that they may call anything.
pub(crate) fn begin(config: &str) -> NpuResult<()> {
    let all: Vec<_> = INIT.lock().iter().map(|e| (e.function, e.argument)).collect();
    all.into_iter().try_for_each(|(function, argument)| begin_one(function, argument, config))
}

/// Tells everybody that AscendCL ends.
pub(crate) fn end() -> NpuResult<()> {
    let all: Vec<_> = FINALIZE.lock().iter().map(|e| (e.function, e.argument)).collect();
    all.into_iter().try_for_each(|(function, argument)| {
        // SAFETY: the user gave the function to be called like this.
        relay(unsafe { function(argument as *mut c_void) })
    })
}

acl! {
    /// Has a function called when AscendCL begins; at once if it has.
    fn aclInitCallbackRegister(kind: c_int, function: Option<OnInit>, argument: *mut c_void) {
        check(kind)?;
        let function = function.ok_or_else(|| NpuError::null("cbFunc"))?;
        add(&INIT, kind, function, argument, |other| other as usize == function as usize)?;
        match crate::init::config_in_use() {
            Some(config) => begin_one(function, argument as usize, &config),
            None => Ok(()),
        }
    }
}

acl! {
    /// Takes it back.
    fn aclInitCallbackUnRegister(kind: c_int, function: Option<OnInit>) {
        let function = function.ok_or_else(|| NpuError::null("cbFunc"))?;
        remove(&INIT, kind, |other| other as usize == function as usize)
    }
}

acl! {
    /// Has a function called when AscendCL ends.
    fn aclFinalizeCallbackRegister(
        kind: c_int,
        function: Option<OnFinalize>,
        argument: *mut c_void,
    ) {
        check(kind)?;
        let function = function.ok_or_else(|| NpuError::null("cbFunc"))?;
        add(&FINALIZE, kind, function, argument, |other| other as usize == function as usize)
    }
}

acl! {
    /// Takes it back.
    fn aclFinalizeCallbackUnRegister(kind: c_int, function: Option<OnFinalize>) {
        let function = function.ok_or_else(|| NpuError::null("cbFunc"))?;
        remove(&FINALIZE, kind, |other| other as usize == function as usize)
    }
}
