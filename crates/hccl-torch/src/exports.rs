//! The functions that C++ calls, as a table.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use hccl::{ROOT_INFO_BYTES, Root, RootInfo};
use hccl_abi::contain;

use crate::abi::{self, Call, Hooks, Status};
use crate::background;
use crate::group::{Group, Submitted};
use crate::tensors;
use crate::ticket::{Failure, Ticket};

/// A place for a text of [`abi::TEXT_BYTES`] bytes.
type Text = *mut c_char;

/// What C++ gets. Each function takes what the ones before it gave; none unwinds.
#[repr(C)]
pub(crate) struct Table {
    version: u32,
    bytes: u32,
    root_open: unsafe extern "C" fn(*mut u8, u64, Text) -> u32,
    group_join: unsafe extern "C" fn(*const Joining, Hooks, *mut *const Group, Text) -> u32,
    group_free: unsafe extern "C" fn(*const Group),
    group_close: unsafe extern "C" fn(*const Group, u64),
    group_abort: unsafe extern "C" fn(*const Group, *const c_char),
    group_failure: unsafe extern "C" fn(*const Group, Text) -> u32,
    group_sequence: unsafe extern "C" fn(*const Group) -> u64,
    group_set_timeout: unsafe extern "C" fn(*const Group, u64),
    submit:
        unsafe extern "C" fn(*const Group, *const Call, *mut *const Ticket, *mut i32, Text) -> u32,
    wait: unsafe extern "C" fn(*const Group, *const Ticket, u64) -> u32,
    ticket_result: unsafe extern "C" fn(*const Ticket, *mut i32, Text) -> u32,
    ticket_free: unsafe extern "C" fn(*const Ticket),
    cancel: unsafe extern "C" fn(*const Group, *const Ticket),
    quiesce: unsafe extern "C" fn(u64),
    allocate: unsafe extern "C" fn(u64) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void) -> u32,
}

/// How a rank joins.
#[repr(C)]
pub(crate) struct Joining {
    root: *const u8,
    name: *const c_char,
    rank: u32,
    ranks: u32,
    timeout_ms: u64,
}

static TABLE: Table = Table {
    version: abi::VERSION,
    bytes: size_of::<Table>() as u32,
    root_open,
    group_join,
    group_free,
    group_close,
    group_abort,
    group_failure,
    group_sequence,
    group_set_timeout,
    submit,
    wait,
    ticket_result,
    ticket_free,
    cancel,
    quiesce,
    allocate,
    free,
};

/// The table of functions; the only symbol of this library.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hccl_torch_table() -> *const Table {
    &raw const TABLE
}

/// Leaves the text of a failure, and gives its status.
///
/// # Safety
/// 1. `text` is null, or a place for a text.
unsafe fn leave(failure: &Failure, text: Text) -> u32 {
    if !text.is_null() {
        let most = abi::TEXT_BYTES as usize - 1;
        let mut len = failure.text.len().min(most);
        while !failure.text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: (1), and there is room for the zero.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(failure.text.as_ptr(), len);
            text.add(len).write(0);
        }
    }
    failure.status as u32
}

/// Runs a function whose panics become failures.
///
/// # Safety
/// 1. As for [`leave`].
unsafe fn guarded(text: Text, body: impl FnOnce() -> Result<Status, Failure>) -> u32 {
    let result = contain(body).unwrap_or_else(|panic| {
        Err(Failure::new(Status::Failed, format!("a fault of this library: {}", panic.0)))
    });
    match result {
        Ok(status) => status as u32,
        // SAFETY: (1).
        Err(failure) => unsafe { leave(&failure, text) },
    }
}

/// # Safety
/// 1. The pointer is null, or from [`group_join`] and not freed.
unsafe fn group_of<'a>(group: *const Group) -> Result<&'a Group, Failure> {
    // SAFETY: (1).
    unsafe { group.as_ref() }.ok_or_else(|| Failure::new(Status::Invalid, "there is no group"))
}

