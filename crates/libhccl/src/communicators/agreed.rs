//! Communicators whose ranks work out where to meet from what all of them know.

use std::ffi::c_void;
use std::sync::Arc;

use hccl::Topology;
use hccl_fabric::RootInfo;

use super::create::{Recipe, create};
use super::{Comm, keep};
use crate::config::Config;
use crate::errors::Failure;
use crate::runtime::current_device;

/// What a rank joins with.
pub(super) struct Agreed {
    pub(super) call: &'static str,
    /// What all ranks know, and those of other communicators do not.
    pub(super) known: Vec<u8>,
    pub(super) ranks: u32,
    pub(super) rank: u32,
    pub(super) device: i32,
    pub(super) config: Config,
    /// Its name, unless the configuration has one.
    pub(super) name: String,
    pub(super) topology: Option<Topology>,
}

/// Joins; rank 0 opens the place.
pub(super) fn meet(agreed: Agreed) -> Result<Arc<Comm>, Failure> {
    let Agreed { call, known, ranks, rank, device, config, name, topology } = agreed;
    let place = RootInfo::agreed(device, &[&known]).map_err(Failure::from_system)?;
    create(Recipe {
        call,
        ranks,
        rank,
        place: &place,
        device,
        config,
        name,
        topology,
        members: None,
        opens: rank == 0,
        hopeless: None,
    })
}

/// Joins with the current device, by what `known` says.
pub(crate) fn join_agreed(
    call: &'static str,
    known: String,
    (ranks, rank): (u32, u32),
    name: &str,
    config: Config,
) -> Result<*mut c_void, Failure> {
    let device = current_device()?;
    let (known, name) = (known.into_bytes(), name.to_owned());
    let agreed = Agreed { call, known, ranks, rank, device, config, name, topology: None };
    keep(call, meet(agreed)?)
}
