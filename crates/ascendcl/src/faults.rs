//! Faults of devices, which the software NPU does not have, and what it costs to ask.

use std::ffi::{c_char, c_int, c_void};

use softnpu::runtime::runtime;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, acl};

/// `aclrtMemUceInfo`: a piece of memory with an error that cannot be corrected.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BadMemory {
    address: *mut c_void,
    length: usize,
    reserved: [usize; 14],
}

/// `aclrtErrorInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorInfo {
    try_repair: u8,
    has_detail: u8,
    reserved: [u8; 2],
    kind: c_int,
    count: usize,
    memory: [BadMemory; BAD_MEMORY_MAX],
}
const _: () = assert!(size_of::<BadMemory>() == 128 && size_of::<ErrorInfo>() == 2576);

/// Pieces that one answer can hold.
const BAD_MEMORY_MAX: usize = 20;

acl! {
    /// Memory of a device with errors that cannot be corrected: none.
    fn aclrtGetMemUceInfo(device: i32, list: Out<BadMemory>, count: usize, got: Out<usize>) {
        list.check("memUceInfoArray")?;
        got.check("retSize")?;
        if count == 0 {
            return Err(NpuError::argument("arraySize", 0, "greater than 0"));
        }
        runtime()?.device_of(device)?;
        got.put("retSize", 0)
    }
}

acl! {
    /// Repairs memory of a device. There is none to repair.
    fn aclrtMemUceRepair(device: i32, list: In<BadMemory>, count: usize) {
        if list.is_null() {
            return Err(NpuError::null("memUceInfoArray"));
        }
        if !(1..=BAD_MEMORY_MAX).contains(&count) {
            let allowed = format!("1 to {BAD_MEMORY_MAX}");
            return Err(NpuError::argument("arraySize", count, &allowed));
        }
        runtime()?.device_of(device).map(drop)
    }
}

acl! {
    /// What is wrong with a device: nothing.
    fn aclrtGetErrorVerbose(device: i32, info: Out<ErrorInfo>) {
        info.check("errorInfo")?;
        runtime()?.device_of(device)?;
        let none = BadMemory { address: std::ptr::null_mut(), length: 0, reserved: [0; 14] };
        info.put("errorInfo", ErrorInfo {
            try_repair: 0,
            has_detail: 0,
            reserved: [0; 2],
            kind: 0,
            count: 0,
            memory: [none; BAD_MEMORY_MAX],
        })
    }
}

/// The last kind of errors that has a number in a row; one more stands for others.
const KIND_LAST: c_int = 5;
const KIND_OTHERS: c_int = 0xffff;

acl! {
    /// Repairs what is wrong with a device. Nothing is.
    fn aclrtRepairError(device: i32, info: In<ErrorInfo>) {
        let info = info.get("errorInfo")?;
        runtime()?.device_of(device)?;
        if !(0..=KIND_LAST).contains(&info.kind) && info.kind != KIND_OTHERS {
            let allowed = "an aclrtErrorType from 0 to 5, or 0xffff";
            return Err(NpuError::argument("errorInfo.errorType", info.kind, allowed));
        }
        Ok(())
    }
}

/// `aclrtUtilizationInfo`: percentages, -1 where there is none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Utilization {
    cube: i32,
    vector: i32,
    aicpu: i32,
    memory: i32,
    extend: *mut c_void,
}
const _: () = assert!(size_of::<Utilization>() == 24);

acl! {
    /// How busy a device is: it does not say.
    fn aclrtGetDeviceUtilizationRate(device: i32, info: Out<Utilization>) {
        info.check("utilizationInfo")?;
        let extend = info.as_in().get("utilizationInfo")?.extend;
        if !extend.is_null() {
            let given = format!("{extend:p}");
            return Err(NpuError::argument("utilizationExtend", given, "NULL"));
        }
        runtime()?.device_of(device)?;
        let answer = Utilization { cube: -1, vector: -1, aicpu: -1, memory: -1, extend };
        info.put("utilizationInfo", answer)
    }
}

/// Characters of a PCI address with its NUL.
const PCI_BYTES: usize = 13;

acl! {
    /// PCI address of a device, as `dddd:bb:dd.f`. It is made up: bus 0x80 and on.
    fn aclrtDeviceGetPCIBusId(device: i32, text: *mut c_char, len: i32) {
        if text.is_null() {
            return Err(NpuError::null("pciBusId"));
        }
        if len < PCI_BYTES as i32 {
            return Err(NpuError::argument("len", len, &format!("at least {PCI_BYTES}")));
        }
        let device = runtime()?.device_of(device)?;
        let mut address = format!("0000:{:02x}:00.0", 0x80 + device.host()).into_bytes();
        address.push(0);
        debug_assert_eq!(address.len(), PCI_BYTES);
        // SAFETY: not NULL, and writable for `len` bytes by the contract of this function.
        unsafe { std::ptr::copy_nonoverlapping(address.as_ptr(), text.cast(), address.len()) };
        Ok(())
    }
}

/// Links between devices: a coherent one, or PCIe through one switch.
const LINK_HCCS: u64 = 1;
const LINK_PIX: u64 = 2;

fn other(device: u32, peer: u32) -> NpuResult<()> {
    let runtime = runtime()?;
    for id in [device, peer] {
        runtime.device_of(i32::try_from(id).unwrap_or(-1))?;
    }
    if device == peer {
        return Err(NpuError::argument("otherDeviceId", peer, "another device than deviceId"));
    }
    Ok(())
}

acl! {
    /// What lies between two devices, by the habit of the product.
    fn aclrtGetDevicesTopo(device: u32, peer: u32, value: Out<u64>) {
        use softnpu::soc::Family;
        value.check("value")?;
        other(device, peer)?;
        let link = match runtime()?.config().soc.family {
            Family::Ascend310P | Family::Ascend310B => LINK_PIX,
            Family::Ascend910 | Family::A2 | Family::A3 | Family::Ascend950 => LINK_HCCS,
        };
        value.put("value", link)
    }
}
