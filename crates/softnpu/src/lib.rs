//! The software NPU: devices, device memory, streams and events on host cores and host memory.
//!
//! Knows nothing of collectives, and nothing of C: `libascendcl.so` checks, converts and calls.
//! The rules are those of the AscendCL runtime as its documentation states them.

pub mod arena;
mod background;
pub mod config;
pub mod context;
pub mod copy;
pub mod error;
pub mod event;
pub mod exceptions;
pub mod health;
pub mod host_call;
pub mod host_memory;
mod ipc_event;
pub mod ipc_memory;
pub mod limits;
pub mod log;
pub mod messages;
pub mod notify;
pub mod runtime;
pub mod share;
mod signal;
pub mod soc;
pub mod stream;
pub mod task;
pub mod value;
pub mod virtual_memory;

pub use error::{NpuError, NpuResult, code};
