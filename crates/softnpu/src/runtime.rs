//! The process's view of the devices.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};

use hccl_os::sync::{AtomicI32, AtomicU32, Ordering};
use parking_lot::{Mutex, RwLock};

use crate::arena::{Arena, Block};
use crate::config::Config;
use crate::context::{Context, StreamIds, set_current};
use crate::error::{NpuError, NpuResult, code};
use crate::health::softnpuPendingTasks;
use crate::stream::Stream;

/// The software NPU in this process.
#[derive(Debug)]
pub struct Runtime {
    config: Config,
    devices: Vec<Device>,
    /// Arenas in use, for finding where an address lives.
    arenas: RwLock<Vec<(u32, Arc<Arena>)>>,
    /// Fork generation in which a device was first used, or [`UNUSED`]. Merely looking at devices
    /// leaves nothing that a fork could break.
    used_in: AtomicU32,
}

/// No device has been used yet.
const UNUSED: u32 = u32::MAX;

/// One visible device.
#[derive(Debug)]
pub struct Device {
    user: u32,
    host: u32,
    state: Mutex<State>,
    contexts: Mutex<Vec<Weak<Context>>>,
    stream_ids: StreamIds,
    streams_max: usize,
    /// Live events.
    pub events: AtomicU32,
    /// Live notifies.
    pub notifies: AtomicU32,
    /// Cores that programs may use: cube and vector, where that was limited.
    pub limits: Mutex<crate::limits::Limits>,
    /// Saturation mode, as `aclrtSetDeviceSatMode` takes it.
    pub saturation: AtomicI32,
    /// Peers whose memory this device was allowed to reach.
    pub peers: Mutex<HashSet<u32>>,
}

#[derive(Debug, Default)]
struct State {
    primary: Option<Arc<Context>>,
    retained: u32,
    arena: Option<Arc<Arena>>,
}

/// Where an address lives.
#[derive(Clone, Debug)]
pub struct Located {
    /// User id of the device.
    pub device: u32,
    /// Its memory.
    pub arena: Arc<Arena>,
    /// Offset there.
    pub offset: u64,
    /// The allocation that holds the address, if there is one.
    pub block: Option<Block>,
}

/// The software NPU of this process, set up on first use.
///
/// # Errors
/// When the environment asks for something impossible, or in a forked child.
pub fn runtime() -> NpuResult<&'static Runtime> {
    static RUNTIME: OnceLock<NpuResult<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(Runtime::new).as_ref().map_err(Clone::clone)?;
    let used_in = runtime.used_in.load(Ordering::Acquire);
    if used_in != UNUSED && used_in != hccl_os::fork::generation() {
        let text = "This process was forked from one that had used its NPUs, and device state \
                    does not survive a fork. Start it anew (exec, or the spawn start method).";
        return Err(NpuError::new(code::RT_INTERNAL_ERROR, "EE9999", text));
    }
    Ok(runtime)
}

impl Runtime {
    fn new() -> NpuResult<Self> {
        let config = Config::from_env()?;
        let saturation = i32::from(config.soc.family.has_inf_nan());
        let devices = config.visible.iter().zip(0u32..).map(|(&host, user)| Device {
            user,
            host,
            state: Mutex::default(),
            contexts: Mutex::default(),
            stream_ids: StreamIds::default(),
            streams_max: config.soc.family.streams_max(),
            events: AtomicU32::new(0),
            notifies: AtomicU32::new(0),
            limits: Mutex::default(),
            saturation: AtomicI32::new(saturation),
            peers: Mutex::default(),
        });
        let devices = devices.collect();
        Ok(Self { devices, config, arenas: RwLock::default(), used_in: AtomicU32::new(UNUSED) })
    }

    /// What the user asked for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Visible devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// A device by its user id.
    ///
    /// # Errors
    /// 107001 when there is none; the message says which there are.
    pub fn device(&self, user: u32) -> NpuResult<&Device> {
        self.devices.get(user as usize).ok_or_else(|| self.no_device(i64::from(user)))
    }

    /// As [`Self::device`], for a number from outside.
    ///
    /// # Errors
    /// As there.
    pub fn device_of(&self, user: i32) -> NpuResult<&Device> {
        let found = usize::try_from(user).ok().and_then(|user| self.devices.get(user));
        found.ok_or_else(|| self.no_device(i64::from(user)))
    }

    fn no_device(&self, given: i64) -> NpuError {
        let allowed = match self.devices.len() {
            0 => "none, since no device is visible (ASCEND_RT_VISIBLE_DEVICES)".to_owned(),
            n => format!("[0, {}]", n - 1),
        };
        NpuError::new(
            code::RT_INVALID_DEVICEID,
            "EE1003",
            format!(
                "the value {given} for parameter deviceId is invalid. Expected value: {allowed}."
            ),
        )
    }

    /// Retains the device's own context and makes it the calling thread's.
    ///
    /// # Errors
    /// 107001 for a device that does not exist, 507033 when it cannot start.
    pub fn set_device(&self, user: i32) -> NpuResult<Arc<Context>> {
        let device = self.device_of(user)?;
        self.arena_of(device)?;
        let context = {
            let mut state = device.state.lock();
            let context = match &state.primary {
                Some(context) => context.clone(),
                None => {
                    let context = Context::new(device.user, true)?;
                    device.contexts.lock().push(Arc::downgrade(&context));
                    state.primary.insert(context).clone()
                }
            };
            state.retained += 1;
            context
        };
        set_current(context.clone());
        Ok(context)
    }

