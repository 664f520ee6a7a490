//! Layouts of the software NPU's extensions, as `include/softnpu/softnpu.h` has them: what the two
//! libraries say to each other.

use std::ffi::{c_char, c_int, c_void};

/// `SOFTNPU_POLL_DONE`.
pub const POLL_DONE: i32 = 0;
/// `SOFTNPU_POLL_PROGRESS`: did something, poll again at once.
pub const POLL_PROGRESS: i32 = -1;
/// `SOFTNPU_POLL_PENDING`: cannot go on; the wake word says what to wait for.
pub const POLL_PENDING: i32 = -2;

/// `softnpuWake`: a word that a pending task waits on.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// The word, or NULL if there is none.
    pub word: *const u32,
    /// The value that means "nothing new".
    pub seen: u32,
    /// Whether other processes change the word.
    pub shared: u32,
    /// Whether to spin a little.
    pub spin: u32,
    /// The longest to sleep, in microseconds; 0 if it does not matter.
    pub sleep_us: u32,
}
const _: () = assert!(size_of::<Wake>() == 24);

impl Wake {
    /// No word to wait for.
    pub const NONE: Self =
        Self { word: std::ptr::null(), seen: 0, shared: 0, spin: 0, sleep_us: 0 };
}

/// Polls a task; gives a `POLL_*` value or the code of its failure.
pub type Poll = unsafe extern "C" fn(data: *mut c_void, arm: u32, wake: *mut Wake) -> i32;
/// Lets a task go.
pub type Release = unsafe extern "C" fn(data: *mut c_void);

/// `softnpuTask`: a task that a stream runs by polling it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Size of the caller's structure.
    pub size: usize,
    /// For logs.
    pub name: *const c_char,
    /// The functions' own.
    pub data: *mut c_void,
    /// Goes as far as it can.
    pub poll: Option<Poll>,
    /// Called once, at the end.
    pub release: Option<Release>,
}
const _: () = assert!(size_of::<Task>() == 40);

/// `softnpuMemory`: where a device pointer lives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Size of the caller's structure.
    pub size: usize,
    /// User id of the device.
    pub device: i32,
    /// Descriptor of the arena's memory file.
    pub fd: c_int,
    /// First byte of the arena in this process.
    pub base: *mut u8,
    /// Bytes of the arena.
    pub length: u64,
    /// Offset of the allocation.
    pub allocation: u64,
    /// Bytes of the allocation.
    pub allocated: u64,
    /// Offset of the pointer.
    pub offset: u64,
    /// How often the device was reset before the allocation was made.
    pub epoch: u64,
}
const _: () = assert!(size_of::<Memory>() == 64);

impl Memory {
    /// A structure to be filled.
    pub const EMPTY: Self = Self {
        size: size_of::<Self>(),
        device: -1,
        fd: -1,
        base: std::ptr::null_mut(),
        length: 0,
        allocation: 0,
        allocated: 0,
        offset: 0,
        epoch: 0,
    };
}
