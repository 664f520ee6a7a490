//! Devices: which there are, which is used, and what they can do.

use std::ffi::{c_char, c_int};

use hccl_os::sync::Ordering;
use softnpu::context::{current, synchronize_device};
use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult, code};

use crate::border::{CONTEXTS, Out, STREAMS, acl, limit_ms};
use crate::observers::{DeviceState, tell_abort, tell_device};

acl! {
    /// Number of devices that this process sees.
    fn aclrtGetDeviceCount(count: Out<u32>) {
        count.check("count")?;
        match runtime()?.devices().len() {
            0 => {
                let text = "No device is visible. ASCEND_RT_VISIBLE_DEVICES must list device ids \
                            in ascending order, without repetition, separated by commas.";
                Err(NpuError::new(code::RT_NO_DEVICE, "EE1001", text))
            }
            n => count.put("count", n as u32),
        }
    }
}

acl! {
    /// Uses a device on the calling thread.
    fn aclrtSetDevice(device: i32) {
        let runtime = runtime()?;
        let found = runtime.device_of(device)?;
        let is_first = !found.is_active();
        if is_first {
            tell_device(found.user(), DeviceState::SetPre);
        }
        runtime.set_device(device)?;
        if is_first {
            tell_device(found.user(), DeviceState::SetPost);
        }
        Ok(())
    }
}

/// Stale handles of what went with a device find nothing.
fn sweep() {
    STREAMS.retain(|stream| !stream.is_dead());
    CONTEXTS.retain(|context| !context.is_dead());
}

fn reset(device: i32, force: bool) -> NpuResult<()> {
    let runtime = runtime()?;
    let found = runtime.device_of(device)?;
    let retained = found.retained();
    if retained == 1 || (force && retained > 0) {
        tell_device(found.user(), DeviceState::ResetPre);
    }
    if runtime.reset_device(device, force)? {
        sweep();
        tell_device(found.user(), DeviceState::ResetPost);
    }
    Ok(())
}

acl! {
    /// Gives the use of a device back; the last time ends it.
    fn aclrtResetDevice(device: i32) {
        reset(device, false)
    }
}

acl! {
    /// Ends the use of a device, however often it was set, without waiting for its tasks.
    fn aclrtResetDeviceForce(device: i32) {
        reset(device, true)
    }
}

/// Device of the calling thread. That it has none (107002) is an answer which programs ask for
/// at their start, so it is neither logged nor kept as a message.
///
/// # Safety
/// 1. `device` is NULL or writable.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclrtGetDevice(device: Out<i32>) -> c_int {
    if device.is_null() {
        return crate::border::call("aclrtGetDevice", || Err(NpuError::null("deviceId")));
    }
    crate::border::answer(|| device.put("deviceId", current()?.device() as i32))
}

acl! {
    /// Where this program runs: on the host (1).
    fn aclrtGetRunMode(mode: Out<c_int>) {
        mode.put("runMode", 1)
    }
}

acl! {
    /// State of a device: always normal (0).
    fn aclrtQueryDeviceStatus(device: i32, status: Out<c_int>) {
        runtime()?.device_of(device)?;
        status.put("deviceStatus", 0)
    }
}

acl! {
    /// Waits for all streams of the current device.
    fn aclrtSynchronizeDevice() {
        synchronize_device(None)
    }
}

acl! {
    /// As `aclrtSynchronizeDevice`, for at most `timeout` milliseconds.
    fn aclrtSynchronizeDeviceWithTimeout(timeout: i32) {
        synchronize_device(limit_ms("timeout", timeout)?)
    }
}

/// The longest limit of an abort: 36 minutes.
const ABORT_MS_MAX: u32 = 36 * 60 * 1000;

acl! {
    /// Stops what runs on a device and throws away what is queued.
    fn aclrtDeviceTaskAbort(device: i32, timeout: u32) {
        let device = runtime()?.device_of(device)?;
        if timeout > ABORT_MS_MAX {
            let allowed = format!("0 (no limit) to {ABORT_MS_MAX} milliseconds");
            return Err(NpuError::value("timeout", timeout, &allowed));
        }
        tell_abort(device.user(), false, timeout)?;
        for stream in device.streams() {
            stream.abort(code::RT_DEVICE_TASK_ABORT);
        }
        for context in device.contexts() {
            context.recover();
        }
        tell_abort(device.user(), true, timeout)
    }
}

acl! {
    /// Range of stream priorities: 7 is the least, 0 the greatest.
    fn aclrtDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        least.put_if_wanted(7);
        greatest.put_if_wanted(0);
        Ok(())
    }
}

