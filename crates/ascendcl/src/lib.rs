//! `libascendcl.so`: the AscendCL runtime C interface on the software NPU.
//!
//! Checks arguments, converts them, calls `softnpu`, and turns failures into codes. Knows nothing
//! of how a device works, nor of collectives.

#![allow(unreachable_pub, reason = "C programs reach what Rust modules do not")]

mod batch;
mod border;
mod callback;
mod context;
mod device;
mod event;
mod extension;
mod faults;
mod init;
mod ipc_memory;
mod kernels;
mod life_callbacks;
mod limits;
mod logging;
mod memory;
mod memory_more;
mod notify;
mod observers;
mod operator;
mod profiling;
mod small_operators;
mod stream;
mod tensor;
mod tensor_more;
mod version;
mod virtual_memory;
