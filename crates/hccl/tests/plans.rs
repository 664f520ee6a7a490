//! Every operator by every algorithm that has it, on real ranks, against an oracle: shared and
//! private memory, in place and not, in one round and in many, elements of all kinds.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{MEMORY, ROOM, Rank};
use hccl::{
    Algorithm, DataType, Direction, Extent, Flat, Forced, Lengths, Memory, Mesh, Operator, Options,
    Piece, ReduceOp, Request, Transfer, Workspace,
};

/// What rank r has at element i of its input: small, so that sums are exact in every type.
fn value(rank: u32, element: u64) -> i64 {
    let mixed = (u64::from(rank) << 32 | element).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 61) as i64 + i64::from(rank % 3)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Shared,
    Private,
    /// Every other rank.
    Mixed,
}

#[derive(Clone, Debug)]
struct Case {
    operator: Operator,
    data_type: DataType,
    op: ReduceOp,
    root: u32,
    count: u64,
    lengths: Option<Vec<Vec<u64>>>,
    in_place: bool,
    kind: Kind,
}

fn store(data_type: DataType, value: i64, to: &mut [u8]) {
    match data_type {
        DataType::U8 => to.copy_from_slice(&(value as u8).to_le_bytes()),
        DataType::Bool => to.copy_from_slice(&[u8::from(value & 1 == 1)]),
        DataType::I16 => to.copy_from_slice(&(value as i16).to_le_bytes()),
        DataType::I32 => to.copy_from_slice(&(value as i32).to_le_bytes()),
        DataType::F32 => to.copy_from_slice(&(value as f32).to_le_bytes()),
        DataType::F64 => to.copy_from_slice(&(value as f64).to_le_bytes()),
        DataType::I128 => to.copy_from_slice(&i128::from(value).to_le_bytes()),
        other => panic!("{other}"),
    }
}

/// The bytes of the reduction of these values.
fn reduced(case: &Case, values: &[i64]) -> Vec<u8> {
    let mut bytes = vec![0; case.data_type.size()];
    let ranks = values.len();
    let total = match case.op {
        _ if case.data_type == DataType::Bool => {
            let bits = values.iter().map(|value| value & 1);
            if case.op == ReduceOp::Sum { bits.max() } else { bits.min() }.unwrap()
        }
        ReduceOp::Sum => values.iter().sum(),
        ReduceOp::Max => *values.iter().max().unwrap(),
        ReduceOp::Avg => match case.data_type {
            DataType::F32 => {
                let average = values.iter().sum::<i64>() as f32 / ranks as f32;
                return average.to_le_bytes().to_vec();
            }
            DataType::F64 => {
                let average = values.iter().sum::<i64>() as f64 / ranks as f64;
                return average.to_le_bytes().to_vec();
            }
            _ => values.iter().sum::<i64>() / ranks as i64,
        },
        other => panic!("{other}"),
    };
    store(case.data_type, total, &mut bytes);
    bytes
}

/// A start for each run, gaps in between.
fn with_gaps(lens: &[u64], salt: u64) -> Vec<Extent> {
    let mut next = 0;
    let extent = |(i, &len): (usize, &u64)| {
        let start = next + (i as u64 * 3 + salt) % 4;
        next = start + len;
        Extent { start, len }
    };
    lens.iter().enumerate().map(extent).collect()
}

struct Shape {
    lengths: Option<Lengths>,
    input: u64,
    output: u64,
    /// Element of the output, and what it must hold: whose element, or the reduction of whose.
    expected: Vec<(u64, Source)>,
}

enum Source {
    One(u32, u64),
    All(u64),
}