/// Name of the product, or NULL when the environment names one that does not exist.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetSocName() -> *const c_char {
    use std::ffi::CString;
    use std::sync::OnceLock;
    static NAME: OnceLock<Option<CString>> = OnceLock::new();
    let name = NAME.get_or_init(|| CString::new(runtime().ok()?.config().soc.name).ok());
    match name {
        Some(name) => name.as_ptr(),
        None => {
            // Leaves the reason as log line and message.
            crate::border::call("aclrtGetSocName", || runtime().map(drop));
            std::ptr::null()
        }
    }
}

/// Whether a number is that of a device of this server in its pod: there is one server, and its
/// devices have the numbers that they have on the host.
pub(crate) fn is_of_this_server(pod_device: u32) -> NpuResult<bool> {
    Ok(pod_device < runtime()?.config().devices)
}

fn as_signed(device: u32) -> i32 {
    i32::try_from(device).unwrap_or(-1)
}

acl! {
    /// One attribute of a device.
    fn aclrtGetDeviceInfo(device: u32, attribute: c_int, value: Out<i64>) {
        value.check("value")?;
        let runtime = runtime()?;
        let device = runtime.device_of(as_signed(device))?;
        let soc = runtime.config().soc;
        let answer = match attribute {
            1 => i64::try_from(hccl_os::cpu::allowance()).unwrap_or(1),
            101 | 102 => i64::from(soc.cube_cores),
            201 => i64::from(soc.vector_cores),
            301 => runtime.config().memory as i64,
            302 => (soc.l2_mib << 20) as i64,
            402 | 403 => i64::from(device.host()),
            // One server of one pod, whose devices hang on PCIe.
            401 | 404 | 405 | 407 | 408 => 0,
            409 => 3,
            501 => 0,
            601 => soc.family.architecture(),
            other => return Err(NpuError::unsupported(format!("device attribute {other}"))),
        };
        value.put("value", answer)
    }
}

acl! {
    /// One capability of a device: cores (0 cube, 1 vector) or the size of its L2 cache (2).
    fn aclGetDeviceCapability(device: u32, capability: c_int, value: Out<i64>) {
        value.check("value")?;
        let runtime = runtime()?;
        runtime.device_of(as_signed(device))?;
        let soc = runtime.config().soc;
        let answer = match capability {
            0 => i64::from(soc.cube_cores),
            1 => i64::from(soc.vector_cores),
            2 => (soc.l2_mib << 20) as i64,
            other => return Err(NpuError::argument("deviceInfo", other, "0, 1 or 2")),
        };
        value.put("value", answer)
    }
}

acl! {
    /// Whether the product has a feature: infinities and NaN (0), bf16 (1), compilation (2).
    fn aclGetCannAttribute(attribute: c_int, value: Out<i32>) {
        value.check("value")?;
        let answer = match attribute {
            0 | 1 => i32::from(runtime()?.config().soc.family.has_inf_nan()),
            2 => 1,
            other => return Err(NpuError::argument("cannAttr", other, "0, 1 or 2")),
        };
        value.put("value", answer)
    }
}

acl! {
    /// The attributes that `aclGetCannAttribute` knows; the list is static.
    fn aclGetCannAttributeList(list: Out<*const c_int>, count: Out<usize>) {
        static LIST: [c_int; 3] = [0, 1, 2];
        count.check("num")?;
        list.put("cannAttrList", LIST.as_ptr())?;
        count.put("num", LIST.len())
    }
}

acl! {
    /// What happens on overflow: saturation (0), infinities and NaN (1).
    fn aclrtSetDeviceSatMode(mode: c_int) {
        let context = current()?;
        if !(0..=1).contains(&mode) {
            return Err(NpuError::value("mode", mode, "0 (saturation) or 1 (INF/NaN)"));
        }
        let runtime = runtime()?;
        let soc = runtime.config().soc;
        if !soc.family.has_mode(mode == 1) {
            return Err(NpuError::unsupported(format!("overflow mode {mode} on {}", soc.name)));
        }
        runtime.device(context.device())?.saturation.store(mode, Ordering::Release);
        if mode == 0 {
            softnpu::log!(
                Warning, "aclrtSetDeviceSatMode",
                "the software NPU computes with infinities and NaN in both modes"
            );
        }
        Ok(())
    }
}

acl! {
    /// What `aclrtSetDeviceSatMode` set.
    fn aclrtGetDeviceSatMode(mode: Out<c_int>) {
        let device = current()?.device();
        mode.put("mode", runtime()?.device(device)?.saturation.load(Ordering::Acquire))
    }
}

