//! Ranks as threads on the real fabric: what they say when something is wrong.

mod common;

use std::time::{Duration, Instant};

use common::{MEMORY, Rank};
use hccl::{
    DataType, Direction, Error, Memory, Operator, Options, Piece, Polled, ReduceOp, Request,
    Transfer,
};
use hccl_fabric::{Fault, JoinError, RootInfo, Server};

fn join(root: &RootInfo, rank: u32, ranks: u32, timeout: Duration) -> Result<Rank, JoinError> {
    common::join(root, (rank, ranks), common::options(), timeout)
}

/// Runs `body` for each rank on a thread of its own.
fn run<T: Send>(
    ranks: &[u32],
    total: u32,
    body: impl Fn(u32, Result<Rank, JoinError>) -> T + Sync,
) -> Vec<T> {
    common::run_with(ranks, total, common::options, Duration::from_millis(400), body)
}

fn request(count: u64) -> Request {
    Request {
        operator: Operator::AllReduce,
        data_type: DataType::F32,
        reduce_op: Some(ReduceOp::Sum),
        root: 0,
        count,
        lengths: None,
        input: Piece { offset: 0, len: MEMORY as u64 / 2 }.into(),
        output: Piece { offset: MEMORY as u64 / 2, len: MEMORY as u64 / 2 }.into(),
    }
}

#[test]
fn operations_run_in_the_order_in_which_they_were_started() {
    let sums = run(&[0, 1, 2], 3, |number, rank| {
        let mut rank = rank.unwrap();
        for (i, value) in rank.floats(0, 64).iter_mut().enumerate() {
            *value = (number * 100) as f32 + i as f32;
        }
        let first = Request { output: Piece { offset: 4096, len: 4096 }.into(), ..request(64) };
        let second = Request {
            input: first.output,
            output: Piece { offset: 8192, len: 4096 }.into(),
            ..request(64)
        };
        let mut first = rank.communicator.start(first).unwrap();
        let mut second = rank.communicator.start(second).unwrap();
        // The second cannot overtake, however often it is polled.
        for _ in 0..100 {
            assert!(matches!(second.poll(false), Polled::Pending { .. }));
        }
        first.wait().unwrap();
        second.wait().unwrap();
        rank.floats(8192, 64).to_vec()
    });
    for sum in sums {
        for (i, value) in sum.iter().enumerate() {
            assert_eq!(*value, 3.0 * (300.0 + 3.0 * i as f32));
        }
    }
}

#[test]
fn different_calls_give_the_same_table_to_every_rank() {
    let odd = [
        Request { count: 1001, ..request(1000) },
        Request { data_type: DataType::I32, ..request(1000) },
        Request { reduce_op: Some(ReduceOp::Max), ..request(1000) },
        Request { operator: Operator::Broadcast, root: 1, ..request(1000) },
    ];
    for odd in &odd {
        let errors = run(&[0, 1, 2, 3], 4, |number, rank| {
            let rank = rank.unwrap();
            let request = if number == 2 { odd.clone() } else { request(1000) };
            let begun = Instant::now();
            let error = rank.communicator.start(request.clone()).unwrap().wait().unwrap_err();
            assert!(begun.elapsed() < Duration::from_secs(5));
            assert_eq!(rank.communicator.failure().as_ref(), Some(&error));
            assert!(rank.communicator.start(request).is_err());
            match error {
                Error::Mismatch { table, .. } => table,
                other => panic!("{other}"),
            }
        });
        assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
        assert!(errors[0].contains("ranks 0, 1, 3: AllReduce of 1000 float32 sum"), "{errors:?}");
        assert!(errors[0].contains("; rank 2: "), "{errors:?}");
    }
}

#[test]
fn a_time_out_names_the_rank_that_did_not_come() {
    run(&[0, 1, 2, 3], 4, |number, rank| {
        let rank = rank.unwrap();
        rank.communicator.start(request(8)).unwrap().wait().unwrap();
        if number == 1 {
            // Stays long enough for the others to give up.
            std::thread::sleep(Duration::from_millis(800));
            return;
        }
        let error = rank.communicator.start(request(8)).unwrap().wait().unwrap_err();
        let text = error.to_string();
        // Whoever gives up first tells the others, and none of them is called the cause.
        match error {
            Error::TimedOut { lagging, .. } => {
                let expected: Vec<_> = lagging.iter().map(|lag| (lag.rank, lag.sequence)).collect();
                assert_eq!(expected, [(1, 1)], "{text}");
                assert!(text.contains("AllReduce number 2 of communicator test"), "{text}");
                assert!(text.contains("rank 1 (process"), "{text}");
            }
            other => panic!("{other}"),
        }
    });
}

