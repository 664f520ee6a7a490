//! What the simulator promises besides the closed forms: nothing is lost, the result is the same
//! every time, links of tiers count, and the critical path explains the time.

mod common;

use common::{algorithms, applies, noise};
use hccl_plan::check::prove;
use hccl_plan::simulate::{Hop, Model, Outcome, SimulateError, Simulator, Size, Work};
use hccl_plan::{
    Access, Algorithm, Buffer, Extents, Flat, Link, Mesh, Operator, Peers, Place, Plan, Ports,
    Span, Step, Task, Topology, expand,
};

const MICROSECOND: u64 = 1_000_000;

fn link(text: &str) -> Link {
    text.parse().unwrap()
}

fn model(topology: &str, links: &[&str]) -> Model {
    let topology: Topology = topology.parse().unwrap();
    Model::new(topology.with_links(links.iter().map(|text| link(text)).collect()))
}

/// With devices that take time too.
fn slow(model: Model) -> Model {
    Model {
        reduce_bytes_per_s: Some(30_000_000_000),
        copy_bytes_per_s: Some(50_000_000_000),
        ..model
    }
}

fn simulate(model: &Model, algorithm: &Algorithm, operator: Operator, bytes: u64) -> Outcome {
    let ranks = model.topology.ranks();
    let root = if operator.is_rooted() { ranks - 1 } else { 0 };
    let simulator = Simulator::new(model, algorithm, &Task::new(operator, ranks, root)).unwrap();
    simulator.run(Size::new(operator, ranks, bytes, 4)).unwrap()
}

/// Every operator by every algorithm that knows it, on a topology; operators with lengths by rank too.
fn everything(topology: &str, links: &[&str], mut with: impl FnMut(&Model, &Algorithm, &Task)) {
    let model = slow(model(topology, links));
    let ranks = model.topology.ranks();
    for algorithm in algorithms(ranks) {
        for operator in Operator::ALL {
            let task = common::task(operator, ranks, 5);
            if applies(&algorithm, &task) {
                with(&model, &algorithm, &task);
            }
        }
    }
}

const SHAPES: [(&str, &[&str]); 5] = [
    ("6", &["2us:10GB/s"]),
    ("7", &["2us:10GB/s:rank"]),
    ("4x3", &["2us:30GB/s", "5us:10GB/s"]),
    ("2+3+5", &["2us:30GB/s", "5us:10GB/s"]),
    ("2x2x4", &["1us:30GB/s:rank", "3us:20GB/s:pair", "9us:10GB/s"]),
];

/// Bytes of all tiers are what the checker counts, whatever the topology and the size.
#[test]
fn bytes_by_tier_are_those_of_the_checker() {
    for (topology, links) in SHAPES {
        everything(topology, links, |model, algorithm, task| {
            let report = prove(algorithm, task).unwrap();
            let simulator = Simulator::new(model, algorithm, task).unwrap();
            // Blocks that all parts divide.
            let count = if task.extents.is_some() { 1 } else { report.unit * 3 };
            let size = Size { count, element_bytes: 2, granule: 1 };
            let outcome = simulator.run(size).unwrap();
            let moved: u64 = report.moved.iter().sum();
            let times = if task.extents.is_some() { 1 } else { 3 };
            let found: u64 = outcome.traffic.iter().map(|traffic| traffic.bytes).sum();
            assert_eq!(found, moved * times * 2, "{algorithm} {} on {topology}", task.operator);
        });
    }
}

/// The chain begins at 0, each hop where the one before it ends, and ends with the last rank.
#[test]
fn the_critical_path_explains_the_time() {
    for (topology, links) in SHAPES {
        everything(topology, links, |model, algorithm, task| {
            let simulator = Simulator::new(model, algorithm, task).unwrap();
            for count in [0, 1, 1000, 1_234_567] {
                let size = Size { count, element_bytes: 4, granule: 32 };
                let outcome = simulator.run(size).unwrap();
                let name = format!("{algorithm} {} on {topology} x {count}", task.operator);
                let mut now = 0;
                for hop in &outcome.path.0 {
                    assert_eq!(hop.from_ps, now, "{name}\n{}", outcome.path);
                    assert!(hop.to_ps > now, "{name}\n{}", outcome.path);
                    now = hop.to_ps;
                }
                assert_eq!(now, outcome.time_ps, "{name}\n{}", outcome.path);
                assert_eq!(outcome.ends_ps.iter().max(), Some(&outcome.time_ps));
                assert_eq!(outcome.path.to_string().lines().count(), outcome.path.0.len() + 1);
            }
        });
    }
}

