//! Time-outs go by the clock of the fabric: a virtual hour passes without anybody waiting for it.

use std::time::Duration;

use hccl::{Communicator, DataType, Error, Operator, Options, Piece, Polled, ReduceOp, Request};
use hccl_fabric::simulated::{Delays, Network, Settings, Visibility};

const RANKS: u32 = 4;
const TIMEOUT: Duration = Duration::from_secs(3600);
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn a_rank_that_does_not_come_is_named_after_the_time_out() {
    let settings = Settings {
        seed: 1,
        ranks: RANKS,
        memory_bytes: 4096,
        delays: Delays::USUAL,
        visibility: Visibility::Early,
        all_copy: false,
    };
    let (network, fabrics) = Network::new(&settings, None);
    let communicators = fabrics.into_iter().map(|fabric| {
        let options = Options { name: "late".into(), timeout: Some(TIMEOUT), ..Options::default() };
        Communicator::new(Box::new(fabric), options)
    });
    let communicators: Vec<Communicator> = communicators.collect();
    let request = Request {
        operator: Operator::AllReduce,
        data_type: DataType::F32,
        reduce_op: Some(ReduceOp::Sum),
        root: 0,
        count: 8,
        lengths: None,
        input: Piece { offset: 0, len: 32 }.into(),
        output: Piece { offset: 64, len: 32 }.into(),
    };
    // All but rank 2 call.
    let callers = [0, 1, 3];
    let mut operations = callers.map(|rank| communicators[rank].start(request.clone()).unwrap());
    let mut let_pass = |to_ns: u64| {
        (0..RANKS).for_each(|rank| network.advance(rank, to_ns));
        operations.each_mut().map(|operation| operation.poll(true))
    };
    let pending = |polled: &Polled| matches!(polled, Polled::Pending { .. });
    for second in 0..3600 {
        assert!(let_pass(second * SECOND_NS).iter().all(pending), "second {second}");
    }
    let [first, ..] = let_pass(3601 * SECOND_NS);
    match first {
        Polled::Failed(Error::TimedOut { lagging, waited, .. }) => {
            assert_eq!(waited, TIMEOUT);
            assert_eq!(lagging.iter().map(|lag| lag.rank).collect::<Vec<_>>(), [2]);
        }
        other => panic!("{other:?}"),
    }
}
