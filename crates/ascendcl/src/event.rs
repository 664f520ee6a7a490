//! Events.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use hccl_os::sync::Ordering;
use softnpu::context::current;
use softnpu::event::{Event, Kind};
use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult, code};

use crate::border::{EVENTS, EventHandle, Out, StreamHandle, acl, handle, limit_ms};

fn create(out: Out<*mut c_void>, make: impl FnOnce() -> NpuResult<Event>) -> NpuResult<()> {
    out.check("event")?;
    let runtime = runtime()?;
    let device = runtime.device(current()?.device())?;
    let event = make()?;
    let max = runtime.config().soc.family.events_max() as u32;
    // The count is a limit, not an inventory: an event counts on the device it was made on.
    if device.events.fetch_add(1, Ordering::AcqRel) >= max {
        device.events.fetch_sub(1, Ordering::AcqRel);
        let text = format!("Creating an event failed. Reason: device has all {max} in use.");
        return Err(NpuError::new(code::RT_NO_EVENT_RESOURCE, "EE1023", text));
    }
    let event = Arc::new(event.on_device(device.user()));
    out.put("event", handle(&EVENTS, event, "event")?)
}

acl! {
    /// Makes an event whose waits take the latest record, which must exist.
    fn aclrtCreateEvent(event: Out<*mut c_void>) {
        create(event, || Event::new(Kind::Plain, 0))
    }
}

acl! {
    /// Makes an event that a record sets and a reset clears.
    fn aclrtCreateEventWithFlag(event: Out<*mut c_void>, flags: u32) {
        create(event, || Event::new(Kind::Flag, flags))
    }
}

acl! {
    /// Makes an event whose waits take the latest record, if there is one.
    fn aclrtCreateEventExWithFlag(event: Out<*mut c_void>, flags: u32) {
        create(event, || Event::new(Kind::Latest, flags))
    }
}

/// `aclrtIpcEventHandle`: a text, filled up with zeros.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle {
    text: [u8; 64],
}

acl! {
    /// What another process opens an event by.
    fn aclrtIpcGetEventHandle(event: EventHandle, out: Out<IpcHandle>) {
        out.check("handle")?;
        let text = event.get()?.handle()?;
        let mut bytes = [0; 64];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        out.put("handle", IpcHandle { text: bytes })
    }
}

acl! {
    /// Opens an event of another process.
    fn aclrtIpcOpenEventHandle(given: IpcHandle, event: Out<*mut c_void>) {
        let end = given.text.iter().position(|byte| *byte == 0).unwrap_or(given.text.len());
        let text = String::from_utf8_lossy(&given.text[..end]).into_owned();
        create(event, || Event::open(&text))
    }
}

acl! {
    /// Ends an event; waits that are queued stay valid.
    fn aclrtDestroyEvent(event: EventHandle) {
        let found = event.get()?;
        if EVENTS.remove(event.0).is_some()
            && let Ok(device) = runtime()?.device(found.device())
        {
            device.events.fetch_sub(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

acl! {
    /// Records an event in stream order.
    fn aclrtRecordEvent(event: EventHandle, stream: StreamHandle) {
        event.get()?.record(&stream.here()?)
    }
}

/// The limit that `aclrtSetOpWaitTimeout` set.
fn default_limit() -> Option<Duration> {
    let seconds = crate::limits::WAIT_LIMIT_S.load(Ordering::Acquire);
    u64::try_from(seconds).ok().filter(|&seconds| seconds > 0).map(Duration::from_secs)
}

acl! {
    /// Makes a stream wait for an event.
    fn aclrtStreamWaitEvent(stream: StreamHandle, event: EventHandle) {
        let event = event.get()?;
        event.wait_on(&stream.here()?, default_limit())
    }
}

acl! {
    /// As above; the wait fails after `timeout` milliseconds.
    fn aclrtStreamWaitEventWithTimeout(stream: StreamHandle, event: EventHandle, timeout: i32) {
        let event = event.get()?;
        event.wait_on(&stream.here()?, limit_ms("timeout", timeout)?)
    }
}

acl! {
    /// Clears an event in stream order.
    fn aclrtResetEvent(event: EventHandle, stream: StreamHandle) {
        event.get()?.reset(&stream.here()?)
    }
}

acl! {
    /// Whether an event's record is reached: 0 yes, 1 no.
    fn aclrtQueryEvent(event: EventHandle, status: Out<c_int>) {
        status.check("status")?;
        let event = event.get()?;
        if event.kind() == Kind::Latest {
            return Err(NpuError::unsupported("aclrtQueryEvent for an event of this kind"));
        }
        status.put("status", i32::from(event.is_recorded() != Some(true)))
    }
}

acl! {
    /// Whether an event's record is reached: 1 yes, 0 no.
    fn aclrtQueryEventStatus(event: EventHandle, status: Out<c_int>) {
        status.check("status")?;
        let event = event.get()?;
        let never = event.kind() == Kind::Latest;
        status.put("status", event.is_recorded().unwrap_or(never).into())
    }
}

acl! {
    /// Whether a wait for an event would pass: 0 yes, 1 no.
    fn aclrtQueryEventWaitStatus(event: EventHandle, status: Out<c_int>) {
        status.check("status")?;
        let event = event.get()?;
        if event.kind() == Kind::Latest {
            return Err(NpuError::unsupported("aclrtQueryEventWaitStatus for an event of this kind"));
        }
        status.put("status", i32::from(event.is_recorded() != Some(true)))
    }
}

acl! {
    /// Blocks the calling thread until an event's record is reached.
    fn aclrtSynchronizeEvent(event: EventHandle) {
        event.get()?.synchronize(None)
    }
}

acl! {
    /// As above, for at most `timeout` milliseconds.
    fn aclrtSynchronizeEventWithTimeout(event: EventHandle, timeout: i32) {
        let limit = limit_ms("timeout", timeout)?;
        event.get()?.synchronize(limit)
    }
}

acl! {
    /// Milliseconds between two records, negative when they are in the other order.
    fn aclrtEventElapsedTime(ms: Out<f32>, start: EventHandle, end: EventHandle) {
        ms.check("ms")?;
        let (start, end) = (start.get()?.time()?, end.get()?.time()?);
        ms.put("ms", ((end as f64 - start as f64) / 1e6) as f32)
    }
}

acl! {
    /// Time of a record in microseconds of the device's clock.
    fn aclrtEventGetTimestamp(event: EventHandle, timestamp: Out<u64>) {
        timestamp.check("timestamp")?;
        timestamp.put("timestamp", event.get()?.time()? / 1000)
    }
}

acl! {
    /// Number of an event in this process.
    fn aclrtGetEventId(event: EventHandle, id: Out<u32>) {
        id.check("eventId")?;
        if event.get()?.is_shared() {
            return Err(NpuError::unsupported("the id of an event that processes share"));
        }
        // The index part of the handle is unique among live events.
        id.put("eventId", event.0 as usize as u32 & 0x00ff_ffff)
    }
}

acl! {
    /// Events that the current device can still make.
    fn aclrtGetEventAvailNum(count: Out<u32>) {
        count.check("eventCount")?;
        let runtime = runtime()?;
        let device = runtime.device(current()?.device())?;
        let max = runtime.config().soc.family.events_max() as u32;
        count.put("eventCount", max.saturating_sub(device.events.load(Ordering::Acquire)))
    }
}
