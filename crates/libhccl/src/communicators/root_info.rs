//! Communicators whose ranks are told by the root where to meet.

use std::ffi::c_void;

use hccl_fabric::{ROOT_INFO_BYTES, RootInfo, Server};

use super::create::{Recipe, check_place, create};
use super::{check_process, hand_out};
use crate::border::{hccl_call, present};
use crate::config::{self, Config};
use crate::environment::environment;
use crate::errors::Failure;
use crate::group::{self, Place};
use crate::runtime::{current_device, log_line};

type Block = [u8; ROOT_INFO_BYTES];

/// Opens a meeting place, and describes it.
///
/// # Safety
/// 1. `out` is NULL or writable for 4108 bytes.
unsafe fn open(call: &'static str, out: *mut Block) -> Result<(), Failure> {
    check_process()?;
    present(call, "rootInfo", out)?;
    let environment = environment()?;
    let device = current_device()?;
    log_line!(Event, call, "Entry-{call}:rootInfo[{out:p}], deviceLogicId[{device}]");
    let server = Server::open(device)?;
    let bytes = server.info().to_bytes();
    server.serve(environment.connect_timeout)?;
    // SAFETY: not NULL, and (1).
    unsafe { out.write(bytes) };
    Ok(())
}

hccl_call! {
    /// Opens the meeting place of a communicator and describes it in 4108 bytes.
    fn HcclGetRootInfo(root_info: *mut Block) {
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { open("HcclGetRootInfo", root_info) }
    }
}

hccl_call! {
    /// As `HcclGetRootInfo`, on one of several roots.
    fn HcclGetRootInfoScalable(root_info: *mut Block) {
        // SAFETY: NULL or writable by the contract of this function.
        unsafe { open("HcclGetRootInfoScalable", root_info) }
    }
}

/// # Safety
/// 1. `root` is NULL or readable for 4108 bytes.
unsafe fn read_root(call: &str, root: *const Block) -> Result<RootInfo, Failure> {
    present(call, "rootInfo", root)?;
    // SAFETY: not NULL, and (1).
    let bytes = unsafe { &*root };
    RootInfo::from_bytes(bytes).map_err(|error| {
        let value = format!("a block that is no root info ({error})");
        let expect = "the 4108 bytes that HcclGetRootInfo of this library wrote, unchanged";
        Failure::argument(call, "rootInfo", &value, expect)
    })
}

/// Joins, at once or at the end of a group.
///
/// # Safety
/// 1. `out` is NULL, or writable until this call or the group that it is in has ended.
unsafe fn join(
    call: &'static str,
    ranks: u32,
    root: RootInfo,
    rank: u32,
    config: Config,
    out: *mut *mut c_void,
) -> Result<(), Failure> {
    check_place(call, ranks, rank)?;
    let device = current_device()?;
    log_line!(
        Event,
        call,
        "Entry-{call}Inner:ranks[{ranks}], rank[{rank}], rootinfo: identifier[{}], \
         deviceLogicId[{device}]",
        root.identifier()
    );
    let out = Place(out);
    let work = move || {
        let out = out;
        let recipe = Recipe {
            call,
            ranks,
            rank,
            place: &root,
            device,
            config,
            name: root.identifier(),
            topology: None,
            members: None,
            opens: false,
            hopeless: None,
        };
        // SAFETY: not NULL; (1).
        unsafe { hand_out(call, create(recipe)?, out.0) }
    };
    group::manage(call, Box::new(work))
}

hccl_call! {
    /// Joins a communicator; returns when all ranks have.
    fn HcclCommInitRootInfo(
        ranks: u32,
        root_info: *const Block,
        rank: u32,
        comm: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommInitRootInfo";
        check_process()?;
        present(CALL, "comm", comm)?;
        // SAFETY: NULL or readable by the contract of this function.
        let root = unsafe { read_root(CALL, root_info) }?;
        // SAFETY: writable by the contract of this function.
        unsafe { join(CALL, ranks, root, rank, Config::default(), comm) }
    }
}

hccl_call! {
    /// As `HcclCommInitRootInfo`, with a configuration of any version.
    fn HcclCommInitRootInfoConfig(
        ranks: u32,
        root_info: *const Block,
        rank: u32,
        config: *const u8,
        comm: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommInitRootInfoConfig";
        check_process()?;
        present(CALL, "comm", comm)?;
        // SAFETY: NULL or readable by the contract of this function.
        let root = unsafe { read_root(CALL, root_info) }?;
        present(CALL, "config", config)?;
        // SAFETY: not NULL; as long as it says by the contract of this function.
        let config = unsafe { config::read(CALL, config) }?;
        // SAFETY: writable by the contract of this function.
        unsafe { join(CALL, ranks, root, rank, config, comm) }
    }
}

hccl_call! {
    /// As `HcclCommInitRootInfoConfig`, with several roots of which the first is where the ranks
    /// meet: one place has room for all ranks of a host. The other roots' places close unused.
    fn HcclCommInitRootInfoScalable(
        ranks: u32,
        roots: u32,
        root_infos: *const Block,
        rank: u32,
        _external_roots: u32,
        config: *const u8,
        comm: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommInitRootInfoScalable";
        check_process()?;
        present(CALL, "comm", comm)?;
        if roots == 0 || roots > ranks.max(1) {
            let expect = format!("[1, {}], the rank count", ranks.max(1));
            return Err(Failure::argument(CALL, "nRoot", &roots.to_string(), &expect));
        }
        // SAFETY: NULL or readable by the contract of this function.
        let root = unsafe { read_root(CALL, root_infos) }?;
        present(CALL, "config", config)?;
        // SAFETY: not NULL; as long as it says by the contract of this function.
        let config = unsafe { config::read(CALL, config) }?;
        // SAFETY: writable by the contract of this function.
        unsafe { join(CALL, ranks, root, rank, config, comm) }
    }
}