/// What the operator promises to a rank, told as plainly as possible.
fn shape(case: &Case, ranks: u32, rank: u32) -> Shape {
    let n = case.count;
    let is_root = rank == case.root;
    let all = 0..ranks;
    let mut expected = Vec::new();
    let (mut lengths, mut input, mut output) = (None, n, n);
    let big = n * u64::from(ranks);
    let own = u64::from(rank) * n;
    let column = |matrix: &[Vec<u64>], to: u32| -> Vec<u64> {
        matrix.iter().map(|row| row[to as usize]).collect()
    };
    match case.operator {
        Operator::AllReduce => expected.extend((0..n).map(|i| (i, Source::All(i)))),
        Operator::Reduce => {
            output = if is_root { n } else { 0 };
            expected.extend((0..output).map(|i| (i, Source::All(i))));
        }
        Operator::Broadcast => {
            input = if is_root { n } else { 0 };
            expected.extend((0..n).map(|i| (i, Source::One(case.root, i))));
        }
        Operator::ReduceScatter => {
            input = big;
            expected.extend((0..n).map(|i| (i, Source::All(own + i))));
        }
        Operator::Scatter => {
            input = if is_root { big } else { 0 };
            expected.extend((0..n).map(|i| (i, Source::One(case.root, own + i))));
        }
        Operator::AllGather | Operator::Gather => {
            output = if is_root || case.operator == Operator::AllGather { big } else { 0 };
            let gathered = all.flat_map(|peer| {
                (0..n).map(move |i| (u64::from(peer) * n + i, Source::One(peer, i)))
            });
            expected.extend(gathered.filter(|_| output > 0));
        }
        Operator::AlltoAll => {
            (input, output) = (big, big);
            expected.extend(all.flat_map(|peer| {
                (0..n).map(move |i| (u64::from(peer) * n + i, Source::One(peer, own + i)))
            }));
        }
        Operator::AllGatherV => {
            let lens = &case.lengths.as_ref().unwrap()[0];
            let rows = with_gaps(lens, u64::from(rank));
            (input, output) = (lens[rank as usize], rows.last().map_or(0, |r| r.start + r.len));
            for (peer, row) in all.zip(&rows) {
                expected.extend((0..row.len).map(|i| (row.start + i, Source::One(peer, i))));
            }
            lengths = Some(Lengths::Rows(rows));
        }
        Operator::ReduceScatterV => {
            // Each rank has its own gaps; see `element` for what stands where.
            let lens = &case.lengths.as_ref().unwrap()[0];
            let rows = with_gaps(lens, u64::from(rank));
            (input, output) = (rows.last().map_or(0, |r| r.start + r.len), lens[rank as usize]);
            let before: u64 = lens[..rank as usize].iter().sum();
            expected.extend((0..output).map(|i| (i, Source::All(before + i))));
            lengths = Some(Lengths::Rows(rows));
        }
        Operator::AlltoAllV => {
            let matrix = case.lengths.as_ref().unwrap();
            let sends = with_gaps(&matrix[rank as usize], u64::from(rank));
            let receives = with_gaps(&column(matrix, rank), u64::from(rank) + 2);
            input = sends.last().map_or(0, |r| r.start + r.len);
            output = receives.last().map_or(0, |r| r.start + r.len);
            for (peer, row) in all.zip(&receives) {
                let from = with_gaps(&matrix[peer as usize], u64::from(peer))[rank as usize].start;
                expected.extend((0..row.len).map(|i| (row.start + i, Source::One(peer, from + i))));
            }
            lengths = Some(Lengths::Pairs { sends, receives });
        }
        Operator::AlltoAllVC => {
            let matrix = case.lengths.as_ref().unwrap();
            input = matrix[rank as usize].iter().sum();
            output = column(matrix, rank).iter().sum();
            let mut next = 0;
            for peer in all {
                let row = &matrix[peer as usize];
                let from: u64 = row[..rank as usize].iter().sum();
                expected.extend(
                    (0..row[rank as usize]).map(|i| (next + i, Source::One(peer, from + i))),
                );
                next += row[rank as usize];
            }
            lengths = Some(Lengths::Matrix(matrix.clone()));
        }
        Operator::Barrier => (input, output) = (0, 0),
        other => panic!("{other}"),
    }
    Shape { lengths, input, output, expected }
}

/// The value at an element of a rank's input.
fn element(case: &Case, rank: u32, at: u64) -> i64 {
    if let (Operator::ReduceScatterV, Some(lens)) = (case.operator, &case.lengths) {
        // Numbered without gaps, so that ranks agree on what they reduce.
        let mut packed = 0;
        for row in with_gaps(&lens[0], u64::from(rank)) {
            if (row.start..row.start + row.len).contains(&at) {
                return value(rank, packed + at - row.start);
            }
            packed += row.len;
        }
        return 77;
    }
    value(rank, at)
}

