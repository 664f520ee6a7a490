//! Waiting on words of memory: a short spin where cores are to spare, then yielding, then a futex.
//!
//! A waiter that sleeps announces itself first and looks at the word again; whoever changes the
//! word looks for announced waiters afterwards. Both sides put a fence between the two steps
//! ([`crate::barrier`]), so one of them sees the other. Sleeps are bounded all the same
//! ([`SLEEP_MAX`]): a waker in another process may have died between the two steps.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::futex;

use crate::barrier::Pair;
use crate::sync::{AtomicU32, Ordering};

/// The longest that a sleep lasts before the waiter looks around again.
pub const SLEEP_MAX: Duration = Duration::from_millis(50);

/// Words that one sleep looks at; what goes beyond is found when the sleep's limit passes.
const WATCHES_MAX: usize = 64;

/// Who may change a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only threads of this process.
    Private,
    /// Other processes too.
    Shared,
}

/// A word, the value it had when the waiter looked, and who may change it.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// The word. It must stay mapped while somebody waits on it.
    pub word: *const AtomicU32,
    /// The value that means "nothing new".
    pub seen: u32,
    /// Who may change the word.
    pub scope: Scope,
}

impl Watch {
    /// Watches `word` for a change from `seen`.
    pub fn new(word: &AtomicU32, seen: u32, scope: Scope) -> Self {
        Self { word, seen, scope }
    }
}

/// Sleeps until one of the words differs from its seen value, somebody wakes one of them, or
/// `limit` passes. Spurious returns are allowed; callers look again, and where a waker may die they
/// keep `limit` at [`SLEEP_MAX`] or below.
///
/// # Safety
/// 1. Each word stays mapped until the call returns.
pub unsafe fn sleep_on(watches: &[Watch], limit: Duration) {
    match watches {
        [] => std::thread::sleep(limit),
        // SAFETY: (1).
        [one] => unsafe { sleep_on_one(one, limit) },
        many => {
            let mut waits = [futex::Wait::new(); WATCHES_MAX];
            let count = many.len().min(waits.len());
            for (wait, watch) in waits.iter_mut().zip(many) {
                wait.val = u64::from(watch.seen);
                wait.uaddr = futex::WaitPtr::new(watch.word.cast_mut().cast());
                wait.flags = futex::WaitFlags::SIZE_U32;
                if watch.scope == Scope::Private {
                    wait.flags |= futex::WaitFlags::PRIVATE;
                }
            }
            // This call alone among the futex calls takes a point in time.
            // (libc's clock, since rustix finds its own in a way that valgrind does not know.)
            let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `now` is writable; the clock exists on every Linux.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
            let end = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + limit;
            let end = rustix::time::Timespec {
                tv_sec: end.as_secs() as i64,
                tv_nsec: end.subsec_nanos().into(),
            };
            let result = futex::waitv(
                &waits[..count],
                futex::WaitvFlags::empty(),
                Some(&end),
                futex::ClockId::Monotonic,
            );
            if matches!(result, Err(Errno::NOSYS | Errno::PERM | Errno::INVAL)) {
                // Kernels before 5.16, and sandboxes that do not know the call: one word, briefly.
                // SAFETY: (1).
                unsafe { sleep_on_one(&many[0], limit.min(Duration::from_millis(1))) }
            }
        }
    }
}

/// # Safety
/// 1. The word stays mapped until the call returns.
unsafe fn sleep_on_one(watch: &Watch, limit: Duration) {
    let flags = match watch.scope {
        Scope::Private => futex::Flags::PRIVATE,
        Scope::Shared => futex::Flags::empty(),
    };
    let limit =
        futex::Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: (1).
    let word = unsafe { &*watch.word };
    let _ = futex::wait(word, flags, watch.seen, Some(&limit));
}

/// Wakes everybody who sleeps on `word`.
pub fn wake_all(word: &AtomicU32, scope: Scope) {
    let flags = match scope {
        Scope::Private => futex::Flags::PRIVATE,
        Scope::Shared => futex::Flags::empty(),
    };
    let _ = futex::wake(word, flags, i32::MAX as u32);
}

/// Tells threads of one process that wait that something changed.
#[derive(Debug, Default)]
pub struct Bell {
    rings: AtomicU32,
    sleepers: AtomicU32,
}

