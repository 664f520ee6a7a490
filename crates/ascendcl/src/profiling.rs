//! The profiler's side of the interface. Nobody profiles here: what a program sets up is checked and
//! kept, and reports are accepted and dropped, as on a machine whose profiler is off.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, acl, call, handle};

/// Ticks of a monotonic clock (nanoseconds).
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofSysCycleTime() -> u64 {
    softnpu::event::device_clock()
}

/// A number for a name, the same each time.
///
/// # Safety
/// 1. `name` is NULL or readable for `length` bytes.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn MsprofGetHashId(name: *const u8, length: usize) -> u64 {
    if name.is_null() {
        return 0;
    }
    // SAFETY: not NULL, and (1).
    let name = unsafe { std::slice::from_raw_parts(name, length) };
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

/// Takes a report of a call.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofReportApi(_aging: u32, _report: *const c_void) -> i32 {
    0
}

/// Takes a compact report.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofReportCompactInfo(_aging: u32, _report: *const c_void, _size: u32) -> i32 {
    0
}

/// Takes an additional report.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofReportAdditionalInfo(
    _aging: u32,
    _report: *const c_void,
    _size: u32,
) -> i32 {
    0
}

/// Takes a function that a profiler would call to switch reports on; none will.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MsprofRegisterCallback(_module: u32, _function: *const c_void) -> i32 {
    0
}

/// What a program wants to profile.
#[derive(Debug)]
struct Wanted;

/// Marks of steps.
#[derive(Debug)]
struct Step;

static WANTED: Table<Wanted> = Table::new(0x24);
static STEPS: Table<Step> = Table::new(0x25);

/// Text with a length, as the calls below take it.
fn text(name: &str, text: *const c_char, length: usize) -> NpuResult<()> {
    if text.is_null() {
        return Err(NpuError::null(name));
    }
    if length == 0 {
        return Err(NpuError::argument(name, "a text of 0 bytes", "a text that is not empty"));
    }
    Ok(())
}

acl! {
    /// Begins profiling into a folder. Nothing is written.
    fn aclprofInit(folder: *const c_char, length: usize) {
        text("profilerResultPath", folder, length)
    }
}

acl! {
    /// Ends profiling.
    fn aclprofFinalize() {
        Ok(())
    }
}

fn wanted(config: *const c_void) -> NpuResult<()> {
    if config.is_null() {
        return Err(NpuError::null("profilerConfig"));
    }
    WANTED.get(config).map(drop).ok_or_else(|| NpuError::handle("profiler configuration", config))
}

acl! {
    /// Starts what a configuration asks for.
    fn aclprofStart(config: *const c_void) {
        wanted(config)
    }
}

acl! {
    /// Stops it.
    fn aclprofStop(config: *const c_void) {
        wanted(config)
    }
}

acl! {
    /// Prepares it.
    fn aclprofWarmup(config: *const c_void) {
        wanted(config)
    }
}

/// Makes a configuration of the profiler; NULL for devices that do not exist.
///
/// # Safety
/// 1. `devices` is NULL or readable for `count` numbers.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclprofCreateConfig(
    devices: In<u32>,
    count: u32,
    _metrics: c_int,
    _events: *const c_void,
    _data_types: u64,
) -> *mut c_void {
    let mut made = std::ptr::null_mut();
    call("aclprofCreateConfig", || {
        if devices.is_null() && count > 0 {
            return Err(NpuError::null("deviceIdList"));
        }
        for device in devices.list(count as usize)? {
            runtime()?.device_of(i32::try_from(device).unwrap_or(-1))?;
        }
        made = handle(&WANTED, Arc::new(Wanted), "profiler configuration")?;
        Ok(())
    });
    made
}

acl! {
    /// Ends a configuration.
    fn aclprofDestroyConfig(config: *const c_void) {
        wanted(config)?;
        WANTED.remove(config);
        Ok(())
    }
}

/// Kinds of settings: the numbers above 0.
const SETTING_LAST: c_int = 10;

acl! {
    /// Sets one thing of the profiler. It is not kept.
    fn aclprofSetConfig(kind: c_int, value: *const c_char, length: usize) {
        if !(1..=SETTING_LAST).contains(&kind) {
            let allowed = format!("1 to {SETTING_LAST}");
            return Err(NpuError::argument("configType", kind, &allowed));
        }
        text("config", value, length)
    }
}

acl! {
    /// Lets a profiler hear of devices that are set.
    fn aclprofRegisterDeviceCallback() {
        Ok(())
    }
}

acl! {
    /// Leaves a mark in stream order.
    fn aclprofMarkEx(message: *const c_char, length: usize, stream: StreamHandle) {
        text("msg", message, length)?;
        stream.get().map(drop)
    }
}

/// Makes a mark of steps.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofCreateStepInfo() -> *mut c_void {
    let mut made = std::ptr::null_mut();
    call("aclprofCreateStepInfo", || {
        made = handle(&STEPS, Arc::new(Step), "mark of steps")?;
        Ok(())
    });
    made
}

/// Ends a mark of steps.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofDestroyStepInfo(step: *mut c_void) {
    if !step.is_null() && STEPS.remove(step).is_none() {
        call("aclprofDestroyStepInfo", || Err(NpuError::handle("mark of steps", step)));
    }
}

acl! {
    /// Notes where a step begins (0) or ends (1).
    fn aclprofGetStepTimestamp(step: *mut c_void, tag: c_int, stream: StreamHandle) {
        if step.is_null() {
            return Err(NpuError::null("stepInfo"));
        }
        if STEPS.get(step).is_none() {
            return Err(NpuError::handle("mark of steps", step));
        }
        if !(0..=1).contains(&tag) {
            return Err(NpuError::argument("tag", tag, "0 or 1"));
        }
        stream.get().map(drop)
    }
}

fn features(size: Out<usize>, data: Out<*mut c_void>) -> NpuResult<()> {
    size.check("featuresSize")?;
    data.put("featuresData", std::ptr::null_mut())?;
    size.put("featuresSize", 0)
}

acl! {
    /// What the profiler can do: nothing.
    fn aclprofGetSupportedFeatures(size: Out<usize>, data: Out<*mut c_void>) {
        features(size, data)
    }
}

acl! {
    /// As above, in the newer form.
    fn aclprofGetSupportedFeaturesV2(size: Out<usize>, data: Out<*mut c_void>) {
        features(size, data)
    }
}
