//! Running programs so that nothing hangs and nothing stays behind.
//!
//! Children stay in our process group: Ctrl-C reaches all of them. They are found again through
//! `/proc`, not by group, because a child may make groups of its own; being a subreaper makes every
//! orphan below us our own child.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

/// A program that runs beside others, which is neither killed nor waited for with what they left.
static BESIDE: Mutex<Option<Pid>> = Mutex::new(None);

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Helpers of a program may end a moment after it.
const GRACE: Duration = Duration::from_secs(3);

/// Makes this process the parent of all orphans among its descendants.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Sends what the command says to our stderr: stdout is for results.
pub(crate) fn talk(command: &mut Command) -> Result<&mut Command> {
    let stderr = io::stderr().as_fd().try_clone_to_owned().context("cannot copy stderr")?;
    Ok(command.stdout(Stdio::from(stderr)).stdin(Stdio::null()))
}

/// Runs a command; an error unless it ends with 0 within `limit`.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<()> {
    run_all(std::slice::from_mut(command), limit)
}

/// Runs commands side by side; an error unless each ends with 0 within `limit`.
pub(crate) fn run_all(commands: &mut [Command], limit: Duration) -> Result<()> {
    let statuses = statuses(commands, limit)?;
    for (command, status) in commands.iter().zip(statuses) {
        if !status.success() {
            bail!("{}: {status}", show(command));
        }
    }
    Ok(())
}

/// Runs a command within `limit`; whatever it left running is killed.
pub(crate) fn status(command: &mut Command, limit: Duration) -> Result<ExitStatus> {
    Ok(statuses(std::slice::from_mut(command), limit)?[0])
}

/// Runs commands side by side within `limit`; whatever they left running is killed.
fn statuses(commands: &mut [Command], limit: Duration) -> Result<Vec<ExitStatus>> {
    let shown = commands.iter().map(show).collect::<Vec<_>>().join(" and ");
    let mut children = Vec::new();
    for command in commands {
        match command.spawn() {
            Ok(child) => children.push(child),
            Err(error) => {
                kill_all(&mut children);
                return Err(error).with_context(|| format!("cannot start {}", show(command)));
            }
        }
    }
    let begin = Instant::now();
    loop {
        let found: io::Result<Option<Vec<ExitStatus>>> =
            children.iter_mut().map(Child::try_wait).collect();
        if let Some(statuses) = found.with_context(|| format!("cannot wait for {shown}"))? {
            let left = kill_descendants_after(GRACE);
            if left > 0 {
                eprintln!("xtask: {shown} left {left} process(es) running; they were killed");
            }
            return Ok(statuses);
        }
        if begin.elapsed() >= limit {
            kill_all(&mut children);
            bail!("{shown}: not finished after {} s, killed", limit.as_secs());
        }
        std::thread::sleep(POLL);
    }
}

/// Kills children and all below them.
fn kill_all(children: &mut [Child]) {
    kill_descendants();
    for child in children {
        let _ = child.wait();
    }
    kill_descendants();
}

/// A program that runs beside others until it ends or this is dropped. There is one at a time.
pub(crate) struct Beside(Child);

impl Beside {
    /// Starts a command.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot start {}", show(command)))?;
        *beside() = Pid::from_raw(child.id().cast_signed());
        Ok(Self(child))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        *beside() = None;
        // Nothing else of ours runs now. One that has ended was collected before.
        kill_descendants();
        let _ = self.0.wait();
    }
}

fn beside() -> std::sync::MutexGuard<'static, Option<Pid>> {
    BESIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a command prints; an error unless it ends with 0.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown}: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown}: output is not UTF-8"))
}

/// Is there a program of this name that can be started?
pub(crate) fn exists(program: &str) -> bool {
    find(program).is_some()
}

/// The program that would be started by this name.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Kills what has not ended by itself after a moment.
fn kill_descendants_after(grace: Duration) -> usize {
    let begin = Instant::now();
    while begin.elapsed() < grace {
        reap_orphans();
        if descendants().is_empty() {
            return 0;
        }
        std::thread::sleep(POLL);
    }
    kill_descendants()
}

/// Kills everything below this process and collects what can be collected. Returns how many there
/// were.
fn kill_descendants() -> usize {
    let mut killed = 0;
    // A process may start another one while we read, so look until nothing is left.
    for _ in 0..50 {
        let found = descendants();
        if found.is_empty() {
            break;
        }
        for pid in found {
            if rustix::process::kill_process(pid, Signal::KILL).is_ok() {
                killed += 1;
            }
        }
        std::thread::sleep(POLL);
        reap_orphans();
    }
    killed
}

/// Processes below this one that are not dead yet.
pub(crate) fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<(i32, bool)>> = HashMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // "pid (name) state ppid ...": the name may hold anything, also parentheses.
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let mut fields = rest.split_whitespace();
        let dead = matches!(fields.next(), Some("Z" | "X"));
        if let Some(parent) = fields.next().and_then(|field| field.parse().ok()) {
            children.entry(parent).or_default().push((pid, dead));
        }
    }
    let beside = beside().map(|pid| pid.as_raw_nonzero().get());
    let mut found = Vec::new();
    let mut open = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for &(pid, dead) in children.get(&parent).map_or(&[][..], Vec::as_slice) {
            if Some(pid) == beside {
                continue;
            }
            open.push(pid);
            if !dead {
                found.extend(Pid::from_raw(pid));
            }
        }
    }
    found
}

/// Collects orphans that have ended. Only called when no child is being waited for.
fn reap_orphans() {
    use rustix::process::{WaitId, WaitIdOptions};
    // WNOWAIT first would be needed if a `Child` were still open; there is none but ours, and
    // `Child::wait` reports its loss as an error that we ignore.
    while let Ok(Some(_)) =
        rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
    {}
}

/// The command as a person would type it, shortened.
fn show(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args().take(8) {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test for all of it: what is below this process is killed, and that would be the children
    /// of another test as well.
    #[test]
    fn a_time_out_reaches_grandchildren_and_nothing_is_left_behind() {
        adopt_orphans().unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let second = Duration::from_secs(1);
        run(&mut shell("exit 0"), 60 * second).unwrap();
        let error = run(&mut shell("exit 3"), 60 * second).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
        let mut both = [shell("exit 0"), shell("sleep 0.1; exit 4")];
        let error = run_all(&mut both, 60 * second).unwrap_err();
        assert!(error.to_string().contains("exit 4: exit status: 4"), "{error}");

        // The grandchild leaves group and session, and its parent dies before it.
        let error = run(&mut shell("(setsid sleep 1000 &); sleep 1000"), second / 5).unwrap_err();
        assert!(error.to_string().contains("not finished"), "{error}");
        assert!(descendants().is_empty());

        assert!(status(&mut shell("sleep 1000 & exit 5"), 60 * second).unwrap().code() == Some(5));
        assert!(descendants().is_empty());

        // What runs beside is left alone, with its own children, until it is dropped.
        let beside = Beside::start(&mut shell("sleep 1000; true")).unwrap();
        status(&mut shell("sleep 1000 & exit 0"), 60 * second).unwrap();
        assert!(descendants().is_empty());
        let pid = beside.0.id();
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state().contains("(sh) S"), "{}", state());
        drop(beside);
        assert_eq!(state(), "");
        assert!(descendants().is_empty());
    }
}
