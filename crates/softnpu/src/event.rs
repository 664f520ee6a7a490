//! Events. The interface has three kinds that differ in what a wait means; see [`Kind`].

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use hccl_os::sync::{AtomicBool, AtomicU64, Ordering};
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult, code};
use crate::ipc_event::SharedEvent;
use crate::stream::{ACTIVITY, Stream, drive_until};
use crate::task::{Failure, Work};

/// How an event was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `aclrtCreateEvent`: waits capture the latest record, which must exist.
    Plain,
    /// `aclrtCreateEventWithFlag`: a flag that a record sets and a reset clears; a wait before
    /// any record blocks its stream until one comes.
    Flag,
    /// `aclrtCreateEventExWithFlag`: waits capture the latest record, or nothing if there is none.
    Latest,
}

/// Bits of the flag argument.
pub mod flags {
    #![allow(missing_docs)]
    pub const SYNC: u32 = 1;
    pub const CAPTURE_STREAM_PROGRESS: u32 = 2;
    pub const BIT_4: u32 = 4;
    pub const TIME_LINE: u32 = 8;
    pub const DEVICE_USE_ONLY: u32 = 0x10;
    pub const EXTERNAL: u32 = 0x20;
    pub const IPC: u32 = 0x40;
    /// What an event made without flags behaves like.
    pub const PLAIN: u32 = 0xe;
}

/// One recording of an event: a place in a stream.
#[derive(Debug)]
pub struct Record {
    stream: Weak<Stream>,
    /// Nanoseconds of the device clock when the stream reached it; 0 before.
    time: AtomicU64,
    /// Why the stream's work before it does not count, if so.
    failure: OnceLock<Failure>,
}

impl Record {
    /// Marks the place as reached.
    pub fn complete(&self) {
        // SYNC(record-done): pairs with the acquire load in `is_done`.
        self.time.store(device_clock().max(1), Ordering::Release);
        ACTIVITY.ring();
    }

    /// Marks the place as reached by a stream that failed: whoever waits for it fails too.
    pub fn fail(&self, failure: Failure) {
        let _ = self.failure.set(failure);
        self.complete();
    }

    /// Why whoever waits for the place fails, if so; known once it is reached.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.get().cloned()
    }

    /// Whether the stream has reached the place.
    pub fn is_done(&self) -> bool {
        self.time.load(Ordering::Acquire) != 0
    }

    /// The stream, if it still exists.
    pub fn stream(&self) -> Option<Arc<Stream>> {
        self.stream.upgrade()
    }
}

/// The flag of an event of kind [`Kind::Flag`].
#[derive(Debug, Default)]
pub struct FlagEvent {
    set: AtomicBool,
    setter: Mutex<Weak<Stream>>,
}

impl FlagEvent {
    /// Sets or clears the flag.
    pub fn set(&self, value: bool) {
        self.set.store(value, Ordering::Release);
        ACTIVITY.ring();
    }

    /// Whether the flag is set.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// The stream that will set the flag, as far as anybody knows.
    pub fn setter(&self) -> Option<Arc<Stream>> {
        self.setter.lock().upgrade()
    }
}

/// An event.
#[derive(Debug)]
pub struct Event {
    kind: Kind,
    flags: u32,
    device: u32,
    latest: Mutex<Option<Arc<Record>>>,
    flag: Arc<FlagEvent>,
    shared: Option<Arc<SharedEvent>>,
}

/// Time since the runtime began, in nanoseconds.
pub fn device_clock() -> u64 {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    // The first reading is 1 s, so that no reading is 0.
    1_000_000_000 + START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
}

impl Event {
    /// Makes an event; the flags must fit the kind.
    ///
    /// # Errors
    /// 107000 for flags that the kind does not know.
    pub fn new(kind: Kind, given: u32) -> NpuResult<Self> {
        use flags::{DEVICE_USE_ONLY, EXTERNAL, IPC};
        let allowed = match kind {
            Kind::Plain => true,
            Kind::Flag => {
                let alone = EXTERNAL | DEVICE_USE_ONLY;
                (1..=0x3f).contains(&given) && (given & alone == 0 || given.count_ones() == 1)
            }
            Kind::Latest => given != 0 && given & !0x4f == 0 && (given & IPC == 0 || given == IPC),
        };
        if !allowed {
            let text = match kind {
                Kind::Latest => "bits 1, 2, 4, 8, or 0x40 alone",
                _ => "bits of 0x3f; 0x10 and 0x20 only alone",
            };
            return Err(NpuError::value("flag", format!("{given:#x}"), text));
        }
        let flags = if kind == Kind::Plain { flags::PLAIN } else { given };
        let shared =
            if kind == Kind::Latest && given == IPC { Some(SharedEvent::new()?) } else { None };
        let (latest, flag) = (Mutex::default(), Arc::default());
        Ok(Self { kind, flags, device: 0, latest, flag, shared })
    }

    /// The event of another process behind its handle.
    ///
    /// # Errors
    /// 107000 for a handle that leads nowhere.
    pub fn open(handle: &str) -> NpuResult<Self> {
        let shared = Some(SharedEvent::open(handle)?);
        let (latest, flag) = (Mutex::default(), Arc::default());
        Ok(Self { kind: Kind::Latest, flags: flags::IPC, device: 0, latest, flag, shared })
    }

