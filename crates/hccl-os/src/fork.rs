//! Finds out that this process is a forked child, where threads, locks and device state of the
//! parent are not what they seem.

use std::sync::Once;

use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();
/// A word that children find changed, and its value there.
static MARKED: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
static MARK: AtomicU64 = AtomicU64::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // SAFETY: NULL, or a static word from `mark_children`.
    if let Some(word) = unsafe { MARKED.load(Ordering::Acquire).as_ref() } {
        word.store(MARK.load(Ordering::Relaxed), Ordering::Release);
    }
}

/// Lets forked children find `value` in a word from now on. One word a process.
pub fn mark_children(word: &'static AtomicU64, value: u64) {
    generation();
    MARK.store(value, Ordering::Relaxed);
    MARKED.store(std::ptr::from_ref(word).cast_mut(), Ordering::Release);
}

/// How many forks lie between the process in which this was first called and this one. State
/// made under another generation belongs to a parent.
pub fn generation() -> u32 {
    WATCH.call_once(|| {
        // SAFETY: the handler only changes an atomic, which is allowed after fork; it is a plain
        // function that stays loaded (this library is never closed: it has thread-local state).
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    GENERATION.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_another_generation() {
        let before = generation();
        // SAFETY: the child calls only async-signal-safe functions.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = i32::from(generation() == before);
            // SAFETY: ends the child at once, without running anything of the parent's.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made; `status` is writable.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(generation(), before);
    }
}
