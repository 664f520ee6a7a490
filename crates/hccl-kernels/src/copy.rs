//! Copying bytes.

#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

#[cfg(target_arch = "x86_64")]
use crate::Isa;

/// From so many bytes on the loop of the own instruction set is taken; below it the C library's
/// copy has no call of its own to lose.
#[cfg(target_arch = "x86_64")]
const LOOP_FROM: usize = 1024;

/// Whether the own loop runs: it needs AVX, and whoever asks for portable kernels on a CPU that has
/// better ones gets no other.
#[cfg(target_arch = "x86_64")]
static OWN_LOOP: LazyLock<bool> = LazyLock::new(|| {
    let asked_away = Isa::chosen() == Isa::Portable && Isa::best() != Isa::Portable;
    is_x86_feature_detected!("avx") && !asked_away
});

/// How bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Through the cache: for what is read or written again soon.
    Cached,
    /// Past the cache, where the CPU can: for large targets that nobody looks at soon. They are not
    /// read first, which saves a third of the traffic, and leave in the cache what is there.
    Streaming,
}

/// Copies bytes.
///
/// # Safety
/// 1. `source` is valid for reads and `target` for writes of `bytes` bytes.
/// 2. The two regions are disjoint, or `source == target`.
/// 3. Until return no other thread or process writes the source region or touches the target one.
#[inline]
pub unsafe fn copy(target: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the same demands.
    unsafe { copy_with(Stores::Cached, target, source, bytes) }
}

/// Copies bytes, stored in a way of one's own choice.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub unsafe fn copy_with(stores: Stores, target: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the same demands.
    unsafe { copy_part(stores, target, source, bytes) };
    if stores == Stores::Streaming {
        end_of_stream();
    }
}

/// Stores past the cache that [`copy_part`] made are over.
#[inline]
pub(crate) fn end_of_stream() {
    #[cfg(target_arch = "x86_64")]
    crate::arch::end_of_stream();
}

/// As [`copy_with`]; stores past the cache are over after [`end_of_stream`].
///
/// # Safety
/// As for [`copy`].
#[inline]
pub(crate) unsafe fn copy_part(stores: Stores, target: *mut u8, source: *const u8, bytes: usize) {
    if std::ptr::eq(target, source) {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if bytes >= LOOP_FROM && *OWN_LOOP {
        // SAFETY: (1) and (3) make the accesses valid; the pointers differ, so that by (2) the
        // regions are disjoint; the CPU was asked.
        return unsafe {
            match stores {
                Stores::Cached => crate::arch::copy::<false>(target, source, bytes),
                Stores::Streaming => crate::arch::copy::<true>(target, source, bytes),
            }
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = stores;
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) }
}

#[cfg(test)]
mod tests {
    use super::{Stores, copy_with};

    /// Copies `len` bytes between places that lie `from` and `to` bytes from a cache line on, and
    /// looks at each byte of the target and around it.
    fn check(stores: Stores, len: usize, from: usize, to: usize) {
        let byte = |i: usize| (i * 31 + i / 256 + 7) as u8;
        let source: Vec<u8> = (0..len + 128).map(byte).collect();
        let mut target = vec![0xa5u8; len + 256];
        let begin = |address: usize, offset: usize| address.next_multiple_of(64) - address + offset;
        let first = begin(source.as_ptr() as usize, from);
        let at = begin(target.as_ptr() as usize, to);
        // SAFETY: both vectors have the bytes, and nobody else has them.
        unsafe { copy_with(stores, target.as_mut_ptr().add(at), source.as_ptr().add(first), len) };
        for (i, &found) in target.iter().enumerate() {
            let expected = if (at..at + len).contains(&i) { byte(first + i - at) } else { 0xa5 };
            assert_eq!(found, expected, "byte {i}, {len} bytes from {from} to {to}, {stores:?}");
        }
    }

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        for stores in [Stores::Cached, Stores::Streaming] {
            for len in (0..130).chain(1000..1200).chain([4096, 65_537]) {
                for (from, to) in [(0, 0), (1, 0), (0, 1), (16, 3), (31, 63)] {
                    check(stores, len, from, to);
                }
            }
        }
    }

    #[test]
    fn in_place_is_nothing_to_do() {
        let mut bytes: Vec<u8> = (0..200).map(|i| i as u8).collect();
        let place = bytes.as_mut_ptr();
        // SAFETY: one live vector of 200 bytes, in place.
        unsafe { super::copy(place, place, 200) };
        assert!(bytes.iter().enumerate().all(|(i, &byte)| byte == i as u8));
    }
}
