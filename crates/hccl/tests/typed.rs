//! The typed calls, on slices and on shared buffers: blocking, as futures, in groups, on parts of
//! a communicator; and what becomes of buffers when a call fails.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

use hccl::{
    Bool, Buffer, Communicator, DataType, Direction, Error, Group, JoinOptions, Lengths, Memory,
    Operator, Piece, ReduceOp, Request, Root, Transfer, run_threads,
};

/// Runs a future on this thread, which sleeps until it is woken.
fn block_on<F: Future>(future: F) -> (F::Output, u32) {
    struct Thread(std::thread::Thread, AtomicU32);
    impl Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.unpark();
        }
    }
    let thread = Arc::new(Thread(std::thread::current(), AtomicU32::new(0)));
    let waker = thread.clone().into();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (output, thread.1.load(Ordering::Relaxed));
        }
        std::thread::park();
    }
}

fn value(rank: u32, element: usize) -> i64 {
    i64::from(rank) * 1000 + element as i64 * 3 + 1
}

/// The input of a rank: `len` elements from `first` on.
fn input(rank: u32, first: usize, len: usize) -> Vec<i64> {
    (first..first + len).map(|i| value(rank, i)).collect()
}

fn sums(ranks: u32, first: usize, len: usize) -> Vec<i64> {
    (first..first + len).map(|i| (0..ranks).map(|rank| value(rank, i)).sum()).collect()
}

#[test]
fn every_call_on_slices() {
    for ranks in [1u32, 2, 3, 5] {
        let p = ranks as usize;
        run_threads(ranks, |c| {
            let (r, n) = (c.rank(), 37);
            let own = r as usize;
            let all: Vec<i64> = (0..ranks).flat_map(|peer| input(peer, 0, n)).collect();

            let mut out = vec![0; n];
            c.all_reduce(&input(r, 0, n), &mut out, ReduceOp::Sum).unwrap();
            assert_eq!(out, sums(ranks, 0, n));
            let mut out = input(r, 0, n);
            c.all_reduce_in_place(&mut out, ReduceOp::Max).unwrap();
            assert_eq!(out, input(ranks - 1, 0, n));
            let root = ranks - 1;
            let mut out = vec![-1; if r == root { n } else { 0 }];
            c.reduce(&input(r, 0, n), &mut out, ReduceOp::Sum, root).unwrap();
            assert_eq!(out, if r == root { sums(ranks, 0, n) } else { vec![] });
            let mut out = if r == root { input(r, 0, n) } else { vec![-1; n] };
            c.broadcast(&mut out, root).unwrap();
            assert_eq!(out, input(root, 0, n));
            let mut out = vec![-1; n * p];
            c.all_gather(&input(r, 0, n), &mut out).unwrap();
            assert_eq!(out, all);
            let mut out = vec![-1; n];
            c.reduce_scatter(&input(r, 0, n * p), &mut out, ReduceOp::Sum).unwrap();
            assert_eq!(out, sums(ranks, own * n, n));
            let mut out = vec![-1; n * p];
            out[own * n..(own + 1) * n].copy_from_slice(&input(r, 0, n));
            let mut shared = Buffer::from_slice(&out).unwrap();
            c.all_gather_in_place(&mut out).unwrap();
            assert_eq!(out, all);
            c.all_gather_in_place(&mut shared).unwrap();
            assert_eq!(*shared, *all);
            let mut out = input(r, 0, n * p);
            let mut expected = out.clone();
            expected[own * n..(own + 1) * n].copy_from_slice(&sums(ranks, own * n, n));
            let mut shared = Buffer::from_slice(&out).unwrap();
            c.reduce_scatter_in_place(&mut out, ReduceOp::Sum).unwrap();
            assert_eq!(out, expected);
            c.reduce_scatter_in_place(&mut shared, ReduceOp::Sum).unwrap();
            assert_eq!(*shared, *expected);
            let mut out = vec![-1; n];
            let scattered = if r == root { input(r, 0, n * p) } else { vec![] };
            c.scatter(&scattered, &mut out, root).unwrap();
            assert_eq!(out, input(root, own * n, n));
            let mut out = vec![-1; if r == root { n * p } else { 0 }];
            c.gather(&input(r, 0, n), &mut out, root).unwrap();
            assert_eq!(out, if r == root { all.clone() } else { vec![] });
            let mut out = vec![-1; n * p];
            c.all_to_all(&input(r, 0, n * p), &mut out).unwrap();
            let exchanged: Vec<i64> = (0..ranks).flat_map(|peer| input(peer, own * n, n)).collect();
            assert_eq!(out, exchanged);

            let lengths: Vec<u64> = (0..ranks).map(|peer| u64::from(peer * 5 % 7)).collect();
            let whole = lengths.iter().sum::<u64>() as usize;
            let before = lengths[..own].iter().sum::<u64>() as usize;
            let mine = lengths[own] as usize;
            let mut out = vec![-1; whole];
            c.all_gather_v(&input(r, 0, mine), &mut out, &lengths).unwrap();
            let gathered: Vec<i64> = (0..ranks)
                .flat_map(|peer| input(peer, 0, lengths[peer as usize] as usize))
                .collect();
            assert_eq!(out, gathered);
            let mut out = vec![-1; mine];
            c.reduce_scatter_v(&input(r, 0, whole), &mut out, &lengths, ReduceOp::Sum).unwrap();
            assert_eq!(out, sums(ranks, before, mine));

            let pair = |from: u32, to: u32| u64::from((from * 3 + to * 5) % 4);
            let sends: Vec<u64> = (0..ranks).map(|to| pair(r, to)).collect();
            let receives: Vec<u64> = (0..ranks).map(|from| pair(from, r)).collect();
            let mut out = vec![-1; receives.iter().sum::<u64>() as usize];
            let given = input(r, 0, sends.iter().sum::<u64>() as usize);
            c.all_to_all_v(&given, &sends, &mut out, &receives).unwrap();
            let taken: Vec<i64> = (0..ranks)
                .flat_map(|from| {
                    let at: u64 = (0..r).map(|to| pair(from, to)).sum();
                    input(from, at as usize, pair(from, r) as usize)
                })
                .collect();
            assert_eq!(out, taken);
            c.barrier().unwrap();

            let mut truth = [Bool::from(r == 0), Bool::from(true), Bool::default()];
            c.all_reduce_in_place(&mut truth, ReduceOp::Prod).unwrap();
            assert_eq!(truth.map(bool::from), [ranks == 1, true, false]);
            let mut average = [f64::from(r)];
            c.all_reduce_in_place(&mut average, ReduceOp::Avg).unwrap();
            assert_eq!(average, [f64::from(ranks - 1) / 2.0]);
        })
        .unwrap();
    }
}

