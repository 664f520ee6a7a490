//! The border between C and Rust.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic was caught; its text.
#[derive(Debug)]
pub struct Panicked(pub String);

/// Runs `body` and turns a panic into a value, since unwinding into C is undefined.
///
/// # Errors
/// When `body` panicked.
pub fn contain<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without text".to_owned());
        Panicked(text)
    })
}

/// A C string as text; `None` for NULL, and with bytes that are no UTF-8 replaced.
///
/// # Safety
/// 1. `text` is NULL or points to a NUL-terminated string that nobody changes meanwhile.
pub unsafe fn c_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL, and (1).
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_value() {
        assert_eq!(contain(|| 3).unwrap(), 3);
        assert_eq!(contain(|| -> u8 { panic!("no {}", 7) }).unwrap_err().0, "no 7");
    }
}