const GUARD: usize = 64;

fn check(rank: &mut Rank, case: &Case) {
    let (ranks, own) = (rank.communicator.ranks(), rank.communicator.rank());
    let shape = shape(case, ranks, own);
    let size = case.data_type.size();
    let (input_len, output_len) = (shape.input as usize * size, shape.output as usize * size);
    let private = case.kind == Kind::Private || case.kind == Kind::Mixed && own % 2 == 1;
    // Both buffers in one area; in place the smaller lies in the larger.
    let block = case.count as usize * size;
    let (input_at, output_at) = match case.operator {
        _ if !case.in_place => (GUARD, (2 * GUARD + input_len).next_multiple_of(64)),
        Operator::AllGather => (GUARD + own as usize * block, GUARD),
        Operator::ReduceScatter => (GUARD, GUARD + own as usize * block),
        _ => (GUARD, GUARD),
    };
    let whole = (input_at + input_len).max(output_at + output_len) + GUARD;
    assert!(whole as u64 <= ROOM, "the test needs more memory");
    let mut own_memory = vec![0u128; if private { whole.div_ceil(16) } else { 0 }];
    let base = if private { own_memory.as_mut_ptr().cast() } else { rank.memory.base() };
    // SAFETY: this thread's own vector, or its own half of the segment; used between operations.
    let area = |at: usize, len: usize| unsafe { std::slice::from_raw_parts_mut(base.add(at), len) };
    area(0, whole).fill(0xee);
    for (i, bytes) in area(input_at, input_len).chunks_exact_mut(size).enumerate() {
        store(case.data_type, element(case, own, i as u64), bytes);
    }
    let before = area(0, whole).to_vec();
    let memory = |at: usize, len: usize| {
        if private {
            // SAFETY: the vector lives until the end of this function, which waits.
            unsafe { Memory::private(base.add(at), len as u64) }
        } else {
            Memory::Shared(Piece { offset: at as u64, len: len as u64 })
        }
    };
    let request = Request {
        operator: case.operator,
        data_type: case.data_type,
        reduce_op: Some(case.op),
        root: case.root,
        count: if case.lengths.is_some() { 0 } else { case.count },
        lengths: shape.lengths.map(Arc::new),
        input: memory(input_at, input_len),
        output: memory(output_at, output_len),
    };
    rank.communicator
        .start(request)
        .unwrap()
        .wait()
        .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let after = area(0, whole);
    let mut expected = before;
    for (at, source) in shape.expected {
        let bytes = match source {
            Source::One(peer, i) => {
                let mut bytes = vec![0; size];
                store(case.data_type, element(case, peer, i), &mut bytes);
                bytes
            }
            Source::All(i) => {
                let values: Vec<i64> = (0..ranks).map(|peer| value(peer, i)).collect();
                reduced(case, &values)
            }
        };
        let at = output_at + at as usize * size;
        expected[at..at + size].copy_from_slice(&bytes);
    }
    // What lies outside of the promised output is as before.
    let wrong = expected.iter().zip(after.iter()).position(|(want, got)| want != got);
    if let Some(at) = wrong {
        let from = output_at + (at - output_at.min(at)) / size * size;
        let to = (from + 8 * size).min(whole);
        panic!(
            "{case:?}: rank {own} of {ranks}: byte {at} (output at {output_at}): {:?} instead of {:?}",
            &after[from..to],
            &expected[from..to]
        );
    }
}

