//! The 8-bit floats: there are few enough numbers for every pair of them.

use hccl_kernels::{DataType, ReduceOp, Reducer};

use crate::{isas, one, oracle};

const FORMATS: [DataType; 4] =
    [DataType::F8e4m3, DataType::F8e5m2, DataType::F8e4m3fnuz, DataType::F8e5m2fnuz];

#[test]
fn every_pair_of_numbers() {
    let left: Vec<u8> = (0..=u16::MAX).map(|pair| pair as u8).collect();
    let right: Vec<u8> = (0..=u16::MAX).map(|pair| (pair >> 8) as u8).collect();
    let isas = isas();
    for data_type in FORMATS {
        for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Avg] {
            let pair = |(&left, &right): (&u8, &u8)| [left.into(), right.into()];
            let pairs = left.iter().zip(&right).map(pair);
            let expected: Vec<u8> =
                pairs.map(|pair| oracle::reduce(data_type, op, &pair) as u8).collect();
            for &isa in &isas {
                let reducer = Reducer::with_isa(data_type, op, isa).expect("reduced");
                let mut found = vec![0u8; left.len()];
                let sources = [left.as_ptr(), right.as_ptr()];
                // SAFETY: live vectors of as many bytes.
                unsafe { reducer.run_divided(&[found.as_mut_ptr()], &sources, left.len(), 2) };
                let wrong = (0..found.len()).find(|&at| found[at] != expected[at]);
                if let Some(at) = wrong {
                    let (found, expected) = (found[at], expected[at]);
                    let (left, right) = (left[at], right[at]);
                    panic!("{reducer:?} of {left:#x}, {right:#x}: {found:#x}, not {expected:#x}");
                }
            }
        }
    }
}

#[test]
fn sums_are_rounded_once_and_overflow_at_the_end_only() {
    for isa in isas() {
        let reduce = |data_type, op, elements: &[u64]| {
            one(Reducer::with_isa(data_type, op, isa).expect("reduced"), elements)
        };
        let sum = |data_type, elements: &[u64]| reduce(data_type, ReduceOp::Sum, elements);
        // 16 + 1 + 1: after each step rounded, the ones would be lost.
        assert_eq!(sum(DataType::F8e4m3, &[0x58, 0x38, 0x38]), 0x59, "{isa}");
        // 8 + 1 + 1.
        assert_eq!(sum(DataType::F8e5m2, &[0x48, 0x3c, 0x3c]), 0x49, "{isa}");
        // 448 + 448 - 448 is back in time; 448 + 448 is not.
        assert_eq!(sum(DataType::F8e4m3, &[0x7e, 0x7e, 0xfe]), 0x7e, "{isa}");
        assert_eq!(sum(DataType::F8e4m3, &[0x7e, 0x7e]), 0x7f, "{isa}");
        assert_eq!(sum(DataType::F8e4m3, &[0xfe, 0xfe]), 0x7f, "{isa}");
        assert_eq!(sum(DataType::F8e5m2, &[0xfb, 0xfb]), 0xfc, "{isa}");
        assert_eq!(sum(DataType::F8e4m3fnuz, &[0x7f, 0x7f]), 0x80, "{isa}");
        assert_eq!(sum(DataType::F8e5m2fnuz, &[0x7f, 0x7f]), 0x80, "{isa}");
        // 1 - 1 is the one zero, and so is what rounds to it.
        assert_eq!(sum(DataType::F8e4m3fnuz, &[0x40, 0xc0]), 0, "{isa}");
        assert_eq!(reduce(DataType::F8e4m3fnuz, ReduceOp::Prod, &[0x81, 0x01]), 0, "{isa}");
        assert_eq!(reduce(DataType::F8e4m3, ReduceOp::Prod, &[0x81, 0x01]), 0x80, "{isa}");
    }
}
