//! `libascendcl.so`: the AscendCL runtime C interface on the software NPU.
//!
//! Checks arguments, converts them, calls `softnpu`, and turns failures into codes. Knows nothing
//! of how a device works, nor of collectives.

#![allow(unreachable_pub, reason = "C programs reach what Rust modules do not")]

mod border;
mod callback;
mod context;
mod device;
mod event;
mod extension;
mod init;
mod ipc_memory;
mod logging;
mod memory;
mod notify;
mod operator;
mod profiling;
mod small_operators;
mod stream;
mod tensor;
mod version;
mod virtual_memory;