fn cases(ranks: u32, seed: u64, large: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut turn = seed;
    let mut draw = |below: u64| {
        turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (turn >> 33) % below
    };
    let reducible = [DataType::I32, DataType::F32, DataType::F64, DataType::I16, DataType::U8];
    let movable = [DataType::U8, DataType::I128, DataType::F32, DataType::I16];
    for operator in Operator::ALL {
        if matches!(operator, Operator::Send | Operator::BatchSendRecv) {
            continue;
        }
        for kind in [Kind::Shared, Kind::Private, Kind::Mixed] {
            let small = [0, 1, 7, 1000 + draw(100)];
            // Beyond what goes beside calls, and what the kernel copies at once.
            let large: &[u64] = if large { &[2600 + draw(100), 10_000 + draw(1000)] } else { &[] };
            for &count in small.iter().chain(large) {
                let in_place =
                    operator == Operator::Broadcast || operator.works_in_place() && draw(2) == 1;
                let op = [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Avg][draw(3) as usize];
                let types = if operator.reduces() { &reducible[..] } else { &movable[..] };
                let data_type = types[draw(types.len() as u64) as usize];
                let matrix = (0..ranks).map(|_| {
                    (0..ranks).map(|_| if draw(4) == 0 { 0 } else { draw(count + 1) }).collect()
                });
                let lengths = operator.has_extents().then(|| matrix.collect());
                let root = if operator.is_rooted() { draw(ranks.into()) as u32 } else { 0 };
                cases.push(Case { operator, data_type, op, root, count, lengths, in_place, kind });
            }
        }
    }
    let truth = Case {
        operator: Operator::AllReduce,
        data_type: DataType::Bool,
        op: ReduceOp::Sum,
        root: 0,
        count: 333,
        lengths: None,
        in_place: true,
        kind: Kind::Shared,
    };
    cases.push(Case { op: ReduceOp::Prod, ..truth.clone() });
    cases.push(truth);
    cases
}

fn algorithms(ranks: u32) -> Vec<Option<Algorithm>> {
    let mut all = vec![None];
    all.extend([
        Some(Algorithm::Mesh(Mesh::OneShot)),
        Some(Algorithm::Mesh(Mesh::TwoShot)),
        Some(Algorithm::Mesh(Mesh::Chunked(3))),
        Some(Algorithm::Ring),
        Some(Algorithm::DoubleRing),
        Some(Algorithm::Rhd),
        Some(Algorithm::Nhr),
        Some(Algorithm::Nb),
        Some(Algorithm::Pairwise),
        Some(Algorithm::Star),
    ]);
    if ranks >= 2 {
        let groups = vec![1, ranks - 1];
        all.push(Some(Algorithm::Ahc { groups, inside: Flat::Ring, between: Flat::Nb }));
    }
    if ranks.is_multiple_of(2) {
        all.push(Some(Algorithm::Pipeline { group: 2 }));
        all.push(Some(Algorithm::Hierarchy(vec![(2, Flat::Mesh), (ranks / 2, Flat::Nhr)])));
    }
    all
}

/// One communicator for each algorithm, all cases on it.
fn all_cases(ranks: u32, buffer_bytes: u64) {
    for (i, algorithm) in algorithms(ranks).into_iter().enumerate() {
        // The default algorithm has ways of its own.
        let ways = if algorithm.is_none() {
            &[(true, true), (true, false), (false, true), (false, false)][..]
        } else {
            &[(true, true)]
        };
        for &(inline, copy_from_processes) in ways {
            let options = Options {
                forced: algorithm.clone().map(Forced::Algorithm),
                buffer_bytes,
                inline,
                copy_from_processes,
                timeout: Some(Duration::from_secs(60)),
                ..common::options()
            };
            let seed = u64::from(ranks) << 8 | i as u64;
            all_cases_with(ranks, options, cases(ranks, seed, algorithm.is_none()));
        }
    }
}

fn all_cases_with(ranks: u32, options: Options, cases: Vec<Case>) {
    let present: Vec<u32> = (0..ranks).collect();
    // Room of its own for each rank.
    let options = || Options { workspace: common::options().workspace, ..options.clone() };
    common::run_with(&present, ranks, options, Duration::from_secs(20), |_, rank| {
        let mut rank = rank.unwrap();
        cases.iter().for_each(|case| check(&mut rank, case));
        let plans = rank.communicator.plan_statistics();
        assert!(plans.plans > 0 && plans.bytes > 0 && plans.misses > 0);
        assert!(plans.hits > 0, "{plans:?}");
    });
}

