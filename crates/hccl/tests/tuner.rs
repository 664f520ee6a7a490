//! What a tuner says is run, its silence changes nothing, and ranks whose tuners differ are told.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::Rank;
use hccl::{
    Algorithm, Choice, DataType, Error, Forced, Mesh, Offer, Operator, Options, Piece, ReduceOp,
    Request, Tuned, Tuner,
};
use parking_lot::Mutex;

/// Gives one algorithm a cost and leaves the others; knows what it was asked and told.
struct Prefers {
    algorithm: Option<Algorithm>,
    cost: f32,
    asked: Mutex<Vec<Tuned>>,
    told: Mutex<Vec<Algorithm>>,
}

impl Prefers {
    fn new(algorithm: Option<Algorithm>, cost: f32) -> Arc<Self> {
        Arc::new(Self { algorithm, cost, asked: Mutex::default(), told: Mutex::default() })
    }
}

impl Tuner for Prefers {
    fn costs(&self, call: &Tuned, offers: &[Offer]) -> Option<Vec<f32>> {
        self.asked.lock().push(*call);
        let wanted = self.algorithm.as_ref()?;
        assert!(offers.iter().any(|offer| offer.algorithm == *wanted), "{offers:?}");
        let cost = |offer: &Offer| {
            if offer.algorithm == *wanted { self.cost } else { offer.cost_us }
        };
        Some(offers.iter().map(cost).collect())
    }

    fn chosen(&self, _: &Tuned, choice: &Choice) {
        self.told.lock().push(choice.algorithm.clone());
    }
}

const RANKS: u32 = 3;

/// An all-reduce of so many elements, each the rank's number plus one.
fn all_reduce(rank: &mut Rank, count: usize) -> Result<(), Error> {
    let number = rank.communicator.rank() as f32 + 1.0;
    rank.floats(0, count).fill(number);
    let len = count as u64 * 4;
    let request = Request {
        operator: Operator::AllReduce,
        data_type: DataType::F32,
        reduce_op: Some(ReduceOp::Sum),
        root: 0,
        count: count as u64,
        lengths: None,
        input: Piece { offset: 0, len }.into(),
        output: Piece { offset: 1 << 20, len }.into(),
    };
    rank.communicator.start(request)?.wait()?;
    let sum = (1..=RANKS).sum::<u32>() as f32;
    assert!(rank.floats(1 << 20, count).iter().all(|&found| found == sum));
    Ok(())
}

fn run<T: Send>(options: impl Fn() -> Options + Sync, body: impl Fn(Rank) -> T + Sync) -> Vec<T> {
    let timeout = Duration::from_secs(20);
    let all: Vec<u32> = (0..RANKS).collect();
    let options = || Options { timeout: Some(timeout), ..options() };
    common::run_with(&all, RANKS, options, timeout, |_, rank| body(rank.unwrap()))
}

/// Each rank with a tuner of its own, as processes have; counts of elements small and large.
fn told(algorithm: Option<Algorithm>, cost: f32, forced: Option<Forced>) -> Vec<Algorithm> {
    let tuners = Mutex::new(Vec::new());
    let options = || {
        let tuner = Prefers::new(algorithm.clone(), cost);
        tuners.lock().push(tuner.clone());
        Options { tuner: Some(tuner), forced: forced.clone(), ..common::options() }
    };
    run(options, |mut rank| {
        for count in [1, 5000, 1, 5000] {
            all_reduce(&mut rank, count).unwrap();
        }
    });
    let all: Vec<Vec<Algorithm>> =
        tuners.lock().iter().map(|tuner| tuner.told.lock().clone()).collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    for tuner in tuners.lock().iter() {
        let asked: Vec<u64> = tuner.asked.lock().iter().map(|call| call.bytes).collect();
        assert_eq!(asked, if forced.is_some() { vec![] } else { vec![4, 20_000] }, "once each");
    }
    all[0].clone()
}

#[test]
fn what_costs_least_runs_and_is_asked_once_a_kind() {
    let direct = Algorithm::Mesh(Mesh::Direct);
    assert_eq!(told(Some(Algorithm::Ring), 0.0, None), [Algorithm::Ring, Algorithm::Ring]);
    assert_eq!(told(Some(Algorithm::Ring), -1.0, None), [direct.clone(), direct]);
    assert_ne!(
        told(Some(Algorithm::Mesh(Mesh::Direct)), -1.0, None)[0],
        Algorithm::Mesh(Mesh::Direct)
    );
    assert_eq!(told(None, 0.0, None), []);
}

#[test]
fn what_the_user_asked_for_is_not_asked_again() {
    assert_eq!(told(Some(Algorithm::Nhr), 0.0, Some(Forced::Algorithm(Algorithm::Ring))), []);
}

/// The ring is on one rank only, so it is not what the tuner was told but what ran.
#[test]
fn ranks_that_were_tuned_differently_are_told() {
    let server = hccl_fabric::Server::open(0).unwrap();
    let root = server.info().clone();
    let timeout = Duration::from_secs(20);
    server.serve(timeout).unwrap();
    std::thread::scope(|scope| {
        for number in 0..RANKS {
            let root = &root;
            scope.spawn(move || {
                let algorithm = (number == 1).then_some(Algorithm::Ring);
                let tuner = Prefers::new(algorithm, 0.0);
                let options =
                    Options { timeout: Some(timeout), tuner: Some(tuner), ..common::options() };
                let mut rank = common::join(root, (number, RANKS), options, timeout).unwrap();
                let error = all_reduce(&mut rank, 5000).unwrap_err();
                if number == 1 {
                    let Error::Mismatch { table, .. } = &error else { panic!("{error}") };
                    assert!(table.contains("plan"), "{table}");
                }
            });
        }
    });
}
