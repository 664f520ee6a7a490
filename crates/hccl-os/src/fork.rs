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

/// A value that each process has one of: a forked child begins with a fresh one, whatever locks
/// the parent's other threads held in theirs at that moment.
pub struct PerProcess<T> {
    made: AtomicPtr<(u32, T)>,
    new: fn() -> T,
}

impl<T: Sync> PerProcess<T> {
    /// One that is made when it is first asked for.
    pub const fn new(new: fn() -> T) -> Self {
        Self { made: AtomicPtr::new(std::ptr::null_mut()), new }
    }

    /// The value of this process. What it was before a fork is left where it is.
    pub fn get(&'static self) -> &'static T {
        let generation = generation();
        loop {
            // SYNC(per-process): pairs with the exchange below.
            let found = self.made.load(Ordering::Acquire);
            // SAFETY: null, or a box that was leaked below.
            if let Some((made_in, value)) = unsafe { found.as_ref() }
                && *made_in == generation
            {
                return value;
            }
            let made = Box::into_raw(Box::new((generation, (self.new)())));
            // SYNC(per-process): whoever sees the address sees what is there.
            let put = self.made.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire);
            if put.is_err() {
                // SAFETY: it was made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static COUNTED: PerProcess<AtomicU32> = PerProcess::new(|| AtomicU32::new(7));

    #[test]
    fn a_child_has_a_value_of_its_own() {
        COUNTED.get().store(8, Ordering::Relaxed);
        // SAFETY: the child looks at atomics, allocates a word, and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = i32::from(COUNTED.get().load(Ordering::Relaxed) != 7);
            // SAFETY: ends the child at once, without running anything of the parent's.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made; `status` is writable.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(COUNTED.get().load(Ordering::Relaxed), 8);
    }

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
