//! Every kernel against the oracle: type, operator, instruction set, length, misalignment, number
//! of sources and targets, and which targets lie in place.

mod complex;
mod float8;
mod memory;
mod oracle;

use hccl_kernels::{DataType, Isa, ReduceOp, Reducer};
use memory::{Region, Values};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// A call of a kernel.
#[derive(Clone, Debug)]
struct Call {
    len: usize,
    /// Misalignment of each source, in elements.
    sources: Vec<usize>,
    targets: Vec<Place>,
    seed: u64,
}

/// Where a target lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// On a source; the number is taken modulo the number of sources.
    Source(usize),
    /// Elsewhere, at this misalignment.
    Own(usize),
}

/// All operators, also those that the C interface does not have.
fn ops() -> impl Iterator<Item = ReduceOp> {
    ReduceOp::ALL.iter().chain(ReduceOp::BEYOND).copied()
}

/// All data types, also those that the C interface does not have.
fn types() -> impl Iterator<Item = DataType> {
    DataType::ALL.iter().chain(DataType::BEYOND).copied()
}

/// Pairs of type and operator that can be reduced; complex numbers have a test of their own.
fn pairs() -> impl Iterator<Item = (DataType, ReduceOp)> {
    let plain = types().filter(|data_type| data_type.parts().1 == 1);
    let all = plain.flat_map(|data_type| ops().map(move |op| (data_type, op)));
    all.filter(|&(data_type, op)| Reducer::new(data_type, op).is_some())
}

/// Instruction sets of this CPU; says which are skipped.
fn isas() -> Vec<Isa> {
    let (run, skipped): (Vec<Isa>, Vec<Isa>) = Isa::ALL.iter().partition(|isa| isa.available());
    for isa in skipped {
        println!("skipped: this CPU has no {isa}");
    }
    run
}

fn check(data_type: DataType, op: ReduceOp, isas: &[Isa], call: &Call) {
    let mut values = Values::new(call.seed);
    let inputs: Vec<Vec<u64>> =
        call.sources.iter().map(|_| values.vector(data_type, call.len)).collect();
    let wanted: Vec<u64> = (0..call.len)
        .map(|index| {
            let column: Vec<u64> = inputs.iter().map(|input| input[index]).collect();
            oracle::reduce(data_type, op, &column)
        })
        .collect();
    for &isa in isas {
        let reducer = Reducer::with_isa(data_type, op, isa).expect("the pair is reduced");
        let region = |&shift: &usize| Region::new(data_type, call.len, shift);
        let mut sources: Vec<Region> = call.sources.iter().map(region).collect();
        for (source, input) in sources.iter_mut().zip(&inputs) {
            source.fill(data_type, input);
        }
        let from: Vec<*mut u8> = sources.iter_mut().map(Region::pointer).collect();
        let mut own = Vec::new();
        let mut in_place = vec![false; from.len()];
        let to: Vec<*mut u8> = call
            .targets
            .iter()
            .map(|place| match place {
                Place::Source(index) => {
                    in_place[index % from.len()] = true;
                    from[index % from.len()]
                }
                Place::Own(shift) => {
                    own.push(region(shift));
                    own.last_mut().expect("just pushed").pointer()
                }
            })
            .collect();
        let from: Vec<*const u8> = from.iter().map(|pointer| pointer.cast_const()).collect();
        // SAFETY: the regions are live, apart from each other, `len` elements long and aligned to
        // the element; a target is one of them or exactly a source.
        unsafe { reducer.run_divided(&to, &from, call.len, from.len() as u32) };

        let same = |region: &Region, expected: &[u64], what: &str| {
            assert!(region.guards_hold(), "{reducer:?} wrote beyond a {what}: {call:?}");
            for (index, &expected) in expected.iter().enumerate() {
                let found = region.element(data_type, index);
                assert!(
                    found == expected,
                    "{reducer:?}, {what}, element {index}: {found:#x}, not {expected:#x}; \
                     from {:x?}; {call:?}",
                    inputs.iter().map(|input| input[index]).collect::<Vec<_>>()
                );
            }
        };
        for target in &own {
            same(target, &wanted, "target");
        }
        for ((source, input), in_place) in sources.iter().zip(&inputs).zip(in_place) {
            let expected = if in_place { &wanted } else { input };
            same(source, expected, if in_place { "target in place" } else { "source" });
        }
    }
}

