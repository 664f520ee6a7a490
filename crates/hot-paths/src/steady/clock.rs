//! A clock that stands still.
//!
//! Whoever waits looks at the time now and then, and does something else once it has waited for
//! long. How long that is depends on what else the machine does. A function of the C library's name
//! in the program comes first.

use std::cell::Cell;
use std::ffi::c_int;

use libc::timespec;

thread_local! {
    static STOPPED: Cell<Option<timespec>> = const { Cell::new(None) };
}

/// Stops the monotonic clock of the calling thread.
pub(super) fn stop() {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    if unsafe { clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) } == 0 {
        STOPPED.set(Some(now));
    }
}

/// # Safety
/// 1. `time` is valid for a write.
// SAFETY: the same signature as that of the C library, and the same promise: it fills in the time
// of the clock or says that it cannot.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut timespec) -> c_int {
    match STOPPED.get() {
        Some(stopped) if clock == libc::CLOCK_MONOTONIC => {
            // SAFETY: (1).
            unsafe { time.write(stopped) };
            0
        }
        // SAFETY: (1); the kernel writes nothing else.
        _ => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int },
    }
}
