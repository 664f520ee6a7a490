//! What the user asked for: number of devices, product, memory, visible devices. Read once.

use crate::error::{NpuError, NpuResult, code};
use crate::soc::{self, Soc};

/// Devices a host can have.
pub const DEVICES_MAX: u32 = 64;
const DEVICES_DEFAULT: u32 = 8;
/// Least memory of a device, so that a context and a few buffers fit.
const MEMORY_MIN: u64 = 16 << 20;
/// Most memory of a device: arenas of 64 devices and as many peers fit the address space.
const MEMORY_MAX: u64 = 1 << 40;
/// Part of the host's memory that all devices may fill together by default, in percent.
const HOST_SHARE: u64 = 80;
/// Huge page of the device.
pub const HUGE_PAGE: u64 = 2 << 20;

/// Configuration of the software NPU in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Devices of the host.
    pub devices: u32,
    /// Those that this process sees: index = user id, value = id on the host.
    pub visible: Vec<u32>,
    /// The product.
    pub soc: &'static Soc,
    /// Bytes of memory of a device.
    pub memory: u64,
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    /// When a variable has a value outside its range; the message names both.
    pub fn from_env() -> NpuResult<Self> {
        let memory = hccl_os::host::memory().map_err(|error| {
            NpuError::system(code::RT_INTERNAL_ERROR, "the host's memory cannot be read", &error)
        })?;
        Self::from_lookup(|name| std::env::var(name).ok(), memory.total)
    }

    /// As [`Self::from_env`], from any source of variables, on a host with `host_memory` bytes.
    ///
    /// # Errors
    /// As there.
    pub fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
        host_memory: u64,
    ) -> NpuResult<Self> {
        // An empty value means unset: people clear variables that way.
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let devices = match get("SOFTNPU_DEVICES") {
            None => DEVICES_DEFAULT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|n| (1..=DEVICES_MAX).contains(n))
                .ok_or_else(|| invalid("SOFTNPU_DEVICES", &text, "a number from 1 to 64"))?,
        };
        let soc = match get("SOFTNPU_SOC") {
            None => soc::find(soc::DEFAULT),
            Some(name) => Some(soc::find(&name).ok_or_else(|| {
                let names: Vec<_> = soc::SOCS.iter().map(|soc| soc.name).collect();
                invalid("SOFTNPU_SOC", &name, &format!("one of {}", names.join(", ")))
            })?),
        }
        .expect("the default is in the table");
        let memory = match get("SOFTNPU_MEMORY") {
            None => {
                let share = host_memory / 100 * HOST_SHARE / u64::from(devices);
                share.min(soc.memory_mib << 20).max(MEMORY_MIN)
            }
            Some(text) => parse_bytes(&text)
                .filter(|bytes| (MEMORY_MIN..=MEMORY_MAX).contains(bytes))
                .ok_or_else(|| {
                    let allowed = "16M to 1T, as bytes or with a suffix K, M, G or T (of 1024)";
                    invalid("SOFTNPU_MEMORY", &text, allowed)
                })?,
        };
        // Visibility keeps the meaning of an empty value: nothing is visible.
        let visible = visible(lookup("ASCEND_RT_VISIBLE_DEVICES").as_deref(), devices);
        Ok(Self { devices, visible, soc, memory: memory / HUGE_PAGE * HUGE_PAGE })
    }
}

fn invalid(name: &str, given: &str, allowed: &str) -> NpuError {
    NpuError::new(
        code::RT_PARAM_INVALID,
        "EE2002",
        format!(
            "Value {given} for environment variable {name} is invalid. Expected value: {allowed}."
        ),
    )
}

/// A number of bytes, with an optional suffix of powers of 1024.
fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// The list of visible devices: what precedes the first character that is neither digit nor
/// comma, or the first device that does not exist, counts. A list that does not ascend shows
/// nothing.
fn visible(list: Option<&str>, devices: u32) -> Vec<u32> {
    let Some(list) = list else {
        return (0..devices).collect();
    };
    let end = list.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(list.len());
    let mut ids = Vec::new();
    for item in list[..end].split(',') {
        match item.parse::<u32>() {
            Ok(id) if id < devices => ids.push(id),
            _ => break,
        }
    }
    if ids.windows(2).all(|pair| pair[0] < pair[1]) { ids } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> NpuResult<Config> {
        let find = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        Config::from_lookup(find, 100 << 30)
    }

    #[test]
    fn defaults() {
        let config = config(&[]).unwrap();
        assert_eq!((config.devices, config.soc.name), (8, "Ascend910B1"));
        assert_eq!(config.memory, 10 << 30);
        assert_eq!(config.visible, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn values_outside_their_range_are_named() {
        for (name, value) in [
            ("SOFTNPU_DEVICES", "0"),
            ("SOFTNPU_DEVICES", "65"),
            ("SOFTNPU_DEVICES", "eight"),
            ("SOFTNPU_SOC", "Ascend1"),
            ("SOFTNPU_MEMORY", "1M"),
            ("SOFTNPU_MEMORY", "99999999999T"),
            ("SOFTNPU_MEMORY", "1X"),
            ("SOFTNPU_MEMORY", "-1"),
        ] {
            let error = config(&[(name, value)]).unwrap_err();
            assert!(error.message.contains(name) && error.message.contains(value), "{error}");
        }
        assert_eq!(config(&[("SOFTNPU_MEMORY", "3g")]).unwrap().memory, 3 << 30);
        assert_eq!(config(&[("SOFTNPU_DEVICES", "64")]).unwrap().devices, 64);
    }

    #[test]
    fn visible_devices_as_on_real_machines() {
        let shown = |list| visible(Some(list), 8);
        assert_eq!(shown("1, 2,3"), [1]);
        assert_eq!(shown("1,3,8"), [1, 3]);
        assert_eq!(shown("0,2,5"), [0, 2, 5]);
        assert_eq!(shown("2,1"), []);
        assert_eq!(shown("1,1"), []);
        assert_eq!(shown(""), []);
        assert_eq!(shown("x"), []);
    }
}
