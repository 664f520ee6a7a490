//! How a rank becomes part of a communicator.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hccl::{Communicator, Forced, HcclAlgo, Options, Topology};
use hccl_fabric::{Hopeless, HostFabric, Join, RootInfo, Server};
use parking_lot::Mutex;

use super::{Comm, Origin, names};
use crate::border::check_rank;
use crate::config::Config;
use crate::environment::environment;
use crate::errors::Failure;
use crate::resources::Resources;
use crate::runtime::{DeviceRoom, arena, log_line, product};
use crate::{topology, tuner};

/// How long the ranks wait beyond the connect time-out for the root's word on what went wrong.
const SPREAD: Duration = Duration::from_secs(18);

/// What a communicator is made from.
pub(super) struct Recipe<'a> {
    pub(super) call: &'static str,
    pub(super) ranks: u32,
    pub(super) rank: u32,
    pub(super) place: &'a RootInfo,
    pub(super) device: i32,
    pub(super) config: Config,
    /// Its name, unless the configuration has one.
    pub(super) name: String,
    /// Where the ranks are, if that is known.
    pub(super) topology: Option<Topology>,
    /// Ranks that the members have in the communicator that it is made of.
    pub(super) members: Option<Vec<u32>>,
    /// Whether this rank opens the place, where all ranks can work out which it is.
    pub(super) opens: bool,
    /// When there is no sense in waiting for the others any more.
    pub(super) hopeless: Option<Hopeless>,
}

/// Refuses a rank that is none of so many.
pub(super) fn check_place(call: &str, ranks: u32, rank: u32) -> Result<(), Failure> {
    if ranks == 0 {
        return Err(Failure::argument(call, "nRanks", "0", "greater than 0"));
    }
    check_rank(call, "rank", rank, ranks)
}

/// Joins; returns when all ranks have.
pub(super) fn create(recipe: Recipe<'_>) -> Result<Arc<Comm>, Failure> {
    let Recipe {
        call,
        ranks,
        rank,
        place,
        device,
        config,
        name,
        topology,
        members,
        opens,
        hopeless,
    } = recipe;
    check_place(call, ranks, rank)?;
    let environment = environment()?;
    let name = config.name.clone().unwrap_or(name);
    let claim = names::Name::claim(call, device, &name)?;
    if opens {
        let server = Server::open_at(place.clone())?;
        server.serve_unless(environment.connect_timeout, hopeless.clone())?;
    }
    let buffer_bytes = config.buffer_bytes.unwrap_or(environment.buffer_bytes);
    let algo = config.algo.clone().or_else(|| environment.algo.clone());
    let settings = settings(&name, buffer_bytes, algo.as_ref(), environment.topology.as_ref());
    let fabric = meet(place, (ranks, rank), device, settings.clone(), hopeless)?;
    let timeout = config.exec_timeout.unwrap_or(environment.exec_timeout);
    let devices = fabric.devices();
    let topology =
        topology.or_else(|| topology::of_devices(environment.topology.as_ref(), &devices));
    let servers = topology.as_ref().map_or(1, |it| it.groups.first().map_or(1, Vec::len));
    log_line!(
        Event,
        call,
        "Communicator Key Info: identifier[{name}], rankSize[{ranks}], serverNum[{servers}], \
         rank[{rank}], deviceLogicId[{device}], execTimeOut[{timeout:?}], udi[{}]",
        config.udi.as_deref().unwrap_or("Unspecified")
    );
    let room = Arc::new(DeviceRoom::new(device));
    let shape = tuner::Shape::new(ranks, topology.as_ref(), buffer_bytes);
    let tuner = tuner::session(environment.tuner_plugin.as_deref(), &name, shape);
    let options = Options {
        name,
        timeout,
        workspace: Some(room.clone()),
        buffer_bytes,
        topology: topology.clone(),
        forced: algo.map(Forced::HcclAlgo),
        product: product(),
        inline: true,
        // Operators take device memory only, which all ranks map.
        copy_from_processes: false,
        notice: Some(Arc::new(move |note: &str| {
            log_line!(Warning, call, "{note}");
        })),
        tuner: tuner.clone().map(|tuner| tuner as Arc<dyn hccl::Tuner>),
    };
    let engine = Communicator::new(Box::new(fabric), options.clone());
    let origin = Origin {
        place: place.nonce,
        settings,
        options,
        tuner,
        room,
        config,
        topology,
        devices,
        members,
        resources: Resources::default(),
        _name: claim,
    };
    Ok(Arc::new(Comm {
        engine,
        device,
        issue: Mutex::new(()),
        suspended: AtomicBool::new(false),
        destroyed: AtomicBool::new(false),
        origin: Arc::new(origin),
    }))
}

/// What must be equal on all ranks, as they are told if it is not.
fn settings(
    name: &str,
    buffer_bytes: u64,
    algo: Option<&HcclAlgo>,
    topology: Option<&Topology>,
) -> String {
    let algo = algo.map_or("none", HcclAlgo::text);
    let topology = topology.map_or_else(|| "none".to_owned(), ToString::to_string);
    format!(
        "hcclCommName[{name}], hcclBufferSize (HCCL_BUFFSIZE)[{}MB], hcclAlgo (HCCL_ALGO)[{algo}], \
         SOFTNPU_TOPOLOGY[{topology}], product[{:?}]",
        buffer_bytes >> 20,
        product()
    )
}

/// Comes to a meeting place with the memory of a device.
fn meet(
    place: &RootInfo,
    (ranks, rank): (u32, u32),
    device: i32,
    settings: String,
    hopeless: Option<Hopeless>,
) -> Result<HostFabric, Failure> {
    let arena = arena(device)?;
    let join = Join {
        ranks,
        rank,
        device,
        region: arena.region,
        memory: arena.fd,
        memory_len: arena.len,
        settings,
        timeout: environment()?.connect_timeout + SPREAD,
        hopeless,
    };
    Ok(HostFabric::join(place, join)?)
}

/// Waiting for ranks of a communicator is hopeless once the process of one has ended.
pub(super) fn until_one_ends(comm: &Comm, ranks: Vec<u32>) -> Hopeless {
    let engine = comm.engine.clone();
    Arc::new(move || engine.ended(ranks.iter().copied()))
}

/// The same communicator with its ranks met anew: what failed before is over.
pub(super) fn meet_again(
    comm: &Comm,
    place: &RootInfo,
    hopeless: Hopeless,
) -> Result<Arc<Comm>, Failure> {
    let (origin, device) = (&comm.origin, comm.device);
    let (ranks, rank) = (comm.engine.ranks(), comm.engine.rank());
    // What is still under way must neither go on nor give room back that is another's by then.
    comm.engine.abort("the communicator is made anew by HcclCommResume");
    let fabric = meet(place, (ranks, rank), device, origin.settings.clone(), Some(hopeless))?;
    // All ranks have left what was before.
    origin.room.clear();
    let engine = Communicator::new(Box::new(fabric), origin.options.clone());
    Ok(Arc::new(Comm {
        engine,
        device,
        issue: Mutex::new(()),
        suspended: AtomicBool::new(false),
        destroyed: AtomicBool::new(false),
        origin: origin.clone(),
    }))
}
