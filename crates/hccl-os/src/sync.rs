//! The atomics that this workspace uses, in one place, so that a model checker can stand in for
//! them.

pub use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering, compiler_fence, fence,
};

/// The 32 bits of a 64-bit word that a futex can watch: the low half, which changes with every
/// step of a counter.
pub fn low_half(word: &AtomicU64) -> &AtomicU32 {
    const { assert!(cfg!(target_endian = "little"), "segments are little-endian") };
    // SAFETY: an AtomicU64 is eight bytes of interior-mutable memory, aligned to eight; on a
    // little-endian machine its first four bytes are the low half. The lifetime is the word's.
    unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) }
}
