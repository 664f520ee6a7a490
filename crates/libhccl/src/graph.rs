//! What calls of a graph engine have in common: communicators by group name, tags, and resources
//! that the engine brings along and nobody needs here.

use std::ffi::{c_char, c_void};

use hccl_abi::c_text;

use crate::border::present;
use crate::communicators::{by_group, check_process};
use crate::errors::Failure;
use crate::forms::On;

/// The group of all ranks; NULL for a group name means it.
pub(crate) const WORLD: &str = "hccl_world_group";

/// Longest tag of an operator.
const TAG_MAX: usize = 512;

/// Streams and memory for algorithms that need some. None of ours does: an operation runs on the
/// caller's stream alone, and takes room from the communicator.
pub(crate) struct Brought {
    pub(crate) streams: *mut *mut c_void,
    pub(crate) stream_count: usize,
    pub(crate) scratch: *mut c_void,
    pub(crate) scratch_size: u64,
}

/// Name of a group.
///
/// # Safety
/// 1. `group` is NULL or a C string.
pub(crate) unsafe fn group_name(group: *const c_char) -> String {
    // SAFETY: (1).
    unsafe { c_text(group) }.unwrap_or_else(|| WORLD.to_owned())
}

/// Refuses a tag that is none. Operators run in the order in which they are called, so tags need
/// not tell them apart.
///
/// # Safety
/// 1. `tag` is NULL or a C string.
pub(crate) unsafe fn check_tag(call: &str, tag: *const c_char) -> Result<(), Failure> {
    present(call, "tag", tag)?;
    // SAFETY: not NULL, and (1).
    let tag = unsafe { c_text(tag) }.unwrap_or_default();
    if tag.is_empty() || tag.len() > TAG_MAX {
        let value = if tag.is_empty() { "an empty text" } else { &tag };
        let expect = format!("a text of 1 to {TAG_MAX} characters");
        return Err(Failure::argument(call, "tag", value, &expect));
    }
    Ok(())
}

/// On what a call of a graph engine works.
///
/// # Safety
/// 1. `group` and `tag` are NULL or C strings.
pub(crate) unsafe fn on_group(
    call: &'static str,
    group: *const c_char,
    stream: *mut c_void,
    tag: *const c_char,
) -> Result<On, Failure> {
    check_process()?;
    // SAFETY: (1).
    unsafe { check_tag(call, tag) }?;
    present(call, "stream", stream)?;
    // SAFETY: (1).
    let (comm, _) = by_group(call, &unsafe { group_name(group) })?;
    Ok(On { call, comm, stream })
}

/// As [`on_group`], with resources that must be there if they are announced.
///
/// # Safety
/// 1. As (1) of [`on_group`].
pub(crate) unsafe fn on(
    call: &'static str,
    group: *const c_char,
    stream: *mut c_void,
    tag: *const c_char,
    brought: Brought,
) -> Result<On, Failure> {
    // SAFETY: (1).
    let on = unsafe { on_group(call, group, stream, tag) }?;
    if brought.stream_count > 0 {
        present(call, "streams", brought.streams)?;
    }
    if brought.scratch_size > 0 {
        present(call, "scratchMemAddr", brought.scratch)?;
    }
    Ok(on)
}