#[test]
fn one_rank_and_two() {
    all_cases(1, 1 << 20);
    all_cases(2, 1 << 20);
}

#[test]
fn three_ranks_and_four() {
    all_cases(3, 1 << 20);
    all_cases(4, 1 << 20);
}

#[test]
fn five_ranks_to_eight() {
    for ranks in 5..=8 {
        all_cases(ranks, 1 << 20);
    }
}

#[test]
fn little_room_means_many_rounds() {
    for ranks in [1, 2, 4, 5] {
        all_cases(ranks, 4096);
    }
}

/// Messages in a ring and to the own rank, long enough for several parts, from private and shared
/// memory into the other.
#[test]
fn messages_go_in_parts_from_and_to_private_memory() {
    messages(true);
    messages(false);
}

fn messages(copy_from_processes: bool) {
    const PEAK: usize = (1 << 20) / 4 * 2 + 12_345;
    let timeout = Duration::from_secs(20);
    let options = || Options { timeout: Some(timeout), copy_from_processes, ..common::options() };
    let heap = || Options { workspace: Some(Arc::new(Bump::default())), ..options() };
    common::run_with(&[0, 1, 2], 3, heap, timeout, |own, rank| {
        let mut rank = rank.unwrap();
        let (next, previous) = ((own + 1) % 3, (own + 2) % 3);
        for (round, count) in [0, 1, 26, 27, 3000, 5000, PEAK, PEAK + 1].into_iter().enumerate() {
            let number = |rank: u32, i: usize| (rank * 1_000_003 + i as u32 * 7) as f32;
            // The even rounds send from private memory, the odd ones receive there.
            let mut private: Vec<f32> = (0..count).map(|i| number(own, i)).collect();
            let bytes = (count * 4) as u64;
            let at = |value: &mut Vec<f32>| {
                // SAFETY: the vector lives until the transfers are over, and nothing else uses it.
                unsafe { Memory::private(value.as_mut_ptr().cast(), bytes) }
            };
            let mut received = vec![0f32; count];
            let shared = Memory::Shared(Piece { offset: 0, len: bytes });
            let (from, to) = if round % 2 == 0 {
                (at(&mut private), shared)
            } else {
                rank.floats(0, count).copy_from_slice(&private);
                (shared, at(&mut received))
            };
            let transfer = |direction, peer, memory| Transfer {
                direction,
                peer,
                data_type: DataType::F32,
                count: count as u64,
                tag: 0,
                memory,
            };
            let both =
                [transfer(Direction::Send, next, from), transfer(Direction::Receive, previous, to)];
            rank.communicator.start_transfers(&both).unwrap().wait().unwrap();
            if round % 2 == 0 {
                received.copy_from_slice(rank.floats(0, count));
            }
            for (i, value) in received.iter().enumerate() {
                assert_eq!(*value, number(previous, i), "element {i} of {count}");
            }
            let mut copied = vec![0f32; count];
            let own_copy = [
                transfer(Direction::Send, own, at(&mut private)),
                transfer(Direction::Receive, own, at(&mut copied)),
            ];
            rank.communicator.start_transfers(&own_copy).unwrap().wait().unwrap();
            assert_eq!(copied, private);
        }
    });
}

/// Gives out the upper half piece by piece, and counts what is out.
#[derive(Default)]
struct Bump(parking_lot::Mutex<(u64, u64)>);

// SAFETY: pieces of the upper half, which is nobody else's, one behind the other.
unsafe impl Workspace for Bump {
    fn allocate(&self, bytes: u64) -> Result<Piece, String> {
        let mut state = self.0.lock();
        let (next, out) = &mut *state;
        if *out == 0 {
            *next = ROOM;
        }
        let piece = Piece { offset: *next, len: bytes.next_multiple_of(128) };
        if piece.offset + piece.len > MEMORY as u64 {
            return Err("the upper half is full".into());
        }
        (*next, *out) = (piece.offset + piece.len, *out + 1);
        Ok(piece)
    }

    fn free(&self, _: Piece) {
        let out = &mut self.0.lock().1;
        *out = out.checked_sub(1).expect("freed once for each allocation");
    }
}
