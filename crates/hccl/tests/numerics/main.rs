//! The numeric contract of `docs/numerics.md`, bit for bit, against an oracle that shares no code
//! with the engine: all types and reductions, 2 to 8 ranks, shared and private memory, one round and
//! many, results inside of the cache and past it.
//!
//! Run under another instruction set, huge pages, one core or a CPU quota by `cargo xtask test
//! --only conditions`.

#[path = "../common/mod.rs"]
mod common;
mod job;
mod oracle;
mod small;
mod values;
mod watchdog;

use hccl::{Algorithm, DataType, Flat, Forced, Mesh, Operator, Options, ReduceOp, run_threads};
use hccl_kernels::{Isa, Reducer};
use job::{Against, Case, Kind, run};

const RANKS: [u32; 4] = [2, 3, 5, 8];
/// The reductions of numbers.
const OPS: [ReduceOp; 5] =
    [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Avg];
/// The reductions of single bits.
const BITS: [ReduceOp; 3] = [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor];
const OPERATORS: [Operator; 3] = [Operator::AllReduce, Operator::Reduce, Operator::ReduceScatter];

/// Types and reductions that there are.
fn pairs() -> impl Iterator<Item = (DataType, ReduceOp)> {
    let types = DataType::ALL.iter().chain(DataType::BEYOND).copied();
    let all =
        types.flat_map(|data_type| OPS.into_iter().chain(BITS).map(move |op| (data_type, op)));
    all.filter(|&(data_type, op)| Reducer::new(data_type, op).is_some())
}

/// The cases of every operator on the types and reductions, by counts and kinds of memory in turn.
fn cases(pairs: impl Iterator<Item = (DataType, ReduceOp)>, counts: &[u64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (turn, (data_type, op)) in pairs.enumerate() {
        for (i, &count) in counts.iter().enumerate() {
            for (j, &operator) in OPERATORS.iter().enumerate() {
                let kind = Kind::ALL[(turn + i + j) % 3];
                let in_place = (turn + i) % 2 == 0;
                // Its input is a block for each rank.
                let blocks = if operator == Operator::ReduceScatter { 4 } else { 1 };
                let count = u64::div_ceil(count, blocks);
                let exact = false;
                cases.push(Case { operator, data_type, op, count, kind, in_place, exact });
            }
        }
    }
    cases
}

#[test]
fn every_type_and_reduction() {
    // Elements of 4 bytes, a cache line and a bit, a small block that each rank reduces by itself,
    // and one in which each has its share.
    for ranks in RANKS {
        run(ranks, &cases(pairs(), &[0, 1, 2, 67, 1_003, 5_001]), Against::Contract, |_| {});
    }
}

/// The float types, where the order and the rounding show.
fn float_pairs() -> impl Iterator<Item = (DataType, ReduceOp)> {
    pairs().filter(|(data_type, _)| values::is_float(*data_type))
}

#[test]
fn every_kind_of_memory() {
    for ranks in RANKS {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            for case in cases(float_pairs(), &[1, 333, 2_777]) {
                all.push(Case { kind, ..case });
            }
        }
        run(ranks, &all, Against::Contract, |_| {});
    }
}

/// Sizes at which the engine goes another way: where data travels with the call, where each rank
/// reduces all by itself, where private memory is read from where it is, where rounds begin.
#[test]
fn borders_between_ways() {
    for ranks in RANKS {
        let mut all = Vec::new();
        for bytes in [8 << 10, 16 << 10, (64 << 10) / u64::from(ranks), 128 << 10] {
            for (data_type, op) in [(DataType::F32, ReduceOp::Sum), (DataType::Bf16, ReduceOp::Avg)]
            {
                let border = bytes / data_type.size() as u64;
                for count in border - 1..=border + 1 {
                    for kind in Kind::ALL {
                        let in_place = count == border;
                        let operator = Operator::AllReduce;
                        let exact = false;
                        all.push(Case { operator, data_type, op, count, kind, in_place, exact });
                    }
                }
            }
        }
        run(ranks, &all, Against::Contract, |_| {});
    }
}

