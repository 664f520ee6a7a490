//! Source bytes per second of the reduction kernels, by type, operator and instruction set.
//!
//! `cargo bench -p hccl-kernels -- [type] [op] [isa]` keeps the rows that contain all the words.

use std::time::Instant;

use hccl_kernels::{DataType, Isa, ReduceOp, Reducer};

/// Bytes of each source: one that stays in the second-level cache, one that does not.
const SIZES: [usize; 2] = [64 << 10, 8 << 20];
/// Numbers of sources and targets; the targets lie in place on the first sources.
const SHAPES: [(usize, usize); 6] = [(2, 1), (2, 2), (4, 1), (8, 1), (16, 1), (64, 1)];
/// Source bytes read in one timed run, and how many runs the best is taken of.
const BYTES_PER_RUN: usize = 64 << 20;
const RUNS: usize = 5;

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    print!("{:<11} {:<5} {:<9}", "type", "op", "isa");
    for size in SIZES {
        for (sources, targets) in SHAPES {
            print!(" {:>9}", format!("{}K {sources}>{targets}", size >> 10));
        }
    }
    println!("   (GB/s of source bytes)");
    for &data_type in DataType::ALL.iter().chain(DataType::BEYOND) {
        for &op in ReduceOp::ALL.iter().chain(ReduceOp::BEYOND) {
            for &isa in Isa::ALL {
                let row = format!("{:<11} {:<5} {:<9}", data_type, op, isa);
                let Some(reducer) = Reducer::with_isa(data_type, op, isa) else {
                    continue;
                };
                if !words.iter().all(|word| row.contains(word.as_str())) {
                    continue;
                }
                print!("{row}");
                for size in SIZES {
                    for (sources, targets) in SHAPES {
                        print!(" {:>9.1}", rate(reducer, size, sources, targets));
                    }
                }
                println!();
            }
        }
    }
}

/// Source bytes per nanosecond, the best of several runs.
fn rate(reducer: Reducer, size: usize, sources: usize, targets: usize) -> f64 {
    // Zeros stay zeros under every operator, so that in-place runs do not drift to infinity.
    let mut buffers = vec![vec![0u64; size / 8]; sources];
    let pointers: Vec<*mut u8> = buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
    let from: Vec<*const u8> = pointers.iter().map(|p| p.cast_const()).collect();
    let len = size / reducer.data_type().size();
    let repeats = (BYTES_PER_RUN / (size * sources)).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..repeats {
            // SAFETY: the buffers are live, `size` bytes long and aligned to 8; each target is
            // exactly one of the sources; this is the only thread.
            unsafe { reducer.run(&pointers[..targets], &from, len) };
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    (repeats * sources * size) as f64 / best / 1e9
}
