//! Processes: is the one behind a handle still alive?

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::PidfdFlags;

use crate::error::{Named, OsResult};

/// A handle to a process that stays right when its number is used again, and that works across
/// process-id namespaces when it is passed over a socket.
///
/// A pidfd where the kernel has them (5.3), else the process's folder under `/proc`.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// A handle to this process.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn own() -> OsResult<Self> {
        match rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()) {
            Err(Errno::NOSYS | Errno::PERM) => Self::own_folder(),
            opened => opened.map(Self).named("pidfd_open"),
        }
    }

    fn own_folder() -> OsResult<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open("/proc/self", flags, Mode::empty()).map(Self).named("open(/proc/self)")
    }

    /// Takes a handle that came from the process itself.
    pub fn adopt(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// False once the process has ended. A handle that cannot be asked counts as alive: its
    /// silence is found by time-outs.
    pub fn is_alive(&self) -> bool {
        let folder = rustix::fs::fstat(&self.0)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        if folder { self.folder_lives() } else { self.pidfd_lives() }
    }

    fn pidfd_lives(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut fds, Some(&now)) {
            Ok(_) => !fds[0].revents().contains(PollFlags::IN),
            Err(_) => true,
        }
    }

    fn folder_lives(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut text = [0u8; 512];
        let read = rustix::fs::openat(&self.0, "stat", flags, Mode::empty())
            .and_then(|file| rustix::io::read(&file, &mut text));
        match read {
            Ok(len) => {
                // "pid (name) state ...": the name may hold anything, the last bracket ends it.
                let text = String::from_utf8_lossy(&text[..len]);
                let state = text.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
                !matches!(state, Some('Z' | 'X'))
            }
            Err(Errno::NOENT | Errno::SRCH) => false,
            Err(_) => true,
        }
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// This process's number, in its own namespace.
pub fn own_id() -> u32 {
    std::process::id()
}

/// The user that this process acts as.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_knows_when_its_process_ends() {
        assert!(ProcessHandle::own().unwrap().is_alive());
        assert!(ProcessHandle::own_folder().unwrap().is_alive());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let folder = std::fs::File::open(format!("/proc/{}", child.id())).unwrap();
        let handles = [ProcessHandle::adopt(fd), ProcessHandle::adopt(folder.into())];
        assert!(handles.iter().all(ProcessHandle::is_alive));
        child.kill().unwrap();
        // Dead and not yet waited for counts as dead.
        while handles.iter().any(ProcessHandle::is_alive) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!handles.iter().any(ProcessHandle::is_alive));
    }
}
