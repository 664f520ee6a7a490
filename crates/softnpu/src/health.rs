//! Failures of tasks: how they stop a context, and the count of those that nobody was told of.

use hccl_os::sync::{AtomicBool, AtomicU64, Ordering};
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult};
use crate::task::Failure;

/// Tasks that are queued and not over, plus failures that nobody was told of, in the whole
/// process. Part of the C interface: libraries read it to see that there is nothing to wait for
/// and nothing to be told. In a forked child of a process that used devices it is never 0.
#[allow(non_upper_case_globals, reason = "the name is the symbol of the C interface")]
// SAFETY: the name is this project's own; nothing else in a process defines it.
#[unsafe(no_mangle)]
pub static softnpuPendingTasks: AtomicU64 = AtomicU64::new(0);

/// A place for a failure that somebody has to be told of; counted as pending until then.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    kept: Mutex<Option<Failure>>,
    /// Whether there is one: waits look every time, and there is hardly ever any.
    any: AtomicBool,
}

impl Untold {
    /// Keeps a failure, if none is kept: the first one stands.
    pub(crate) fn keep(&self, failure: Failure) {
        let mut kept = self.kept.lock();
        if kept.is_none() {
            *kept = Some(failure);
            self.any.store(true, Ordering::Release);
            softnpuPendingTasks.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Keeps a failure instead of what is kept.
    pub(crate) fn replace(&self, failure: Failure) {
        self.take();
        self.keep(failure);
    }

    /// The failure; it was told now.
    pub(crate) fn take(&self) -> Option<Failure> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut kept = self.kept.lock();
        let taken = kept.take();
        if taken.is_some() {
            self.any.store(false, Ordering::Release);
            softnpuPendingTasks.fetch_sub(1, Ordering::AcqRel);
        }
        taken
    }

    /// The failure, which stays untold.
    pub(crate) fn peek(&self) -> Option<Failure> {
        self.kept.lock().clone()
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        self.take();
    }
}

/// What a context's streams share: whether one failure stops them all, and the one that did.
#[derive(Debug, Default)]
pub(crate) struct Health {
    stops_on_failure: AtomicBool,
    is_stopped: AtomicBool,
    cause: Untold,
}

impl Health {
    pub(crate) fn stops_on_failure(&self) -> bool {
        self.stops_on_failure.load(Ordering::Acquire)
    }

    /// Sets whether one failure stops every stream.
    pub(crate) fn set_stops_on_failure(&self, stops: bool) -> NpuResult<()> {
        if !stops && self.stops_on_failure() {
            return Err(NpuError::unsupported("changing the failure mode from stop to continue"));
        }
        self.stops_on_failure.store(stops, Ordering::Release);
        Ok(())
    }

    /// Takes note of a failed task. True if all streams stop for it.
    pub(crate) fn note(&self, failure: &Failure) -> bool {
        let stops = self.stops_on_failure();
        if stops {
            self.cause.keep(failure.clone());
            self.is_stopped.store(true, Ordering::Release);
        }
        stops
    }

    /// Why the streams are stopped, if they are.
    pub(crate) fn cause(&self) -> Option<Failure> {
        if !self.is_stopped.load(Ordering::Acquire) {
            return None;
        }
        self.cause.peek()
    }

    /// Forgets a failure that stopped the streams: the device was recovered.
    pub(crate) fn recover(&self) {
        self.is_stopped.store(false, Ordering::Release);
        self.cause.take();
    }
}
