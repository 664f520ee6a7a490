//! Applying a scalar function to every lane of a fixed-size group.
//!
//! The arrays become registers once these loops are unrolled. Both functions are plain index loops
//! because `array::map` and the array iterators may stay calls, and a called function is compiled
//! without the instruction set of the shell around it.

/// Applies a function to every lane.
#[inline(always)]
pub(crate) fn map<A: Copy, B: Copy, const N: usize>(
    lanes: [A; N],
    function: impl Fn(A) -> B,
) -> [B; N] {
    let mut out = [function(lanes[0]); N];
    let mut at = 1;
    while at < N {
        out[at] = function(lanes[at]);
        at += 1;
    }
    out
}

/// Applies a function to each pair of lanes.
#[inline(always)]
pub(crate) fn zip<A: Copy, const N: usize>(
    mut left: [A; N],
    right: [A; N],
    function: impl Fn(A, A) -> A,
) -> [A; N] {
    let mut at = 0;
    while at < N {
        left[at] = function(left[at], right[at]);
        at += 1;
    }
    left
}