#[test]
fn a_rank_that_leaves_is_named_and_one_that_left_afterwards_is_not_missed() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        let mut operation = rank.communicator.start(request(100_000)).unwrap();
        operation.wait().unwrap();
        drop(operation);
        if number == 1 {
            rank.communicator.leave();
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
        let error = rank.communicator.start(request(8)).unwrap().wait().unwrap_err();
        assert!(error.to_string().contains("rank 1 (process"), "{error}");
        assert!(error.to_string().contains("has left"), "{error}");
    });
}

#[test]
fn an_abort_ends_waits_here_and_elsewhere_at_once() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        if number == 1 {
            std::thread::sleep(Duration::from_millis(30));
            rank.communicator.abort("the test says so");
            rank.communicator.abort("twice is fine");
            let refused = rank.communicator.start(request(8)).err().unwrap();
            assert!(refused.to_string().contains("the test says so"), "{refused}");
            return;
        }
        let begun = Instant::now();
        let error = rank.communicator.start(request(8)).unwrap().wait().unwrap_err();
        assert!(error.to_string().contains("told to stop"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(1));
    });
}

#[test]
fn an_operation_that_is_thrown_away_ends_the_communicator() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        if number == 1 {
            drop(rank.communicator.start(request(8)).unwrap());
            let text = rank.communicator.failure().unwrap().to_string();
            assert!(text.contains("thrown away"), "{text}");
            return;
        }
        assert!(rank.communicator.start(request(8)).unwrap().wait().is_err());
    });
}

fn transfer(direction: Direction, peer: u32, count: u64, offset: u64) -> Transfer {
    let memory = Piece { offset, len: MEMORY as u64 - offset }.into();
    Transfer { direction, peer, data_type: DataType::F32, count, tag: 0, memory }
}

#[test]
fn messages_meet_in_the_order_in_which_they_were_started() {
    const HALF: u64 = MEMORY as u64 / 2;
    run(&[0, 1, 2], 3, |number, rank| {
        let mut rank = rank.unwrap();
        for (i, value) in rank.floats(0, 300).iter_mut().enumerate() {
            *value = (number * 1000) as f32 + i as f32;
        }
        let others = [(number + 1) % 3, (number + 2) % 3];
        // Three messages each way between each two ranks, all started before any is polled.
        let mut sets: Vec<_> = (0..3u64)
            .map(|round| {
                let both = others.iter().flat_map(|&peer| {
                    let place = HALF + (u64::from(peer) * 3 + round) * 4096;
                    [
                        transfer(Direction::Send, peer, 100, round * 400),
                        transfer(Direction::Receive, peer, 100, place),
                    ]
                });
                rank.communicator.start_transfers(&both.collect::<Vec<_>>()).unwrap()
            })
            .collect();
        for set in sets.iter_mut() {
            set.wait().unwrap();
        }
        for peer in others {
            for round in 0..3usize {
                let place = HALF as usize + (peer as usize * 3 + round) * 4096;
                let expected = (peer * 1000) as f32 + (round * 100) as f32;
                assert_eq!(rank.floats(place, 100)[0], expected);
            }
        }
        assert!(!rank.communicator.is_busy());
    });
}

#[test]
fn messages_that_do_not_fit_are_refused_at_both_ends() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        let request = if number == 0 {
            transfer(Direction::Send, 1, 70, 0)
        } else {
            transfer(Direction::Receive, 0, 80, 0)
        };
        let error = rank.communicator.start_transfers(&[request]).unwrap().wait().unwrap_err();
        match (number, error) {
            (1, Error::Mismatch { table, .. }) => {
                assert_eq!(table, "rank 0 sends 70 float32; rank 1 receives 80 float32");
            }
            (0, Error::Peer { .. }) => {}
            (_, other) => panic!("{other}"),
        }
    });
}