#[test]
fn the_result_is_the_same_every_time() {
    for (topology, links) in SHAPES {
        everything(topology, links, |model, algorithm, task| {
            let size = Size { count: 100_003, element_bytes: 4, granule: 32 };
            let simulator = Simulator::new(model, algorithm, task).unwrap();
            let outcome = simulator.run(size).unwrap();
            assert_eq!(simulator.run(size).unwrap(), outcome);
            let plans = (0..task.ranks).map(|rank| expand(algorithm, task, rank).unwrap());
            let again = Simulator::with_plans(model, plans).unwrap();
            assert_eq!(again.run(size).unwrap(), outcome, "{algorithm} {}", task.operator);
        });
    }
}

/// Nobody is faster than its port, and nothing is faster than the latency of a round.
#[test]
fn no_port_carries_more_than_it_can() {
    everything("6", &["2us:10GB/s:rank"], |model, algorithm, task| {
        let report = prove(algorithm, task).unwrap();
        let simulator = Simulator::new(model, algorithm, task).unwrap();
        let count = if task.extents.is_some() { 1 } else { report.unit * 1000 };
        let outcome = simulator.run(Size { count, element_bytes: 4, granule: 1 }).unwrap();
        let times = if task.extents.is_some() { 4 } else { 4000 };
        let most = report.moved.iter().max().unwrap() * times;
        // Direct meshes move half in each direction: what is read comes in, what is written goes out.
        let both = if report.access == Access::Mapped { 2 } else { 1 };
        let least_ps = most * 100 / both;
        assert!(outcome.time_ps >= least_ps, "{algorithm} {}", task.operator);
    });
}

/// Twice the latency and half the speed of everything: twice the time.
#[test]
fn time_scales_with_the_network() {
    everything("4x3", &["2us:30GB/s", "5us:10GB/s"], |model, algorithm, task| {
        let mut twice = model.clone();
        for link in &mut twice.topology.links {
            link.latency_ns *= 2;
            link.bytes_per_s /= 2;
        }
        twice.reduce_bytes_per_s = model.reduce_bytes_per_s.map(|rate| rate / 2);
        twice.copy_bytes_per_s = model.copy_bytes_per_s.map(|rate| rate / 2);
        let size = Size { count: 30_011, element_bytes: 4, granule: 1 };
        let time = |model: &Model| {
            Simulator::new(model, algorithm, task).unwrap().run(size).unwrap().time_ps
        };
        let (once, twice) = (time(model) as f64, time(&twice) as f64);
        assert!((twice - 2.0 * once).abs() <= 1e-6 * once, "{algorithm} {}", task.operator);
    });
}

#[test]
fn latencies_are_those_of_the_tiers() {
    let model = model("2x2x2", &["1us:1TB/s", "10us:1TB/s", "100us:1TB/s"]);
    let lens = |from: u32, to: u32| {
        let transfer = hccl_plan::Transfer { from, source: 0, to, target: 0, len: 250_000 };
        Task::with_extents(Operator::Send, 8, Extents::transfers(8, [transfer]))
    };
    for (from, to, tier, latency) in [(0, 1, 0, 1), (1, 3, 1, 10), (2, 5, 2, 100), (7, 0, 2, 100)] {
        let task = lens(from, to);
        let simulator = Simulator::new(&model, &Algorithm::Mesh(Mesh::Direct), &task).unwrap();
        let outcome = simulator.run(Size { count: 0, element_bytes: 4, granule: 1 }).unwrap();
        // A million bytes at 10^12 a second are a microsecond.
        assert_eq!(outcome.time_ps, (latency + 1) * MICROSECOND);
        let mut traffic = [(0, 0); 3];
        traffic[tier] = (1_000_000, 1);
        let found: Vec<_> =
            outcome.traffic.iter().map(|traffic| (traffic.bytes, traffic.messages)).collect();
        assert_eq!(found, traffic);
        let work = Work::Get { peer: from, bytes: 1_000_000, tier };
        let hop = Hop { rank: to, step: 1, from_ps: 0, to_ps: outcome.time_ps, work };
        assert_eq!(outcome.path.0, [hop]);
        // The sender is through when the receiver is.
        assert_eq!(outcome.ends_ps[from as usize], outcome.time_ps);
    }
}

