//! Reductions into targets that are too large for the cache.

use std::mem::MaybeUninit;

use crate::copy::{Stores, copy_part, end_of_stream};
use crate::reducer::Reducer;

/// Bytes that are reduced before they go out: few, so that memory is read and written at the same
/// time.
const BLOCK: usize = 2 << 10;

#[repr(C, align(64))]
struct Block(MaybeUninit<[u8; BLOCK]>);

impl Reducer {
    /// As [`Self::run_divided`], with stores past the cache ([`Stores::Streaming`]): a block is
    /// reduced at a time, and goes to each target from there.
    ///
    /// # Panics
    /// If there is no source.
    ///
    /// # Safety
    /// As for [`Self::run`].
    pub unsafe fn run_past_cache(
        &self,
        targets: &[*mut u8],
        sources: &[*const u8],
        len: usize,
        divisor: u32,
    ) {
        let mut block = Block(MaybeUninit::uninit());
        let block = block.0.as_mut_ptr().cast::<u8>();
        let size = self.data_type().size();
        let mut from = sources.to_vec();
        let mut done = 0;
        while done < len {
            let now = (len - done).min(BLOCK / size);
            let bytes = now * size;
            // SAFETY: the demands of `run` hold for this part of sources and targets; the block is
            // aligned, of as many bytes, and this call's alone.
            unsafe {
                self.run_divided(&[block], &from, now, divisor);
                for &target in targets {
                    copy_part(Stores::Streaming, target.add(done * size), block, bytes);
                }
            }
            done += now;
            for source in &mut from {
                *source = source.wrapping_add(bytes);
            }
        }
        end_of_stream();
    }
}

#[cfg(test)]
mod tests {
    use crate::{DataType, ReduceOp, Reducer};

    #[test]
    fn it_equals_the_reduction_through_the_cache() {
        let value = |source: usize, i: usize| ((source + 3) * i % 1009) as f32 * 0.37 - 100.0;
        for (op, len) in [(ReduceOp::Sum, 3), (ReduceOp::Avg, 4096), (ReduceOp::Max, 10_001)] {
            let inputs: Vec<Vec<f32>> =
                (0..3).map(|source| (0..len).map(|i| value(source, i)).collect()).collect();
            let from: Vec<*const u8> = inputs.iter().map(|input| input.as_ptr().cast()).collect();
            let mut outputs = vec![vec![0f32; len]; 3];
            let to: Vec<*mut u8> = outputs.iter_mut().map(|it| it.as_mut_ptr().cast()).collect();
            let reducer = Reducer::new(DataType::F32, op).unwrap();
            // SAFETY: vectors of `len` elements, each its own.
            unsafe {
                reducer.run_divided(&to[..1], &from, len, 3);
                reducer.run_past_cache(&to[1..], &from, len, 3);
            }
            assert_eq!(outputs[0], outputs[1]);
            assert_eq!(outputs[0], outputs[2]);
        }
    }
}
