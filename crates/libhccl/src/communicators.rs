//! Life of communicators, and what can be asked of them.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hccl::{Communicator, Forced, Options};
use hccl_abi::Table;
use hccl_fabric::{HostFabric, Join, ROOT_INFO_BYTES, RootInfo, Server};
use parking_lot::Mutex;

use crate::border::{hccl_call, present};
use crate::config::{self, Config};
use crate::environment::environment;
use crate::errors::{Failure, Record, Status, status_of};
use crate::runtime::{DeviceRoom, arena, current_device, log_line, product};
use crate::topology;

/// A communicator as C programs hold it.
pub(crate) struct Comm {
    pub(crate) engine: Communicator,
    pub(crate) device: i32,
    /// Held while an operation is started and queued, so that both happen in one order.
    pub(crate) issue: Mutex<()>,
    _name: Name,
}

static COMMS: Table<Comm> = Table::new(0x21);

/// Names in use: a process must not use one twice on a device.
static NAMES: Mutex<BTreeSet<(i32, String)>> = Mutex::new(BTreeSet::new());

/// Bytes of a name with its NUL.
const NAME_BYTES: usize = 128;
/// How long the ranks wait beyond the connect time-out for the root's word on what went wrong.
const SPREAD: Duration = Duration::from_secs(18);
/// Most devices that a host can have.
const DEVICES_MAX: u32 = 64;
/// How long a destroy waits for operations that are under way.
const DRAIN: Duration = Duration::from_secs(1);

/// Fork generation in which this library was first used.
static USED_IN: OnceLock<u32> = OnceLock::new();

/// Refuses a forked child of a process that has used communicators: they are the parent's, and
/// so is whatever its other threads held at that moment.
fn check_process() -> Result<(), Failure> {
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
    COMMS.get(handle).ok_or_else(|| {
        let value = format!("{handle:p}");
        Failure::argument(call, "comm", &value, "a communicator of this process that lives")
    })
}

hccl_call! {
    /// Opens the meeting place of a communicator and describes it in 4108 bytes.
    fn HcclGetRootInfo(root_info: *mut [u8; ROOT_INFO_BYTES]) {
        const CALL: &str = "HcclGetRootInfo";
        check_process()?;
        present(CALL, "rootInfo", root_info)?;
        let environment = environment()?;
        let device = current_device()?;
        log_line!(Event, CALL, "Entry-HcclGetRootInfo:rootInfo[{root_info:p}], deviceLogicId[{device}]");
        let server = Server::open(device)?;
        let bytes = server.info().to_bytes();
        server.serve(environment.connect_timeout)?;
        // SAFETY: not NULL; writable for 4108 bytes by the contract of this function.
        unsafe { root_info.write(bytes) };
        Ok(())
    }
}

/// What a communicator is made from.
struct Recipe<'a> {
    call: &'static str,
    ranks: u32,
    rank: u32,
    root: &'a RootInfo,
    device: i32,
    config: Config,
}

fn create(recipe: Recipe<'_>) -> Result<Arc<Comm>, Failure> {
    let Recipe { call, ranks, rank, root, device, config } = recipe;
    if ranks == 0 {
        return Err(Failure::argument(call, "nRanks", "0", "greater than 0"));
    }
    if rank >= ranks {
        let expect = format!("[0, {}]", ranks - 1);
        return Err(Failure::argument(call, "rank", &rank.to_string(), &expect));
    }
    let environment = environment()?;
    let name = config.name.unwrap_or_else(|| root.identifier());
    let claim = Name::claim(call, device, &name)?;
    let arena = arena(device)?;
    let join = Join {
        ranks,
        rank,
        device,
        region: arena.region,
        memory: arena.fd,
        memory_len: arena.len,
        timeout: environment.connect_timeout + SPREAD,
    };
    let fabric = HostFabric::join(root, join)?;
    let timeout = config.exec_timeout.unwrap_or(environment.exec_timeout);
    log_line!(
        Event,
        call,
        "Communicator Key Info: identifier[{name}], rankSize[{ranks}], rank[{rank}], \
         deviceLogicId[{device}], execTimeOut[{timeout:?}]"
    );
    let options = Options {
        name,
        timeout,
        workspace: Some(Arc::new(DeviceRoom::new(device))),
        buffer_bytes: config.buffer_bytes.unwrap_or(environment.buffer_bytes),
        topology: topology::of_devices(environment.topology.as_ref(), &fabric.devices()),
        forced: config.algo.or_else(|| environment.algo.clone()).map(Forced::HcclAlgo),
        product: product(),
        inline: true,
        // Operators take device memory only, which all ranks map.
        copy_from_processes: false,
        notice: Some(Arc::new(move |note: &str| {
            log_line!(Warning, call, "{note}");
        })),
    };
    let engine = Communicator::new(Box::new(fabric), options);
    Ok(Arc::new(Comm { engine, device, issue: Mutex::new(()), _name: claim }))
}

