//! Communicators whose ranks are listed in a rank table. No rank tells others where to meet: who has
//! the same table finds the same place, which rank 0 opens.

use std::ffi::{c_char, c_void};
use std::io::Read as _;

use hccl::Topology;
use hccl_abi::c_text;
use hccl_cluster::{RankTable, RankTableError, TEXT_MAX};

use super::agreed::{Agreed, meet};
use super::{check_process, hand_out, keep};
use crate::border::{hccl_call, present};
use crate::config::{self, Config};
use crate::errors::{Failure, Record, Status};
use crate::graph::WORLD;
use crate::group::{self, Place};
use crate::runtime::{current_device, log_line, physical_device};

/// Bytes of a path with its NUL.
const PATH_BYTES: usize = 4096;

/// Reads a table.
fn read(path: &str) -> Result<RankTable, Failure> {
    let unreadable = |status, why: &str| {
        let text = format!("path {path} is not a valid real path: {why}");
        Failure::new(status, Record::rank_table("EI0004", path, &text))
    };
    if path.len() >= PATH_BYTES {
        let why = format!("it has {} characters, allowed are {}", path.len(), PATH_BYTES - 1);
        return Err(unreadable(Status::Para, &why));
    }
    let opened = |error: std::io::Error| unreadable(Status::OpenFile, &error.to_string());
    let about = std::fs::metadata(path).map_err(opened)?;
    if !about.is_file() {
        return Err(unreadable(Status::OpenFile, "it is no file"));
    }
    let mut text = String::new();
    // One byte more than allowed, so that the reader finds it too long.
    let file = std::fs::File::open(path).map_err(opened)?;
    file.take(TEXT_MAX + 1).read_to_string(&mut text).map_err(opened)?;
    RankTable::parse(&text).map_err(|error| wrong(path, &error))
}

fn wrong(source: &str, error: &RankTableError) -> Failure {
    Failure::new(Status::Para, Record::rank_table(error.code(), source, &error.to_string()))
}

/// Where the ranks are, if they are in more than one server.
fn topology(table: &RankTable) -> Option<Topology> {
    let groups = table.groups();
    let several = groups.first().is_some_and(|servers| servers.len() > 1);
    several.then(|| Topology { groups, links: Vec::new() })
}

/// Refuses a rank that the table does not have, or has on another device.
fn check_own(
    call: &str,
    source: &str,
    table: &RankTable,
    rank: u32,
    device: i32,
) -> Result<(), Failure> {
    let ranks = table.ranks.len();
    let Some(own) = table.ranks.get(rank as usize) else {
        let expect = format!("[0, {}], a rank of {source}", ranks - 1);
        return Err(Failure::argument(call, "rank_id", &rank.to_string(), &expect));
    };
    let here = physical_device(device)?;
    if i64::from(own.device) != i64::from(here) {
        let text = format!(
            "devicePhyId[{here}] is invalid: rank {rank} is on device {}, and the calling thread \
             uses device {here}",
            own.device
        );
        return Err(Failure::new(Status::Para, Record::rank_table("EI0014", source, &text)));
    }
    Ok(())
}

/// What the own rank joins with.
fn agreed(
    call: &'static str,
    source: &str,
    table: &RankTable,
    rank: u32,
    config: Config,
) -> Result<Agreed, Failure> {
    let device = current_device()?;
    check_own(call, source, table, rank, device)?;
    let ranks = table.ranks.len() as u32;
    log_line!(
        Event,
        call,
        "Entry-{call}Inner:clusterInfo[{source}], ranks[{ranks}], rank[{rank}], \
         deviceLogicId[{device}]"
    );
    let known = [b"rank table".as_slice(), &table.digest()].concat();
    let (name, topology) = (WORLD.to_owned(), topology(table));
    Ok(Agreed { call, known, ranks, rank, device, config, name, topology })
}

/// Joins the communicator of a table that is a file; gives its handle.
pub(crate) fn join_table(
    call: &'static str,
    path: &str,
    rank: u32,
    config: Config,
) -> Result<*mut c_void, Failure> {
    let table = read(path)?;
    keep(call, meet(agreed(call, path, &table, rank, config)?)?)
}

/// Joins the communicator of a table that is a text; gives its handle.
pub(crate) fn join_text(
    call: &'static str,
    source: &str,
    text: &str,
    rank: u32,
    config: Config,
) -> Result<*mut c_void, Failure> {
    let table = RankTable::parse(text).map_err(|error| wrong(source, &error))?;
    keep(call, meet(agreed(call, source, &table, rank, config)?)?)
}

/// Joins the communicator of a table, at once or at the end of a group.
///
/// # Safety
/// 1. `out` is NULL, or writable until this call or the group that it is in has ended.
unsafe fn join(
    call: &'static str,
    source: &str,
    table: &RankTable,
    rank: u32,
    config: Config,
    out: *mut *mut c_void,
) -> Result<(), Failure> {
    let agreed = agreed(call, source, table, rank, config)?;
    let out = Place(out);
    let work = move || {
        let out = out;
        let made = meet(agreed)?;
        // SAFETY: not NULL; (1).
        unsafe { hand_out(call, made, out.0) }
    };
    group::manage(call, Box::new(work))
}

/// Path of a table in a C string.
///
/// # Safety
/// 1. `path` is NULL or a C string.
unsafe fn path_of(call: &str, path: *const c_char) -> Result<String, Failure> {
    present(call, "clusterInfo", path)?;
    // SAFETY: (1).
    Ok(unsafe { c_text(path) }.unwrap_or_default())
}

hccl_call! {
    /// Joins the communicator of a rank table; returns when all ranks have.
    fn HcclCommInitClusterInfo(path: *const c_char, rank: u32, comm: *mut *mut c_void) {
        const CALL: &str = "HcclCommInitClusterInfo";
        check_process()?;
        // SAFETY: NULL or a C string by the contract of this function.
        let path = unsafe { path_of(CALL, path) }?;
        present(CALL, "comm", comm)?;
        let table = read(&path)?;
        // SAFETY: writable by the contract of this function.
        unsafe { join(CALL, &path, &table, rank, Config::default(), comm) }
    }
}

hccl_call! {
    /// As `HcclCommInitClusterInfo`, with a configuration of any version.
    fn HcclCommInitClusterInfoConfig(
        path: *const c_char,
        rank: u32,
        config: *const u8,
        comm: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommInitClusterInfoConfig";
        check_process()?;
        // SAFETY: NULL or a C string by the contract of this function.
        let path = unsafe { path_of(CALL, path) }?;
        present(CALL, "comm", comm)?;
        present(CALL, "config", config)?;
        // SAFETY: not NULL; as long as it says by the contract of this function.
        let config = unsafe { config::read(CALL, config) }?;
        let table = read(&path)?;
        // SAFETY: writable by the contract of this function.
        unsafe { join(CALL, &path, &table, rank, config, comm) }
    }
}
