//! Groups of ranks of the world, and what can be asked of them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use hccl_abi::{c_text, contain};

use super::{forget, made, remember};
use crate::border::{check_rank, hccl_call, present};
use crate::communicators::{Comm, by_group, check_process, create_group, end};
use crate::errors::Failure;
use crate::graph::{WORLD, group_name};

/// Bytes of a name with its NUL.
const NAME_BYTES: usize = 128;

/// Name of a group that programs make and destroy themselves, which the world is not.
///
/// # Safety
/// 1. `group` is NULL or a C string.
unsafe fn own_name(call: &str, group: *const c_char) -> Result<String, Failure> {
    check_process()?;
    present(call, "group", group)?;
    // SAFETY: not NULL, and (1).
    let name = unsafe { c_text(group) }.unwrap_or_default();
    if name.is_empty() || name.len() >= NAME_BYTES || name == WORLD {
        let value = if name.is_empty() { "an empty text" } else { &name };
        let expect = format!("a text of 1 to {} characters that is not {WORLD}", NAME_BYTES - 1);
        return Err(Failure::argument(call, "group", value, &expect));
    }
    Ok(name)
}

/// A group, or the world.
///
/// # Safety
/// 1. `group` is NULL or a C string.
pub(super) unsafe fn find(
    call: &str,
    group: *const c_char,
) -> Result<(*mut c_void, Arc<Comm>), Failure> {
    check_process()?;
    // SAFETY: (1).
    by_group(call, &unsafe { group_name(group) })
}

hccl_call! {
    /// Makes a group of ranks of the world. Its members call it, and none else.
    fn HcomCreateGroup(group: *const c_char, count: u32, rank_ids: *const u32) {
        const CALL: &str = "HcomCreateGroup";
        // SAFETY: NULL or a C string by the contract of this function.
        let name = unsafe { own_name(CALL, group) }?;
        present(CALL, "rankIds", rank_ids)?;
        let (_, world) = by_group(CALL, WORLD)?;
        let all = world.engine.ranks();
        if count == 0 || count > all {
            let expect = format!("[1, {all}]");
            return Err(Failure::argument(CALL, "rankNum", &count.to_string(), &expect));
        }
        // SAFETY: not NULL; readable for `count` numbers by the contract of this function.
        let ranks = unsafe { std::slice::from_raw_parts(rank_ids, count as usize) };
        let handle = create_group(CALL, &world, ranks, &name)?;
        remember(world.device, &name, handle);
        Ok(())
    }
}

hccl_call! {
    /// Ends a group.
    fn HcomDestroyGroup(group: *const c_char) {
        const CALL: &str = "HcomDestroyGroup";
        // SAFETY: NULL or a C string by the contract of this function.
        let name = unsafe { own_name(CALL, group) }?;
        let (handle, comm) = by_group(CALL, &name)?;
        let key = (comm.device, name);
        if !made(Some(comm.device)).iter().any(|(it, _)| *it == key) {
            let expect = "a group that HcomCreateGroup made";
            return Err(Failure::argument(CALL, "group", &key.1, expect));
        }
        end(CALL, handle)?;
        forget(&key);
        Ok(())
    }
}

/// Whether there is a group of a name.
///
/// # Safety
/// 1. `group` is NULL or a C string.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn HcomFindGroup(group: *const c_char) -> bool {
    // SAFETY: (1).
    contain(|| unsafe { find("HcomFindGroup", group) }.is_ok()).unwrap_or(false)
}

hccl_call! {
    /// The communicator of a group.
    fn HcomGetCommHandleByGroup(group: *const c_char, handle: *mut *mut c_void) {
        const CALL: &str = "HcomGetCommHandleByGroup";
        present(CALL, "commHandle", handle)?;
        // SAFETY: NULL or a C string by the contract of this function.
        let (found, _) = unsafe { find(CALL, group) }?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { handle.write(found) };
        Ok(())
    }
}