#[test]
fn messages_of_different_tags_are_refused() {
    // One that is in the channel itself, and one that is not.
    for count in [4, 400] {
        run(&[0, 1], 2, |number, rank| {
            let rank = rank.unwrap();
            let message =
                |direction, tag| Transfer { tag, ..transfer(direction, 1 - number, count, 0) };
            for (mine, yours, fits) in [(7, 7, true), (7, 8, false)] {
                let request = match number {
                    0 => message(Direction::Send, mine),
                    _ => message(Direction::Receive, yours),
                };
                let result = rank.communicator.start_transfers(&[request]).unwrap().wait();
                match (number, result) {
                    // A short message is in the channel, and its sender is through.
                    (0, Ok(())) => assert!(fits || count == 4),
                    (_, Ok(())) => assert!(fits),
                    (1, Err(Error::Mismatch { table, .. })) => {
                        assert!(table.contains("with tag 7") && table.contains("with tag 8"));
                        assert!(!fits, "{table}");
                    }
                    (0, Err(Error::Peer { .. })) => assert!(!fits),
                    (_, Err(other)) => panic!("{other}"),
                }
            }
        });
    }
}

/// What a sender gave up on is its own again, so nobody may take it any more, in whatever memory.
#[test]
fn a_message_whose_sender_failed_is_not_taken() {
    for (remote, private) in [(false, false), (true, true), (false, true)] {
        let server = Server::open(0).unwrap();
        let root = server.info().clone();
        let timeout = Duration::from_secs(20);
        server.serve(timeout).unwrap();
        let meeting = std::sync::Barrier::new(2);
        let run = |number: u32| {
            let patience = if number == 0 { Duration::from_millis(100) } else { timeout };
            let options = Options {
                timeout: Some(patience),
                copy_from_processes: remote,
                ..common::options()
            };
            let rank = common::join(&root, (number, 2), options, timeout).unwrap();
            let mut data = vec![1f32; 10_000];
            let memory = match private {
                // SAFETY: the vector lives until the transfer is over, and nothing else uses it.
                true => unsafe { Memory::private(data.as_mut_ptr().cast(), 40_000) },
                false => Piece { offset: 0, len: 40_000 }.into(),
            };
            let direction = if number == 0 { Direction::Send } else { Direction::Receive };
            let peer = 1 - number;
            let request = Transfer {
                direction,
                peer,
                data_type: DataType::F32,
                count: 10_000,
                tag: 0,
                memory,
            };
            if number == 1 {
                meeting.wait();
            }
            let result = rank.communicator.start_transfers(&[request]).unwrap().wait();
            if number == 0 {
                data.fill(9.0);
                meeting.wait();
            }
            (number, result)
        };
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| run(0));
            let (_, received) = run(1);
            let (_, sent) = sender.join().unwrap();
            assert!(matches!(sent, Err(Error::TimedOut { .. })), "{sent:?}");
            assert!(matches!(received, Err(Error::Peer { .. })), "{received:?}");
        });
    }
}

#[test]
fn nothing_is_sent_to_a_rank_that_left() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        if number == 1 {
            rank.communicator.leave();
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
        let request = transfer(Direction::Send, 1, 2, 0);
        let error = rank.communicator.start_transfers(&[request]).unwrap().wait().unwrap_err();
        assert!(matches!(error, Error::Peer { fault: Fault::Left { rank: 1, .. }, .. }), "{error}");
    });
}

/// A small call against a large one: both sides say who called what.
#[test]
fn calls_of_different_sizes_are_told_to_both() {
    let calls: [fn(u32) -> Request; 3] = [
        |number| request([2, 50_000][number as usize]),
        |number| request([50_000, 2][number as usize]),
        |number| match number {
            0 => Request { operator: Operator::Barrier, reduce_op: None, ..request(0) },
            _ => request(50_000),
        },
    ];
    for call in calls {
        run(&[0, 1], 2, |number, rank| {
            let rank = rank.unwrap();
            // One of them is there first.
            std::thread::sleep(Duration::from_millis(30 * u64::from(number)));
            let error = rank.communicator.start(call(number)).unwrap().wait().unwrap_err();
            let Error::Mismatch { table, .. } = &error else { panic!("rank {number}: {error}") };
            assert!(table.contains("rank 0: ") && table.contains("rank 1: "), "{table}");
        });
    }
}