fn calls() -> impl Strategy<Value = Call> {
    let place =
        prop_oneof![(0..32usize).prop_map(Place::Source), (0..32usize).prop_map(Place::Own)];
    (
        0..300usize,
        prop_oneof![
            2 => prop::collection::vec(0..32usize, 2),
            6 => prop::collection::vec(0..32usize, 1..10),
            1 => prop::collection::vec(0..32usize, 10..26),
        ],
        prop::collection::vec(place, 1..4),
        any::<u64>(),
    )
        .prop_map(|(len, sources, targets, seed)| Call { len, sources, targets, seed })
}

#[test]
fn kernels_agree_with_the_oracle() {
    let isas = isas();
    for (data_type, op) in pairs() {
        let config = ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() };
        let result = TestRunner::new(config).run(&calls(), |call| {
            check(data_type, op, &isas, &call);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{data_type} {op}: {error}");
        }
    }
}

#[test]
fn block_boundaries_do_not_show() {
    let isas = isas();
    for (seed, (data_type, op)) in pairs().enumerate() {
        for (len, sources) in [(1023, 9), (1025, 3), (2113, 17), (2048, 2)] {
            let shifts = (0..sources).collect();
            let targets = vec![Place::Source(sources / 2), Place::Own(1)];
            check(data_type, op, &isas, &Call { len, sources: shifts, targets, seed: seed as u64 });
        }
    }
}

/// Runs a kernel on one element of each source.
fn one(reducer: Reducer, elements: &[u64]) -> u64 {
    let mut from: Vec<u64> = elements.iter().map(|element| element.to_le()).collect();
    let sources: Vec<*const u8> = from.iter_mut().map(|word| (&raw const *word).cast()).collect();
    let mut to = 0u64;
    // SAFETY: words of their own, each at least as large and aligned as one element.
    unsafe { reducer.run(&[(&raw mut to).cast()], &sources, 1) };
    u64::from_le(to)
}

#[test]
fn sixteen_bit_floats_are_rounded_once() {
    for isa in isas() {
        let half = Reducer::with_isa(DataType::F16, ReduceOp::Sum, isa).expect("reduced");
        let brain = Reducer::with_isa(DataType::Bf16, ReduceOp::Sum, isa).expect("reduced");
        // 2048 + 1 + 1: after each step rounded, the ones would be lost.
        assert_eq!(one(half, &[0x6800, 0x3c00, 0x3c00]), 0x6801, "{isa}");
        // The same at 256.
        assert_eq!(one(brain, &[0x4380, 0x3f80, 0x3f80]), 0x4381, "{isa}");
        // A sum beyond the largest half that comes back: only the end is rounded.
        assert_eq!(one(half, &[0x7bff, 0x7bff, 0xfbff]), 0x7bff, "{isa}");
        assert_eq!(one(half, &[0x7bff, 0x7bff]), 0x7c00, "{isa}");
    }
}

/// Each vector lane holds each number once, so that the converters written for lanes are seen.
#[test]
fn all_sixteen_bit_floats_pass_through_unchanged() {
    for isa in isas() {
        for (data_type, infinity) in [(DataType::F16, 0x7c00), (DataType::Bf16, 0x7f80u16)] {
            let reducer = Reducer::with_isa(data_type, ReduceOp::Sum, isa).expect("reduced");
            let all: Vec<u16> = (0..=u16::MAX).collect();
            // Adding -0 changes no number.
            let zeros = vec![0x8000u16; all.len()];
            let mut sum = vec![0u16; all.len()];
            let (target, sources) =
                (sum.as_mut_ptr().cast(), [all.as_ptr().cast(), zeros.as_ptr().cast()]);
            // SAFETY: live vectors of `all.len()` elements each.
            unsafe { reducer.run(&[target], &sources, all.len()) };
            for (bits, found) in all.iter().zip(sum) {
                let nan = bits & 0x7fff > infinity;
                let quiet = infinity | (infinity & !(infinity << 1)) >> 1;
                assert_eq!(found, if nan { quiet } else { *bits }, "{data_type} {isa} {bits:#x}");
            }
        }
    }
}

#[test]
fn what_can_only_be_moved_has_no_reducer() {
    let moved = [DataType::I128, DataType::Hif8, DataType::F8e8m0];
    for &data_type in DataType::ALL {
        for &op in ReduceOp::ALL.iter().chain([&ReduceOp::Avg]) {
            let reduced = Reducer::new(data_type, op).is_some();
            assert_eq!(reduced, !moved.contains(&data_type), "{data_type} {op}");
        }
    }
}