    /// Makes a further context of a device and makes it the calling thread's.
    ///
    /// # Errors
    /// As [`Self::set_device`].
    pub fn create_context(&self, user: i32) -> NpuResult<Arc<Context>> {
        let device = self.device_of(user)?;
        self.arena_of(device)?;
        let context = Context::new(device.user, false)?;
        device.contexts.lock().push(Arc::downgrade(&context));
        set_current(context.clone());
        Ok(context)
    }

    /// Gives back what [`Self::set_device`] retained; the last one ends the device's use in this
    /// process: queued work is finished, streams and memory go. True if it was the last.
    ///
    /// # Errors
    /// 507007 when nothing was retained.
    pub fn reset_device(&self, user: i32, force: bool) -> NpuResult<bool> {
        let device = self.device_of(user)?;
        {
            let mut state = device.state.lock();
            if state.retained == 0 && force {
                return Ok(false);
            }
            if state.retained == 0 {
                let text = format!("Device {user} is not set in this process: one reset too many.");
                return Err(NpuError::new(code::RT_CONTEXT_RELEASE_ERROR, "EE1001", text));
            }
            state.retained = if force { 0 } else { state.retained - 1 };
            if state.retained > 0 {
                return Ok(false);
            }
        }
        if !force {
            device.drain();
        }
        let mut state = device.state.lock();
        if state.retained > 0 {
            // Another thread set the device while the streams ran dry.
            return Ok(false);
        }
        for context in device.contexts.lock().drain(..).filter_map(|weak| weak.upgrade()) {
            context.destroy();
        }
        state.primary = None;
        // The memory keeps its place, since peers and tasks of theirs may still look at it.
        if let Some(arena) = &state.arena {
            arena.reset();
        }
        device.peers.lock().clear();
        *device.limits.lock() = crate::limits::Limits::default();
        Ok(true)
    }

    /// Memory of a device, set up on first use.
    ///
    /// # Errors
    /// 507033 when the system gives none.
    pub fn arena_of(&self, device: &Device) -> NpuResult<Arc<Arena>> {
        let mut state = device.state.lock();
        if let Some(arena) = &state.arena {
            return Ok(arena.clone());
        }
        self.used_in.store(hccl_os::fork::generation(), Ordering::Release);
        // Whoever asks in a forked child whether there is anything to wait for must come to us,
        // and be refused.
        hccl_os::fork::mark_children(&softnpuPendingTasks, 1 << 62);
        let arena = Arc::new(Arena::new(device.host, self.config.memory)?);
        self.arenas.write().push((device.user, arena.clone()));
        Ok(state.arena.insert(arena).clone())
    }

    /// Finds the device memory that an address lies in, directly or through a mapping.
    pub fn locate(&self, address: *const u8) -> Option<Located> {
        let arenas = self.arenas.read();
        for (device, arena) in arenas.iter() {
            if let Some(offset) = arena.offset_of(address as usize) {
                let block = arena.block_at(offset);
                return Some(Located { device: *device, arena: arena.clone(), offset, block });
            }
        }
        drop(arenas);
        crate::virtual_memory::locate(address)
    }
}

impl Device {
    /// User id.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Id on the host, before the list of visible devices.
    pub fn host(&self) -> u32 {
        self.host
    }

    /// Whether the device's own context exists.
    pub fn is_active(&self) -> bool {
        self.state.lock().primary.is_some()
    }

    /// How often the device's own context is retained.
    pub fn retained(&self) -> u32 {
        self.state.lock().retained
    }

    /// Waits until nothing is queued on the device, but on streams whose work never ends. What failed
    /// is told to those who wait for it.
    pub fn drain(&self) {
        let mut streams = self.streams();
        streams.retain(|stream| !stream.is_endless());
        crate::stream::drive_until(&streams, None, || streams.iter().all(|s| s.is_idle()));
    }

    /// Live streams of all its contexts.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let contexts = self.contexts.lock();
        contexts.iter().filter_map(Weak::upgrade).flat_map(|context| context.streams()).collect()
    }

    /// Live contexts.
    pub fn contexts(&self) -> Vec<Arc<Context>> {
        let mut contexts = self.contexts.lock();
        contexts.retain(|context| context.strong_count() > 0);
        contexts.iter().filter_map(Weak::upgrade).collect()
    }

    /// Streams that can still be made.
    pub fn streams_left(&self) -> usize {
        self.streams_max.saturating_sub(self.stream_ids.taken())
    }

    pub(crate) fn take_stream_id(&self) -> NpuResult<u32> {
        self.stream_ids.take(self.streams_max).ok_or_else(|| {
            NpuError::new(
                code::RT_NO_STREAM_RESOURCE,
                "EE1023",
                format!(
                    "Creating a stream failed. Reason: device {} has all of its {} streams in use.",
                    self.user, self.streams_max
                ),
            )
        })
    }

    pub(crate) fn give_stream_id(&self, id: u32) {
        self.stream_ids.give(id);
    }
}
