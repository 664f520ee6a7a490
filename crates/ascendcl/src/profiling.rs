//! The profiler's side of the interface. Reports are accepted and dropped: nobody profiles here,
//! which is what these calls find on a machine whose profiler is off, too.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use std::ffi::c_void;

/// Ticks of a monotonic clock (nanoseconds).
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofSysCycleTime() -> u64 {
    softnpu::event::device_clock()
}

/// A number for a name, the same each time.
///
/// # Safety
/// 1. `name` is NULL or readable for `length` bytes.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn MsprofGetHashId(name: *const u8, length: usize) -> u64 {
    if name.is_null() {
        return 0;
    }
    // SAFETY: not NULL, and (1).
    let name = unsafe { std::slice::from_raw_parts(name, length) };
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

/// Takes a report of a call.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofReportApi(_aging: u32, _report: *const c_void) -> i32 {
    0
}

/// Takes a compact report.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofReportCompactInfo(_aging: u32, _report: *const c_void, _size: u32) -> i32 {
    0
}