#[test]
fn buffers_are_shared_and_mix_with_slices() {
    run_threads(3, |c| {
        let n = 100_000;
        let mut buffer = Buffer::from_slice(&input(c.rank(), 0, n)).unwrap();
        let mut out = Buffer::new(n).unwrap();
        c.all_reduce(&buffer, &mut out, ReduceOp::Sum).unwrap();
        assert_eq!(*out, *sums(3, 0, n));
        c.all_reduce_in_place(&mut buffer, ReduceOp::Sum).unwrap();
        assert_eq!(*buffer, *out);
        // One rank brings ordinary memory, which goes in rounds; the others go along.
        let mut slice = vec![0; n];
        if c.rank() == 1 {
            c.all_reduce(&input(1, 0, n), &mut slice, ReduceOp::Sum).unwrap();
        } else {
            let shared = Buffer::from_slice(&input(c.rank(), 0, n)).unwrap();
            c.all_reduce(&shared, &mut slice, ReduceOp::Sum).unwrap();
        }
        assert_eq!(slice, *out);
        if c.rank() == 0 {
            c.send(&buffer, 1).unwrap();
        } else if c.rank() == 1 {
            c.receive(&mut slice, 0).unwrap();
            assert_eq!(slice, *buffer);
        }
    })
    .unwrap();
}