/// Opens a meeting place and writes what ranks need to find it.
///
/// # Safety
/// 1. `block` is a place for [`ROOT_INFO_BYTES`] bytes, `text` one for a text.
unsafe extern "C" fn root_open(block: *mut u8, timeout_ms: u64, text: Text) -> u32 {
    let body = || {
        let root = match timeout_ms {
            0 => Root::open(),
            limit => Root::open_for(Duration::from_millis(limit)),
        }?;
        let bytes = root.info().to_bytes();
        // SAFETY: (1).
        unsafe { block.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(Status::Done)
    };
    // SAFETY: (1).
    unsafe { guarded(text, body) }
}

/// Joins; returns when all ranks have come.
///
/// # Safety
/// 1. `joining` points to what it says: a root's block, a text.
/// 2. `group` and `text` are places for results.
unsafe extern "C" fn group_join(
    joining: *const Joining,
    hooks: Hooks,
    group: *mut *const Group,
    text: Text,
) -> u32 {
    let body = || {
        // SAFETY: (1).
        let joining = unsafe { &*joining };
        // SAFETY: (1).
        let (block, name) = unsafe {
            (&*joining.root.cast::<[u8; ROOT_INFO_BYTES]>(), CStr::from_ptr(joining.name))
        };
        let root = RootInfo::from_bytes(block)
            .map_err(|error| Failure::new(Status::Invalid, error.to_string()))?;
        let name = name.to_string_lossy().into_owned();
        let Joining { rank, ranks, timeout_ms, .. } = *joining;
        let joined = Group::join(&root, rank, ranks, (name, timeout_ms), hooks)?;
        // SAFETY: (2).
        unsafe { group.write(Arc::into_raw(joined)) };
        Ok(Status::Done)
    };
    // SAFETY: (2).
    unsafe { guarded(text, body) }
}

/// # Safety
/// 1. As for [`group_of`]; nobody uses it afterwards.
unsafe extern "C" fn group_free(group: *const Group) {
    if group.is_null() {
        return;
    }
    // SAFETY: (1): it came out of an `Arc`, and goes back once.
    let group = unsafe { Arc::from_raw(group) };
    if !group.is_own() {
        // In a forked child: all of it is the parent's.
        let _ = std::mem::ManuallyDrop::new(group);
        return;
    }
    let _ = contain(|| {
        group.close(crate::group::DRAIN);
        drop(group);
    });
}

/// # Safety
/// 1. As for [`group_of`].
unsafe extern "C" fn group_close(group: *const Group, limit_ms: u64) {
    // SAFETY: (1).
    if let Ok(group) = unsafe { group_of(group) } {
        let _ = contain(|| group.close(Duration::from_millis(limit_ms)));
    }
}

/// # Safety
/// 1. As for [`group_of`]; `why` is a text.
unsafe extern "C" fn group_abort(group: *const Group, why: *const c_char) {
    // SAFETY: (1).
    if let Ok(group) = unsafe { group_of(group) } {
        // SAFETY: (1).
        let why = unsafe { CStr::from_ptr(why) }.to_string_lossy();
        let _ = contain(|| group.abort(&why));
    }
}

/// Why a group is of no use any more; [`Status::Done`] if it is of use.
///
/// # Safety
/// 1. As for [`group_of`]; `text` is a place for a text.
unsafe extern "C" fn group_failure(group: *const Group, text: Text) -> u32 {
    let body = || {
        // SAFETY: (1).
        let group = unsafe { group_of(group) }?;
        group.failure().map_or(Ok(Status::Done), Err)
    };
    // SAFETY: (1).
    unsafe { guarded(text, body) }
}

/// # Safety
/// 1. As for [`group_of`].
unsafe extern "C" fn group_sequence(group: *const Group) -> u64 {
    // SAFETY: (1).
    unsafe { group_of(group) }.map_or(0, Group::sequence)
}

/// # Safety
/// 1. As for [`group_of`].
unsafe extern "C" fn group_set_timeout(group: *const Group, timeout_ms: u64) {
    // SAFETY: (1).
    if let Ok(group) = unsafe { group_of(group) } {
        group.set_timeout_ms(timeout_ms);
    }
}

/// Makes a call. [`Status::Pending`] comes with a ticket, and the owner is told later; otherwise
/// the owner stays the caller's.
///
/// # Safety
/// 1. As for [`group_of`]; the call is one of [`Group::submit`].
/// 2. `ticket`, `source` and `text` are places for results.
unsafe extern "C" fn submit(
    group: *const Group,
    call: *const Call,
    ticket: *mut *const Ticket,
    source: *mut i32,
    text: Text,
) -> u32 {
    let body = || {
        // SAFETY: (1).
        let (group, call) = unsafe { (group_of(group)?, &*call) };
        // SAFETY: (1).
        match unsafe { group.submit(call) }? {
            Submitted::Done { source: from } => {
                // SAFETY: (2).
                unsafe { source.write(from) };
                Ok(Status::Done)
            }
            Submitted::Pending(made) => {
                // SAFETY: (2).
                unsafe { ticket.write(Arc::into_raw(made)) };
                Ok(Status::Pending)
            }
        }
    };
    // SAFETY: (2).
    unsafe { guarded(text, body) }
}

/// Waits for a call, for so long at most, or without limit for 0; whether it is over. What became
/// of it the owner was told, or is about to be.
///
/// # Safety
/// 1. As for [`group_of`]; the ticket is one of its calls.
unsafe extern "C" fn wait(group: *const Group, ticket: *const Ticket, limit_ms: u64) -> u32 {
    let body = || {
        // SAFETY: (1).
        let (group, ticket) = unsafe { (group_of(group)?, &*ticket) };
        let limit = (limit_ms > 0).then(|| Duration::from_millis(limit_ms));
        let over = crate::drive::until(group, limit, || ticket.is_over());
        Ok(if over { Status::Done } else { Status::Pending })
    };
    // SAFETY: no text.
    unsafe { guarded(std::ptr::null_mut(), body) }
}

/// What became of a call, and the rank that a message came from.
///
/// # Safety
/// 1. The ticket is one of [`submit`]'s; `source` and `text` are places for results.
unsafe extern "C" fn ticket_result(ticket: *const Ticket, source: *mut i32, text: Text) -> u32 {
    // SAFETY: (1).
    let ticket = unsafe { &*ticket };
    if !ticket.is_over() {
        return Status::Pending as u32;
    }
    // SAFETY: (1).
    unsafe { source.write(ticket.source()) };
    match ticket.failure() {
        None => Status::Done as u32,
        // SAFETY: (1).
        Some(failure) => unsafe { leave(failure, text) },
    }
}

/// # Safety
/// 1. The ticket is one of [`submit`]'s; nobody uses it afterwards.
unsafe extern "C" fn ticket_free(ticket: *const Ticket) {
    // SAFETY: (1): it came out of an `Arc`, and goes back once.
    drop(unsafe { Arc::from_raw(ticket) });
}

/// A receive that no message has come for is not waited for any more.
///
/// # Safety
/// 1. As for [`group_of`]; the ticket is one of its calls.
unsafe extern "C" fn cancel(group: *const Group, ticket: *const Ticket) {
    // SAFETY: (1).
    if let Ok(group) = unsafe { group_of(group) } {
        let _ = contain(|| group.cancel(ticket));
    }
}

/// Before Python goes: ends all groups, and the thread.
///
/// # Safety
/// None is needed.
unsafe extern "C" fn quiesce(limit_ms: u64) {
    let _ = contain(|| background::stop(Duration::from_millis(limit_ms)));
}

/// Memory that other ranks reach where it is; null where there is none.
///
/// # Safety
/// None is needed.
unsafe extern "C" fn allocate(bytes: u64) -> *mut c_void {
    let made = contain(|| tensors::allocate(bytes)).ok().flatten();
    made.map_or(std::ptr::null_mut(), <*mut u8>::cast)
}

/// Takes back what [`allocate`] gave; 0 if it gave nothing there.
///
/// # Safety
/// 1. If the address is one of [`allocate`]'s, nobody uses it afterwards.
unsafe extern "C" fn free(address: *mut c_void) -> u32 {
    contain(|| tensors::free(address.cast())).is_ok_and(|was_ours| was_ours).into()
}
