//! Wakes the tasks whose calls wait for other ranks: one thread a process, asleep on the words
//! that all of them wait for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::time::{Duration, Instant};

use hccl_os::sync::Ordering;
use hccl_os::wait::{Bell, SLEEP_MAX, Watch, sleep_on};
use parking_lot::Mutex;

use crate::communicator::Communicator;

/// Words that one sleep can watch, but one.
const WATCHES_MAX: usize = 60;
/// How long a sleep lasts when there are more.
const SHORT: Duration = Duration::from_millis(1);

struct Sleeper {
    watch: Option<Watch>,
    waker: Waker,
    /// When it looks around, whatever its word does.
    until: Instant,
    /// Keeps the word mapped.
    _communicator: Communicator,
}

// SAFETY: the word is an atomic in memory that the communicator keeps mapped.
unsafe impl Send for Sleeper {}

struct Reactor {
    bell: Bell,
    new: Mutex<Vec<Sleeper>>,
    /// The process in which its thread runs; a forked child does not have the thread.
    runs: Mutex<Option<u32>>,
}

static REACTOR: Reactor =
    Reactor { bell: Bell::new(), new: Mutex::new(Vec::new()), runs: Mutex::new(None) };

/// Wakes a task once a word has changed, or after a while. Without a thread it is woken at once.
pub(crate) fn wake_on(
    watch: Option<Watch>,
    sleep: Duration,
    waker: Waker,
    communicator: Communicator,
) {
    let mut runs = REACTOR.runs.lock();
    let generation = hccl_os::fork::generation();
    if *runs != Some(generation) {
        let thread = std::thread::Builder::new().name("hccl-reactor".into());
        *runs = thread.spawn(|| run(&REACTOR)).is_ok().then_some(generation);
    }
    if runs.is_none() {
        // Threads are short: whoever polls does so again and again, and tries again.
        waker.wake();
        return;
    }
    let until = Instant::now() + sleep;
    REACTOR.new.lock().push(Sleeper { watch, waker, until, _communicator: communicator });
    REACTOR.bell.ring();
}

fn run(reactor: &Reactor) {
    let mut sleepers: Vec<Sleeper> = Vec::new();
    loop {
        let bell = reactor.bell.announce();
        sleepers.append(&mut reactor.new.lock());
        let mut watches = vec![bell.watch()];
        watches.extend(sleepers.iter().filter_map(|sleeper| sleeper.watch).take(WATCHES_MAX));
        let now = Instant::now();
        let left = |sleeper: &Sleeper| sleeper.until.saturating_duration_since(now);
        let limit = sleepers.iter().map(left).fold(SLEEP_MAX, Duration::min);
        let limit = if sleepers.len() > WATCHES_MAX { limit.min(SHORT) } else { limit };
        // SAFETY: the bell is in a static, and each sleeper keeps its word mapped.
        unsafe { sleep_on(&watches, limit) };
        let now = Instant::now();
        let woken = sleepers.extract_if(.., |sleeper| {
            let changed = |watch: Watch| {
                // SAFETY: the sleeper keeps the word mapped.
                let word = unsafe { &*watch.word };
                word.load(Ordering::Acquire) != watch.seen
            };
            now >= sleeper.until || sleeper.watch.is_none_or(changed)
        });
        for sleeper in woken {
            // A waker is the user's code; its panic is not the end of all other sleepers.
            let _ = catch_unwind(AssertUnwindSafe(|| sleeper.waker.wake()));
        }
    }
}
