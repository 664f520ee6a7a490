//! Makes equal what differs from run to run: seeds of hash maps, and for the one thread that is
//! counted the time and the addresses of memory.

#[cfg(not(test))]
mod clock;
mod pool;
#[cfg(not(test))]
mod seeds;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static STEADY: Cell<bool> = const { Cell::new(false) };
}

/// From now on the calling thread has memory of the pool, and its time stands still.
///
/// # Panics
/// When another thread has called it.
pub(crate) fn begin() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !is_steady() {
        assert!(!TAKEN.swap(true, Ordering::Relaxed), "there is one steady thread");
        #[cfg(not(test))]
        clock::stop();
        STEADY.set(true);
    }
}

/// Whether the calling thread is the steady one.
fn is_steady() -> bool {
    STEADY.get()
}
