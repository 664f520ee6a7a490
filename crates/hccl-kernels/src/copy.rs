//! Moving bytes from one region to another.

/// Copies `bytes` bytes; does nothing if both pointers are the same.
///
/// # Safety
/// 1. `source` is valid for reads and `target` for writes of `bytes` bytes.
/// 2. The two regions are disjoint, or `source == target`.
/// 3. Until return no other thread or process writes the source region or touches the target one.
pub unsafe fn copy(target: *mut u8, source: *const u8, bytes: usize) {
    if !std::ptr::eq(target, source) {
        // SAFETY: (1) and (3) make the accesses valid; the pointers differ, so that by (2) the
        // regions are disjoint.
        unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn copies_elsewhere_and_in_place() {
        let source: Vec<u8> = (0..=255).collect();
        let mut target = vec![0; 256];
        // SAFETY: two live vectors of at least 255 bytes.
        unsafe { super::copy(target.as_mut_ptr(), source.as_ptr(), 255) };
        assert_eq!(target[..255], source[..255]);
        assert_eq!(target[255], 0);
        let place = target.as_mut_ptr();
        // SAFETY: one live vector of 256 bytes, in place.
        unsafe { super::copy(place, place, 256) };
        assert_eq!(target[..255], source[..255]);
    }
}
