//! What the caller of a call that did not end at once holds.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use hccl::Error;

use crate::abi::{Hooks, Status};

/// Why a call failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Invalid { .. } => Status::Invalid,
            Error::TimedOut { .. } | Error::NotItsTurn { .. } => Status::TimedOut,
            Error::Aborted { .. } => Status::Aborted,
            _ => Status::Failed,
        };
        Self { status, text: error.to_string() }
    }
}

/// A call under way, or over.
pub(crate) struct Ticket {
    status: AtomicU32,
    /// The rank that a message came from.
    source: AtomicI32,
    failure: OnceLock<Failure>,
    owner: *mut c_void,
    hooks: Hooks,
}

// SAFETY: the owner is only handed back, once, to a hook that takes it on any thread.
unsafe impl Send for Ticket {}
// SAFETY: as above.
unsafe impl Sync for Ticket {}

impl Ticket {
    pub(crate) fn new(owner: *mut c_void, hooks: Hooks) -> Self {
        let status = AtomicU32::new(Status::Pending as u32);
        Self { status, source: AtomicI32::new(-1), failure: OnceLock::new(), owner, hooks }
    }

    pub(crate) fn is_over(&self) -> bool {
        // SYNC(ticket): pairs with the store in `set_over`.
        self.status.load(Ordering::Acquire) != Status::Pending as u32
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    pub(crate) fn source(&self) -> i32 {
        self.source.load(Ordering::Relaxed)
    }

    pub(crate) fn set_source(&self, rank: u32) {
        self.source.store(rank.cast_signed(), Ordering::Relaxed);
    }

    /// The call ended. Whoever calls this calls [`Self::tell`] soon, outside of all locks.
    pub(crate) fn set_over(&self, result: Result<(), Failure>) {
        let status = result.as_ref().err().map_or(Status::Done, |failure| failure.status);
        if let Err(failure) = result {
            let _ = self.failure.set(failure);
        }
        // SYNC(ticket): what the call wrote is there for whoever sees this.
        self.status.store(status as u32, Ordering::Release);
    }

    /// Tells the owner, once.
    pub(crate) fn tell(&self) {
        let status = self.status.load(Ordering::Acquire);
        let text = self.failure().map(|failure| {
            CString::new(failure.text.replace('\0', " ")).expect("it has no zero bytes any more")
        });
        let text = text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        // SAFETY: the owner is the one that came with the call, and is told once: by whoever took
        // the call out of its queue.
        unsafe { (self.hooks.finished)(self.owner, status, self.source(), text) };
    }
}