/// A barrier is nothing but latency: a round of it costs one.
#[test]
fn barriers_cost_latencies() {
    let time = |algorithm: &Algorithm, topology: &str, links: &[&str]| {
        let outcome = simulate(&model(topology, links), algorithm, Operator::Barrier, 0);
        assert_eq!(outcome.traffic.iter().map(|traffic| traffic.messages).sum::<u64>(), 0);
        outcome.time_ps
    };
    let flat = &["3us:1GB/s"][..];
    assert_eq!(time(&Algorithm::Mesh(Mesh::Direct), "9", flat), 3 * MICROSECOND);
    assert_eq!(time(&Algorithm::Nb, "9", flat), 4 * 3 * MICROSECOND);
    assert_eq!(time(&Algorithm::Nb, "1", flat), 0);
    // Distances 1, 2, 4, 8: of the first two rounds one may lead out of a group, not both.
    let tiers = &["3us:1GB/s", "50us:1GB/s"][..];
    assert_eq!(time(&Algorithm::Mesh(Mesh::Direct), "4x4", tiers), 50 * MICROSECOND);
    assert_eq!(time(&Algorithm::Nb, "4x4", tiers), (3 * 50 + 3) * MICROSECOND);
}

/// All of a star read from the root: each over its own link, or all through one port.
#[test]
fn flows_on_one_port_share_it() {
    let time = |ranks: &str, ports: &str| {
        let model = model(ranks, &[&format!("0ns:1GB/s:{ports}")]);
        simulate(&model, &Algorithm::Star, Operator::Broadcast, 1000).time_ps
    };
    assert_eq!(time("2", "rank"), MICROSECOND);
    assert_eq!(time("3", "rank"), 2 * MICROSECOND);
    assert_eq!(time("9", "rank"), 8 * MICROSECOND);
    assert_eq!(time("9", "pair"), MICROSECOND);
}

#[test]
fn small_data_falls_to_few_parts_and_the_rest_sends_nothing() {
    let model = model("8", &["2us:10GB/s"]);
    let outcome = simulate(&model, &Algorithm::Ring, Operator::AllReduce, 256);
    // Two parts of 128 bytes; each crosses all seven links twice.
    assert_eq!(outcome.traffic[0].messages, 2 * 2 * 7);
    assert_eq!(outcome.traffic[0].bytes, 2 * 2 * 7 * 128);
    // The rounds are there all the same.
    assert!(outcome.time_ps >= 14 * 2 * MICROSECOND);
}

#[test]
fn sizes_are_those_of_the_operator() {
    let count = |operator, bytes| Size::new(operator, 8, bytes, 4).count;
    assert_eq!(count(Operator::AllReduce, 4096), 1024);
    assert_eq!(count(Operator::AllGather, 4096), 128);
    assert_eq!(count(Operator::AlltoAll, 4097), 129);
    assert_eq!(count(Operator::Broadcast, 1), 1);
    let total = |operator, bytes| Size::new(operator, 8, bytes, 4).total_bytes(operator, 8);
    assert_eq!(total(Operator::AllReduce, 4097), 4100);
    assert_eq!(total(Operator::AlltoAll, 4097), 129 * 4 * 8);
    assert_eq!(Size::new(Operator::AllReduce, 8, 64, 2).granule, 64);
    assert_eq!(Size::new(Operator::AllReduce, 8, 64, 0).element_bytes, 1);
}

/// Plans written by hand, of two ranks.
fn by_hand(model: &Model, steps: [Vec<Step>; 2], count: u64) -> Result<Outcome, SimulateError> {
    let task = Task::new(Operator::AllReduce, 2, 0);
    let plans = (0u32..).zip(steps).map(|(rank, steps)| Plan {
        access: Access::Mapped,
        steps,
        scratch: 4,
        ..expand(&Algorithm::Ring, &task, rank).unwrap()
    });
    Simulator::with_plans(model, plans)?.run(Size { count, element_bytes: 1, granule: 1 })
}

fn copy(from: (u32, u64), to: (u32, u64)) -> Step {
    let place = |(rank, at)| Place { rank, buffer: Buffer::Scratch, at };
    Step::Copy { span: Span::WHOLE, source: place(from), target: place(to) }
}

fn wait(peer: u32, level: u32) -> Step {
    Step::Wait { peers: Peers::One(peer), level }
}

/// 1000 bytes take 1 us over the link and 2 us at home.
fn two_ranks() -> Model {
    let model = model("2", &["10us:1GB/s"]);
    Model { copy_bytes_per_s: Some(500_000_000), ..model }
}

fn time_by_hand(steps: [Vec<Step>; 2]) -> u64 {
    let outcome = by_hand(&two_ranks(), steps, 1000).unwrap();
    outcome.time_ps / MICROSECOND
}

