//! The standard library's hash maps get the same seeds in each run.
//!
//! They draw them through `getrandom` of the C library, and how often keys collide depends on
//! them. A function of that name in the program comes first.

use std::ffi::{c_uint, c_void};

/// Fills the buffer with a fixed byte.
///
/// # Safety
/// 1. `buffer` is valid for writes of `len` bytes.
// SAFETY: the same signature as that of the C library, and it does what its caller needs: fill the
// buffer. No secret of this program hangs on it.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, len: usize, _flags: c_uint) -> isize {
    // SAFETY: (1).
    unsafe { buffer.cast::<u8>().write_bytes(0x5a, len) };
    len.cast_signed()
}