#[test]
fn many_rounds() {
    for ranks in RANKS {
        for kind in [Kind::Private, Kind::Mixed] {
            let few = pairs().filter(|(data_type, op)| {
                let sums = !matches!(op, ReduceOp::Max | ReduceOp::Min);
                BITS.contains(op) || sums && values::is_float(*data_type)
            });
            let cases = cases(few, &[4_099]);
            let cases: Vec<Case> = cases.into_iter().map(|case| Case { kind, ..case }).collect();
            run(ranks, &cases, Against::Contract, |options| options.buffer_bytes = 4 << 10);
        }
        // Rounds of the ordinary size.
        let few = [(DataType::F32, ReduceOp::Sum), (DataType::Bf16, ReduceOp::Avg)];
        run(ranks, &cases(few.into_iter(), &[100_003]), Against::Contract, |_| {});
    }
}

/// Results that no cache holds are stored in another way.
#[test]
fn results_past_the_cache() {
    let turns = [
        (DataType::F32, ReduceOp::Sum, Kind::Mixed),
        (DataType::Bf16, ReduceOp::Avg, Kind::Shared),
        (DataType::F16, ReduceOp::Sum, Kind::Private),
        (DataType::F32, ReduceOp::Max, Kind::Shared),
    ];
    for (ranks, (data_type, op, kind)) in RANKS.into_iter().zip(turns) {
        // Input and output of all ranks together are a little more than the largest cache that is
        // looked for.
        let bytes = (33u64 << 20) / (2 * u64::from(ranks));
        let count = bytes / data_type.size() as u64 + 1;
        let operator = Operator::AllReduce;
        let (in_place, exact) = (false, false);
        let case = Case { operator, data_type, op, count, kind, in_place, exact };
        run(ranks, &[case], Against::Contract, |_| {});
    }
}

#[test]
fn every_mesh_reduces_at_once() {
    for ranks in RANKS {
        for mesh in [Mesh::OneShot, Mesh::TwoShot, Mesh::Chunked(3)] {
            let mut all = cases(float_pairs(), &[1, 1_003, 5_001]);
            all.retain(|case| case.operator == Operator::AllReduce);
            let forced = Some(Forced::Algorithm(Algorithm::Mesh(mesh)));
            run(ranks, &all, Against::Contract, |options| options.forced = forced.clone());
        }
    }
}

fn other_algorithms(ranks: u32) -> Vec<Algorithm> {
    let mut all = vec![
        Algorithm::Ring,
        Algorithm::DoubleRing,
        Algorithm::Rhd,
        Algorithm::Nhr,
        Algorithm::Nb,
        Algorithm::Star,
        Algorithm::Ahc { groups: vec![1, ranks - 1], inside: Flat::Ring, between: Flat::Nb },
    ];
    if ranks.is_multiple_of(2) {
        all.push(Algorithm::Pipeline { group: 2 });
        all.push(Algorithm::Hierarchy(vec![(2, Flat::Mesh), (ranks / 2, Flat::Nhr)]));
    }
    all
}

#[test]
fn other_algorithms_agree_among_ranks_and_where_order_is_nothing_with_all() {
    for ranks in RANKS {
        for algorithm in other_algorithms(ranks) {
            let forced = Some(Forced::Algorithm(algorithm));
            // Integers wrap, and maxima and minima are chosen: in every order the same. An average
            // of integers divides the same sum.
            let ordered = |&(data_type, op): &(DataType, ReduceOp)| {
                let sums = !matches!(op, ReduceOp::Max | ReduceOp::Min);
                sums && values::is_float(data_type)
            };
            let counts = [1, 517];
            let all = cases(pairs().filter(|pair| !ordered(pair)), &counts);
            run(ranks, &all, Against::Contract, |options| options.forced = forced.clone());
            let mut all = cases(pairs().filter(ordered), &counts);
            all.retain(|case| case.operator == Operator::AllReduce);
            // Twice, since timing must not show.
            let half = all.len();
            all.extend_from_within(..);
            let options = |options: &mut Options| options.forced = forced.clone();
            let results = run(ranks, &all, Against::EachOther, options);
            assert!(results[..half] == results[half..], "{forced:?} with {ranks} ranks");
        }
    }
}