#[test]
fn what_touches_the_same_bytes_keeps_its_order() {
    let (first, second) = (copy((1, 0), (0, 0)), copy((1, 1), (0, 1)));
    assert_eq!(time_by_hand([vec![first.clone(), second], vec![]]), 10 + 2);
    // As does what reads what was written before, or writes what was read.
    assert_eq!(time_by_hand([vec![first.clone(), copy((0, 0), (0, 2))], vec![]]), 10 + 1 + 2);
    assert_eq!(time_by_hand([vec![copy((0, 0), (0, 2)), first.clone()], vec![]]), 2 + 10 + 1);
    assert_eq!(time_by_hand([vec![first.clone(), first], vec![]]), 2 * (10 + 1));
}

#[test]
fn a_signal_waits_for_the_steps_before_it_and_a_wait_does_not() {
    let signal = Step::Signal { level: 2 };
    // Rank 1 reads when rank 0 has read.
    let read = |signal_first: bool| {
        let mut steps = vec![copy((1, 0), (0, 0)), signal.clone()];
        if signal_first {
            steps.reverse();
        }
        time_by_hand([steps, vec![wait(0, 2), copy((0, 1), (1, 1))]])
    };
    assert_eq!(read(false), 2 * (10 + 1));
    assert_eq!(read(true), 10 + 1);
    // Behind a wait that is long over another message starts beside the first.
    let steps = vec![copy((1, 0), (0, 0)), wait(1, 1), copy((1, 1), (0, 1))];
    assert_eq!(time_by_hand([steps, vec![]]), 10 + 2);
}

#[test]
fn who_acts_at_home_upon_a_signal_has_to_hear_it() {
    let signal = |level| Step::Signal { level };
    let local = copy((1, 0), (1, 1));
    // 10 us until it is heard, 2 us for the copy.
    assert_eq!(time_by_hand([vec![signal(2)], vec![wait(0, 2), local]]), 10 + 2);
    assert_eq!(time_by_hand([vec![signal(2)], vec![wait(0, 2), signal(2)]]), 10);
    // A wait at the end guards buffers, and costs nothing of its own.
    assert_eq!(time_by_hand([vec![signal(2)], vec![wait(0, 2)]]), 0);
    assert_eq!(time_by_hand([vec![], vec![wait(0, 1)]]), 10);
}

#[test]
fn results_go_out_when_they_are_there() {
    let place = |rank, at| Place { rank, buffer: Buffer::Scratch, at };
    let reduce = Step::Reduce {
        span: Span::WHOLE,
        sources: [place(0, 0), place(1, 0)].into(),
        targets: [place(0, 1), place(1, 1)].into(),
    };
    let model = Model { reduce_bytes_per_s: Some(250_000_000), ..two_ranks() };
    let outcome = by_hand(&model, [vec![reduce], vec![]], 1000).unwrap();
    let works: Vec<Work> = outcome.path.0.iter().map(|hop| hop.work).collect();
    assert_eq!(
        works,
        [
            Work::Get { peer: 1, bytes: 1000, tier: 0 },
            Work::Reduce { bytes: 1000 },
            Work::Put { peer: 1, bytes: 1000, tier: 0 },
        ]
    );
    assert_eq!(outcome.time_ps, (10 + 1 + 4 + 10 + 1) * MICROSECOND);
    assert!(outcome.path.to_string().contains("puts 1000 bytes to rank 1 over mesh"));
}

