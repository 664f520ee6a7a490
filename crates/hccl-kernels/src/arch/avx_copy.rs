//! Copies by 256-bit moves.
//!
//! Where a target begins a few bytes further in its page than the source, as a program's vector does
//! against the room of a communicator, the C library's `memcpy` moves 3 GB/s on AMD's Zen 3, and
//! 40 otherwise (`cargo bench -p hccl-kernels --bench copy`). This loop knows no such place.

use std::arch::x86_64::*;

/// Bytes of a register.
const LANE: usize = 32;
/// Bytes that one turn of the loop moves.
const TURN: usize = 4 * LANE;

/// Copies, with stores that go past the cache if `STREAMS` says so; these are over after
/// [`end_of_stream`].
///
/// # Safety
/// 1. As for [`crate::copy`], with at least [`LANE`] bytes.
/// 2. The CPU has AVX.
#[target_feature(enable = "avx")]
pub(crate) unsafe fn copy<const STREAMS: bool>(target: *mut u8, source: *const u8, bytes: usize) {
    debug_assert!(bytes >= LANE);
    // SAFETY: by (1) both regions have `bytes` bytes and are disjoint. The first and the last
    // register are stored unaligned; those between begin at the first multiple of `LANE` in the
    // target, which lies within the first register, and end before the last register ends.
    unsafe {
        let first = _mm256_loadu_si256(source.cast());
        let last = _mm256_loadu_si256(source.add(bytes - LANE).cast());
        let mut at = target.align_offset(LANE);
        while at + TURN <= bytes {
            let from = source.add(at);
            let to = target.add(at).cast::<__m256i>();
            let lanes: [__m256i; 4] = [
                _mm256_loadu_si256(from.cast()),
                _mm256_loadu_si256(from.add(LANE).cast()),
                _mm256_loadu_si256(from.add(2 * LANE).cast()),
                _mm256_loadu_si256(from.add(3 * LANE).cast()),
            ];
            for (i, lane) in lanes.into_iter().enumerate() {
                if STREAMS {
                    _mm256_stream_si256(to.add(i), lane);
                } else {
                    _mm256_store_si256(to.add(i), lane);
                }
            }
            at += TURN;
        }
        while at + LANE <= bytes {
            let lane = _mm256_loadu_si256(source.add(at).cast());
            _mm256_store_si256(target.add(at).cast(), lane);
            at += LANE;
        }
        // Lines that went past the cache would have to come back for these.
        if target.align_offset(LANE) > 0 {
            _mm256_storeu_si256(target.cast(), first);
        }
        if at < bytes {
            _mm256_storeu_si256(target.add(bytes - LANE).cast(), last);
        }
    }
}

/// Stores past the cache are over: what another rank is told afterwards finds the bytes.
pub(crate) fn end_of_stream() {
    // SAFETY: a fence of SSE, which every x86-64 has.
    unsafe { _mm_sfence() };
}
