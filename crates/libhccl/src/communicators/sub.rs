//! Communicators of some ranks of another communicator.

use std::ffi::c_void;
use std::sync::Arc;

use hccl_fabric::RootInfo;

use super::create::{Recipe, create, until_one_ends};
use super::{Comm, comm, hand_out, keep};
use crate::border::{check_rank, hccl_call, present};
use crate::config::{self, Config};
use crate::errors::Failure;
use crate::group::{self, Place};
use crate::topology;

const CALL: &str = "HcclCreateSubCommConfig";
/// The number that ranks give who are none of the members.
const NOT_A_MEMBER: u64 = 0xFFFF_FFFF;

/// Refuses parent ranks that cannot be members.
fn check_list(call: &str, parent: &Comm, ranks: &[u32]) -> Result<(), Failure> {
    let all = parent.engine.ranks();
    let mut seen = vec![false; all as usize];
    for (i, &rank) in ranks.iter().enumerate() {
        let name = format!("rankIds[{i}]");
        match seen.get_mut(rank as usize) {
            None => {
                let expect = format!("[0, {}], a rank of the parent", all - 1);
                return Err(Failure::argument(call, &name, &rank.to_string(), &expect));
            }
            Some(true) => {
                let value = format!("{rank} again");
                return Err(Failure::argument(call, &name, &value, "each rank once"));
            }
            Some(seen) => *seen = true,
        }
    }
    Ok(())
}

/// Refuses a place among the members that is not the own one.
fn check_place(parent: &Comm, ranks: &[u32], place: u32) -> Result<(), Failure> {
    let own = parent.engine.rank();
    if ranks[place as usize] != own {
        let value = format!("{place}, which is rank {} of the parent", ranks[place as usize]);
        let expect = format!("the place of the own rank, {own}, in rankIds");
        return Err(Failure::argument(CALL, "subCommRankId", &value, &expect));
    }
    Ok(())
}

/// Refuses to make a communicator of one that was itself made of another.
fn check_parent(call: &str, parent: &Comm) -> Result<(), Failure> {
    if parent.origin.members.is_none() {
        return Ok(());
    }
    let value = format!("{}, a sub communicator", parent.engine.name());
    Err(Failure::argument(call, "comm", &value, "a communicator that was not made of another"))
}

/// Makes the communicator of a named group of ranks, of which this one must be one.
pub(crate) fn create_group(
    call: &'static str,
    parent: &Comm,
    ranks: &[u32],
    name: &str,
) -> Result<*mut c_void, Failure> {
    check_parent(call, parent)?;
    check_list(call, parent, ranks)?;
    let own = parent.engine.rank();
    let Some(place) = ranks.iter().position(|&rank| rank == own) else {
        let value = format!("{ranks:?}");
        let expect = format!("a list with the own rank, {own}");
        return Err(Failure::argument(call, "rankIds", &value, &expect));
    };
    let config = Config { name: Some(name.to_owned()), ..Config::default() };
    let mark = [b"group ", name.as_bytes()].concat();
    keep(call, split(call, parent, ranks, &mark, place as u32, config, name.to_owned())?)
}

hccl_call! {
    /// Makes a communicator of some ranks of another. Members call it with the same arguments
    /// except for their place; the others need not call it.
    fn HcclCreateSubCommConfig(
        parent: *mut *mut c_void,
        count: u32,
        rank_ids: *const u32,
        id: u64,
        place: u32,
        config: *const u8,
        out: *mut *mut c_void,
    ) {
        present(CALL, "comm", parent)?;
        // SAFETY: not NULL; readable by the contract of this function.
        let parent = comm(CALL, unsafe { parent.read() })?;
        if rank_ids.is_null() && id == NOT_A_MEMBER {
            return Ok(());
        }
        if rank_ids.is_null() || id == NOT_A_MEMBER {
            let value = if rank_ids.is_null() { "nullptr" } else { "given, with subCommId 0xFFFFFFFF" };
            let expect = "a list of ranks with another subCommId, or nullptr with 0xFFFFFFFF for a \
                          rank that is no member";
            return Err(Failure::argument(CALL, "rankIds", value, expect));
        }
        present(CALL, "subComm", out)?;
        let all = parent.engine.ranks();
        if count == 0 || count > all {
            let expect = format!("[1, {all}]");
            return Err(Failure::argument(CALL, "rankNum", &count.to_string(), &expect));
        }
        check_rank(CALL, "subCommRankId", place, count)?;
        present(CALL, "config", config)?;
        check_parent(CALL, &parent)?;
        // SAFETY: not NULL; readable for `count` numbers by the contract of this function.
        let ranks = unsafe { std::slice::from_raw_parts(rank_ids, count as usize) };
        check_list(CALL, &parent, ranks)?;
        check_place(&parent, ranks, place)?;
        // SAFETY: not NULL; as long as it says by the contract of this function.
        let config = unsafe { config::read(CALL, config) }?;
        let name = format!("{}_sub_{id}", parent.engine.name());
        let (ranks, out) = (ranks.to_vec(), Place(out));
        let work = move || {
            let out = out;
            let made = split(CALL, &parent, &ranks, &id.to_le_bytes(), place, config, name)?;
            // SAFETY: not NULL; writable by the contract of this function until it, or the group
            // that it is in, has ended.
            unsafe { hand_out(CALL, made, out.0) }
        };
        group::manage(CALL, Box::new(work))
    }
}

/// Meets the other members. They find each other by what only ranks of the parent know, among it a
/// mark that tells this communicator from others of the same members.
fn split(
    call: &'static str,
    parent: &Comm,
    ranks: &[u32],
    mark: &[u8],
    place: u32,
    config: Config,
    name: String,
) -> Result<Arc<Comm>, Failure> {
    let origin = &parent.origin;
    let list: Vec<u8> = ranks.iter().flat_map(|rank| rank.to_le_bytes()).collect();
    let known = [origin.place.as_slice(), b"sub", parent.engine.name().as_bytes(), mark, &list];
    let meeting = RootInfo::agreed(parent.device, &known).map_err(Failure::from_system)?;
    create(Recipe {
        call,
        ranks: ranks.len() as u32,
        rank: place,
        place: &meeting,
        device: parent.device,
        config,
        name,
        topology: origin.topology.as_ref().and_then(|it| topology::of_ranks(it, ranks)),
        members: Some(ranks.to_vec()),
        opens: place == 0,
        hopeless: Some(until_one_ends(parent, ranks.to_vec())),
    })
}