/// Answers a question with a number.
///
/// # Safety
/// 1. `group` is NULL or a C string; `place` is NULL or writable.
unsafe fn tell(
    call: &str,
    group: *const c_char,
    (name, place): (&str, *mut u32),
    answer: impl FnOnce(&Comm) -> Result<u32, Failure>,
) -> Result<(), Failure> {
    present(call, name, place)?;
    // SAFETY: (1).
    let (_, comm) = unsafe { find(call, group) }?;
    // SAFETY: not NULL, and (1).
    unsafe { place.write(answer(&comm)?) };
    Ok(())
}

/// How many ranks of a group the own server has, and the own place among them.
fn local(comm: &Comm) -> (u32, u32) {
    let (all, own) = (comm.engine.ranks(), comm.engine.rank());
    let Some(topology) = &comm.origin.topology else {
        return (all, own);
    };
    let found = topology.place(0, own).and_then(|(server, place)| {
        let size = topology.groups.first()?.get(server as usize)?;
        Some((*size, place))
    });
    found.unwrap_or((all, own))
}

hccl_call! {
    /// How many ranks a group has.
    fn HcomGetRankSize(group: *const c_char, size: *mut u32) {
        let answer = |comm: &Comm| Ok(comm.engine.ranks());
        // SAFETY: a C string, and writable, by the contract of this function.
        unsafe { tell("HcomGetRankSize", group, ("rankSize", size), answer) }
    }
}

hccl_call! {
    /// The own rank in a group.
    fn HcomGetRankId(group: *const c_char, rank: *mut u32) {
        let answer = |comm: &Comm| Ok(comm.engine.rank());
        // SAFETY: a C string, and writable, by the contract of this function.
        unsafe { tell("HcomGetRankId", group, ("rankId", rank), answer) }
    }
}

hccl_call! {
    /// How many ranks of a group are on the own server.
    fn HcomGetLocalRankSize(group: *const c_char, size: *mut u32) {
        let answer = |comm: &Comm| Ok(local(comm).0);
        // SAFETY: a C string, and writable, by the contract of this function.
        unsafe { tell("HcomGetLocalRankSize", group, ("localRankSize", size), answer) }
    }
}

hccl_call! {
    /// The own place among the ranks of a group that are on the own server.
    fn HcomGetLocalRankId(group: *const c_char, rank: *mut u32) {
        let answer = |comm: &Comm| Ok(local(comm).1);
        // SAFETY: a C string, and writable, by the contract of this function.
        unsafe { tell("HcomGetLocalRankId", group, ("localRankId", rank), answer) }
    }
}

hccl_call! {
    /// Which rank of the world a rank of a group is.
    fn HcomGetWorldRankFromGroupRank(group: *const c_char, rank: u32, world_rank: *mut u32) {
        const CALL: &str = "HcomGetWorldRankFromGroupRank";
        let answer = |comm: &Comm| {
            check_rank(CALL, "groupRank", rank, comm.engine.ranks())?;
            let members = comm.origin.members.as_ref();
            Ok(members.and_then(|members| members.get(rank as usize).copied()).unwrap_or(rank))
        };
        // SAFETY: a C string, and writable, by the contract of this function.
        unsafe { tell(CALL, group, ("worldRank", world_rank), answer) }
    }
}

hccl_call! {
    /// Which rank of a group a rank of the world is.
    fn HcomGetGroupRankFromWorldRank(world_rank: u32, group: *const c_char, rank: *mut u32) {
        const CALL: &str = "HcomGetGroupRankFromWorldRank";
        let answer = |comm: &Comm| {
            let place = match &comm.origin.members {
                Some(members) => members.iter().position(|&member| member == world_rank),
                None => (world_rank < comm.engine.ranks()).then_some(world_rank as usize),
            };
            place.map(|place| place as u32).ok_or_else(|| {
                let expect = format!("a rank of the world that is in group {}", comm.engine.name());
                Failure::argument(CALL, "worldRank", &world_rank.to_string(), &expect)
            })
        };
        // SAFETY: a C string, and writable, by the contract of this function.
        unsafe { tell(CALL, group, ("groupRank", rank), answer) }
    }
}
