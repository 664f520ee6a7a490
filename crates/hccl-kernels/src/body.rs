//! The reduction loop, written once for all element types, operators and instruction sets.
//!
//! ```text
//! for each group of N elements:
//!     lanes = widen(group of the first source)
//!     for each further source, in order:
//!         lanes = lanes op widen(group of the source)
//!     an average divides the lanes
//!     for each target:
//!         group of the target = narrow(lanes)
//! ```
//!
//! - A group is a few vector registers: every source is read once, every target written once, and
//!   nothing else touches memory.
//! - A group is loaded whole before it is stored. In-place reduction needs no other care, and the
//!   compiler needs no proof that targets and sources are apart. (A plain loop over elements is
//!   vectorised under a check that they are, which in-place reduction fails.)
//! - The two hottest shapes have their counts as constants, so that the inner loops vanish.
//! - More than `FAN_IN` sources are read in passes over a block of accumulators that stays in the
//!   first-level cache, because the prefetchers follow only so many streams at a time.
//! - What is left of the last group goes through the same code in groups of one.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::arch::Shell;
use crate::copy::copy;
use crate::element::Element;
use crate::lanes::map;
use crate::operator::{Number as _, Operator};

/// Reduces `sources` into every one of `targets`.
///
/// # Safety
/// 1. The demands of [`crate::Reducer::run`] hold for elements of type `E`.
/// 2. The CPU has the instruction set of `S`.
#[inline(always)]
pub(crate) unsafe fn body<E: Element, O: Operator<E::Accumulator>, S: Shell, const N: usize>(
    targets: &[*mut u8],
    sources: &[*const u8],
    len: usize,
    divisor: u32,
) {
    // SAFETY: each function has the same two demands; `copy` only needs the first.
    unsafe {
        match (targets, sources) {
            (_, &[source]) if !O::DIVIDES || divisor == 1 => {
                for &target in targets {
                    copy(target, source, len * size_of::<E>());
                }
            }
            (&[t], &[a, b]) => side_by_side::<E, O, S, N>(&[t], &[a, b], len, divisor),
            (&[t, u], &[a, b]) => side_by_side::<E, O, S, N>(&[t, u], &[a, b], len, divisor),
            _ if sources.len() <= FAN_IN => {
                side_by_side::<E, O, S, N>(targets, sources, len, divisor)
            }
            _ => in_passes::<E, O, S, N>(targets, sources, len, divisor),
        }
    }
}

/// All sources at once.
///
/// # Safety
/// As for [`body`].
#[inline(always)]
unsafe fn side_by_side<E: Element, O: Operator<E::Accumulator>, S: Shell, const N: usize>(
    targets: &[*mut u8],
    sources: &[*const u8],
    len: usize,
    divisor: u32,
) {
    let whole = len - len % N;
    // SAFETY: the same demands; both ranges lie inside `len`.
    unsafe {
        groups::<E, O, S, N>(targets, sources, 0..whole, divisor);
        groups::<E, O, S, 1>(targets, sources, whole..len, divisor);
    }
}

/// `FAN_IN` sources at once, block by block.
///
/// # Safety
/// As for [`body`].
#[inline(always)]
unsafe fn in_passes<E: Element, O: Operator<E::Accumulator>, S: Shell, const N: usize>(
    targets: &[*mut u8],
    sources: &[*const u8],
    len: usize,
    divisor: u32,
) {
    const { assert!(BLOCK.is_multiple_of(N)) };
    let mut memory = [const { MaybeUninit::<E::Accumulator>::uninit() }; BLOCK];
    let block = memory.as_mut_ptr().cast::<E::Accumulator>();
    let (first, rest) = sources.split_at(FAN_IN);
    let whole = len - len % N;
    let mut start = 0;
    while start < whole {
        let end = whole.min(start + BLOCK);
        for at in (start..end).step_by(N) {
            // SAFETY: `at + N <= end`, within the regions by (1); and `at - start + N <= BLOCK`.
            // The block is an array of its own, aligned for the accumulator.
            unsafe {
                let lanes = load::<E, S, N>(first[0], at);
                let lanes = fold::<E, O, S, N>(lanes, &first[1..], at);
                block.add(at - start).cast::<[E::Accumulator; N]>().write(lanes);
            }
        }
        for pass in rest.chunks(FAN_IN) {
            for at in (start..end).step_by(N) {
                // SAFETY: as above; the loop above has written all that is read here.
                unsafe {
                    let place = block.add(at - start).cast::<[E::Accumulator; N]>();
                    place.write(fold::<E, O, S, N>(place.read(), pass, at));
                }
            }
        }
        for at in (start..end).step_by(N) {
            // SAFETY: as above; all sources of the block have been read.
            unsafe {
                let lanes = block.add(at - start).cast::<[E::Accumulator; N]>().read();
                store::<E, O, S, N>(targets, at, lanes, divisor);
            }
        }
        start = end;
    }
    // SAFETY: the same demands; the range lies inside `len`.
    unsafe { groups::<E, O, S, 1>(targets, sources, whole..len, divisor) }
}