#[test]
fn calls_are_futures_of_no_particular_runtime() {
    let wakes = run_threads(4, |c| {
        let work = async {
            let mut out = vec![0; 9];
            // Long enough for the others to fall asleep.
            if c.rank() == 2 {
                std::thread::sleep(Duration::from_millis(80));
            }
            c.all_reduce_async(&input(c.rank(), 0, 9), &mut out, ReduceOp::Sum)?.await?;
            assert_eq!(out, sums(4, 0, 9));
            let (mut left, mut right) = ([0i64], [0i64]);
            let own = [i64::from(c.rank())];
            let mut group = Group::new();
            group.add(c.send_async(&own, (c.rank() + 1) % 4)?);
            group.add(c.send_async(&own, (c.rank() + 3) % 4)?);
            group.add(c.receive_async(&mut left, (c.rank() + 3) % 4)?);
            group.add(c.receive_async(&mut right, (c.rank() + 1) % 4)?);
            group.await?;
            assert_eq!(left, [i64::from((c.rank() + 3) % 4)]);
            assert_eq!(right, [i64::from((c.rank() + 1) % 4)]);
            c.barrier_async()?.await
        };
        let (result, wakes) = block_on(work);
        result.unwrap();
        wakes
    });
    let wakes = wakes.unwrap();
    assert!(wakes.iter().all(|wakes| *wakes < 200), "nobody polls without end: {wakes:?}");
}

#[test]
fn groups_span_communicators_and_kinds_of_calls() {
    run_threads(4, |c| {
        let other = c.dup().unwrap();
        assert_eq!((other.rank(), other.ranks()), (c.rank(), c.ranks()));
        let (mut a, mut b, mut m) = (input(c.rank(), 0, 5), input(c.rank(), 5, 5), [0i64]);
        let own = [i64::from(c.rank())];
        let mut group = Group::new();
        // Not in the same order everywhere: they are on two communicators.
        if c.rank() % 2 == 0 {
            group.add(c.all_reduce_in_place_async(&mut a, ReduceOp::Sum).unwrap());
            group.add(other.all_reduce_in_place_async(&mut b, ReduceOp::Sum).unwrap());
        } else {
            group.add(other.all_reduce_in_place_async(&mut b, ReduceOp::Sum).unwrap());
            group.add(c.all_reduce_in_place_async(&mut a, ReduceOp::Sum).unwrap());
        }
        group.add(c.send_async(&own, c.rank() ^ 1).unwrap());
        group.add(c.receive_async(&mut m, c.rank() ^ 1).unwrap());
        group.wait().unwrap();
        assert_eq!((a, b), (sums(4, 0, 5), sums(4, 5, 5)));
        assert_eq!(m, [i64::from(c.rank() ^ 1)]);
        Group::new().wait().unwrap();
    })
    .unwrap();
}

#[test]
fn parts_of_a_communicator_work_on_their_own() {
    run_threads(6, |c| {
        let color = (c.rank() != 5).then_some(c.rank() % 2);
        let part = c.split(color, -i64::from(c.rank())).unwrap();
        let Some(part) = part else {
            assert_eq!(c.rank(), 5);
            c.barrier().unwrap();
            return;
        };
        // Ranks 4, 2, 0 and 3, 1.
        let expected =
            if c.rank() % 2 == 0 { (2 - c.rank() / 2, 3) } else { (1 - c.rank() / 2, 2) };
        assert_eq!((part.rank(), part.ranks()), expected);
        let mut ranks = vec![0u32; part.ranks() as usize];
        part.all_gather(&[c.rank()], &mut ranks).unwrap();
        assert_eq!(ranks, if c.rank() % 2 == 0 { vec![4, 2, 0] } else { vec![3, 1] });
        c.barrier().unwrap();
    })
    .unwrap();
}