/// A name in use, given back when its communicator goes.
struct Name((i32, String));

impl Name {
    fn claim(call: &str, device: i32, name: &str) -> Result<Self, Failure> {
        let key = (device, name.to_owned());
        if !NAMES.lock().insert(key.clone()) {
            let expect = format!("a name that no living communicator of device {device} has");
            return Err(Failure::argument(call, "hcclCommName", name, &expect));
        }
        Ok(Self(key))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        NAMES.lock().remove(&self.0);
    }
}

fn read_root(call: &str, root: *const [u8; ROOT_INFO_BYTES]) -> Result<RootInfo, Failure> {
    present(call, "rootInfo", root)?;
    // SAFETY: not NULL; readable for 4108 bytes by the contract of the calling function.
    let bytes = unsafe { &*root };
    RootInfo::from_bytes(bytes).map_err(|error| {
        let value = format!("a block that is no root info ({error})");
        let expect = "the 4108 bytes that HcclGetRootInfo of this library wrote, unchanged";
        Failure::argument(call, "rootInfo", &value, expect)
    })
}

/// Stores a new communicator and gives its handle out.
fn hand_out(call: &str, comm: Arc<Comm>, out: *mut *mut c_void) -> Result<(), Failure> {
    let handle = COMMS.insert(comm).ok_or_else(|| {
        Failure::argument(call, "comm", "one more", "at most 16777216 communicators in a process")
    })?;
    // SAFETY: checked for NULL by the caller; writable by the contract of the C function.
    unsafe { out.write(handle) };
    Ok(())
}

hccl_call! {
    /// Joins a communicator; returns when all ranks have.
    fn HcclCommInitRootInfo(
        ranks: u32,
        root_info: *const [u8; ROOT_INFO_BYTES],
        rank: u32,
        comm: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommInitRootInfo";
        check_process()?;
        present(CALL, "comm", comm)?;
        let root = read_root(CALL, root_info)?;
        let device = current_device()?;
        log_line!(
            Event, CALL,
            "Entry-HcclCommInitRootInfoInner:ranks[{ranks}], rank[{rank}], rootinfo: \
             identifier[{}], deviceLogicId[{device}]",
            root.identifier()
        );
        let config = Config::default();
        let made = create(Recipe { call: CALL, ranks, rank, root: &root, device, config })?;
        hand_out(CALL, made, comm)
    }
}

hccl_call! {
    /// As `HcclCommInitRootInfo`, with a configuration of any version.
    fn HcclCommInitRootInfoConfig(
        ranks: u32,
        root_info: *const [u8; ROOT_INFO_BYTES],
        rank: u32,
        config: *const u8,
        comm: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommInitRootInfoConfig";
        check_process()?;
        present(CALL, "comm", comm)?;
        let root = read_root(CALL, root_info)?;
        present(CALL, "config", config)?;
        // SAFETY: not NULL; as long as it says by the contract of this function.
        let config = unsafe { config::read(CALL, config) }?;
        let device = current_device()?;
        log_line!(
            Event, CALL,
            "Entry-HcclCommInitRootInfoConfigInner:ranks[{ranks}], rank[{rank}], rootinfo: \
             identifier[{}], deviceLogicId[{device}]",
            root.identifier()
        );
        let made = create(Recipe { call: CALL, ranks, rank, root: &root, device, config })?;
        hand_out(CALL, made, comm)
    }
}

