//! Waiting for calls: whoever waits, drives; of several who wait, one.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hccl_os::wait::{Backoff, SLEEP_MAX, sleep_on};

use crate::background;
use crate::group::Group;

/// Waits until something is so, for so long at most; whether it is.
pub(crate) fn until(group: &Group, limit: Option<Duration>, is_so: impl Fn() -> bool) -> bool {
    if is_so() {
        return true;
    }
    let begun = Instant::now();
    group.waiters.fetch_add(1, Ordering::AcqRel);
    let came = wait(group, limit, begun, &is_so);
    group.waiters.fetch_sub(1, Ordering::AcqRel);
    // Others who wait take over, or the thread for calls that nobody waits for.
    group.bell.ring();
    if group.has_pending() {
        background::ring();
    }
    came
}

fn wait(group: &Group, limit: Option<Duration>, begun: Instant, is_so: &impl Fn() -> bool) -> bool {
    let left = || limit.map(|limit| limit.saturating_sub(begun.elapsed()));
    let mut backoff: Option<Backoff> = None;
    let (mut watches, mut over) = (Vec::new(), Vec::new());
    loop {
        if is_so() {
            return true;
        }
        if left().is_some_and(|left| left.is_zero()) {
            return false;
        }
        let Some(mut driver) = group.driver.try_lock() else {
            // Somebody else drives. If it is the background, it is about to let go.
            let announced = group.bell.announce();
            if !is_so() && group.driver.is_locked() {
                let sleep = left().map_or(SLEEP_MAX, |left| left.min(SLEEP_MAX));
                // SAFETY: the group outlives the call.
                unsafe { sleep_on(&[announced.watch()], sleep) };
            }
            continue;
        };
        let looked = group.step(&mut driver, false, &mut watches, &mut over);
        if looked.progress {
            drop(driver);
            group.tell(&mut over);
            if let Some(backoff) = &mut backoff {
                backoff.reset();
            }
            continue;
        }
        if backoff.get_or_insert_with(|| Backoff::new(looked.spin)).pause() {
            continue;
        }
        watches.clear();
        let announced = group.bell.announce();
        let looked = group.step(&mut driver, true, &mut watches, &mut over);
        if !looked.progress && !is_so() {
            watches.push(announced.watch());
            let sleep = left().map_or(looked.sleep, |left| left.min(looked.sleep));
            // SAFETY: the words are in the communicator and in the group, which outlive the call.
            unsafe { sleep_on(&watches, sleep) };
        }
        drop(driver);
        group.tell(&mut over);
    }
}
