//! What runtimes with queues and allocators of their own need of a communicator.

use std::time::Duration;

use hccl::shared::{Block, find};
use hccl::{
    Arrival, Communicator, DataType, Direction, Error, Memory, Operator, ReduceOp, Request,
    Transfer, run_threads,
};

fn private<T>(values: &mut [T]) -> Memory {
    // SAFETY: the slices of these tests are there until their calls are over.
    unsafe { Memory::private(values.as_mut_ptr().cast(), size_of_val(values) as u64) }
}

fn message(direction: Direction, peer: u32, tag: u32, values: &mut [u32]) -> Transfer {
    let (count, memory) = (values.len() as u64, private(values));
    Transfer { direction, peer, data_type: DataType::U32, count, tag, memory }
}

fn next(ranks: &Communicator, peer: u32) -> Result<Arrival, Error> {
    loop {
        if let Some(arrival) = ranks.next_message(peer)? {
            return Ok(arrival);
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_message_is_known_before_it_is_received() {
    let long = 100_000;
    let ends = run_threads(2, |ranks| {
        if ranks.rank() == 0 {
            let (mut first, mut second) = (vec![7u32; long], [3u32, 1, 4]);
            let sends = [
                message(Direction::Send, 1, 5, &mut first),
                message(Direction::Send, 1, 6, &mut second),
            ];
            return ranks.start_transfers(&sends)?.wait();
        }
        assert_eq!(ranks.next_message(1)?, None, "nothing comes from the rank itself");
        assert_eq!(ranks.next_message(9)?, None);
        let arrival = next(&ranks, 0)?;
        assert_eq!(arrival, Arrival { data_type: DataType::U32, count: long as u64, tag: 5 });
        // It stays the next one until a receive is started.
        assert_eq!(next(&ranks, 0)?, arrival);
        let mut first = vec![0u32; long];
        ranks.start_transfers(&[message(Direction::Receive, 0, 5, &mut first)])?.wait()?;
        assert!(first.iter().all(|&value| value == 7));
        let arrival = next(&ranks, 0)?;
        assert_eq!((arrival.count, arrival.tag), (3, 6));
        let mut second = [0u32; 3];
        ranks.start_transfers(&[message(Direction::Receive, 0, 6, &mut second)])?.wait()?;
        assert_eq!(second, [3, 1, 4]);
        Ok(())
    });
    assert_eq!(ends.unwrap(), [Ok(()), Ok(())]);
}

#[test]
fn blocks_of_the_heap_are_used_where_they_are() {
    let count = 50_000usize;
    let ends = run_threads(2, |ranks| {
        let bytes = (count * 4) as u64;
        let block = Block::new(bytes)?;
        let address = block.address().as_ptr().cast::<u32>();
        // SAFETY: the block is this thread's, as long, and begins at a page.
        let values = unsafe { std::slice::from_raw_parts_mut(address, count) };
        values.iter_mut().zip(ranks.rank()..).for_each(|(value, number)| *value = number);
        let memory = find(address.cast(), bytes).expect("it is in the heap");
        let request = Request {
            operator: Operator::AllReduce,
            data_type: DataType::U32,
            reduce_op: Some(ReduceOp::Sum),
            root: 0,
            count: count as u64,
            lengths: None,
            input: memory,
            output: memory,
        };
        // Without the promise that somebody keeps it, it is refused.
        assert!(matches!(ranks.start(request.clone()), Err(Error::Invalid { .. })));
        // SAFETY: the block outlives the call, which ends well or fails the test.
        if let Some(mut operation) = unsafe { ranks.start_or_finish_shared(request) }? {
            operation.wait()?;
        }
        assert!(values.iter().zip(0u32..).all(|(&value, number)| value == 2 * number + 1));
        Ok::<(), Error>(())
    });
    assert_eq!(ends.unwrap(), [Ok(()), Ok(())]);
}

#[test]
fn the_time_out_can_be_changed() {
    let ends = run_threads(2, |ranks| {
        if ranks.rank() == 1 {
            // One that leaves would be found out before.
            std::thread::sleep(Duration::from_secs(3));
            return None;
        }
        ranks.set_timeout(Some(Duration::from_millis(200)));
        let mut sum = [0u32];
        ranks.all_reduce(&[1], &mut sum, ReduceOp::Sum).err()
    });
    assert!(matches!(ends.unwrap()[0], Some(Error::TimedOut { .. })));
    let waited = run_threads(2, |ranks| {
        if ranks.rank() == 1 {
            std::thread::sleep(Duration::from_millis(600));
            return ranks.barrier().err();
        }
        ranks.set_timeout(Some(Duration::from_millis(100)));
        ranks.set_timeout(None);
        ranks.barrier().err()
    });
    assert_eq!(waited.unwrap(), [None, None]);
}

#[test]
fn a_call_keeps_the_time_out_that_it_was_started_with() {
    let ends = run_threads(2, |ranks| {
        if ranks.rank() == 1 {
            std::thread::sleep(Duration::from_secs(3));
            return None;
        }
        ranks.set_timeout(Some(Duration::from_millis(200)));
        let mut sum = vec![0u32; 100_000];
        let ones = vec![1u32; 100_000];
        let call = ranks.all_reduce_async(&ones, &mut sum, ReduceOp::Sum);
        // What comes behind it may take as long as it likes.
        ranks.set_timeout(None);
        call.and_then(hccl::Pending::wait).err()
    });
    assert!(matches!(ends.unwrap()[0], Some(Error::TimedOut { .. })));
}

#[test]
fn a_rank_that_is_there_is_not_gone() {
    let ends = run_threads(2, |ranks| {
        let other = 1 - ranks.rank();
        assert_eq!(ranks.gone(other), None);
        ranks.barrier()?;
        if ranks.rank() == 1 {
            ranks.leave();
            return Ok(());
        }
        while ranks.gone(1).is_none() {
            std::thread::yield_now();
        }
        assert!(ranks.gone(1).is_some_and(|why| why.contains("rank 1")));
        Ok::<(), Error>(())
    });
    assert_eq!(ends.unwrap(), [Ok(()), Ok(())]);
}
