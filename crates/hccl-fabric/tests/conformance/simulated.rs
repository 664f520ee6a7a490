//! The suite on simulated links: without delays and with, each with memory that shows writes early
//! and late, over many seeds.

use std::time::Duration;

use hccl_fabric::simulated::{Cause, Delays, Network, Settings, SimulatedFabric, Visibility};
use hccl_fabric::{Data, Fabric, Line};

use crate::suite::TESTS;
use crate::world::{MEMORY, World, last_deeds};

struct Simulated {
    network: Network,
    fabrics: Vec<Option<SimulatedFabric>>,
}

/// Longer than anything is under way, and than a process takes to end.
const LONG: Duration = Duration::from_millis(50);
/// About as long as a signal is under way.
const MOMENT: Duration = Duration::from_micros(2);

impl Simulated {
    fn forward(&self, time: Duration) {
        let ranks = 0..self.fabrics.len() as u32;
        let now = ranks.clone().map(|rank| self.network.clock_ns(rank)).max().unwrap();
        ranks.for_each(|rank| self.network.advance(rank, now + time.as_nanos() as u64));
    }
}

impl World for Simulated {
    fn fabric(&self, rank: u32) -> &dyn Fabric {
        self.fabrics[rank as usize].as_ref().unwrap()
    }

    fn drop_fabric(&mut self, rank: u32) {
        self.fabrics[rank as usize] = None;
    }

    fn let_time_pass(&self) {
        self.forward(LONG);
    }

    fn let_a_moment_pass(&self) {
        self.forward(MOMENT);
    }

    fn sleep_until(&self, rank: u32, _line: Line, deed: &dyn Fn()) {
        let mut wakes = Vec::new();
        self.network.take_wakes(&mut wakes);
        wakes.clear();
        deed();
        self.network.take_wakes(&mut wakes);
        let wakes = wakes.iter().filter(|wake| wake.rank == rank && wake.cause == Cause::Line);
        let first = wakes.map(|wake| wake.at_ns).min();
        self.network.advance(rank, first.expect("the deed wakes the sleeper"));
    }

    fn let_one_die(&mut self) -> u32 {
        last_deeds(self.fabric(1));
        self.network.die_in_call(1, 1);
        self.fabric(1).now();
        assert!(self.network.died_ns(1).is_some());
        // Whatever it does now is not done.
        self.fabric(1).signal(1, 9);
        self.fabric(1).leave();
        1
    }
}

#[test]
fn simulated_links_keep_the_contract() {
    for delays in [Delays::NONE, Delays::USUAL] {
        for visibility in [Visibility::Early, Visibility::Late] {
            for seed in 0..40 {
                let make = |ranks| -> Box<dyn World> {
                    let memory_bytes = MEMORY as usize;
                    let all_copy = seed % 2 == 0;
                    let settings =
                        Settings { seed, ranks, memory_bytes, delays, visibility, all_copy };
                    let (network, fabrics) = Network::new(&settings, None);
                    let fabrics = fabrics.into_iter().map(Some).collect();
                    Box::new(Simulated { network, fabrics })
                };
                for (name, test) in TESTS {
                    // A failure is found again by what stands here.
                    eprintln!("{name}: {delays:?}, {visibility:?}, seed {seed}");
                    test(&make);
                }
            }
        }
    }
}

/// Before the other rank is in the call before.
fn publishes_data(fabric: &SimulatedFabric) {
    let data = Data { address: [5].as_ptr(), len: 1 };
    // SAFETY: the byte is a constant.
    unsafe { fabric.publish_inline(2, &crate::world::call(2), 3, data) };
}

/// The suite itself keeps the contract, so the network has nothing to complain about.
#[test]
fn breaches_of_the_contract_are_noticed() {
    let settings = Settings {
        seed: 1,
        ranks: 2,
        memory_bytes: 100,
        delays: Delays::USUAL,
        visibility: Visibility::Early,
        all_copy: false,
    };
    let breach = |deed: &dyn Fn(&SimulatedFabric)| {
        let (network, fabrics) = Network::new(&settings, None);
        fabrics[0].publish(1, &crate::world::call(1));
        fabrics[0].signal(1, 5);
        assert_eq!(network.breaches(), Vec::<String>::new());
        deed(&fabrics[0]);
        network.breaches().join("; ")
    };
    assert_eq!(breach(&|fabric| fabric.signal(1, 6)), "");
    let of = [
        (breach(&|fabric| fabric.signal(1, 4)), "signals level 4"),
        (breach(&|fabric| fabric.signal(2, 1)), "signals level 1 of call 2"),
        (breach(&|fabric| fabric.signal(1, 1 << 24)), "signals level 16777216"),
        (breach(&|fabric| fabric.publish(1, &crate::world::call(1))), "publishes call 1 after"),
        (breach(&publishes_data), "publishes data with call 2 without rank 1 in call 1"),
        (breach(&|fabric| fabric.retract(Line::Mail(0))), "was not announced"),
        (breach(&|fabric| fabric.post(1, 2, &Default::default())), "posts message 2 to rank 1"),
        (breach(&|fabric| fabric.post(1, 0, &Default::default())), "posts message 0 to rank 1"),
        (breach(&|fabric| fabric.take(1, 1)), "takes message 1 from rank 1"),
        (breach(&|fabric| fabric.take(1, 0)), "takes message 0 from rank 1"),
    ];
    for (found, expected) in of {
        assert!(found.contains(expected), "{found:?} does not say {expected:?}");
    }
}
