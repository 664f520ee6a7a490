//! Who wants to hear of tasks that failed. Told on a thread of the runtime's own, so that whoever is
//! told may call anything.

use std::sync::Arc;

use hccl_os::sync::{AtomicU32, Ordering};
use parking_lot::Mutex;

/// A task that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Number of the task in its stream.
    pub task: u32,
    /// Number of the stream on its device.
    pub stream: u32,
    /// The thread that gave the stream its last task.
    pub thread: u32,
    /// User id of the device.
    pub device: u32,
    /// Code of the failure.
    pub code: u32,
}

/// Somebody who wants to hear.
pub type Listener = Arc<dyn Fn(Exception) + Send + Sync>;

static LISTENERS: Mutex<Vec<(usize, Listener)>> = Mutex::new(Vec::new());

/// Adds a listener under a number; false if there is one under it.
pub fn listen(number: usize, listener: Listener) -> bool {
    let mut listeners = LISTENERS.lock();
    if listeners.iter().any(|(other, _)| *other == number) {
        return false;
    }
    listeners.push((number, listener));
    true
}

/// Takes a listener away; false if there is none under that number.
pub fn forget(number: usize) -> bool {
    let mut listeners = LISTENERS.lock();
    let before = listeners.len();
    listeners.retain(|(other, _)| *other != number);
    listeners.len() < before
}

/// Tells everybody who wants to hear.
pub(crate) fn tell(exception: Exception) {
    let numbers: Vec<usize> = LISTENERS.lock().iter().map(|(number, _)| *number).collect();
    if !numbers.is_empty() {
        crate::host_call::on_runtime_thread(Box::new(move || {
            for number in numbers {
                // Whoever was taken away meanwhile may not be there any more.
                let found = LISTENERS.lock().iter().find(|one| one.0 == number).cloned();
                if let Some((_, listener)) = found {
                    listener(exception);
                }
            }
        }));
    }
}

thread_local! {
    static THREAD: u32 = crate::log::thread_id();
}

/// Notes that the calling thread is the last that gave a stream a task.
pub(crate) fn note_thread(place: &AtomicU32) {
    place.store(THREAD.try_with(|id| *id).unwrap_or(0), Ordering::Relaxed);
}
