//! Ranks as threads that run prepared cases and compare every bit of what comes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hccl::{
    Communicator, DataType, Memory, Operator, Options, Piece, ReduceOp, Request, Workspace,
};
use hccl_fabric::Server;
use hccl_os::shm::Segment;

use crate::common::fabric_with;
use crate::{oracle, values, watchdog};

/// Bytes that each rank shares; the upper quarter is the room of its communicator.
const MEMORY: usize = 32 << 20;
const ROOM: usize = MEMORY / 4 * 3;
/// Bytes before, between and after buffers, in which nobody writes.
const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xee;
/// Longer than the slowest machine takes for a case, shorter than the watchdog's patience.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shared,
    Private,
    /// Private on every other rank.
    Mixed,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Shared, Self::Private, Self::Mixed];
}

/// A reduction, on values that follow from its seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) operator: Operator,
    pub(crate) data_type: DataType,
    pub(crate) op: ReduceOp,
    pub(crate) count: u64,
    pub(crate) kind: Kind,
    pub(crate) in_place: bool,
    /// Whether values are such that no sum of theirs is rounded.
    pub(crate) exact: bool,
}

impl Case {
    /// Elements of the input of every rank, and of the output of this one.
    fn elements(&self, rank: u32, ranks: u32) -> (u64, u64) {
        match self.operator {
            Operator::AllReduce => (self.count, self.count),
            Operator::Reduce => (self.count, if rank == ROOT { self.count } else { 0 }),
            Operator::ReduceScatter => (self.count * u64::from(ranks), self.count),
            other => panic!("{other}"),
        }
    }

    /// Depends on what is reduced, not on where it lies.
    fn seed(&self) -> u64 {
        let words = [self.data_type.code(), self.op.code(), self.operator as u8];
        let word = words.iter().fold(self.count, |word, &next| word << 8 | u64::from(next));
        values::mix(word)
    }

    /// The bits of a part of an element of a rank; parts are counted through.
    fn part(&self, rank: u32, at: u64) -> u64 {
        let part = values::parts(self.data_type).0;
        if self.exact {
            oracle::encode(part, values::small(self.seed(), rank, at))
        } else {
            values::element(part, self.seed(), rank, at)
        }
    }

    /// Fills the input of a rank.
    fn fill(&self, rank: u32, bytes: &mut [u8]) {
        let size = values::parts(self.data_type).0.size();
        for (at, part) in (0..).zip(bytes.chunks_exact_mut(size)) {
            part.copy_from_slice(&self.part(rank, at).to_le_bytes()[..size]);
        }
    }

    /// The reduction of all that the ranks have, by the oracle.
    fn expected(&self, ranks: u32) -> Vec<u8> {
        let (part, parts) = values::parts(self.data_type);
        let (size, parts) = (part.size(), self.elements(ROOT, ranks).0 * parts);
        let mut bytes = Vec::with_capacity(parts as usize * size);
        let mut column = Vec::new();
        for at in 0..parts {
            column.clear();
            column.extend((0..ranks).map(|rank| self.part(rank, at)));
            let bits = oracle::reduce(part, self.op, &column);
            bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        bytes
    }
}

/// Not the rank whose values come first.
const ROOT: u32 = 1;

/// What results are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// The oracle.
    Contract,
    /// The result of rank 0.
    EachOther,
}