#[test]
fn wrong_lengths_are_told_before_anything_starts() {
    run_threads(2, |c| {
        let mut shared = Buffer::<i32>::from_slice(&[1, 2, 3]).unwrap();
        let invalid = |result: Result<(), Error>, words: &str| match result {
            Err(error @ Error::Invalid { .. }) => {
                assert!(error.to_string().contains(words), "{error}");
            }
            other => panic!("{other:?}"),
        };
        invalid(c.all_reduce(&[1, 2], &mut shared, ReduceOp::Sum), "output is 3 elements");
        invalid(c.all_gather(&shared, &mut [0; 5]), "allowed is 6 elements");
        invalid(c.reduce_scatter(&[0; 5], &mut shared, ReduceOp::Sum), "input is 5 elements");
        invalid(c.all_to_all(&[0; 3], &mut shared), "a multiple of 2");
        invalid(c.all_gather_v(&shared, &mut [0; 4], &[4]), "lengths is 1 of them");
        invalid(c.send(&shared, 2), "a rank from 0 to 1");
        invalid(c.send(&shared, c.rank()), "another rank than the own");
        invalid(c.broadcast(&mut shared, 7), "a rank from 0 to 1");
        invalid(c.all_reduce_in_place(&mut [Bool::default()], ReduceOp::Avg), "avg on bool");
        // Nothing was started, so nothing is marked, and the communicator is well.
        assert_eq!(*shared, [1, 2, 3]);
        shared[0] = 4;
        assert_eq!(*shared, [4, 2, 3]);
        c.barrier().unwrap();
    })
    .unwrap();
}

/// What is small goes beside the call, and nobody else is in the buffer.
#[test]
fn a_small_buffer_of_a_failed_call_stays_as_it_is() {
    run_threads(2, |c| {
        let mut buffer = Buffer::from_slice(&[7, 8, c.rank()]).unwrap();
        let op = if c.rank() == 0 { ReduceOp::Sum } else { ReduceOp::Max };
        let error = c.all_reduce_in_place(&mut buffer, op).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. } | Error::Peer { .. }), "{error}");
        assert_eq!(*buffer, [7, 8, c.rank()]);
    })
    .unwrap();
}

#[test]
fn a_buffer_of_a_failed_call_gets_fresh_memory() {
    run_threads(2, |c| {
        let mut buffer = Buffer::from_slice(&[7i32; 80_000]).unwrap();
        if c.rank() == 0 {
            let error = c.all_reduce_in_place(&mut buffer, ReduceOp::Sum).unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. } | Error::Peer { .. }), "{error}");
            assert_eq!(*buffer, [0; 80_000]);
            buffer[0] = 1;
            assert_eq!(buffer[0], 1);
            let again = c.barrier().unwrap_err();
            assert_eq!(again, error, "the first failure stands");
        } else {
            let error = c.all_reduce_in_place(&mut buffer, ReduceOp::Max).unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. } | Error::Peer { .. }), "{error}");
        }
    })
    .unwrap();
}

