//! Bytes a second of the copies, beside the C library's `memcpy`.
//!
//! Source and target begin at the same place of a page, or one of them 16 bytes further, as memory
//! from `malloc` and pieces of shared memory mostly do.

use std::time::Instant;

use hccl_kernels::{Stores, copy_with};

const PAGE: usize = 4096;
const SIZES: [usize; 5] = [4 << 10, 64 << 10, 256 << 10, 4 << 20, 64 << 20];
/// Where source and target begin in their pages.
const PLACES: [(usize, usize); 3] = [(0, 0), (16, 0), (0, 16)];
/// Bytes of one timed run, and how many runs the best is taken of.
const BYTES_PER_RUN: usize = 256 << 20;
const RUNS: usize = 5;

fn main() {
    println!("     bytes  from to   memcpy   cached streaming   (GB/s of bytes copied)");
    for size in SIZES {
        for (from, to) in PLACES {
            let plain = rate(size, (from, to), |to, from| {
                // SAFETY: `rate` gives `size` bytes of each, which are apart.
                unsafe { std::ptr::copy_nonoverlapping(from, to, size) }
            });
            let own = [Stores::Cached, Stores::Streaming].map(|stores| {
                // SAFETY: as above; nobody else has the memory.
                rate(size, (from, to), |to, from| unsafe { copy_with(stores, to, from, size) })
            });
            println!("{size:>10} {from:>5} {to:>2} {plain:>8.1} {:>8.1} {:>9.1}", own[0], own[1]);
        }
    }
}

/// Bytes per nanosecond, the best of several runs.
fn rate(size: usize, places: (usize, usize), copy: impl Fn(*mut u8, *const u8)) -> f64 {
    let (source, mut target) = (vec![7u8; size + 2 * PAGE], vec![0u8; size + 2 * PAGE]);
    let begin = |address: usize, from: usize| address.next_multiple_of(PAGE) - address + from;
    let from = source[begin(source.as_ptr() as usize, places.0)..].as_ptr();
    let at = begin(target.as_ptr() as usize, places.1);
    let to = target[at..].as_mut_ptr();
    let repeats = (BYTES_PER_RUN / size).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..repeats {
            copy(to, std::hint::black_box(from));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    (repeats * size) as f64 / best / 1e9
}