    /// The text by which other processes find the event.
    ///
    /// # Errors
    /// 107000 for an event that was not made to be shared.
    pub fn handle(&self) -> NpuResult<String> {
        match &self.shared {
            Some(shared) => shared.handle(self.device),
            None => {
                let allowed = "an event made by aclrtCreateEventExWithFlag with ACL_EVENT_IPC";
                Err(NpuError::value("event", format!("made with flag {:#x}", self.flags), allowed))
            }
        }
    }

    /// Whether processes share it.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The same event, counted on a device.
    pub fn on_device(self, device: u32) -> Self {
        Self { device, ..self }
    }

    /// User id of the device it counts on.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Queues a record.
    ///
    /// # Errors
    /// When the stream takes no more work.
    pub fn record(&self, stream: &Arc<Stream>) -> NpuResult<()> {
        if let Some(shared) = &self.shared {
            return shared.record(stream);
        }
        let record = Arc::new(Record {
            stream: Arc::downgrade(stream),
            time: AtomicU64::new(0),
            failure: OnceLock::new(),
        });
        if self.kind == Kind::Flag {
            *self.flag.setter.lock() = Arc::downgrade(stream);
        }
        // The latest record changes before the task is queued: the task may run at once.
        let before = self.latest.lock().replace(record.clone());
        let queued = stream.submit(Work::Record(record));
        if queued.is_err() {
            *self.latest.lock() = before;
        } else if self.kind == Kind::Flag {
            stream.submit(Work::SetFlag(self.flag.clone()))?;
        }
        queued
    }

    /// Makes a stream wait; `limit` bounds the wait of the task.
    ///
    /// # Errors
    /// 107000 for a plain event that was never recorded, 207000 where the kind cannot wait.
    pub fn wait_on(&self, stream: &Arc<Stream>, limit: Option<Duration>) -> NpuResult<()> {
        use flags::{BIT_4, EXTERNAL, IPC, SYNC};
        if let Some(shared) = &self.shared {
            return shared.wait_on(stream, limit);
        }
        let limit = limit.map(|limit| std::time::Instant::now() + limit);
        if self.kind != Kind::Plain && self.flags & (SYNC | BIT_4 | EXTERNAL | IPC) == 0 {
            let what = format!("waiting for an event made with flag {:#x}", self.flags);
            return Err(NpuError::unsupported(what));
        }
        if self.kind == Kind::Flag {
            return stream.submit(Work::WaitFlag(self.flag.clone(), limit));
        }
        let latest = self.latest.lock().clone();
        match latest {
            None if self.kind == Kind::Latest => Ok(()),
            None => Err(NpuError::value("event", "never recorded", "an event that was recorded")),
            Some(record) if record.is_done() && record.failure().is_none() => Ok(()),
            Some(record) => stream.submit(Work::WaitRecord(record, limit)),
        }
    }

    /// Clears the flag in stream order.
    ///
    /// # Errors
    /// 207000 for kinds that have none.
    pub fn reset(&self, stream: &Arc<Stream>) -> NpuResult<()> {
        if self.kind != Kind::Flag {
            return Err(NpuError::unsupported("aclrtResetEvent for an event of this kind"));
        }
        stream.submit(Work::ResetFlag(self.flag.clone()))
    }

    /// Whether the latest record is reached; `None` if there is no record.
    pub fn is_recorded(&self) -> Option<bool> {
        if let Some(shared) = &self.shared {
            return shared.is_recorded();
        }
        self.latest.lock().as_ref().map(|record| record.is_done())
    }

    /// Blocks the calling thread until the latest record is reached; at once if there is none.
    ///
    /// # Errors
    /// 507047 when `limit` passes first.
    pub fn synchronize(&self, limit: Option<Duration>) -> NpuResult<()> {
        if let Some(shared) = &self.shared {
            return shared.synchronize(limit);
        }
        let Some(record) = self.latest.lock().clone() else {
            return Ok(());
        };
        let streams: Vec<_> = record.stream().into_iter().collect();
        let deadline = limit.map(|limit| std::time::Instant::now() + limit);
        if drive_until(&streams, deadline, || record.is_done()) {
            return record.failure().map_or(Ok(()), |failure| Err(failure.tell()));
        }
        let text = format!("Event synchronize timeout: {:?} passed.", limit.unwrap_or_default());
        Err(NpuError::new(code::RT_EVENT_SYNC_TIMEOUT, "EE1002", text))
    }

    /// Nanoseconds of the device clock at the latest record.
    ///
    /// # Errors
    /// 507000 when never recorded, 107006 when there is no time or not yet, 207000 for shared events.
    pub fn time(&self) -> NpuResult<u64> {
        if self.is_shared() {
            return Err(NpuError::unsupported("the time of an event that processes share"));
        }
        let latest = self.latest.lock().clone();
        let Some(record) = latest else {
            let text = "The event was never recorded.";
            return Err(NpuError::new(code::RT_INTERNAL_ERROR, "EE1001", text));
        };
        let untimed = |why: &str| {
            let text = format!("The event has no time: {why}.");
            Err(NpuError::new(code::RT_EVENT_TIMESTAMP_INVALID, "EE1001", text))
        };
        if self.flags & flags::TIME_LINE == 0 {
            return untimed("it was made without ACL_EVENT_TIME_LINE");
        }
        match record.time.load(Ordering::Acquire) {
            0 => untimed("its record is not complete"),
            time => Ok(time),
        }
    }
}
