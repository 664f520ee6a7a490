//! The one thread that drives streams nobody waits for.
//!
//! It sleeps while nothing is queued. Once something is, it naps for a moment, so that a caller
//! who waits at once does the work without a hand-over, and takes over what was neglected.

use std::sync::{Arc, Once, Weak};
use std::time::Duration;

use hccl_os::sync::Ordering;
use hccl_os::wait::{SLEEP_MAX, sleep_on};
use parking_lot::RwLock;

use crate::stream::{Drive, PENDING, SUBMITTED, Stream, chase};
use crate::task::Blocker;

static STREAMS: RwLock<Vec<Weak<Stream>>> = RwLock::new(Vec::new());

/// The moment that others are given before this thread takes over.
const NAP_MIN: Duration = Duration::from_micros(100);
/// The moment grows to this while others do all the work anyway.
const NAP_MAX: Duration = Duration::from_millis(2);
/// The longest sleep while nothing is queued. A bell that is missed, since the kernel makes no fences
/// any more, costs this and no more.
const IDLE_MAX: Duration = Duration::from_secs(1);
/// Naps without a queued task before the thread sleeps until one comes.
const IDLE_NAPS: u32 = 10;

/// Takes a stream into the thread's care.
pub(crate) fn watch(stream: &Arc<Stream>) {
    let mut streams = STREAMS.write();
    streams.retain(|stream| stream.strong_count() > 0);
    streams.push(Arc::downgrade(stream));
}

/// Starts the thread, once a process.
pub(crate) fn start() {
    static START: Once = Once::new();
    START.call_once(|| {
        let spawned = std::thread::Builder::new().name("softnpu-progress".into()).spawn(run);
        if let Err(error) = spawned {
            crate::log!(Error, "background", "no thread for progress: {error}");
        }
    });
}

fn run() {
    let mut nap = NAP_MIN;
    let mut idle_naps = 0;
    loop {
        if PENDING.load(Ordering::Acquire) == 0 {
            idle_naps += 1;
            if idle_naps < IDLE_NAPS {
                std::thread::sleep(nap);
                nap = (nap * 2).min(NAP_MAX);
                continue;
            }
            let announced = SUBMITTED.announce();
            if PENDING.load(Ordering::SeqCst) == 0 {
                // SAFETY: the bell is a static.
                unsafe { sleep_on(&[announced.watch()], IDLE_MAX) };
            }
            nap = NAP_MIN;
            continue;
        }
        idle_naps = 0;
        let neglected: Vec<Arc<Stream>> = STREAMS
            .read()
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|stream| stream.is_neglected())
            .collect();
        if neglected.is_empty() {
            std::thread::sleep(nap);
            nap = (nap * 2).min(NAP_MAX);
            continue;
        }
        nap = NAP_MIN;
        if !drive_all(&neglected) {
            sleep(&neglected);
        }
    }
}

/// Drives each stream as far as it goes. True if any got on.
fn drive_all(streams: &[Arc<Stream>]) -> bool {
    let mut progressed = false;
    for stream in streams {
        progressed |= matches!(chase(stream, false), Drive::Progress);
        stream.note_background_drive();
    }
    progressed
}

/// Sleeps until one of the streams may get on, or something new is queued.
fn sleep(streams: &[Arc<Stream>]) {
    let submitted = SUBMITTED.announce();
    let activity = crate::stream::ACTIVITY.announce();
    let mut longest = SLEEP_MAX;
    let mut watches = vec![submitted.watch(), activity.watch()];
    for stream in streams {
        let found = chase(stream, true);
        stream.note_background_drive();
        match found {
            Drive::Progress => return,
            Drive::Blocked(Blocker { watch, sleep, .. }) => {
                watches.extend(watch);
                longest = longest.min(sleep.unwrap_or(SLEEP_MAX));
            }
            Drive::Busy | Drive::Idle => {}
        }
    }
    // SAFETY: bells are statics; a task's word stays mapped as long as the task, which the
    // streams held here keep.
    unsafe { sleep_on(&watches, longest) };
}