#[test]
fn what_cannot_be_simulated_is_refused_in_words() {
    let task = Task::new(Operator::AllReduce, 8, 0);
    let refused = |model: &Model| match Simulator::new(model, &Algorithm::Ring, &task) {
        Ok(_) => panic!("{model:?} was taken"),
        Err(error) => error.to_string(),
    };
    let good = model("8", &["1us:1GB/s"]);
    assert!(refused(&Model::new(Topology::uniform(&[8]))).contains("nothing about its links"));
    assert!(refused(&model("4", &["1us:1GB/s"])).contains("plans of 8 ranks"));
    assert!(refused(&model("8x2", &["1us:1GB/s"])).contains("1 links for 2 tiers"));
    let dead = Model { reduce_bytes_per_s: Some(0), ..good.clone() };
    assert!(refused(&dead).contains("reduces at 0 bytes a second"));
    let dead = Model { copy_bytes_per_s: Some(0), ..good.clone() };
    assert!(refused(&dead).contains("copies within its own memory at 0"));
    assert!(refused(&model("8x20000", &["1us:1GB/s"; 2])).contains("more than 131072 ranks"));
    assert!(refused(&model("8", &["99999999s:1GB/s"])).contains("half a year"));
    let mesh = Simulator::new(&good, &Algorithm::Star, &task);
    assert!(matches!(mesh, Err(SimulateError::Unsupported(_))));
    let slow = model("8", &["1us:1B/s"]);
    let simulator = Simulator::new(&slow, &Algorithm::Ring, &task).unwrap();
    let run = |count, element_bytes| {
        simulator.run(Size { count, element_bytes, granule: 1 }).unwrap_err()
    };
    assert_eq!(run(1 << 40, 4), SimulateError::TooLong);
    assert_eq!(run(u64::MAX, u32::MAX), SimulateError::TooLong);

    let two = two_ranks();
    let stuck = by_hand(&two, [vec![wait(1, 2)], vec![wait(0, 2)]], 1).unwrap_err();
    assert_eq!(stuck, SimulateError::Stuck { rank: 0, others: 1 });
    let all = Step::Wait { peers: Peers::All, level: 7 };
    let stuck = by_hand(&two, [vec![all], vec![]], 1).unwrap_err();
    assert_eq!(stuck, SimulateError::Stuck { rank: 0, others: 0 });
    let stranger = |step| by_hand(&two, [vec![step], vec![]], 1).unwrap_err().to_string();
    assert!(stranger(wait(2, 1)).contains("names a rank that is none"));
    assert!(stranger(copy((9, 0), (0, 0))).contains("names a rank that is none"));
    let part = |of| Step::Copy {
        span: Span::Parts { first: 0, len: 1, of },
        source: Place { rank: 0, buffer: Buffer::Input, at: u64::MAX },
        target: Place { rank: 0, buffer: Buffer::Scratch, at: u64::MAX },
    };
    let primes = vec![part(4_294_967_291), part(4_294_967_279), part(4_294_967_231)];
    let error = by_hand(&two, [primes, vec![]], 1).unwrap_err().to_string();
    assert!(error.contains("no common measure"), "{error}");
    let plan =
        |rank| expand(&Algorithm::Ring, &Task::new(Operator::AllReduce, 2, 0), rank).unwrap();
    for plans in [vec![plan(0)], vec![plan(1), plan(0)], vec![plan(0), plan(1), plan(1)]] {
        assert!(Simulator::with_plans(&two, plans).is_err());
    }
    let old = Plan { version: 1, ..plan(0) };
    assert!(Simulator::with_plans(&two, [old, plan(1)]).is_err());
}

/// Files of models come back as they were.
#[test]
fn models_are_data() {
    let model = slow(model("2+3", &["1us:2GB/s", "3us:4GB/s:pair"]));
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Model>(&text).unwrap(), model);
    assert_eq!(model.topology.ports(1), Ports::Pair);
}

/// Shapes and sizes at random: everything ends, at a time that its path explains.
#[test]
fn all_shapes_end() {
    let flats = [Flat::Mesh, Flat::Ring, Flat::Nhr, Flat::Nb];
    for seed in 0..60 {
        let pick = |i: u64, of: u64| noise(seed * 100 + i) % of;
        let groups: Vec<u32> = (0..1 + pick(0, 4)).map(|i| 1 + pick(i + 1, 6) as u32).collect();
        let topology = Topology::uneven(&groups);
        let ranks = topology.ranks();
        let links = (0..2)
            .map(|i| Link {
                latency_ns: pick(10 + i, 3) * 1000,
                bytes_per_s: 1 + pick(20 + i, 1 << 34),
                ports: [None, Some(Ports::Pair), Some(Ports::Rank)][pick(30 + i, 3) as usize],
            })
            .collect();
        let model = Model {
            reduce_bytes_per_s: Some(1 + pick(40, 1 << 36)),
            ..Model::new(topology.with_links(links))
        };
        let flat = |i: u64| flats[pick(i, 4) as usize];
        let algorithm = Algorithm::Ahc { groups, inside: flat(50), between: flat(51) };
        let operators = [Operator::AllReduce, Operator::AllGather, Operator::ReduceScatter];
        let operator = operators[pick(60, 3) as usize];
        let simulator = Simulator::new(&model, &algorithm, &Task::new(operator, ranks, 0)).unwrap();
        let size = Size::new(operator, ranks, pick(61, 1 << 20), 2);
        match simulator.run(size) {
            Ok(outcome) => {
                let end = outcome.path.0.last().map_or(0, |hop| hop.to_ps);
                assert_eq!(end, outcome.time_ps, "{algorithm} {operator}");
            }
            // A link of a few bytes a second may well be too slow.
            Err(error) => assert_eq!(error, SimulateError::TooLong),
        }
    }
}
