//! The shell for what the compiler assumes of the target; on AArch64 that is Advanced SIMD.

use super::{Kernel, Shell};
use crate::body::body;
use crate::element::Element;
use crate::operator::Operator;

pub(crate) struct Portable;

impl Shell for Portable {
    fn kernel<E: Element, O: Operator<E::Accumulator>, const N: usize>() -> Kernel {
        portable::<E, O, N>
    }
}

/// # Safety
/// As for [`crate::Reducer::run`], with elements of type `E`.
unsafe fn portable<E: Element, O: Operator<E::Accumulator>, const N: usize>(
    targets: &[*mut u8],
    sources: &[*const u8],
    len: usize,
    divisor: u32,
) {
    // SAFETY: the same demands; there is no instruction set beyond the target's.
    unsafe { body::<E, O, Portable, N>(targets, sources, len, divisor) }
}
