//! `libhccl.so`: the HCCL C interface on the engine.
//!
//! Checks arguments, converts them, calls `hccl`, and turns failures into codes and records of the
//! error catalogue. Knows nothing of algorithms. Reaches the device only through the C interface
//! of whatever `libascendcl.so` is loaded, looked up at run time.

#![allow(unreachable_pub, reason = "C programs reach what Rust modules do not")]

mod border;
mod communicators;
mod config;
mod environment;
mod errors;
mod expansion;
mod forms;
mod graph;
mod group;
mod hcom;
mod mc2;
mod memory;
mod operators;
mod rank_graph;
mod resources;
mod runtime;
mod settings;
mod support;
mod task;
mod topology;
mod transfers;
mod tuner;
mod uneven;
