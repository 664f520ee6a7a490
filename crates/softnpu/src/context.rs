//! Contexts: what a thread works on. Each belongs to a device and owns streams.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hccl_os::sync::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult, code};
use crate::health::Health;
use crate::runtime::runtime;
use crate::stream::{Stream, drive_until, sync_timeout};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Context>>> = const { RefCell::new(None) };
}

/// Device that a thread without context gets, -1 for none.
static DEFAULT_DEVICE: AtomicI32 = AtomicI32::new(-1);

/// A context.
#[derive(Debug)]
pub struct Context {
    device: u32,
    primary: bool,
    default_stream: Mutex<Option<Arc<Stream>>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    dead: AtomicBool,
    health: Arc<Health>,
    options: Mutex<HashMap<i32, i64>>,
}

impl Context {
    /// A context of a device with its default stream.
    ///
    /// # Errors
    /// When the device has no stream left.
    pub fn new(device: u32, primary: bool) -> NpuResult<Arc<Self>> {
        let context = Arc::new(Self {
            device,
            primary,
            default_stream: Mutex::default(),
            streams: Mutex::default(),
            dead: AtomicBool::new(false),
            health: Arc::default(),
            options: Mutex::default(),
        });
        let stream = context.create_stream(0, 0)?;
        *context.default_stream.lock() = Some(stream);
        Ok(context)
    }

    /// User id of the device.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Whether it is the device's own context, that `aclrtSetDevice` makes.
    pub fn is_primary(&self) -> bool {
        self.primary
    }

    /// Whether it was destroyed, by itself or with its device.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// The stream that NULL stands for.
    ///
    /// # Errors
    /// 107002 when the context was destroyed meanwhile.
    pub fn default_stream(&self) -> NpuResult<Arc<Stream>> {
        self.default_stream.lock().clone().ok_or_else(NpuError::no_context)
    }

    /// Makes a stream.
    ///
    /// # Errors
    /// 207008 when the device has as many as it can have.
    pub fn create_stream(self: &Arc<Self>, priority: u32, flags: u32) -> NpuResult<Arc<Stream>> {
        let id = runtime()?.device(self.device)?.take_stream_id()?;
        let stream = Stream::new(self, id, priority, flags);
        let mut streams = self.streams.lock();
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        Ok(stream)
    }

    /// Its live streams.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let all = self.streams.lock().iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
        all.into_iter().filter(|stream| !stream.is_dead()).collect()
    }

    /// Ends the context: its streams are destroyed, what is queued is thrown away.
    pub fn destroy(&self) {
        self.dead.store(true, Ordering::Release);
        for stream in self.streams() {
            destroy_stream(&stream);
        }
        self.default_stream.lock().take();
    }

    /// Sets whether one failure stops every stream.
    ///
    /// # Errors
    /// 207000 for the way back, which the interface does not have.
    pub fn set_stop_on_failure(&self, stop: bool) -> NpuResult<()> {
        self.health.set_stops_on_failure(stop)
    }

    /// Whether one failure stops every stream.
    pub fn stops_on_failure(&self) -> bool {
        self.health.stops_on_failure()
    }

    /// What its streams share.
    pub(crate) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Forgets a failure that stopped the streams: the device was recovered.
    pub fn recover(&self) {
        self.health.recover();
    }

    /// Sets an option of the context.
    pub fn set_option(&self, option: i32, value: i64) {
        self.options.lock().insert(option, value);
    }

    /// An option of the context.
    ///
    /// # Errors
    /// 107021 when it was never set.
    pub fn option(&self, option: i32) -> NpuResult<i64> {
        self.options.lock().get(&option).copied().ok_or_else(|| {
            let text = format!("The system parameter option {option} was not set in this context.");
            NpuError::new(code::RT_SYSPARAMOPT_NOT_SET, "EE1001", text)
        })
    }
}

/// Destroys a stream at once: what is queued is thrown away.
pub fn destroy_stream(stream: &Stream) {
    if stream.is_dead() {
        return;
    }
    stream.destroy();
    if let Ok(device) = runtime().and_then(|runtime| runtime.device(stream.device())) {
        device.give_stream_id(stream.id());
    }
}

/// Makes a context the calling thread's.
pub fn set_current(context: Arc<Context>) {
    // A thread that is ending has no context any more.
    let _ = CURRENT.try_with(|current| *current.borrow_mut() = Some(context));
}

/// Takes the calling thread's context away if it is this one.
pub fn forget_current(context: &Arc<Context>) {
    let _ = CURRENT.try_with(|current| {
        let mut current = current.borrow_mut();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, context)) {
            *current = None;
        }
    });
}

/// Sets the device that threads without a context get.
pub fn set_default_device(device: i32) {
    DEFAULT_DEVICE.store(device, Ordering::Release);
}

/// The calling thread's context.
///
/// # Errors
/// 107002 when it has none and no default device is configured.
pub fn current() -> NpuResult<Arc<Context>> {
    let current = CURRENT.try_with(|current| current.borrow().clone()).ok().flatten();
    if let Some(context) = current.filter(|context| !context.is_dead()) {
        return Ok(context);
    }
    let device = DEFAULT_DEVICE.load(Ordering::Acquire);
    if device < 0 {
        return Err(NpuError::no_context());
    }
    runtime()?.set_device(device)
}

/// Waits for all streams of the current context's device.
///
/// # Errors
/// 507046 when `limit` passes first; the code of a task that failed.
pub fn synchronize_device(limit: Option<Duration>) -> NpuResult<()> {
    let device = current()?.device();
    let mut streams = runtime()?.device(device)?.streams();
    streams.retain(|stream| !stream.is_endless());
    let deadline = limit.map(|limit| std::time::Instant::now() + limit);
    let idle = || streams.iter().all(|stream| stream.is_idle());
    if !drive_until(&streams, deadline, idle) {
        return Err(sync_timeout("Device", limit));
    }
    // Each stream gives its failure up; the first one is told.
    let results: Vec<_> = streams.iter().map(|stream| stream.take_failure()).collect();
    results.into_iter().collect()
}

/// Numbers of streams on a device, taken and given back.
#[derive(Debug, Default)]
pub(crate) struct StreamIds {
    taken: AtomicU32,
    ids: Mutex<(u32, Vec<u32>)>,
}

impl StreamIds {
    pub(crate) fn take(&self, max: usize) -> Option<u32> {
        let mut ids = self.ids.lock();
        if self.taken.load(Ordering::Acquire) as usize >= max {
            return None;
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        Some(ids.1.pop().unwrap_or_else(|| {
            ids.0 += 1;
            ids.0 - 1
        }))
    }

    pub(crate) fn give(&self, id: u32) {
        let mut ids = self.ids.lock();
        ids.1.push(id);
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire) as usize
    }
}