/// Where nothing is rounded on the way, the order is nothing, and an average is rounded once.
#[test]
fn other_algorithms_agree_with_all_on_exact_sums() {
    for ranks in RANKS {
        for algorithm in other_algorithms(ranks) {
            let forced = Some(Forced::Algorithm(algorithm));
            let sums = float_pairs().filter(|(_, op)| matches!(op, ReduceOp::Sum | ReduceOp::Avg));
            let all: Vec<Case> = cases(sums, &[1, 517])
                .into_iter()
                .map(|case| Case { exact: true, ..case })
                .collect();
            run(ranks, &all, Against::Contract, |options| options.forced = forced.clone());
        }
    }
}

#[test]
fn every_instruction_set() {
    if let Ok(word) = std::env::var(Isa::VARIABLE)
        && let Ok(asked) = Isa::from_name(&word)
    {
        let reducer = Reducer::new(DataType::F32, ReduceOp::Sum).unwrap();
        assert_eq!(reducer.isa(), asked, "the environment chooses");
    }
    for &isa in Isa::ALL {
        if !isa.available() {
            println!("skipped: this CPU has no {isa}");
            continue;
        }
        for (data_type, op) in pairs() {
            let reducer = Reducer::with_isa(data_type, op, isa).expect("available");
            for (ranks, count) in [(2, 1), (2, 333), (3, 5_003), (8, 333), (9, 333), (17, 1_111)] {
                kernel(reducer, ranks, count);
            }
        }
    }
}

