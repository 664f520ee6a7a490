//! A fifth of a core: a control group of our own where this process may make one, else a duty cycle
//! of signals on the processes that we started.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::on_one_core;
use crate::process;

/// The usual period of the kernel, and what of it may be used.
const PERIOD_US: u64 = 100_000;
const QUOTA_US: u64 = PERIOD_US / 5;
/// The same share by signals, in shorter turns.
const RUN: Duration = Duration::from_millis(2);
const STOP: Duration = Duration::from_millis(8);
/// How long processes of a group may take to be gone.
const GRACE: Duration = Duration::from_secs(3);
/// Groups are called after the process that made them.
const NAME: &str = "hccl-rs-quota-";

pub(super) enum Quota {
    Group(Group),
    Signals { why: String },
}

impl Quota {
    pub(super) fn new() -> Self {
        match Group::create() {
            Ok(group) => Self::Group(group),
            Err(error) => Self::Signals { why: error.to_string() },
        }
    }

    /// Runs a command and all that it starts with a fifth of a core.
    pub(super) fn run(&self, command: &mut Command, limit: Duration) -> Result<()> {
        match self {
            Self::Group(group) => process::run(&mut group.inside(command)?, limit),
            Self::Signals { .. } => on_one_core(|| in_turns(|| process::run(command, limit))),
        }
    }

    /// Says how often the group had to wait. That it never did would mean that it did not act.
    pub(super) fn report(&self) -> Result<()> {
        let Self::Group(group) = self else { return Ok(()) };
        let text = fs::read_to_string(group.folder.join("cpu.stat")).context("cpu.stat")?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let (throttled, periods) = (number("nr_throttled "), number("nr_periods "));
        eprintln!("xtask: the group had used up its time in {throttled} of {periods} periods");
        anyhow::ensure!(throttled > 0, "the quota of {} did not act", group.folder.display());
        Ok(())
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => {
                write!(f, "a fifth of a core by the control group {}", group.folder.display())
            }
            Self::Signals { why } => write!(
                f,
                "a fifth of a core by signals, on one core, {} ms of every {}: {why}",
                RUN.as_millis(),
                (RUN + STOP).as_millis()
            ),
        }
    }
}

/// A control group with a quota, removed when dropped.
pub(super) struct Group {
    folder: PathBuf,
}

impl Group {
    fn create() -> io::Result<Self> {
        let mut refused = io::Error::other("no hierarchy of control groups was found");
        for (version, parent) in own_groups(&fs::read_to_string("/proc/self/cgroup")?) {
            match Self::below(&parent, version) {
                Ok(group) => return Ok(group),
                Err(error) => {
                    let text = format!("no control group below {}: {error}", parent.display());
                    refused = io::Error::other(text);
                }
            }
        }
        Err(refused)
    }

    fn below(parent: &Path, version: Version) -> io::Result<Self> {
        remove_those_of_dead_processes(parent);
        let folder = parent.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Self { folder };
        let write = |name: &str, text: String| fs::write(group.folder.join(name), text);
        match version {
            Version::One => {
                write("cpu.cfs_period_us", PERIOD_US.to_string())?;
                write("cpu.cfs_quota_us", QUOTA_US.to_string())?;
            }
            Version::Two => write("cpu.max", format!("{QUOTA_US} {PERIOD_US}"))?,
        }
        Ok(group)
    }

    /// The command, as one that enters the group before it begins.
    fn inside(&self, command: &Command) -> Result<Command> {
        let mut inside = Command::new("sh");
        inside.args(["-c", r#"echo $$ >"$1" && shift && exec "$@""#, "sh"]);
        inside.arg(self.folder.join("cgroup.procs"));
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        process::talk(&mut inside)?;
        Ok(inside)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let begun = Instant::now();
        while let Err(error) = fs::remove_dir(&self.folder) {
            if begun.elapsed() > GRACE {
                eprintln!("xtask: {} cannot be removed: {error}", self.folder.display());
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Version of a hierarchy of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where groups of this process's own can be made: in the hierarchy of the controller `cpu` of
/// version 1, and in that of version 2. `text` is that of `/proc/self/cgroup`.
fn own_groups(text: &str) -> Vec<(Version, PathBuf)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(own)) = (fields.next(), fields.next()) else { continue };
        let (version, root) = if controllers.split(',').any(|one| one == "cpu") {
            (Version::One, Path::new("/sys/fs/cgroup/cpu"))
        } else if controllers.is_empty() {
            (Version::Two, Path::new("/sys/fs/cgroup"))
        } else {
            continue;
        };
        let inside = root.join(own.trim_start_matches('/'));
        // In a container the name may be that from outside.
        found.push((version, if inside.is_dir() { inside } else { root.to_owned() }));
    }
    found
}

/// Groups that runs left which were killed.
fn remove_those_of_dead_processes(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Runs something whose processes are stopped and let go in turns.
fn in_turns<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let over = AtomicBool::new(false);
    let signal = |signal| {
        for pid in process::descendants() {
            // One that has ended meanwhile is none to stop.
            let _ = rustix::process::kill_process(pid, signal);
        }
    };
    let turns = || {
        while !over.load(Ordering::Relaxed) {
            signal(Signal::STOP);
            std::thread::sleep(STOP);
            signal(Signal::CONT);
            std::thread::sleep(RUN);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(turns);
        let _over = Over(&over);
        body()
    })
}

/// Says that something is over when it is dropped, so that a panic ends the turns as well.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_controller() {
        let text = "5:memory:/a\n4:cpu,cpuacct:/there/is/none\n0::/nor/this\n";
        let expected = [
            (Version::One, PathBuf::from("/sys/fs/cgroup/cpu")),
            (Version::Two, PathBuf::from("/sys/fs/cgroup")),
        ];
        assert_eq!(own_groups(text), expected);
        assert!(own_groups("5:cpuset:/a\nrubbish\n").is_empty());
    }
}
