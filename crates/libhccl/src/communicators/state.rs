//! Communicators that are suspended and made usable again, and those who want to know.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::Ordering;

use hccl_abi::c_text;
use hccl_fabric::{RootInfo, Server};
use parking_lot::Mutex;

use super::create::{meet_again, until_one_ends};
use super::{COMMS, by_name, check_process, comm, unknown};
use crate::border::{check_rank, hccl_call, present};
use crate::environment::environment;
use crate::errors::Failure;
use crate::runtime::log_line;

/// `HcclCommStatePhase`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Phase {
    DestroyPre = 0,
    DestroyPost = 1,
    ResumePre = 2,
    ResumePost = 3,
}

/// `HcclCommStateCallback`.
pub type StateCallback = unsafe extern "C" fn(comm: *mut c_void, phase: c_int, args: *mut c_void);

/// Somebody who wants to know of the life of communicators.
struct Observer {
    name: String,
    callback: StateCallback,
    /// What it gets with each call, as a number: it is the observer's business.
    args: usize,
}

static OBSERVERS: Mutex<Vec<Observer>> = Mutex::new(Vec::new());

/// Longest name of an observer.
const OBSERVER_NAME_MAX: usize = 160;

pub(super) fn tell_observers(handle: *mut c_void, phase: Phase) {
    let observers: Vec<(StateCallback, usize)> =
        OBSERVERS.lock().iter().map(|observer| (observer.callback, observer.args)).collect();
    for (callback, args) in observers {
        // SAFETY: whoever registered it promised that it can be called so, from any thread.
        unsafe { callback(handle, phase as c_int, args as *mut c_void) };
    }
}

hccl_call! {
    /// Has a function called before and after communicators are destroyed and resumed. The same
    /// name again replaces the one before.
    fn HcclCommRegCommStateCallback(
        name: *const c_char,
        callback: Option<StateCallback>,
        args: *mut c_void,
    ) {
        const CALL: &str = "HcclCommRegCommStateCallback";
        check_process()?;
        present(CALL, "regName", name)?;
        let callback = callback.ok_or_else(|| Failure::null(CALL, "callback"))?;
        // SAFETY: not NULL; a C string by the contract of this function.
        let name = unsafe { c_text(name) }.unwrap_or_default();
        if name.is_empty() || name.len() > OBSERVER_NAME_MAX {
            let expect = format!("a name of 1 to {OBSERVER_NAME_MAX} characters");
            return Err(Failure::argument(CALL, "regName", &name, &expect));
        }
        let mut observers = OBSERVERS.lock();
        observers.retain(|observer| observer.name != name);
        observers.push(Observer { name, callback, args: args.addr() });
        Ok(())
    }
}

hccl_call! {
    /// Marks a communicator as suspended: operators are refused until it is resumed.
    fn HcclCommSuspend(handle: *mut c_void) {
        let comm = comm("HcclCommSuspend", handle)?;
        comm.suspended.store(true, Ordering::Relaxed);
        Ok(())
    }
}

hccl_call! {
    /// Makes a communicator usable again, also one that failed. All ranks call it together, when
    /// nothing of the communicator is under way any more; they meet anew.
    fn HcclCommResume(handle: *mut c_void) {
        const CALL: &str = "HcclCommResume";
        let comm = comm(CALL, handle)?;
        log_line!(
            Event,
            CALL,
            "Entry-HcclCommResume:comm[{handle:p}], identifier[{}], ranks[{}], rank[{}]",
            comm.engine.name(),
            comm.engine.ranks(),
            comm.engine.rank()
        );
        tell_observers(handle, Phase::ResumePre);
        let again = {
            let _nobody_issues = comm.in_order(CALL)?;
            let known =
                [comm.origin.place.as_slice(), b"resume", comm.engine.name().as_bytes()];
            let place = RootInfo::agreed(comm.device, &known).map_err(Failure::from_system)?;
            let hopeless = until_one_ends(&comm, (0..comm.engine.ranks()).collect());
            if comm.engine.rank() == 0 {
                let server = Server::open_at(place.clone())?;
                server.serve_unless(environment()?.connect_timeout, Some(hopeless.clone()))?;
            }
            meet_again(&comm, &place, hopeless)?
        };
        COMMS.replace(handle, again).ok_or_else(|| unknown(CALL, handle))?;
        tell_observers(handle, Phase::ResumePost);
        Ok(())
    }
}

/// `HcclCommStatus`.
const READY: c_int = 0;
const SUSPENDING: c_int = 1;
const INVALID: c_int = 254;

hccl_call! {
    /// Whether the communicator of a name takes operations.
    fn HcclCommGetStatus(name: *const c_char, status: *mut c_int) {
        const CALL: &str = "HcclCommGetStatus";
        check_process()?;
        present(CALL, "commName", name)?;
        present(CALL, "status", status)?;
        // SAFETY: not NULL; a C string by the contract of this function.
        let name = unsafe { c_text(name) }.unwrap_or_default();
        let (_, comm) = by_name(CALL, &name)?;
        let found = if comm.suspended.load(Ordering::Relaxed) {
            SUSPENDING
        } else if comm.engine.failure().is_some() {
            INVALID
        } else {
            READY
        };
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { status.write(found) };
        Ok(())
    }
}

hccl_call! {
    /// Switches ranks between the network card of their own die and that of the other. There are
    /// no such cards under a software NPU, so nothing changes, as on machines without RDMA links.
    fn HcclCommWorkingDevNicSet(
        handle: *mut c_void,
        ranks: *const u32,
        use_backup: *const bool,
        count: u32,
    ) {
        const CALL: &str = "HcclCommWorkingDevNicSet";
        let comm = comm(CALL, handle)?;
        present(CALL, "ranks", ranks)?;
        present(CALL, "useBackup", use_backup)?;
        let all = comm.engine.ranks();
        if count == 0 || count > all {
            let expect = format!("[1, {all}]");
            return Err(Failure::argument(CALL, "nRanks", &count.to_string(), &expect));
        }
        // SAFETY: not NULL; readable for `count` numbers by the contract of this function.
        for &rank in unsafe { std::slice::from_raw_parts(ranks, count as usize) } {
            check_rank(CALL, "ranks", rank, all)?;
        }
        log_line!(Warning, CALL, "there are no network cards to switch between: nothing changes");
        Ok(())
    }
}
