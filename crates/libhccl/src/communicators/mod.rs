//! Communicators as C programs hold them: made, asked, suspended, destroyed.

mod agreed;
mod all;
pub(crate) mod cluster;
mod create;
mod destroy;
mod names;
mod queries;
mod root_info;
mod state;
mod sub;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hccl::{Communicator, Options, Topology};
use hccl_abi::Table;
use parking_lot::{Mutex, MutexGuard};

use crate::border::present;
use crate::config::Config;
use crate::errors::{Failure, Record, Status};
use crate::resources::Resources;
use crate::runtime::DeviceRoom;
use crate::tuner;

pub(crate) use agreed::join_agreed;
pub(crate) use destroy::destroy as end;
pub(crate) use names::{by_group, by_name};
pub(crate) use sub::create_group;

/// A communicator as C programs hold it.
pub(crate) struct Comm {
    pub(crate) engine: Communicator,
    pub(crate) device: i32,
    /// Held while an operation is started and queued, so that both happen in one order.
    issue: Mutex<()>,
    suspended: AtomicBool,
    destroyed: AtomicBool,
    pub(crate) origin: Arc<Origin>,
}

/// What a communicator was made of. It stays when the engine under it is replaced by a new one.
pub(crate) struct Origin {
    /// Mark of the place where its ranks met, which only they know.
    place: [u8; 16],
    /// What must be equal on all ranks, in words.
    settings: String,
    options: Options,
    /// What a tuner plugin has to do with it.
    pub(crate) tuner: Option<Arc<tuner::Session>>,
    room: Arc<DeviceRoom>,
    pub(crate) config: Config,
    pub(crate) topology: Option<Topology>,
    /// Device of each rank.
    pub(crate) devices: Vec<i32>,
    /// Ranks that the members have in the communicator that it was made of.
    pub(crate) members: Option<Vec<u32>>,
    /// What programs asked of it for operators of their own.
    pub(crate) resources: Resources,
    _name: names::Name,
}

impl Comm {
    /// Refuses a communicator that was destroyed after a call was kept for the end of a group.
    pub(crate) fn still_there(&self, call: &str) -> Result<(), Failure> {
        if self.destroyed.load(Ordering::Relaxed) {
            let value = format!("{}, which was destroyed meanwhile", self.engine.name());
            let expect = "a communicator that lives until the group has ended";
            return Err(Failure::argument(call, "comm", &value, expect));
        }
        Ok(())
    }

    /// To be held while an operation is started and queued. A tuner plugin that starts one while it
    /// is asked about another would wait for itself.
    pub(crate) fn in_order(&self, call: &str) -> Result<MutexGuard<'_, ()>, Failure> {
        if let Some(guard) = self.issue.try_lock() {
            return Ok(guard);
        }
        if tuner::is_inside() {
            let value = "that of the operator that the plugin is asked about";
            return Err(Failure::argument(call, "comm", value, "another communicator, if any"));
        }
        Ok(self.issue.lock())
    }
}

static COMMS: Table<Comm> = Table::new(0x21);

/// Fork generation in which this library was first used.
static USED_IN: OnceLock<u32> = OnceLock::new();

/// Refuses a forked child of a process that has used communicators: they are the parent's, and
/// so is whatever its other threads held at that moment.
pub(crate) fn check_process() -> Result<(), Failure> {
    let now = hccl_os::fork::generation();
    if *USED_IN.get_or_init(|| now) == now {
        return Ok(());
    }
    let text = "This process was forked from one that had used communicators, and they do not \
                survive a fork. Start it anew (exec, or the spawn start method).";
    Err(Failure::new(Status::Internal, Record::internal(text)))
}

/// The communicator behind a handle.
pub(crate) fn comm(call: &str, handle: *mut c_void) -> Result<Arc<Comm>, Failure> {
    check_process()?;
    present(call, "comm", handle)?;
    COMMS.get(handle).ok_or_else(|| unknown(call, handle))
}

/// Whether a handle is that of a communicator.
pub(crate) fn is_alive(handle: *mut c_void) -> bool {
    COMMS.get(handle).is_some()
}

/// The communicator behind a handle, if it takes operations.
pub(crate) fn operable(call: &str, handle: *mut c_void) -> Result<Arc<Comm>, Failure> {
    let comm = comm(call, handle)?;
    if comm.suspended.load(Ordering::Relaxed) {
        let text = format!(
            "{call}: communicator {} is suspended (HcclCommSuspend); HcclCommResume on all ranks \
             makes it usable again",
            comm.engine.name()
        );
        return Err(Failure::new(Status::Suspending, Record::internal(&text)));
    }
    Ok(comm)
}

fn unknown(call: &str, handle: *mut c_void) -> Failure {
    let expect = "a communicator of this process that lives";
    Failure::argument(call, "comm", &format!("{handle:p}"), expect)
}

/// Stores a new communicator, and lets a tuner plugin know of it; gives its handle.
fn keep(call: &str, comm: Arc<Comm>) -> Result<*mut c_void, Failure> {
    let tuner = comm.origin.tuner.clone();
    let handle = COMMS.insert(comm).ok_or_else(|| {
        Failure::argument(call, "comm", "one more", "at most 16777216 communicators in a process")
    })?;
    if let Some(tuner) = tuner {
        tuner.begin(handle);
    }
    Ok(handle)
}

/// Stores a new communicator and gives its handle out.
///
/// # Safety
/// 1. `out` is writable.
unsafe fn hand_out(call: &str, comm: Arc<Comm>, out: *mut *mut c_void) -> Result<(), Failure> {
    let handle = keep(call, comm)?;
    // SAFETY: (1).
    unsafe { out.write(handle) };
    Ok(())
}
