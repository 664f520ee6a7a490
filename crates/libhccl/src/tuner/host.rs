//! What a plugin may call.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use super::Session;
use super::abi::{HostFunctions, size_of_u32};
use super::contexts::Refused;
use crate::border::present;
use crate::communicators::comm;
use crate::errors::{Failure, Record, Status};
use crate::runtime::{Level, log, log_line};

unsafe extern "C" {
    /// In `log.c`: writes the text and passes it on.
    fn hccl_tuner_log(level: c_int, file: *const c_char, line: c_int, format: *const c_char, ...);
    fn hccl_tuner_log_to(sink: unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char));
}

/// The table that plugins are given.
pub(super) static HOST: HostFunctions = HostFunctions {
    create,
    get,
    destroy,
    log: hccl_tuner_log,
    struct_size: size_of_u32::<HostFunctions>(),
};

/// Connects the log function.
pub(super) fn install_log() {
    // SAFETY: the function may be called at any time from any thread.
    unsafe { hccl_tuner_log_to(sink) };
}

/// # Safety
/// 1. Each text is NULL or a C string.
unsafe extern "C" fn sink(level: c_int, file: *const c_char, line: c_int, message: *const c_char) {
    let body = || {
        let text = |text: *const c_char| {
            if text.is_null() {
                return "plugin".into();
            }
            // SAFETY: not NULL, and (1).
            unsafe { CStr::from_ptr(text) }.to_string_lossy()
        };
        let level = match level {
            ..=0 => Level::Error,
            1 => Level::Warning,
            2 => Level::Info,
            _ => Level::Debug,
        };
        let line = u32::try_from(line).unwrap_or(0);
        log(level, &text(file), line, "tuner", &format!("[HCCL_TUNER] {}", text(message)));
    };
    // A log line that cannot be written is left out.
    let _ = hccl_abi::contain(body);
}

/// Runs the body of a function. A plugin asks for what may not be there, so a refusal is an answer
/// to it, and no record of an error for the program that it runs in.
fn answer(name: &str, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match hccl_abi::contain(body) {
        Ok(Ok(())) => 0,
        Ok(Err(Failure { status, record })) => {
            log_line!(Info, name, "[HCCL_TUNER] {}", record.text);
            status as c_int
        }
        Err(panic) => {
            log_line!(Error, name, "[HCCL_TUNER] A defect of this library: {}.", panic.0);
            Status::Internal as c_int
        }
    }
}

/// The session of a communicator's handle.
fn session(call: &str, handle: *mut c_void) -> Result<Arc<Session>, Failure> {
    comm(call, handle)?.origin.tuner.clone().ok_or_else(|| {
        Failure::argument(call, "comm", "one without a plugin", "one that the plugin was told of")
    })
}

/// # Safety
/// 1. `tag` is NULL or a C string.
unsafe fn tag_of<'a>(call: &str, tag: *const c_char) -> Result<&'a CStr, Failure> {
    present(call, "tag", tag)?;
    // SAFETY: not NULL, and (1).
    Ok(unsafe { CStr::from_ptr(tag) })
}

fn not_found(call: &str, tag: &CStr) -> Failure {
    let tag = tag.to_string_lossy();
    Failure::new(Status::NotFound, Record::argument(call, "tag", &tag, "a tag that is in use"))
}

/// # Safety
/// 1. `tag` is NULL or a C string; `ctx` is NULL or writable.
unsafe extern "C" fn create(
    handle: *mut c_void,
    tag: *const c_char,
    size: u64,
    ctx: *mut *mut c_void,
) -> c_int {
    const CALL: &str = "ctxCreate";
    answer(CALL, || {
        present(CALL, "ctx", ctx)?;
        // SAFETY: (1).
        let tag = unsafe { tag_of(CALL, tag) }?;
        let memory =
            session(CALL, handle)?.contexts.create(tag, size).map_err(|why| match why {
                Refused::Empty => Failure::argument(CALL, "size", "0", "at least 1"),
                Refused::InUse => Failure::argument(
                    CALL,
                    "tag",
                    &tag.to_string_lossy(),
                    "a tag that is not in use",
                ),
                Refused::NoMemory => {
                    let text = format!("{CALL}: there are no {size} bytes of memory left");
                    Failure::new(Status::Memory, Record::internal(&text))
                }
            })?;
        // SAFETY: not NULL, and (1).
        unsafe { ctx.write(memory.as_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
/// 1. `tag` is NULL or a C string; `ctx` and `size` are NULL or writable.
unsafe extern "C" fn get(
    handle: *mut c_void,
    tag: *const c_char,
    ctx: *mut *mut c_void,
    size: *mut u64,
) -> c_int {
    const CALL: &str = "ctxGet";
    answer(CALL, || {
        present(CALL, "ctx", ctx)?;
        // SAFETY: (1).
        let tag = unsafe { tag_of(CALL, tag) }?;
        let found = session(CALL, handle)?.contexts.get(tag);
        let (memory, bytes) = found.ok_or_else(|| not_found(CALL, tag))?;
        // SAFETY: not NULL, and (1).
        unsafe { ctx.write(memory.as_ptr().cast()) };
        if !size.is_null() {
            // SAFETY: not NULL, and (1).
            unsafe { size.write(bytes) };
        }
        Ok(())
    })
}

/// # Safety
/// 1. `tag` is NULL or a C string.
unsafe extern "C" fn destroy(handle: *mut c_void, tag: *const c_char) -> c_int {
    const CALL: &str = "ctxDestroy";
    answer(CALL, || {
        // SAFETY: (1).
        let tag = unsafe { tag_of(CALL, tag) }?;
        let was_there = session(CALL, handle)?.contexts.destroy(tag);
        if was_there { Ok(()) } else { Err(not_found(CALL, tag)) }
    })
}