/// A kernel by itself, through the cache and past it.
fn kernel(reducer: Reducer, ranks: u32, count: u64) {
    let (data_type, op) = (reducer.data_type(), reducer.op());
    let (part, parts) = values::parts(data_type);
    let size = part.size();
    let bytes = count as usize * data_type.size();
    let seed = values::mix(count << 8 | u64::from(data_type.code()));
    // Words, so that any element is aligned.
    let area = || vec![0u64; bytes.div_ceil(8)];
    let address = |area: &mut Vec<u64>| area.as_mut_ptr().cast::<u8>();
    let mut inputs: Vec<Vec<u64>> = (0..ranks).map(|_| area()).collect();
    for (rank, input) in (0..).zip(&mut inputs) {
        // SAFETY: the vector has as many bytes, and nobody else has it.
        let input = unsafe { std::slice::from_raw_parts_mut(address(input), bytes) };
        for (at, bytes) in (0..).zip(input.chunks_exact_mut(size)) {
            let bits = values::element(part, seed, rank, at);
            bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
    let from: Vec<*const u8> = inputs.iter_mut().map(|one| address(one).cast_const()).collect();
    let (mut cached, mut past) = (area(), area());
    let (to, to_past) = ([address(&mut cached)], [address(&mut past)]);
    // SAFETY: vectors of `count` elements, each its own, aligned to words.
    unsafe {
        reducer.run_divided(&to, &from, count as usize, ranks);
        reducer.run_past_cache(&to_past, &from, count as usize, ranks);
    }
    assert!(cached == past, "{reducer:?} of {count} from {ranks} is another past the cache");
    let found = cached.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    for (at, found) in (0..count * parts).zip(found.chunks_exact(size)) {
        let column: Vec<u64> =
            (0..ranks).map(|rank| values::element(part, seed, rank, at)).collect();
        let expected = oracle::reduce(part, op, &column).to_le_bytes();
        assert!(found == &expected[..size], "{reducer:?}: {found:x?} from {column:x?}");
    }
}

/// The examples that the document gives, in literal numbers.
#[test]
fn the_examples_of_the_document() {
    fn all_reduce<T: hccl::Element + PartialEq + std::fmt::Debug>(inputs: &[T], op: ReduceOp) -> T {
        let body = |c: hccl::Communicator| {
            let mut value = [inputs[c.rank() as usize]];
            c.all_reduce_in_place(&mut value, op).unwrap();
            value[0]
        };
        let results = run_threads(inputs.len() as u32, body).unwrap();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
        results[0]
    }
    // Rank order.
    assert_eq!(all_reduce(&[1e8f32, -1e8, 1.0], ReduceOp::Sum), 1.0);
    assert_eq!(all_reduce(&[1.0f32, 1e8, -1e8], ReduceOp::Sum), 0.0);
    // Averages: the sum wraps and overflows as a sum does, the quotient is cut.
    assert_eq!(all_reduce(&[100i8, 100], ReduceOp::Avg), -28);
    assert_eq!(all_reduce(&[-7i32, 0], ReduceOp::Avg), -3);
    assert_eq!(all_reduce(&[f32::MAX, f32::MAX], ReduceOp::Avg), f32::INFINITY);
    // Zeros.
    assert_eq!(all_reduce(&[0.0f32, -0.0], ReduceOp::Min).to_bits(), (-0.0f32).to_bits());
    assert_eq!(all_reduce(&[-0.0f32, 0.0], ReduceOp::Max).to_bits(), 0);
    // No number.
    let payload = f32::from_bits(0xffa1_2345);
    for op in OPS {
        let results = run_threads(2, |c| {
            let mut value = [if c.rank() == 0 { payload } else { 1.0 }];
            c.all_reduce_in_place(&mut value, op).unwrap();
            value[0].to_bits()
        });
        assert_eq!(results.unwrap(), [0x7fc0_0000; 2], "{op}");
    }
    // A rank alone keeps all bits.
    let alone = run_threads(1, |c| {
        let mut value = [payload];
        c.all_reduce_in_place(&mut value, ReduceOp::Avg).unwrap();
        value[0].to_bits()
    });
    assert_eq!(alone.unwrap(), [payload.to_bits()]);
}

#[test]
fn what_only_moves_keeps_its_bits() {
    for ranks in RANKS {
        for len in [1, 1_003, 50_001] {
            let element = |rank: u32, at: usize| {
                let bits = values::element(DataType::F32, 9, rank, at as u64);
                f32::from_bits(bits as u32)
            };
            let input = |rank: u32| -> Vec<f32> { (0..len).map(|at| element(rank, at)).collect() };
            let bits = |floats: &[f32]| floats.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
            run_threads(ranks, |c| {
                let own = input(c.rank());
                let mut out = vec![0f32; len * ranks as usize];
                c.all_gather(&own, &mut out).unwrap();
                let all: Vec<f32> = (0..ranks).flat_map(input).collect();
                assert!(bits(&out) == bits(&all), "AllGather of {len} from {ranks}");
                let mut out = if c.rank() == 0 { own.clone() } else { vec![0f32; len] };
                c.broadcast(&mut out, 0).unwrap();
                assert!(bits(&out) == bits(&input(0)), "Broadcast of {len} to {ranks}");
                let mut out = vec![0f32; len];
                let previous = (c.rank() + ranks - 1) % ranks;
                let mut group = hccl::Group::new();
                group.add(c.send_async(&own, (c.rank() + 1) % ranks).unwrap());
                group.add(c.receive_async(&mut out, previous).unwrap());
                group.wait().unwrap();
                assert!(bits(&out) == bits(&input(previous)), "a message of {len}");
            })
            .unwrap();
        }
    }
}
