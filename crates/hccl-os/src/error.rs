//! The one error of this crate.

use rustix::io::Errno;

/// A system call failed, or gave something that this crate does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OsError {
    /// The kernel refused the call.
    #[error("{call} failed: {errno} (errno {})", errno.raw_os_error())]
    Call {
        /// The system call.
        call: &'static str,
        /// Why it failed.
        errno: Errno,
    },
    /// A descriptor or a message is not what its sender should have sent.
    #[error("{what}: found {found}, expected {expected}")]
    Unexpected {
        /// What was looked at.
        what: &'static str,
        /// What was there.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// The other end closed the connection.
    #[error("the other end closed the connection")]
    Closed,
    /// Nothing came in time.
    #[error("timed out")]
    TimedOut,
}

impl OsError {
    /// Whether a name or an address is taken.
    pub fn is_address_in_use(&self) -> bool {
        matches!(self, Self::Call { errno: Errno::ADDRINUSE, .. })
    }
}

/// Result of this crate's calls.
pub type OsResult<T> = Result<T, OsError>;

/// Gives an [`Errno`] the name of the call that failed.
pub(crate) trait Named<T> {
    fn named(self, call: &'static str) -> OsResult<T>;
}

impl<T> Named<T> for Result<T, Errno> {
    fn named(self, call: &'static str) -> OsResult<T> {
        self.map_err(|errno| OsError::Call { call, errno })
    }
}
