//! Log lines of applications, and messages of failed calls.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

use softnpu::log::{Level, enabled, thread_id, write};
use softnpu::{NpuError, code, messages};

use crate::border::Text;

/// Asked by `aclAppLog` before it formats anything.
// SAFETY: the name is this project's own.
#[unsafe(no_mangle)]
extern "C" fn softnpu_app_log_enabled(level: i32) -> i32 {
    Level::from_number(level).is_some_and(|level| level != Level::Event && enabled(level)).into()
}

/// Called by `aclAppLog` with the formatted message.
// SAFETY: the name is this project's own.
#[unsafe(no_mangle)]
extern "C" fn softnpu_app_log(level: i32, function: Text, file: Text, line: u32, message: Text) {
    let (Some(level), Some(function), Some(file), Some(message)) =
        (Level::from_number(level), function.get(), file.get(), message.get())
    else {
        return;
    };
    let body = format!("{} {function}:{file}:{line}: \"{message}\"", thread_id());
    write(level, "APP", &file, line, &function, &body);
}

unsafe extern "C" {
    /// The formatting part, in app_log.c.
    fn softnpu_app_log_variadic();
}

/// Writes a log line of an application: `(level, function, file, line, format, ...)`.
///
/// All arguments pass on as they are: this is a jump to the C function, which stays unseen
/// outside the library.
///
/// # Safety
/// 1. `format` and what follows fit, as for `printf`; the texts are NULL or NUL-terminated.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[unsafe(naked)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclAppLog() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!("jmp {target}", target = sym softnpu_app_log_variadic);
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!("b {target}", target = sym softnpu_app_log_variadic);
}

thread_local! {
    static RECENT: RefCell<CString> = RefCell::default();
}

/// All messages of failed calls since the last time, or NULL. The text is valid until the next
/// call on this thread.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    let Some(text) = messages::take() else {
        return std::ptr::null();
    };
    let text = CString::new(text.replace('\0', " ")).expect("NULs were replaced");
    // A thread that is ending gets no text any more: there is no place for it to live.
    RECENT
        .try_with(|recent| {
            let mut recent = recent.borrow_mut();
            *recent = text;
            recent.as_ptr()
        })
        .unwrap_or(std::ptr::null())
}

fn with_level(name: &'static str, level: c_int, answer: impl FnOnce() -> i32) -> c_int {
    if level == 0 {
        return answer();
    }
    let error = NpuError::argument("level", level, "ACL_RT_THREAD_LEVEL (0)");
    crate::border::call(name, || Err(error));
    code::INVALID_PARAM
}

/// The last error of the calling thread, which is thereby forgotten.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetLastError(level: c_int) -> c_int {
    with_level("aclrtGetLastError", level, || {
        let last = messages::last_error();
        messages::clear_last_error();
        last
    })
}

/// The last error of the calling thread.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtPeekAtLastError(level: c_int) -> c_int {
    with_level("aclrtPeekAtLastError", level, messages::last_error)
}