#[test]
fn single_bits_are_those_of_integers() {
    use DataType::{Bool, I8, I16, I32, I64, U8, U16, U32, U64};
    let whole = [I8, I16, I32, I64, U8, U16, U32, U64, Bool];
    for data_type in types() {
        for op in [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor] {
            let reduced = Reducer::new(data_type, op).is_some();
            assert_eq!(reduced, whole.contains(&data_type), "{data_type} {op}");
        }
    }
    let op = |op| Reducer::new(I16, op).expect("reduced");
    let sources = [0x8f0f, 0xc3c3, 0xffaa];
    assert_eq!(one(op(ReduceOp::And), &sources), 0x8302);
    assert_eq!(one(op(ReduceOp::Or), &sources), 0xffef);
    assert_eq!(one(op(ReduceOp::Xor), &sources), 0xb366);
}

#[test]
fn no_target_is_no_work() {
    let reducer = Reducer::new(DataType::I32, ReduceOp::Sum).expect("reduced");
    let word = 0u32;
    // SAFETY: one live element.
    unsafe { reducer.run(&[], &[(&raw const word).cast(); 3], 1) };
}

#[test]
#[should_panic(expected = "a reduction needs a source")]
fn no_source_is_refused() {
    let reducer = Reducer::new(DataType::I32, ReduceOp::Sum).expect("reduced");
    let mut word = 0u32;
    // SAFETY: one live element.
    unsafe { reducer.run(&[(&raw mut word).cast()], &[], 1) };
}

#[test]
fn averages_divide_before_they_round() {
    let run = |data_type: DataType, sources: &[Vec<u8>], divisor| {
        let mut results = Vec::new();
        for &isa in Isa::ALL {
            let Some(reducer) = Reducer::with_isa(data_type, ReduceOp::Avg, isa) else { continue };
            let mut target = sources[0].clone();
            let from: Vec<_> = sources.iter().map(|source| source.as_ptr()).collect();
            let len = target.len() / data_type.size();
            // SAFETY: live vectors of `len` elements, aligned by the allocator.
            unsafe { reducer.run_divided(&[target.as_mut_ptr()], &from, len, divisor) };
            results.push(target);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
        results.remove(0)
    };
    let bytes = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let sources: Vec<Vec<u8>> =
        (0..9).map(|rank| bytes(&[rank, -rank, 7 * rank + 1, i32::MIN])).collect();
    let expected: Vec<u8> = bytes(&[36 / 9, -36 / 9, (7 * 36 + 9) / 9, i32::MIN / 9]);
    assert_eq!(run(DataType::I32, &sources, 9), expected);
    // The sum is beyond the largest half, the average is not.
    let half = |bits: u16| bits.to_le_bytes().to_vec();
    let (low, high, middle) = (half(0x78e2), half(0x7a1a), half(0x797e)); // 40000, 49984, 44992
    assert_eq!(run(DataType::F16, &[low, high], 2), middle);
    let double = |value: f64| value.to_le_bytes().to_vec();
    assert_eq!(run(DataType::F64, &[double(3.0)], 2), double(1.5));
}

#[test]
fn truth_values_combine_whatever_stands_for_true() {
    let sources = [[0u8, 1, 0, 2], [0, 0, 255, 1], [0, 128, 0, 64]];
    for (op, expected) in [
        (ReduceOp::Sum, [0, 1, 1, 1]),
        (ReduceOp::Max, [0, 1, 1, 1]),
        (ReduceOp::Prod, [0, 0, 0, 1]),
        (ReduceOp::Min, [0, 0, 0, 1]),
        (ReduceOp::Or, [0, 1, 1, 1]),
        (ReduceOp::And, [0, 0, 0, 1]),
        // Each is there a hundred times.
        (ReduceOp::Xor, [0, 0, 0, 0]),
    ] {
        let reducer = Reducer::new(DataType::Bool, op).unwrap();
        // Many sources: a sum of bytes would wrap around.
        let many: Vec<_> = (0..300).map(|i| sources[i % 3].as_ptr()).collect();
        let mut target = [9u8; 4];
        // SAFETY: live arrays of four bytes.
        unsafe { reducer.run(&[target.as_mut_ptr()], &many, 4) };
        assert_eq!(target, expected, "{op}");
    }
    assert!(Reducer::new(DataType::Bool, ReduceOp::Avg).is_none());
    let xor = Reducer::new(DataType::Bool, ReduceOp::Xor).unwrap();
    assert_eq!(one(xor, &[2, 4]), 0, "the bits of what stands for true do not show");
    assert_eq!(one(xor, &[6, 0]), 1);
}
