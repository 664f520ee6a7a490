//! Facts about this host: memory that can still be had, and marks by which two processes know
//! that they share a kernel and a network namespace.

use crate::error::{Named, OsError, OsResult};

/// Memory of the host, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What this process could use if nothing else ran: the machine's memory, or the control
    /// group's limit where that is smaller.
    pub total: u64,
    /// What can be touched now without pushing anything out.
    pub available: u64,
}

/// Memory of this host, as far as this process may use it.
///
/// # Errors
/// When `/proc` cannot be read, as without a descriptor left.
pub fn memory() -> OsResult<Memory> {
    let text = read("/proc/meminfo")?;
    let field = |name: &str| meminfo_field(&text, name);
    let total = field("MemTotal:").unwrap_or(0);
    let available = field("MemAvailable:").unwrap_or(total);
    Ok(match group_limit() {
        Some((limit, used)) if limit < total => {
            Memory { total: limit, available: available.min(limit.saturating_sub(used)) }
        }
        _ => Memory { total, available },
    })
}

/// The text of a file that every Linux has.
fn read(path: &'static str) -> OsResult<String> {
    std::fs::read_to_string(path).map_err(|error| OsError::Call {
        call: path,
        errno: rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO),
    })
}

fn meminfo_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Limit and use of the control group, if it has a limit.
fn group_limit() -> Option<(u64, u64)> {
    let number = |path: String| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = crate::cpu::own_group_v2().unwrap_or_default();
    for root in [format!("/sys/fs/cgroup{group}"), "/sys/fs/cgroup".to_owned()] {
        if let (Some(limit), Some(used)) =
            (number(format!("{root}/memory.max")), number(format!("{root}/memory.current")))
        {
            return Some((limit, used));
        }
    }
    let root = "/sys/fs/cgroup/memory";
    let limit = number(format!("{root}/memory.limit_in_bytes"))?;
    Some((limit, number(format!("{root}/memory.usage_in_bytes"))?))
}

/// What tells two hosts, and two network namespaces of one host, apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostId {
    /// Random number that the kernel drew at boot.
    pub boot: [u8; 16],
    /// Network namespace of the process: abstract sockets do not reach beyond it.
    pub network: u64,
}

/// Identity of the host and network namespace that this process runs in.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn host_id() -> OsResult<HostId> {
    let text = read("/proc/sys/kernel/random/boot_id")?;
    let mut boot = [0u8; 16];
    let digits: Vec<u8> =
        text.bytes().filter_map(|b| (b as char).to_digit(16).map(|d| d as u8)).collect();
    for (byte, pair) in boot.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    let network = rustix::fs::stat("/proc/self/ns/net").named("stat(/proc/self/ns/net)")?.st_ino;
    Ok(HostId { boot, network })
}

/// Sixteen random bytes from the kernel.
///
/// # Errors
/// When the kernel has none to give.
pub fn random16() -> OsResult<[u8; 16]> {
    let mut bytes = [0u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
                .named("getrandom")?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_memory_and_an_identity() {
        let memory = memory().unwrap();
        assert!(memory.total > 0 && memory.available <= memory.total);
        assert_eq!(host_id().unwrap(), host_id().unwrap());
        assert_ne!(random16().unwrap(), random16().unwrap());
        assert_eq!(meminfo_field("MemTotal:  12 kB\n", "MemTotal:"), Some(12288));
    }
}