impl Bell {
    /// A bell that has not rung.
    pub const fn new() -> Self {
        Self { rings: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    /// Tells listeners that something changed. Costs nothing when nobody listens.
    pub fn ring(&self) {
        // SYNC(bell): the fence stands between the change and this look at the sleepers, as that in
        // `announce` stands between a sleeper's mark and its look at what changed: one of the two
        // sees the other.
        Pair::of_process().often();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.rings.fetch_add(1, Ordering::SeqCst);
            wake_all(&self.rings, Scope::Private);
        }
    }

    /// Announces a sleeper until the guard is dropped. Look at the condition after this call.
    pub fn announce(&self) -> Announced<'_> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        Pair::of_process().rarely();
        Announced { bell: self, seen: self.rings.load(Ordering::SeqCst) }
    }
}

/// A sleeper that a [`Bell`] knows of.
#[derive(Debug)]
pub struct Announced<'a> {
    bell: &'a Bell,
    seen: u32,
}

impl Announced<'_> {
    /// What to sleep on.
    pub fn watch(&self) -> Watch {
        Watch::new(&self.bell.rings, self.seen, Scope::Private)
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.bell.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How a waiter goes from spinning over yielding to sleeping.
///
/// Spinning wins when the other side runs on another core and answers within microseconds; it
/// loses by three orders of magnitude when both share a core. So the spin is allowed only when
/// the caller says that cores are to spare; yielding costs about two microseconds a turn and
/// lets a neighbour on the same core go on; sleeping costs two thread switches.
#[derive(Debug)]
pub struct Backoff {
    start: Option<Instant>,
    turns: u32,
    spin: bool,
}

/// Turns that a waiter spins before it yields. A turn is a whole look around, 0.1 to 0.3 us; an
/// answer that takes longer than some twenty of them is as well waited for by yielding, which
/// costs nothing while nobody else wants the core, and everything would wait if somebody does.
const SPIN_TURNS: u32 = 64;
/// How long a waiter yields before it sleeps.
const YIELD_TIME: Duration = Duration::from_micros(100);

impl Backoff {
    /// A waiter that may spin only if `spin` says so.
    pub fn new(spin: bool) -> Self {
        Self { start: None, turns: 0, spin }
    }

    /// Passes a little time. False when it is time to sleep instead.
    pub fn pause(&mut self) -> bool {
        if self.spin && self.turns < SPIN_TURNS {
            self.turns += 1;
            std::hint::spin_loop();
            return true;
        }
        let start = *self.start.get_or_insert_with(Instant::now);
        if start.elapsed() < YIELD_TIME {
            std::thread::yield_now();
            return true;
        }
        false
    }

    /// Something happened: spin and yield anew.
    pub fn reset(&mut self) {
        self.start = None;
        self.turns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_bell_wakes_its_sleeper() {
        // At once, after a moment, and when the sleeper mostly sleeps.
        for pause in [0, 20, 200, 5000] {
            let bell = Arc::new((Bell::new(), AtomicU32::new(0)));
            let ringer = {
                let bell = bell.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_micros(pause));
                    bell.1.store(1, Ordering::Relaxed);
                    bell.0.ring();
                })
            };
            while bell.1.load(Ordering::Relaxed) == 0 {
                let announced = bell.0.announce();
                if bell.1.load(Ordering::Relaxed) != 0 {
                    break;
                }
                // SAFETY: the bell outlives the call.
                unsafe { sleep_on(&[announced.watch()], Duration::from_secs(86_400)) };
            }
            ringer.join().unwrap();
        }
    }

    #[test]
    fn several_words_and_a_limit() {
        let words = [AtomicU32::new(1), AtomicU32::new(2)];
        let watches =
            [Watch::new(&words[0], 1, Scope::Shared), Watch::new(&words[1], 2, Scope::Private)];
        // SAFETY: the words outlive the calls.
        unsafe {
            let start = Instant::now();
            sleep_on(&watches, Duration::from_millis(5));
            assert!(start.elapsed() >= Duration::from_millis(1));
            // A word that has changed already: a sleep that did not look would outlast every
            // test run.
            words[1].store(3, Ordering::SeqCst);
            sleep_on(&watches, Duration::from_secs(86_400));
        }
    }
}