acl! {
    /// Sixteen bytes that name a device of this host.
    fn aclrtDeviceGetUuid(device: i32, uuid: Out<[u8; 16]>) {
        let device = runtime()?.device_of(device)?;
        let host = hccl_os::host::host_id()
            .map_err(|error| NpuError::system(code::RT_INTERNAL_ERROR, "the host's id", &error))?;
        let mut bytes = host.boot;
        bytes[15] ^= device.host() as u8;
        uuid.put("uuid", bytes)
    }
}

acl! {
    /// Number of this process outside of containers, as far as it can know it.
    fn aclrtDeviceGetBareTgid(pid: Out<i32>) {
        pid.put("pid", hccl_os::process::own_id() as i32)
    }
}

fn pair(device: i32, peer: i32) -> NpuResult<()> {
    let runtime = runtime()?;
    runtime.device_of(device)?;
    runtime.device_of(peer)?;
    if device == peer {
        return Err(NpuError::argument("peerDeviceId", peer, "another device than deviceId"));
    }
    Ok(())
}

acl! {
    /// Whether a device can reach the memory of another: always.
    fn aclrtDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        can.check("canAccessPeer")?;
        pair(device, peer)?;
        can.put("canAccessPeer", 1)
    }
}

acl! {
    /// Lets the current device reach the memory of another.
    fn aclrtDeviceEnablePeerAccess(peer: i32, flags: u32) {
        let device = current()?.device();
        if flags != 0 {
            let text = format!("Value {flags} for flags is invalid. Reason: it must be 0.");
            return Err(NpuError::new(code::FEATURE_UNSUPPORTED, "EH0001", text));
        }
        pair(device as i32, peer)?;
        runtime()?.device(device)?.peers.lock().insert(peer as u32);
        Ok(())
    }
}

acl! {
    /// Takes `aclrtDeviceEnablePeerAccess` back.
    fn aclrtDeviceDisablePeerAccess(peer: i32) {
        let device = current()?.device();
        pair(device as i32, peer)?;
        runtime()?.device(device)?.peers.lock().remove(&(peer as u32));
        Ok(())
    }
}

acl! {
    /// Whether a device was allowed to reach the memory of another.
    fn aclrtDevicePeerAccessStatus(device: i32, peer: i32, status: Out<i32>) {
        pair(device, peer)?;
        let enabled = runtime()?.device_of(device)?.peers.lock().contains(&(peer as u32));
        status.put("status", enabled.into())
    }
}

/// Ids before the list of visible devices, from ids after it.
fn to_host(user: i32) -> NpuResult<i32> {
    Ok(runtime()?.device_of(user)?.host() as i32)
}

/// Ids after the list of visible devices, from ids before it.
fn to_user(host: i32) -> NpuResult<i32> {
    let runtime = runtime()?;
    let found = runtime.devices().iter().find(|device| i64::from(device.host()) == i64::from(host));
    found.map(|device| device.user() as i32).ok_or_else(|| {
        let visible = format!("one of {:?}", runtime.config().visible);
        NpuError { code: code::RT_INVALID_DEVICEID, ..NpuError::value("deviceId", host, &visible) }
    })
}

acl! {
    /// User id of a physical device.
    fn aclrtGetUserDevIdByPhyDevId(physical: i32, user: Out<i32>) {
        user.put("userDevId", to_user(physical)?)
    }
}

acl! {
    /// Physical id of a user's device.
    fn aclrtGetPhyDevIdByUserDevId(user: i32, physical: Out<i32>) {
        physical.put("phyDevId", to_host(user)?)
    }
}

acl! {
    /// User id of a logic device (an id before the list of visible devices).
    fn aclrtGetUserDevIdByLogicDevId(logic: i32, user: Out<i32>) {
        user.put("userDevId", to_user(logic)?)
    }
}

acl! {
    /// Logic id of a user's device.
    fn aclrtGetLogicDevIdByUserDevId(user: i32, logic: Out<i32>) {
        logic.put("logicDevId", to_host(user)?)
    }
}

acl! {
    /// Logic id of a physical device: the same number.
    fn aclrtGetLogicDevIdByPhyDevId(physical: i32, logic: Out<i32>) {
        logic.put("logicDevId", on_host(physical)?)
    }
}

acl! {
    /// Physical id of a logic device: the same number.
    fn aclrtGetPhyDevIdByLogicDevId(logic: i32, physical: Out<i32>) {
        physical.put("phyDevId", on_host(logic)?)
    }
}

/// An id of a device of the host, visible or not.
fn on_host(id: i32) -> NpuResult<i32> {
    let devices = runtime()?.config().devices;
    if u32::try_from(id).is_ok_and(|id| id < devices) {
        return Ok(id);
    }
    let allowed = format!("[0, {}]", devices - 1);
    Err(NpuError { code: code::RT_INVALID_DEVICEID, ..NpuError::value("deviceId", id, &allowed) })
}