/// Runs the cases on so many ranks, on one communicator with these options. Gives what rank 0 got.
pub(crate) fn run(
    ranks: u32,
    cases: &[Case],
    against: Against,
    options: impl Fn(&mut Options) + Sync,
) -> Vec<Vec<u8>> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let job = NEXT.fetch_add(1, Ordering::Relaxed);
    let server = Server::open(0).unwrap();
    let root = server.info().clone();
    server.serve(TIMEOUT).unwrap();
    let expected: Vec<Option<Vec<u8>>> = match against {
        Against::Contract => cases.iter().map(|case| Some(case.expected(ranks))).collect(),
        Against::EachOther => cases.iter().map(|_| None).collect(),
    };
    let mut results = std::thread::scope(|scope| {
        let start = |rank: u32| {
            let (root, options, expected) = (&root, &options, &expected);
            scope.spawn(move || {
                watchdog::begins(job, rank, "joins".into());
                let (fabric, memory) = fabric_with(root, (rank, ranks), MEMORY, TIMEOUT).unwrap();
                let mut chosen = Options {
                    name: "numerics".into(),
                    timeout: Some(TIMEOUT),
                    workspace: Some(Arc::new(Upper::default())),
                    ..Options::default()
                };
                options(&mut chosen);
                let communicator = Communicator::new(Box::new(fabric), chosen);
                let rank = Rank { communicator, memory, job };
                let one = |(case, expected): (&Case, &Option<Vec<u8>>)| {
                    let result = rank.run(case);
                    if let Some(expected) = expected {
                        rank.compare(case, &result, expected);
                    }
                    result
                };
                cases.iter().zip(expected).map(one).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    watchdog::ends(job);
    for (i, case) in cases.iter().enumerate().filter(|_| against == Against::EachOther) {
        for rank in 1..ranks as usize {
            assert!(results[rank][i] == results[0][i], "{case:?}: ranks 0 and {rank} differ");
        }
    }
    results.swap_remove(0)
}

struct Rank {
    communicator: Communicator,
    memory: Arc<Segment>,
    job: u64,
}

impl Rank {
    /// Runs a case and gives the output. All around it must be as it was.
    fn run(&self, case: &Case) -> Vec<u8> {
        let (ranks, own) = (self.communicator.ranks(), self.communicator.rank());
        watchdog::begins(self.job, own, format!("runs {case:?} with {ranks} ranks"));
        let size = case.data_type.size();
        let (input, output) = case.elements(own, ranks);
        let (input_len, output_len) = (input as usize * size, output as usize * size);
        // No two ranks have the same alignment.
        let input_at = GUARD + own as usize * size;
        let output_at = match (case.in_place, case.operator) {
            (true, Operator::ReduceScatter) => input_at + own as usize * output_len,
            (true, _) => input_at,
            (false, _) => (input_at + input_len + GUARD).next_multiple_of(GUARD) + 3 * size,
        };
        let whole = (input_at + input_len).max(output_at + output_len) + GUARD;
        assert!(whole <= ROOM, "the case needs more memory");
        let private = match case.kind {
            Kind::Shared => false,
            Kind::Private => true,
            Kind::Mixed => own % 2 == 1,
        };
        let mut own_memory = vec![0u64; if private { whole.div_ceil(8) } else { 0 }];
        let base = if private { own_memory.as_mut_ptr().cast() } else { self.memory.base() };
        // SAFETY: this thread's own vector, or the lower part of its own segment; looked at between
        // operations only.
        let area = || unsafe { std::slice::from_raw_parts_mut(base, whole) };
        area().fill(GUARD_BYTE);
        let bytes = &mut area()[input_at..input_at + input_len];
        case.fill(own, bytes);
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
            root: if case.operator == Operator::Reduce { ROOT } else { 0 },
            count: case.count,
            lengths: None,
            input: memory(input_at, input_len),
            output: memory(output_at, output_len),
        };
        let done = self.communicator.start(request).unwrap().wait();
        done.unwrap_or_else(|error| panic!("{case:?}: {error}"));
        let after = area();
        let result = after[output_at..output_at + output_len].to_vec();
        let mut expected = vec![GUARD_BYTE; whole];
        let bytes = &mut expected[input_at..input_at + input_len];
        case.fill(own, bytes);
        expected[output_at..output_at + output_len].copy_from_slice(&result);
        assert!(after == expected, "{case:?}: rank {own} changed what is not its output");
        watchdog::begins(self.job, own, format!("is through with {case:?}"));
        result
    }

    /// Holds a rank's output against what all elements are.
    fn compare(&self, case: &Case, result: &[u8], all: &[u8]) {
        let (ranks, own) = (self.communicator.ranks(), self.communicator.rank());
        let first = match case.operator {
            Operator::ReduceScatter => u64::from(own) * case.count,
            _ => 0,
        };
        let first = first * values::parts(case.data_type).1;
        let size = values::parts(case.data_type).0.size();
        let expected = &all[first as usize * size..][..result.len()];
        let Some(at) = result.iter().zip(expected).position(|(found, want)| found != want) else {
            return;
        };
        let at = at / size;
        let element = |bytes: &[u8]| {
            let mut word = [0u8; 8];
            word[..size].copy_from_slice(&bytes[at * size..][..size]);
            u64::from_le_bytes(word)
        };
        let column: Vec<u64> = (0..ranks).map(|rank| case.part(rank, first + at as u64)).collect();
        panic!(
            "{case:?}: rank {own} of {ranks}: number {at} is {:#x}, not {:#x}; from {column:x?}",
            element(result),
            element(expected)
        );
    }
}

/// The room, given out once at a time.
#[derive(Default)]
struct Upper(parking_lot::Mutex<bool>);

// SAFETY: the upper quarter is nobody else's, and is given out once at a time.
unsafe impl Workspace for Upper {
    fn allocate(&self, bytes: u64) -> Result<Piece, String> {
        let mut taken = self.0.lock();
        let len = (MEMORY - ROOM) as u64;
        if *taken || bytes > len {
            return Err(format!("the room is taken ({taken}) or too small for {bytes} bytes"));
        }
        *taken = true;
        Ok(Piece { offset: ROOM as u64, len })
    }

    fn free(&self, _: Piece) {
        assert!(std::mem::replace(&mut *self.0.lock(), false), "freed twice");
    }
}
