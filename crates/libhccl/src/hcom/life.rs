//! The beginning and the end of a world.

use std::ffi::{c_char, c_void};
use std::net::IpAddr;

use hccl_abi::c_text;

use super::{forget, made, remember};
use crate::border::{hccl_call, present};
use crate::communicators::{check_process, end, join_agreed};
use crate::config::{Config, strict_is_there};
use crate::environment::{exec_timeout, parse_algo};
use crate::errors::Failure;
use crate::graph::WORLD;
use crate::runtime::{current_device, log_line, physical_device, product};

/// `HcomInitConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InitConfig {
    algo: *const c_char,
    exec_timeout: *const c_char,
    deterministic: u8,
}
const _: () = assert!(size_of::<InitConfig>() == 24);

/// Most ranks of a world.
pub(super) const RANKS_MAX: u64 = 32_768;
/// The last port of a master.
const PORT_MAX: u64 = 65_520;

/// Reads wishes; NULL wishes for nothing.
///
/// # Safety
/// 1. `config` is NULL or readable, with texts that are NULL or C strings.
pub(super) unsafe fn read(call: &str, config: *const InitConfig) -> Result<Config, Failure> {
    let mut wishes = Config::default();
    if config.is_null() {
        return Ok(wishes);
    }
    // SAFETY: not NULL; (1).
    let InitConfig { algo, exec_timeout: seconds, deterministic } = unsafe { *config };
    // SAFETY: (1).
    let (algo, seconds) = unsafe { (c_text(algo), c_text(seconds)) };
    if let Some(text) = algo.filter(|text| !text.trim().is_empty()) {
        let algo = parse_algo("algo", &text);
        wishes.algo = Some(algo.map_err(|expect| Failure::argument(call, "algo", &text, &expect))?);
    }
    if let Some(text) = seconds.filter(|text| !text.is_empty()) {
        let seconds = number(call, "execTimeOut", &text, 0, u64::MAX)?;
        wishes.exec_timeout = Some(
            exec_timeout(product(), seconds)
                .map_err(|expect| Failure::argument(call, "execTimeOut", &text, expect))?,
        );
    }
    match deterministic {
        0 | 1 => {}
        // Reductions are in rank order always.
        2 => strict_is_there(call, "deterministic", product())?,
        other => {
            return Err(Failure::argument(call, "deterministic", &other.to_string(), "0, 1 or 2"));
        }
    }
    Ok(wishes)
}

/// A number that is written out, in a range.
pub(super) fn number(
    call: &str,
    name: &str,
    text: &str,
    least: u64,
    most: u64,
) -> Result<u64, Failure> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = text.parse().ok().filter(|value| digits && (least..=most).contains(value));
    value.ok_or_else(|| Failure::argument(call, name, text, &format!("[{least}, {most}]")))
}

/// A text that must be there.
///
/// # Safety
/// 1. `text` is NULL or a C string.
pub(super) unsafe fn needed(
    call: &str,
    name: &str,
    text: *const c_char,
) -> Result<String, Failure> {
    present(call, name, text)?;
    // SAFETY: not NULL, and (1).
    Ok(unsafe { c_text(text) }.unwrap_or_default())
}

/// Keeps a world that was made on the current device.
pub(super) fn keep(handle: *mut c_void) -> Result<(), Failure> {
    remember(current_device()?, WORLD, handle);
    Ok(())
}

hccl_call! {
    /// Joins the world of a master. Ranks are in the order of the devices, which must be the first
    /// ones of this host: nobody is asked who comes.
    fn HcomInitByMasterInfo(
        ip: *const c_char,
        port: *const c_char,
        device: *const c_char,
        size: *const c_char,
        own_ip: *const c_char,
        config: *const InitConfig,
    ) {
        const CALL: &str = "HcomInitByMasterInfo";
        check_process()?;
        // SAFETY: NULL or C strings by the contract of this function.
        let [ip, port, master, size, own_ip] = unsafe {
            [
                needed(CALL, "masterIp", ip)?,
                needed(CALL, "masterPort", port)?,
                needed(CALL, "masterDeviceId", device)?,
                needed(CALL, "rankSize", size)?,
                needed(CALL, "rankIp", own_ip)?,
            ]
        };
        let address = |name: &str, text: &str| {
            text.parse::<IpAddr>().map_err(|_| {
                Failure::argument(CALL, name, text, "an IPv4 or IPv6 address")
            })
        };
        let ip = address("masterIp", &ip)?;
        address("rankIp", &own_ip)?;
        let port = number(CALL, "masterPort", &port, 0, PORT_MAX)?;
        let ranks = number(CALL, "rankSize", &size, 1, RANKS_MAX)?;
        let master = number(CALL, "masterDeviceId", &master, 0, ranks - 1)?;
        // SAFETY: NULL or readable by the contract of this function.
        let config = unsafe { read(CALL, config) }?;
        let own = physical_device(current_device()?)?;
        let rank = u64::try_from(own).ok().filter(|rank| *rank < ranks).ok_or_else(|| {
            let expect = format!("a device from 0 to {}: ranks are the first {ranks} devices of \
                                  this host", ranks - 1);
            Failure::unsupported(CALL, "device", &own.to_string(), &expect)
        })?;
        let meeting = format!("hcom master {ip} {port} {master} {ranks}");
        keep(join_agreed(CALL, meeting, (ranks as u32, rank as u32), WORLD, config)?)
    }
}

hccl_call! {
    /// Ends the world of the current device with all its groups; of all devices for a thread that
    /// uses none.
    fn HcomDestroy() {
        const CALL: &str = "HcomDestroy";
        check_process()?;
        let all = made(current_device().ok());
        if all.is_empty() {
            log_line!(Warning, CALL, "there is nothing to destroy");
        }
        for (key, handle) in all {
            end(CALL, handle)?;
            forget(&key);
        }
        Ok(())
    }
}

hccl_call! {
    /// Whether the current device has a world; any device for a thread that uses none.
    fn HcomGetInitStatus(is_there: *mut bool) {
        check_process()?;
        present("HcomGetInitStatus", "initiated", is_there)?;
        let found = made(current_device().ok()).iter().any(|((_, name), _)| name == WORLD);
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { is_there.write(found) };
        Ok(())
    }
}
