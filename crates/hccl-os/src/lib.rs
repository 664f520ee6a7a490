//! System calls and what wraps them: anonymous shared memory, futex waiting, processes, local
//! sockets that carry descriptors, and how much of the machine this process may use.
//!
//! Knows nothing of ranks, operators or devices. Every failure is an [`OsError`] that names the
//! call and the error number.

pub mod barrier;
pub mod cpu;
mod error;
pub mod fork;
pub mod host;
pub mod process;
pub mod remote;
pub mod shm;
pub mod socket;
pub mod sync;
pub mod wait;

pub use error::{OsError, OsResult};