hccl_call! {
    /// Makes one communicator of several devices of this process, rank i on `devices[i]`.
    fn HcclCommInitAll(count: u32, devices: *const i32, comms: *mut *mut c_void) {
        const CALL: &str = "HcclCommInitAll";
        check_process()?;
        present(CALL, "devices", devices)?;
        present(CALL, "comms", comms)?;
        if count == 0 || count > DEVICES_MAX {
            let expect = format!("[1, {DEVICES_MAX}]");
            return Err(Failure::argument(CALL, "ndev", &count.to_string(), &expect));
        }
        // SAFETY: not NULL; readable for `count` numbers by the contract of this function.
        let devices = unsafe { std::slice::from_raw_parts(devices, count as usize) };
        for (i, device) in devices.iter().enumerate() {
            if devices[..i].contains(device) {
                let value = format!("{device} twice");
                return Err(Failure::argument(CALL, "devices", &value, "each device once"));
            }
        }
        // What one of them alone cannot have must not keep the others waiting.
        for &device in devices {
            arena(device)?;
        }
        let environment = environment()?;
        let server = Server::open(devices[0])?;
        let root = server.info().clone();
        server.serve(environment.connect_timeout)?;
        let made: Vec<Result<Arc<Comm>, Failure>> = std::thread::scope(|scope| {
            let join = |(&device, rank)| {
                let root = &root;
                let config = Config::default();
                let recipe = Recipe { call: CALL, ranks: count, rank, root, device, config };
                scope.spawn(move || create(recipe))
            };
            let threads: Vec<_> = devices.iter().zip(0u32..).map(join).collect();
            threads.into_iter().map(|thread| thread.join().expect("a C call contains panics")).collect()
        });
        let made: Vec<Arc<Comm>> = made.into_iter().collect::<Result<_, _>>()?;
        for (i, comm) in made.into_iter().enumerate() {
            // SAFETY: `comms` is writable for `count` handles by the contract of this function.
            hand_out(CALL, comm, unsafe { comms.add(i) })?;
        }
        Ok(())
    }
}

hccl_call! {
    /// Ends a communicator. Operations that are under way get a second; then they are aborted.
    fn HcclCommDestroy(handle: *mut c_void) {
        const CALL: &str = "HcclCommDestroy";
        log_line!(Event, CALL, "Entry-HcclCommDestroy:op begin, comm[{handle:p}]");
        if handle.is_null() {
            log_line!(Warning, CALL, "comm is NULL: there is nothing to destroy");
            return Ok(());
        }
        check_process()?;
        let comm = COMMS.remove(handle).ok_or_else(|| {
            let value = format!("{handle:p}");
            Failure::argument(CALL, "comm", &value, "a communicator of this process that lives")
        })?;
        let deadline = Instant::now() + DRAIN;
        while comm.engine.is_busy() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
        }
        if comm.engine.is_busy() {
            log_line!(
                Error, CALL,
                "Terminating operation due to external request: communicator {} was destroyed \
                 while operations were under way",
                comm.engine.name()
            );
            comm.engine.abort("HcclCommDestroy was called while operations were under way");
        }
        comm.engine.leave();
        Ok(())
    }
}

hccl_call! {
    /// How many ranks there are.
    fn HcclGetRankSize(handle: *mut c_void, size: *mut u32) {
        let comm = comm("HcclGetRankSize", handle)?;
        present("HcclGetRankSize", "rankSize", size)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { size.write(comm.engine.ranks()) };
        Ok(())
    }
}

hccl_call! {
    /// The own rank.
    fn HcclGetRankId(handle: *mut c_void, rank: *mut u32) {
        let comm = comm("HcclGetRankId", handle)?;
        present("HcclGetRankId", "rank", rank)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { rank.write(comm.engine.rank()) };
        Ok(())
    }
}

hccl_call! {
    /// Name of a communicator, into 128 bytes.
    fn HcclGetCommName(handle: *mut c_void, name: *mut c_char) {
        let comm = comm("HcclGetCommName", handle)?;
        present("HcclGetCommName", "commName", name)?;
        let text = comm.engine.name().as_bytes();
        let len = text.len().min(NAME_BYTES - 1);
        // SAFETY: not NULL; writable for 128 bytes by the contract of this function.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast::<u8>(), len);
            name.add(len).write(0);
        }
        Ok(())
    }
}

hccl_call! {
    /// Whether something went wrong with a communicator after a call had returned.
    fn HcclGetCommAsyncError(handle: *mut c_void, error: *mut c_int) {
        let comm = comm("HcclGetCommAsyncError", handle)?;
        present("HcclGetCommAsyncError", "asyncError", error)?;
        let code = comm.engine.failure().map_or(0, |error| status_of(&error) as c_int);
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { error.write(code) };
        Ok(())
    }
}

/// Number of configuration features; each below it is available.
const CAPABILITY: u32 = 12;

/// Which fields of `HcclCommConfig` this library reads.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn HcclGetCommConfigCapability() -> u32 {
    CAPABILITY
}