/// The elements of a range, a multiple of `N` long.
///
/// # Safety
/// As for [`body`], and the range lies inside `len`.
#[inline(always)]
unsafe fn groups<E: Element, O: Operator<E::Accumulator>, S: Shell, const N: usize>(
    targets: &[*mut u8],
    sources: &[*const u8],
    range: Range<usize>,
    divisor: u32,
) {
    let mut at = range.start;
    while at < range.end {
        // SAFETY: `at + N <= end`, so that the group lies inside every region.
        unsafe {
            let lanes = load::<E, S, N>(sources[0], at);
            let lanes = fold::<E, O, S, N>(lanes, &sources[1..], at);
            store::<E, O, S, N>(targets, at, lanes, divisor);
        }
        at += N;
    }
}

/// Combines a group of each source, in order, onto `lanes`.
///
/// # Safety
/// 1. Elements `at..at + N` of every source may be read and are aligned.
/// 2. The CPU has the instruction set of `S`.
#[inline(always)]
unsafe fn fold<E: Element, O: Operator<E::Accumulator>, S: Shell, const N: usize>(
    mut lanes: [E::Accumulator; N],
    sources: &[*const u8],
    at: usize,
) -> [E::Accumulator; N] {
    for &source in sources {
        // SAFETY: the same demands.
        lanes = unsafe { O::combine::<S, N>(lanes, load::<E, S, N>(source, at)) };
    }
    lanes
}

/// # Safety
/// 1. Elements `at..at + N` of the source may be read and are aligned.
/// 2. The CPU has the instruction set of `S`.
#[inline(always)]
unsafe fn load<E: Element, S: Shell, const N: usize>(
    source: *const u8,
    at: usize,
) -> [E::Accumulator; N] {
    // SAFETY: an array is aligned like its elements, and any bits are an element.
    unsafe { E::widen::<S, N>(source.cast::<E>().add(at).cast::<[E; N]>().read()) }
}

/// # Safety
/// 1. Elements `at..at + N` of every target may be written and are aligned.
/// 2. The CPU has the instruction set of `S`.
#[inline(always)]
unsafe fn store<E: Element, O: Operator<E::Accumulator>, S: Shell, const N: usize>(
    targets: &[*mut u8],
    at: usize,
    lanes: [E::Accumulator; N],
    divisor: u32,
) {
    let lanes = if O::DIVIDES { map(lanes, |lane| lane.divide(divisor)) } else { lanes };
    // SAFETY: by (2).
    let group = unsafe { E::narrow::<S, N>(lanes) };
    for &target in targets {
        // SAFETY: by (1); an array is aligned like its elements.
        unsafe { target.cast::<E>().add(at).cast::<[E; N]>().write(group) };
    }
}

/// Sources read side by side. Of 64 sources of 8 MiB each, `f32` sums read 17 GB/s with 8 side by
/// side, and 5 with all of them; of 8 sources of 64 KiB, 62 with 8 and 40 with 4 (AVX2, Zen).
const FAN_IN: usize = 8;

/// Accumulators of a block: 8 KiB at most, a quarter of a small first-level cache.
const BLOCK: usize = 1024;
