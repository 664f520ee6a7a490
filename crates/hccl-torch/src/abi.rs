//! The structures that C++ and this library exchange; `python/hccl/native/c10d/table.h` says the
//! same in C.

use std::ffi::{c_char, c_void};

/// Grows with each change of what is in this file; C++ refuses another.
pub(crate) const VERSION: u32 = 2;

/// A tensor: where it is, and how its elements lie.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) data: *mut u8,
    /// Of all elements together.
    pub(crate) elements: u64,
    /// Lengths of the dimensions and steps between their elements; read only where `dimensions` is
    /// not 0. A tensor whose elements lie in order says 0.
    pub(crate) sizes: *const i64,
    pub(crate) strides: *const i64,
    pub(crate) dimensions: u64,
}

/// A collective, or a message.
#[repr(C)]
pub(crate) struct Call {
    /// Number of an operator: those of [`hccl::Operator`], and [`SEND`], [`RECEIVE`].
    pub(crate) operator: u32,
    /// Number of a [`hccl::DataType`].
    pub(crate) data_type: u32,
    /// Number of a [`hccl::ReduceOp`]; read only where the operator reduces.
    pub(crate) reduce_op: u32,
    /// The root of a collective; the other rank of a message, or [`ANY`].
    pub(crate) root: u32,
    /// What both ends call a message.
    pub(crate) tag: u32,
    /// Whether the caller means to do something else meanwhile, so that a thread of ours goes on
    /// with it.
    pub(crate) background: u32,
    /// Milliseconds that it may take; 0 for as long as the group allows.
    pub(crate) timeout_ms: u64,
    pub(crate) inputs: *const View,
    pub(crate) inputs_len: u64,
    pub(crate) outputs: *const View,
    pub(crate) outputs_len: u64,
    /// Elements for each rank, and from each rank: of operators whose ranks differ in them.
    pub(crate) send_lengths: *const u64,
    pub(crate) receive_lengths: *const u64,
    /// Given back to `Hooks::finished` if the call does not end at once.
    pub(crate) owner: *mut c_void,
}

/// A message goes out.
pub(crate) const SEND: u32 = 201;
/// A message comes in.
pub(crate) const RECEIVE: u32 = 202;
/// A message from whichever rank.
pub(crate) const ANY: u32 = u32::MAX;

/// What became of something.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Done = 0,
    /// It goes on.
    Pending = 1,
    /// It did not end in time.
    TimedOut = 2,
    /// It was told to stop, or the group was.
    Aborted = 3,
    /// Another rank, or the way to it, failed.
    Failed = 4,
    /// What was asked cannot be.
    Invalid = 5,
}

/// What this library calls.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    /// A call ended; the owner is C++'s again. The text is null if it ended well. Comes from any
    /// thread, and must not throw.
    pub(crate) finished:
        unsafe extern "C" fn(owner: *mut c_void, status: u32, source: i32, text: *const c_char),
}

/// Bytes of a text that a function may leave.
pub(crate) const TEXT_BYTES: u64 = 4096;
