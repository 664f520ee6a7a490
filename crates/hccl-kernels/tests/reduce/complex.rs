//! Complex numbers are reduced by their parts.

use hccl_kernels::{DataType, ReduceOp, Reducer};
use proptest::prelude::*;

use crate::memory::{Region, Values};
use crate::{isas, oracle};

/// The complex types, with the type of their parts.
const TYPES: [(DataType, DataType); 3] = [
    (DataType::C32, DataType::F16),
    (DataType::C64, DataType::F32),
    (DataType::C128, DataType::F64),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Misaligned by parts, not by elements only.
    #[test]
    fn parts_are_reduced_each_by_itself(
        len in 0..150usize,
        shifts in prop::collection::vec(0..32usize, 1..12),
        seed in any::<u64>(),
    ) {
        for (data_type, part) in TYPES {
            let mut values = Values::new(seed);
            let inputs: Vec<Vec<u64>> =
                shifts.iter().map(|_| values.vector(part, 2 * len)).collect();
            for op in [ReduceOp::Sum, ReduceOp::Avg] {
                for isa in isas() {
                    let reducer = Reducer::with_isa(data_type, op, isa).expect("reduced");
                    let fill = |(&shift, input): (&usize, &Vec<u64>)| {
                        let mut region = Region::new(part, 2 * len, shift);
                        region.fill(part, input);
                        region
                    };
                    let mut sources: Vec<Region> = shifts.iter().zip(&inputs).map(fill).collect();
                    let from: Vec<*const u8> =
                        sources.iter_mut().map(|source| source.pointer().cast_const()).collect();
                    let mut target = Region::new(part, 2 * len, 1);
                    let (to, ranks) = ([target.pointer()], from.len() as u32);
                    // SAFETY: live regions of twice as many parts, apart from each other.
                    unsafe { reducer.run_divided(&to, &from, len, ranks) };
                    prop_assert!(target.guards_hold());
                    for at in 0..2 * len {
                        let column: Vec<u64> = inputs.iter().map(|input| input[at]).collect();
                        let expected = oracle::reduce(part, op, &column);
                        prop_assert_eq!(
                            target.element(part, at), expected, "{:?} of {:x?}", reducer, column
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn they_have_sums_and_averages_only() {
    for (data_type, _) in TYPES {
        for &op in ReduceOp::ALL.iter().chain(ReduceOp::BEYOND) {
            let is_linear = matches!(op, ReduceOp::Sum | ReduceOp::Avg);
            assert_eq!(Reducer::new(data_type, op).is_some(), is_linear, "{data_type} {op}");
        }
    }
}

#[test]
fn a_nan_stays_in_its_part() {
    let sum = Reducer::new(DataType::C64, ReduceOp::Sum).expect("reduced");
    let inputs = [[f32::from_bits(0xffc1_2345), 1.0], [2.0, 3.0]];
    let mut found = [0f32; 2];
    let sources = inputs.each_ref().map(|input| input.as_ptr().cast());
    // SAFETY: live arrays of one complex number.
    unsafe { sum.run(&[found.as_mut_ptr().cast()], &sources, 1) };
    assert_eq!(found.map(f32::to_bits), [0x7fc0_0000, 4f32.to_bits()]);
}