/// A short message is sent before its receiver has looked; the sender hears of it afterwards.
#[test]
fn short_messages_that_do_not_fit_are_refused_by_the_receiver() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        let go = |direction, peer, count| {
            let request = transfer(direction, peer, count, 0);
            rank.communicator.start_transfers(&[request]).unwrap().wait()
        };
        if number == 0 {
            go(Direction::Send, 1, 7).unwrap();
            let error = go(Direction::Receive, 1, 1).unwrap_err();
            assert!(matches!(error, Error::Peer { .. }), "{error}");
        } else {
            let error = go(Direction::Receive, 0, 8).unwrap_err();
            let Error::Mismatch { table, .. } = error else { panic!("{error}") };
            assert_eq!(table, "rank 0 sends 7 float32; rank 1 receives 8 float32");
        }
    });
}

#[test]
fn a_message_that_never_comes_runs_into_the_time_out() {
    run(&[0, 1], 2, |number, rank| {
        let rank = rank.unwrap();
        if number == 1 {
            std::thread::sleep(Duration::from_millis(600));
            return;
        }
        let request = transfer(Direction::Receive, 1, 8, 0);
        let error = rank.communicator.start_transfers(&[request]).unwrap().wait().unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::TimedOut { .. }), "{text}");
        assert!(text.contains("receive number 1 from rank 1 of communicator test"), "{text}");
    });
}

#[test]
fn missing_ranks_are_named_to_those_who_came() {
    let errors = run(&[0, 2], 4, |_, rank| rank.err().unwrap());
    for error in errors {
        assert!(matches!(error, JoinError::Missing(_)), "{error:?}");
        assert!(error.to_string().contains("Failed to connect agent[1,3]"), "{error}");
    }
}

#[test]
fn a_rank_that_comes_twice_is_refused_and_everybody_hears() {
    let errors = run(&[0, 1, 1], 3, |_, rank| rank.err().unwrap().to_string());
    for error in errors {
        assert!(error.contains("rank 1 joined twice"), "{error}");
    }
}

#[test]
fn ranks_must_agree_on_how_many_they_are() {
    let server = Server::open(0).unwrap();
    let root = server.info().clone();
    server.serve(Duration::from_secs(2)).unwrap();
    let texts = std::thread::scope(|scope| {
        let wait = Duration::from_secs(2);
        let root = &root;
        let one = scope.spawn(move || join(root, 0, 2, wait).err().unwrap().to_string());
        let two = scope.spawn(move || join(root, 1, 5, wait).err().unwrap().to_string());
        [one.join().unwrap(), two.join().unwrap()]
    });
    for text in texts {
        assert!(text.contains("all ranks must give the same count"), "{text}");
    }
    let out_of_range = join(&root, 3, 3, Duration::from_secs(1)).err().unwrap();
    assert!(matches!(out_of_range, JoinError::Invalid(_)));
}

#[test]
fn strangers_do_not_disturb_a_meeting() {
    let server = Server::open(0).unwrap();
    let root = server.info().clone();
    let nonce: String = root.nonce.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("hccl-{nonce}");
    server.serve(Duration::from_secs(5)).unwrap();
    let soon = || Instant::now() + Duration::from_secs(1);
    let visit = || hccl_os::socket::Connection::connect(name.as_bytes(), soon()).unwrap();
    let silent = visit();
    visit().send(b"GET / HTTP/1.1", &[], soon()).unwrap();
    drop(visit());
    std::thread::scope(|scope| {
        for number in 0..2 {
            let root = &root;
            scope.spawn(move || {
                let rank = join(root, number, 2, Duration::from_secs(5)).unwrap();
                rank.communicator.start(request(8)).unwrap().wait().unwrap();
            });
        }
    });
    drop(silent);
    let late = join(&root, 0, 2, Duration::from_millis(100)).err().unwrap();
    assert!(matches!(late, JoinError::Missing(_)), "{late:?}");
}

#[test]
fn a_root_info_from_elsewhere_is_refused() {
    let mut root = Server::open(0).unwrap().info().clone();
    root.host.boot[0] ^= 1;
    let error = join(&root, 0, 1, Duration::from_millis(100)).err().unwrap();
    assert!(error.to_string().contains("another host"), "{error}");
    root.host = hccl_os::host::host_id().unwrap();
    root.host.network ^= 1;
    let error = join(&root, 0, 1, Duration::from_millis(100)).err().unwrap();
    assert!(error.to_string().contains("network namespace"), "{error}");
}
