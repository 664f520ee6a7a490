//! Streams.

use std::ffi::{c_int, c_void};

use hccl_abi::Table;
use hccl_os::sync::Ordering;
use parking_lot::Mutex;
use softnpu::context::{current, destroy_stream};
use softnpu::runtime::runtime;
use softnpu::stream::Stream;
use softnpu::{NpuError, NpuResult, code};

use crate::border::{In, Out, STREAMS, StreamHandle, acl, handle, limit_ms};
use crate::observers::{StreamState, tell_stream};

/// Flag of streams that only the device uses; it stands alone.
const DEVICE_USE_ONLY: u32 = 0x20;
/// Flags that exist; others are ignored.
const KNOWN_FLAGS: u32 = 0x3f;

fn create(out: Out<*mut c_void>, priority: u32, flags: u32) -> NpuResult<()> {
    out.check("stream")?;
    let flags = flags & KNOWN_FLAGS;
    if flags & DEVICE_USE_ONLY != 0 && flags != DEVICE_USE_ONLY {
        let given = format!("{flags:#x}");
        return Err(NpuError::value("flag", given, "ACL_STREAM_DEVICE_USE_ONLY without others"));
    }
    let stream = current()?.create_stream(priority.min(7), flags)?;
    let made = handle(&STREAMS, stream, "stream")?;
    out.put("stream", made)?;
    tell_stream(made, StreamState::CreatePost);
    Ok(())
}

/// What a stream is to be like.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    flags: u32,
    priority: u32,
}

static WISHES: Table<Mutex<Wish>> = Table::new(0x23);

fn wish(given: *const c_void) -> NpuResult<std::sync::Arc<Mutex<Wish>>> {
    if given.is_null() {
        return Err(NpuError::null("handle"));
    }
    WISHES.get(given).ok_or_else(|| NpuError::handle("stream configuration", given))
}

/// Makes a description of a stream that is to be made; NULL when there are too many.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtCreateStreamConfigHandle() -> *mut c_void {
    let mut made = std::ptr::null_mut();
    crate::border::call("aclrtCreateStreamConfigHandle", || {
        made = handle(&WISHES, std::sync::Arc::default(), "stream configuration")?;
        Ok(())
    });
    made
}

acl! {
    /// Ends a description of a stream.
    fn aclrtDestroyStreamConfigHandle(given: *mut c_void) {
        wish(given)?;
        WISHES.remove(given);
        Ok(())
    }
}

acl! {
    /// Sets one thing in a description of a stream: work memory (0), its size (1), flags (2) or
    /// the priority (3). Work memory is kept by the caller and not used.
    fn aclrtSetStreamConfigOpt(given: *mut c_void, attribute: c_int, value: In<u8>, size: usize) {
        let wish = wish(given)?;
        let bytes = match attribute {
            0..=2 => 8,
            3 => 4,
            other => return Err(NpuError::argument("attr", other, "0, 1, 2 or 3")),
        };
        if value.is_null() {
            return Err(NpuError::null("attrValue"));
        }
        if size != bytes {
            return Err(NpuError::argument("valueSize", size, &bytes.to_string()));
        }
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&value.list(bytes)?);
        let number = u64::from_le_bytes(number);
        match attribute {
            2 => wish.lock().flags = number as u32,
            3 => wish.lock().priority = number as u32,
            _ => {}
        }
        Ok(())
    }
}

acl! {
    /// Makes a stream as described.
    fn aclrtCreateStreamV2(stream: Out<*mut c_void>, given: *const c_void) {
        stream.check("stream")?;
        let Wish { flags, priority } = *wish(given)?.lock();
        create(stream, priority, flags)
    }
}

acl! {
    /// Makes a stream in the current context.
    fn aclrtCreateStream(stream: Out<*mut c_void>) {
        create(stream, 0, 0)
    }
}

acl! {
    /// Makes a stream with a priority (0 greatest to 7 least) and flags.
    fn aclrtCreateStreamWithConfig(stream: Out<*mut c_void>, priority: u32, flags: u32) {
        create(stream, priority, flags)
    }
}

fn destroy(given: StreamHandle, wait: bool) -> NpuResult<()> {
    let stream = given.named()?;
    if stream
        .context()
        .and_then(|c| c.default_stream().ok())
        .is_some_and(|default| std::sync::Arc::ptr_eq(&default, &stream))
    {
        return Err(NpuError::value("stream", "the default stream", "a stream made by a call"));
    }
    tell_stream(given.0, StreamState::DestroyPre);
    let result = if wait && !stream.is_endless() { stream.synchronize(None) } else { Ok(()) };
    STREAMS.remove(given.0);
    destroy_stream(&stream);
    result
}

acl! {
    /// Ends a stream after its tasks.
    fn aclrtDestroyStream(stream: StreamHandle) {
        destroy(stream, true)
    }
}

acl! {
    /// Ends a stream at once; tasks that wait are thrown away.
    fn aclrtDestroyStreamForce(stream: StreamHandle) {
        destroy(stream, false)
    }
}

fn synchronize(stream: StreamHandle, limit: Option<std::time::Duration>) -> NpuResult<()> {
    let stream = stream.get()?;
    if stream.is_endless() {
        return Ok(());
    }
    stream.synchronize(limit)
}

