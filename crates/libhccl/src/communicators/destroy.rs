//! The end of a communicator.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::state::{Phase, tell_observers};
use super::{COMMS, check_process, unknown};
use crate::border::hccl_call;
use crate::errors::{Failure, Record, Status};
use crate::group::{self, Place};
use crate::memory;
use crate::runtime::log_line;

const CALL: &str = "HcclCommDestroy";
/// How long a destroy waits for operations that are under way.
const DRAIN: Duration = Duration::from_secs(1);

hccl_call! {
    /// Ends a communicator. Operations that are under way get a second; then they are aborted.
    fn HcclCommDestroy(handle: *mut c_void) {
        log_line!(Event, CALL, "Entry-HcclCommDestroy:op begin, comm[{handle:p}]");
        if handle.is_null() {
            log_line!(Warning, CALL, "comm is NULL: there is nothing to destroy");
            return Ok(());
        }
        check_process()?;
        if COMMS.get(handle).is_none() {
            return Err(unknown(CALL, handle));
        }
        let handle = Place(handle);
        group::manage(CALL, Box::new(move || {
            let handle = handle;
            destroy(CALL, handle.0)
        }))
    }
}

/// Ends a communicator, as [`HcclCommDestroy`] does.
pub(crate) fn destroy(call: &str, handle: *mut c_void) -> Result<(), Failure> {
    let comm = COMMS.get(handle).ok_or_else(|| unknown(call, handle))?;
    if comm.issue.is_locked() {
        let text = format!("[{call}] comm is in use, please try again later");
        return Err(Failure::new(Status::Again, Record::internal(&text)));
    }
    tell_observers(handle, Phase::DestroyPre);
    // Two threads may destroy it at a time; one of them does. Another may have resumed it meanwhile.
    let comm = COMMS.remove(handle).ok_or_else(|| unknown(call, handle))?;
    memory::forget(&comm.origin);
    comm.destroyed.store(true, Ordering::Relaxed);
    let deadline = Instant::now() + DRAIN;
    while comm.engine.is_busy() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_micros(200));
    }
    if comm.engine.is_busy() {
        log_line!(
            Error,
            call,
            "Terminating operation due to external request: communicator {} was destroyed while \
             operations were under way",
            comm.engine.name()
        );
        comm.engine.abort(&format!("{call} was called while operations were under way"));
    }
    comm.engine.leave();
    tell_observers(handle, Phase::DestroyPost);
    Ok(())
}
