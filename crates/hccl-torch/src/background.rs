//! The thread that goes on with calls that nobody waits for: one a process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hccl_os::fork::PerProcess;
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
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A forked child has no thread, and may find locks that the parent's thread held.
static BACKGROUND: PerProcess<Background> = PerProcess::new(|| Background {
    groups: Mutex::new(Vec::new()),
    bell: Bell::new(),
    rang: AtomicBool::new(false),
    stops: AtomicBool::new(false),
    thread: Mutex::new(None),
});

/// A group that may have calls one day.
pub(crate) fn add(group: &Arc<Group>) {
    let mut groups = BACKGROUND.get().groups.lock();
    groups.retain(|known| known.strong_count() > 0);
    groups.push(Arc::downgrade(group));
}

/// There are calls that nobody waits for.
pub(crate) fn ring() {
    let background = BACKGROUND.get();
    {
        let mut thread = background.thread.lock();
        if thread.is_none() && !background.stops.load(Ordering::Acquire) {
            let builder = std::thread::Builder::new().name("hccl-torch".into());
            // Where threads are short, calls go on when somebody waits for them.
            *thread = builder.spawn(|| run(BACKGROUND.get())).ok();
        }
    }
    background.rang.store(true, Ordering::Release);
    background.bell.ring();
}

/// Ends the thread: before Python goes, since hooks of calls may enter it. Calls have so long to
/// end; those of groups that are not through then are aborted.
pub(crate) fn stop(limit: Duration) {
    let background = BACKGROUND.get();
    let begun = Instant::now();
    let groups: Vec<_> = background.groups.lock().iter().filter_map(Weak::upgrade).collect();
    for group in groups {
        group.close(limit.saturating_sub(begun.elapsed()));
    }
    background.stops.store(true, Ordering::Release);
    background.bell.ring();
    let thread = background.thread.lock().take();
    if let Some(thread) = thread {
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
            let_go(group, &mut over);
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
            let_go(group, &mut over);
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
    let waits =
        |group: &Arc<Group>| group.has_pending() && group.waiters.load(Ordering::Acquire) == 0;
    groups.iter().filter_map(Weak::upgrade).filter(waits).collect()
}

/// Tells of what is over, and whoever wants to drive that nobody does.
fn let_go(group: &Group, over: &mut Vec<Arc<crate::ticket::Ticket>>) {
    group.tell(over);
    group.bell.ring();
}