acl! {
    /// Waits for a stream.
    fn aclrtSynchronizeStream(stream: StreamHandle) {
        synchronize(stream, None)
    }
}

acl! {
    /// Waits for a stream, at most `timeout` milliseconds.
    fn aclrtSynchronizeStreamWithTimeout(stream: StreamHandle, timeout: i32) {
        let limit = limit_ms("timeout", timeout)?;
        synchronize(stream, limit)
    }
}

acl! {
    /// Whether a stream has done all that was queued: 0 yes, 1 no.
    fn aclrtStreamQuery(stream: StreamHandle, status: Out<c_int>) {
        status.check("status")?;
        status.put("status", i32::from(!stream.get()?.is_idle()))
    }
}

acl! {
    /// Stops a stream's running task and throws away what is queued; waiters get 107023.
    fn aclrtStreamAbort(stream: StreamHandle) {
        stream.named()?.abort(code::RT_STREAM_ABORT);
        Ok(())
    }
}

acl! {
    /// Number of a stream on its device.
    fn aclrtStreamGetId(stream: StreamHandle, id: Out<i32>) {
        id.check("streamId")?;
        id.put("streamId", stream.get()?.id() as i32)
    }
}

acl! {
    /// Priority of a stream.
    fn aclrtStreamGetPriority(stream: StreamHandle, priority: Out<u32>) {
        priority.check("priority")?;
        priority.put("priority", stream.get()?.priority())
    }
}

acl! {
    /// Flags of a stream.
    fn aclrtStreamGetFlags(stream: StreamHandle, flags: Out<u32>) {
        flags.check("flags")?;
        flags.put("flags", stream.get()?.flags())
    }
}

acl! {
    /// Streams that the current device can still make.
    fn aclrtGetStreamAvailableNum(count: Out<u32>) {
        count.check("streamCount")?;
        let device = current()?.device();
        count.put("streamCount", runtime()?.device(device)?.streams_left() as u32)
    }
}

fn set_failure_mode(stream: &Stream, mode: u64) -> NpuResult<()> {
    if mode > 1 {
        return Err(NpuError::value("mode", mode, "0 (continue) or 1 (stop)"));
    }
    stream.context().ok_or_else(NpuError::no_context)?.set_stop_on_failure(mode == 1)
}

fn set_overflow_switch(stream: &Stream, on: u32) -> NpuResult<()> {
    if on > 1 {
        return Err(NpuError::argument("flag", on, "0 or 1"));
    }
    stream.overflow_switch().store(on == 1, Ordering::Release);
    Ok(())
}

acl! {
    /// Whether a failed task stops all streams of the context (1) or only itself (0).
    fn aclrtSetStreamFailureMode(stream: StreamHandle, mode: u64) {
        set_failure_mode(&*stream.get()?, mode)
    }
}

acl! {
    /// Switches overflow detection of later tasks. Kept; the software NPU detects none.
    fn aclrtSetStreamOverflowSwitch(stream: StreamHandle, on: u32) {
        set_overflow_switch(&*stream.get()?, on)
    }
}

acl! {
    /// What `aclrtSetStreamOverflowSwitch` set.
    fn aclrtGetStreamOverflowSwitch(stream: StreamHandle, on: Out<u32>) {
        on.check("flag")?;
        on.put("flag", stream.get()?.overflow_switch().load(Ordering::Acquire).into())
    }
}

/// `aclrtStreamAttrValue`: 64 bits that count, of 128.
pub type AttributeValue = [u64; 2];

const FAILURE_MODE: c_int = 1;
const OVERFLOW_CHECK: c_int = 2;
const CUSTOM_TAG: c_int = 3;
const CACHE_OP_INFO: c_int = 4;
const PRIORITY: c_int = 5;

fn attribute(given: c_int) -> NpuResult<c_int> {
    if (FAILURE_MODE..=PRIORITY).contains(&given) {
        return Ok(given);
    }
    Err(NpuError::value("stmAttrType", given, "an aclrtStreamAttr from 1 to 5"))
}

acl! {
    /// Sets an attribute of a stream.
    fn aclrtSetStreamAttribute(stream: StreamHandle, given: c_int, value: In<AttributeValue>) {
        let [value, _] = value.get("value")?;
        let given = attribute(given)?;
        let stream = stream.get()?;
        match given {
            FAILURE_MODE => set_failure_mode(&stream, value),
            OVERFLOW_CHECK => set_overflow_switch(&stream, value as u32),
            PRIORITY => Err(NpuError::unsupported("changing the priority of a stream")),
            CUSTOM_TAG | CACHE_OP_INFO => {
                stream.attributes().lock().insert(given, u64::from(value as u32));
                Ok(())
            }
            _ => unreachable!("checked above"),
        }
    }
}

acl! {
    /// An attribute of a stream.
    fn aclrtGetStreamAttribute(stream: StreamHandle, given: c_int, value: Out<AttributeValue>) {
        value.check("value")?;
        let given = attribute(given)?;
        let stream = stream.get()?;
        let answer = match given {
            FAILURE_MODE => stream.context().is_some_and(|c| c.stops_on_failure()).into(),
            OVERFLOW_CHECK => stream.overflow_switch().load(Ordering::Acquire).into(),
            PRIORITY => stream.priority().into(),
            _ => stream.attributes().lock().get(&given).copied().unwrap_or(0),
        };
        value.put("value", [answer, 0])
    }
}
