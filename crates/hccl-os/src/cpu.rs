//! How many cores this process may use: its affinity mask, cut by a cgroup quota.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Whole cores that this process may keep busy at once, at least one. Read once.
pub fn allowance() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        let mask =
            rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize).max(1);
        match quota() {
            Some(cores) => mask.min((cores.floor() as usize).max(1)),
            None => mask,
        }
    })
}

/// Keeps the calling thread, and threads that it starts from now on, on the n-th of the cores that
/// it may use. False if there are not as many, or the kernel refuses.
pub fn pin(n: usize) -> bool {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return false };
    let Some(core) = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).nth(n) else {
        return false;
    };
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).is_ok()
}

/// Bytes of the largest cache of the first core, as the kernel knows it, within reason: a virtual
/// machine may show a cache that it shares with many others. Read once.
pub fn last_level_cache() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let folder = "/sys/devices/system/cpu/cpu0/cache";
        let size = |index: u32| {
            let text = std::fs::read_to_string(format!("{folder}/index{index}/size")).ok()?;
            parse_cache_size(&text)
        };
        (0..8).filter_map(size).max().map_or(CACHE_MAX, |bytes| bytes.min(CACHE_MAX))
    })
}

/// No core has more cache to itself, for good.
const CACHE_MAX: u64 = 32 << 20;

/// A size as the kernel writes it, as in `32768K`.
fn parse_cache_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().find(|(_, letter)| !letter.is_ascii_digit()) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    };
    let unit = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Cores that the control group grants, if it limits them (version 2, then version 1).
fn quota() -> Option<f64> {
    if let Some(group) = own_group_v2() {
        // A limit may stand at any level above ours.
        let mut path = PathBuf::from("/sys/fs/cgroup").join(group.trim_start_matches('/'));
        let mut least: Option<f64> = None;
        while path.starts_with("/sys/fs/cgroup") {
            let text = std::fs::read_to_string(path.join("cpu.max")).unwrap_or_default();
            if let Some(cores) = parse_cpu_max(&text) {
                least = Some(least.map_or(cores, |l| l.min(cores)));
            }
            if !path.pop() {
                break;
            }
        }
        if least.is_some() {
            return least;
        }
    }
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup/cpu");
    // Inside of a container the group is named as seen from outside: then its path does not exist,
    // and the root of the hierarchy is the group.
    let own = root.join(own_group_v1(&text, "cpu").unwrap_or("/").trim_start_matches('/'));
    let levels = own.ancestors().take_while(|path| path.starts_with(root));
    levels.filter_map(quota_v1).reduce(f64::min)
}

/// The limit that a group of the version 1 hierarchy sets itself.
fn quota_v1(group: &Path) -> Option<f64> {
    let read = |name: &str| -> Option<f64> {
        std::fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()
    };
    let (quota, period) = (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Path of a group in the version 1 hierarchy of a controller, from the text of `/proc/self/cgroup`.
fn own_group_v1<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let mounted = fields.next()?.split(',').any(|one| one == controller);
        fields.next().filter(|_| mounted)
    })
}

/// Path of this process's group in the version 2 hierarchy.
pub(crate) fn own_group_v2() -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_to_a_core_that_it_may_use() {
        let pinned = std::thread::spawn(|| {
            assert!(!pin(usize::MAX));
            assert!(pin(0));
            let set = rustix::thread::sched_getaffinity(None).unwrap();
            assert_eq!(set.count(), 1);
            // There is no second one any more.
            assert!(!pin(1));
        });
        pinned.join().unwrap();
    }

    #[test]
    fn cache_sizes_are_read() {
        assert_eq!(parse_cache_size("32768K\n"), Some(32 << 20));
        assert_eq!(parse_cache_size("105M"), Some(105 << 20));
        assert_eq!(parse_cache_size("512"), Some(512));
        for odd in ["", "K", "12X", "99999999999999999999G", "-1K"] {
            assert_eq!(parse_cache_size(odd), None, "{odd}");
        }
        assert!((1..=CACHE_MAX).contains(&last_level_cache()));
    }

    #[test]
    fn a_group_of_version_1_is_found_by_its_controller() {
        let text = "12:cpuset:/\n4:cpu,cpuacct:/jobs/a:b\n1:name=systemd:/\n0::/\n";
        assert_eq!(own_group_v1(text, "cpu"), Some("/jobs/a:b"));
        assert_eq!(own_group_v1(text, "cpuset"), Some("/"));
        assert_eq!(own_group_v1(text, "memory"), None);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(quota_v1(folder.path()), None);
        std::fs::write(folder.path().join("cpu.cfs_period_us"), "100000\n").unwrap();
        std::fs::write(folder.path().join("cpu.cfs_quota_us"), "-1\n").unwrap();
        assert_eq!(quota_v1(folder.path()), None, "without a limit");
        std::fs::write(folder.path().join("cpu.cfs_quota_us"), "150000\n").unwrap();
        assert_eq!(quota_v1(folder.path()), Some(1.5));
    }

    #[test]
    fn cpu_max_forms() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("50000 100000\n"), Some(0.5));
        assert_eq!(parse_cpu_max("200000 100000"), Some(2.0));
        assert_eq!(parse_cpu_max("rubbish"), None);
        assert!(allowance() >= 1);
    }
}
