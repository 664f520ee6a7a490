//! Limits: cores of devices, streams and threads, and how long kernels and waits may take.

use std::ffi::c_int;

use hccl_os::sync::{AtomicI64, AtomicU64, Ordering};
use softnpu::limits::{self, Core};
use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult};

use crate::border::{Out, StreamHandle, acl};

/// An `aclrtDevResLimitType`.
fn core(given: c_int) -> NpuResult<Core> {
    match given {
        0 => Ok(Core::Cube),
        1 => Ok(Core::Vector),
        other => Err(NpuError::argument("type", other, "0 (cube cores) or 1 (vector cores)")),
    }
}

acl! {
    /// Cores that a device may use.
    fn aclrtGetDeviceResLimit(device: i32, kind: c_int, value: Out<u32>) {
        value.check("value")?;
        value.put("value", limits::of_device(device, core(kind)?)?)
    }
}

acl! {
    /// Limits the cores of a device.
    fn aclrtSetDeviceResLimit(device: i32, kind: c_int, value: u32) {
        limits::limit_device(device, core(kind)?, value)
    }
}

acl! {
    /// Takes the limits of a device back.
    fn aclrtResetDeviceResLimit(device: i32) {
        limits::free_device(device)
    }
}

acl! {
    /// Cores that a stream may use.
    fn aclrtGetStreamResLimit(stream: StreamHandle, kind: c_int, value: Out<u32>) {
        value.check("value")?;
        value.put("value", limits::of_stream(&*stream.get()?, core(kind)?)?)
    }
}

acl! {
    /// Limits the cores of a stream.
    fn aclrtSetStreamResLimit(stream: StreamHandle, kind: c_int, value: u32) {
        limits::limit_stream(&*stream.get()?, core(kind)?, value)
    }
}

acl! {
    /// Takes the limits of a stream back.
    fn aclrtResetStreamResLimit(stream: StreamHandle) {
        limits::free_stream(&*stream.get()?);
        Ok(())
    }
}

acl! {
    /// Lets this thread work under the limits of a stream.
    fn aclrtUseStreamResInCurrentThread(stream: StreamHandle) {
        limits::use_in_thread(&stream.get()?);
        Ok(())
    }
}

acl! {
    /// Ends `aclrtUseStreamResInCurrentThread`.
    fn aclrtUnuseStreamResInCurrentThread(stream: StreamHandle) {
        limits::unuse_in_thread(&stream.get()?)
    }
}

acl! {
    /// Cores that this thread may use.
    fn aclrtGetResInCurrentThread(kind: c_int, value: Out<u32>) {
        value.check("value")?;
        value.put("value", limits::of_thread(core(kind)?)?)
    }
}

/// Longest time that a kernel may take, microseconds; 0 until it is set. Kept and told: kernels
/// of the software NPU do not hang.
static EXECUTE_LIMIT_US: AtomicU64 = AtomicU64::new(0);
/// Longest time that a wait for an event may take, seconds; 0 for ever.
pub(crate) static WAIT_LIMIT_S: AtomicI64 = AtomicI64::new(0);

/// Steps of the largest limit.
const STEPS: u64 = 254;
/// A limit that is none.
const NEVER: u64 = u64::MAX;

fn step_us() -> NpuResult<u64> {
    Ok(runtime()?.config().soc.family.execute_step_us())
}

/// Sets the limit to the next multiple of the step; 0 asks for the most.
fn set_execute_limit(asked: u64) -> NpuResult<u64> {
    let step = step_us()?;
    let limit = match asked {
        NEVER => NEVER,
        0 => step * STEPS,
        asked => asked.div_ceil(step).min(STEPS) * step,
    };
    EXECUTE_LIMIT_US.store(limit, Ordering::Release);
    Ok(limit)
}

acl! {
    /// Sets how long a kernel may take, in seconds (0: as long as can be).
    fn aclrtSetOpExecuteTimeOut(seconds: u32) {
        set_execute_limit(u64::from(seconds) * 1_000_000).map(drop)
    }
}

acl! {
    /// As above in milliseconds.
    fn aclrtSetOpExecuteTimeOutWithMs(milliseconds: u32) {
        set_execute_limit(u64::from(milliseconds) * 1000).map(drop)
    }
}

acl! {
    /// As above in microseconds; tells the time that was set.
    fn aclrtSetOpExecuteTimeOutV2(microseconds: u64, actual: Out<u64>) {
        actual.check("actualTimeout")?;
        actual.put("actualTimeout", set_execute_limit(microseconds)?)
    }
}

acl! {
    /// Step of these limits, microseconds.
    fn aclrtGetOpTimeOutInterval(interval: Out<u64>) {
        interval.check("interval")?;
        interval.put("interval", step_us()?)
    }
}

acl! {
    /// How long a kernel may take, in milliseconds.
    fn aclrtGetOpExecuteTimeout(milliseconds: Out<u32>) {
        milliseconds.check("timeoutMs")?;
        let limit = match EXECUTE_LIMIT_US.load(Ordering::Acquire) {
            0 => step_us()? * STEPS,
            set => set,
        };
        milliseconds.put("timeoutMs", u32::try_from(limit / 1000).unwrap_or(u32::MAX))
    }
}

acl! {
    /// Sets how long a stream waits for an event, in seconds (0: for ever).
    fn aclrtSetOpWaitTimeout(seconds: u32) {
        WAIT_LIMIT_S.store(i64::from(seconds), Ordering::Release);
        Ok(())
    }
}
