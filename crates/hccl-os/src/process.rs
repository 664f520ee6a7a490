//! Processes: is the one behind a handle still alive?

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::PidfdFlags;

use crate::error::{Named, OsResult};

/// A handle to a process that stays right when its number is used again, and that works across
/// process-id namespaces when it is passed over a socket.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// A handle to this process.
    ///
    /// # Errors
    /// When the kernel knows no pidfd (before 5.3) or has no descriptor left.
    pub fn own() -> OsResult<Self> {
        rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())
            .map(Self)
            .named("pidfd_open")
    }

    /// Takes a handle that came from the process itself.
    pub fn adopt(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// False once the process has ended. A handle that cannot be asked counts as alive: its
    /// silence is found by time-outs.
    pub fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut fds, Some(&now)) {
            Ok(_) => !fds[0].revents().contains(PollFlags::IN),
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
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let handle = ProcessHandle::adopt(fd);
        assert!(handle.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!handle.is_alive());
    }
}
