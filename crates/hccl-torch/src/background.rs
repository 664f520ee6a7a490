//! The thread that goes on with calls that nobody waits for: one a process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hccl_os::wait::{Backoff, Bell, SLEEP_MAX, sleep_on};
use parking_lot::Mutex;

use crate::group::Group;

/// How long the thread sleeps where there is nothing to do.
const IDLE: Duration = Duration::from_secs(3600);

struct Background {
    groups: Mutex<Vec<Weak<Group>>>,
    bell: Bell,
    /// Whether the bell rang since the thread looked.
    rang: AtomicBool,
    stops: AtomicBool,
    /// The thread, and the process in which it runs: a forked child does not have it.
    thread: Mutex<Option<(u32, JoinHandle<()>)>>,
}

static BACKGROUND: Background = Background {
    groups: Mutex::new(Vec::new()),
    bell: Bell::new(),
    rang: AtomicBool::new(false),
    stops: AtomicBool::new(false),
    thread: Mutex::new(None),
};

/// A group that may have calls one day.
pub(crate) fn add(group: &Arc<Group>) {
    let mut groups = BACKGROUND.groups.lock();
    groups.retain(|known| known.strong_count() > 0);
    groups.push(Arc::downgrade(group));
}

/// There are calls that nobody waits for.
pub(crate) fn ring() {
    let generation = hccl_os::fork::generation();
    {
        let mut thread = BACKGROUND.thread.lock();
        let runs = thread.as_ref().is_some_and(|(made_in, _)| *made_in == generation);
        if !runs && !BACKGROUND.stops.load(Ordering::Acquire) {
            let builder = std::thread::Builder::new().name("hccl-torch".into());
            // Where threads are short, calls go on when somebody waits for them.
            let started = builder.spawn(|| run(&BACKGROUND)).ok();
            // What a child has of its parent's thread is nothing to join.
            *thread = started.map(|handle| (generation, handle));
        }
    }
    BACKGROUND.rang.store(true, Ordering::Release);
    BACKGROUND.bell.ring();
}

/// Ends the thread: before Python goes, since hooks of calls may enter it. Calls have so long to
/// end; those of groups that are not through then are aborted.
pub(crate) fn stop(limit: Duration) {
    let begun = Instant::now();
    let groups: Vec<Arc<Group>> =
        BACKGROUND.groups.lock().iter().filter_map(Weak::upgrade).collect();
    for group in groups.iter().filter(|group| group.is_own()) {
        group.close(limit.saturating_sub(begun.elapsed()));
    }
    BACKGROUND.stops.store(true, Ordering::Release);
    BACKGROUND.bell.ring();
    let thread = BACKGROUND.thread.lock().take();
    if let Some((generation, thread)) = thread
        && generation == hccl_os::fork::generation()
    {
        let _ = thread.join();
    }
}

fn run(background: &Background) {
    let mut backoff = Backoff::new(false);
    let (mut watches, mut over) = (Vec::new(), Vec::new());
    while !background.stops.load(Ordering::Acquire) {
        let busy = busy(background);
        let mut progress = false;
        for group in &busy {
            let Some(mut driver) = group.driver.try_lock() else { continue };
            progress |= group.step(&mut driver, false, &mut watches, &mut over).progress;
            drop(driver);
            tell(group, &mut over);
        }
        if progress {
            backoff.reset();
            continue;
        }
        if !busy.is_empty() && backoff.pause() {
            continue;
        }
        watches.clear();
        let announced = background.bell.announce();
        let mut sleep = if busy.is_empty() { IDLE } else { SLEEP_MAX };
        for group in &busy {
            let Some(mut driver) = group.driver.try_lock() else { continue };
            let looked = group.step(&mut driver, true, &mut watches, &mut over);
            drop(driver);
            tell(group, &mut over);
            progress |= looked.progress;
            sleep = sleep.min(looked.sleep);
        }
        let rang = background.rang.swap(false, Ordering::AcqRel);
        if !progress && !rang && !background.stops.load(Ordering::Acquire) {
            watches.push(announced.watch());
            // SAFETY: the words are in communicators that `busy` keeps, and in a static.
            unsafe { sleep_on(&watches, sleep) };
        }
        backoff.reset();
    }
}

/// Groups with calls that nobody waits for.
fn busy(background: &Background) -> Vec<Arc<Group>> {
    let groups = background.groups.lock();
    let waits = |group: &Arc<Group>| {
        group.is_own() && group.has_pending() && group.waiters.load(Ordering::Acquire) == 0
    };
    groups.iter().filter_map(Weak::upgrade).filter(waits).collect()
}

/// A hook is the user's code in the end; its panic is not the end of all other calls.
fn tell(group: &Group, over: &mut Vec<Arc<crate::ticket::Ticket>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| group.tell(over)));
}