#[test]
fn a_pending_call_that_is_dropped_aborts() {
    run_threads(2, |c| {
        let begun = Instant::now();
        if c.rank() == 0 {
            // Nobody sends it anything.
            drop(c.receive_async(&mut [0u8], 1).unwrap());
            assert!(matches!(c.barrier(), Err(Error::Aborted { .. })));
        } else {
            let error = c.barrier().unwrap_err().to_string();
            assert!(error.contains("rank 0"), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    })
    .unwrap();
}

#[test]
fn pieces_of_the_heap_are_lent_by_buffers_only() {
    run_threads(1, |c| {
        let victim = Buffer::from_slice(&[7i32; 16]).unwrap();
        for page in 0..64 {
            let piece = |offset| Memory::Shared(Piece { offset, len: 64 });
            let request = Request {
                operator: Operator::AllReduce,
                data_type: DataType::I32,
                reduce_op: Some(ReduceOp::Sum),
                root: 0,
                count: 16,
                lengths: None,
                input: piece(1 << 20),
                output: piece(page * 4096),
            };
            assert!(matches!(c.start(request), Err(Error::Invalid { what: "memory", .. })));
            let transfer = |direction| Transfer {
                direction,
                peer: 0,
                data_type: DataType::I32,
                count: 16,
                tag: 0,
                memory: piece(page * 4096),
            };
            let both = [transfer(Direction::Send), transfer(Direction::Receive)];
            assert!(matches!(c.start_transfers(&both), Err(Error::Invalid { .. })));
        }
        assert_eq!(*victim, [7; 16]);
        c.barrier().unwrap();
    })
    .unwrap();
}

#[test]
fn a_waker_that_panics_does_not_stop_the_others() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    run_threads(2, |c| {
        if c.rank() == 0 {
            let waker = Arc::new(Panics).into();
            let mut call = pin!(c.barrier_async().unwrap());
            let polled = call.as_mut().poll(&mut Context::from_waker(&waker));
            // The other rank comes late, and wakes this one.
            assert!(polled.is_pending());
            std::thread::sleep(Duration::from_millis(150));
            block_on(call).0.unwrap();
        } else {
            std::thread::sleep(Duration::from_millis(80));
            c.barrier().unwrap();
        }
        std::thread::sleep(Duration::from_millis(30 * u64::from(c.rank())));
        block_on(c.barrier_async().unwrap()).0.unwrap();
    })
    .unwrap();
}

#[test]
fn a_call_behind_one_that_nobody_polls_runs_into_the_time_out() {
    let root = Root::open().unwrap();
    let mut options = JoinOptions::default();
    options.communicator.timeout = Some(Duration::from_millis(300));
    let c = Communicator::join(root.info(), 0, 1, options).unwrap();
    let (input, mut output) = (vec![0u8; 1 << 20], vec![0u8; 1 << 20]);
    let _nobody_polls_it = c.all_reduce_async(&input, &mut output, ReduceOp::Max).unwrap();
    let error = c.barrier().unwrap_err();
    assert!(matches!(error, Error::NotItsTurn { .. }), "{error}");
    assert!(error.to_string().contains("Barrier number 2"), "{error}");
}

#[test]
fn a_sleeper_looks_around_in_time_though_others_are_woken_all_the_while() {
    let root = Root::open().unwrap();
    let mut options = JoinOptions::default();
    options.communicator.timeout = Some(Duration::from_millis(300));
    let c = Communicator::join(root.info(), 0, 1, options).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (input, mut output) = (vec![0u8; 1 << 20], vec![0u8; 1 << 20]);
            let _nobody_polls_it = c.all_reduce_async(&input, &mut output, ReduceOp::Max).unwrap();
            let error = block_on(c.barrier_async().unwrap()).0.unwrap_err();
            is_over.store(true, Ordering::Relaxed);
            assert!(matches!(error, Error::NotItsTurn { .. }), "{error}");
        });
        let begun = Instant::now();
        let forgotten = run_threads(2, |busy| {
            loop {
                std::thread::sleep(Duration::from_millis(10 * u64::from(busy.rank())));
                block_on(busy.barrier_async().unwrap()).0.unwrap();
                let own = [
                    u8::from(is_over.load(Ordering::Relaxed)),
                    u8::from(begun.elapsed().as_secs() > 10),
                ];
                let mut all = [0u8; 2];
                busy.all_reduce(&own, &mut all, ReduceOp::Max).unwrap();
                match all {
                    [0, 0] => {}
                    [over, _] => return over == 0,
                }
            }
        });
        assert_eq!(forgotten.unwrap(), [false, false], "the sleeper was forgotten");
    });
}

#[test]
fn time_outs_may_be_as_long_as_one_likes() {
    let root = Root::open_for(Duration::MAX).unwrap();
    let mut options = JoinOptions { timeout: Some(Duration::MAX), ..JoinOptions::default() };
    options.communicator.timeout = Some(Duration::MAX);
    let c = Communicator::join(root.info(), 0, 1, options).unwrap();
    c.barrier().unwrap();
}

#[test]
fn lengths_that_no_memory_has_are_refused_by_all_ranks() {
    run_threads(2, |c| {
        let lengths = Lengths::Matrix(vec![vec![0, 0], vec![0, u64::MAX]]);
        let request = Request {
            operator: Operator::AlltoAllVC,
            data_type: DataType::I32,
            reduce_op: None,
            root: 0,
            count: 0,
            lengths: Some(Arc::new(lengths)),
            input: Memory::NONE,
            output: Memory::NONE,
        };
        let error = c.start(request).err().unwrap();
        assert!(matches!(error, Error::Invalid { what: "lengths", .. }), "{error}");
    })
    .unwrap();
}
