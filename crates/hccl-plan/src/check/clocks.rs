//! What ranks knew when they signalled, kept until the last wait for it has passed.

use std::collections::{BTreeMap, HashMap};

use crate::plan::{Peers, Plan, Step};

use super::Fault;

/// Clocks of signals, as far as somebody waits for them.
#[derive(Default)]
pub(super) struct Clocks {
    /// Levels of the signals of each rank.
    pub(super) levels: Vec<Vec<u32>>,
    /// By rank and level of the signal: waits that will look at it, and the clock.
    pub(super) kept: HashMap<(u32, u32), Kept>,
    /// By level that somebody waits for on all ranks: how many have come, and their joint clock.
    pub(super) met: BTreeMap<u32, (u32, Vec<u32>)>,
    /// Who waits for a rank.
    pub(super) sleepers: Vec<Vec<u32>>,
    /// Who waits for all ranks, by level.
    pub(super) sleepers_of_all: BTreeMap<u32, Vec<u32>>,
}

/// How many waits will look at a clock, and the clock once it is there.
pub(super) type Kept = (u32, Option<Box<[u32]>>);

pub(super) fn join(clock: &mut [u32], other: &[u32]) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

impl Clocks {
    pub(super) fn new(plans: &[Plan]) -> Result<Self, Fault> {
        let ranks = plans.len();
        let mut clocks = Self { sleepers: vec![Vec::new(); ranks], ..Self::default() };
        for plan in plans {
            let mut levels = vec![1];
            for (step, one) in plan.steps.iter().enumerate() {
                if let Step::Signal { level } = *one {
                    if levels.last().is_some_and(|last| *last >= level) {
                        let why = "a level that does not rise";
                        return Err(Fault::Step { rank: plan.rank, step, why });
                    }
                    levels.push(level);
                }
            }
            clocks.levels.push(levels);
        }
        for plan in plans {
            for (step, one) in plan.steps.iter().enumerate() {
                let Step::Wait { peers, level } = *one else {
                    continue;
                };
                let one = matches!(peers, Peers::One(_));
                let peers = match peers {
                    Peers::One(peer) if peer as usize >= ranks => {
                        let why = "waits for a rank that is none";
                        return Err(Fault::Step { rank: plan.rank, step, why });
                    }
                    Peers::One(peer) => peer..peer + 1,
                    Peers::All if clocks.met.contains_key(&level) => continue,
                    Peers::All => {
                        clocks.met.insert(level, (0, vec![0; ranks]));
                        0..ranks as u32
                    }
                };
                for peer in peers {
                    match clocks.signal_for(peer, level) {
                        None => {
                            return Err(Fault::Unreached { rank: plan.rank, step, peer, level });
                        }
                        Some(1) => {}
                        Some(at) if one => {
                            clocks.kept.entry((peer, at)).or_default().0 += 1;
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(clocks)
    }

    /// Level of the first signal of a rank that reaches a level.
    pub(super) fn signal_for(&self, rank: u32, level: u32) -> Option<u32> {
        let levels = &self.levels[rank as usize];
        levels.get(levels.partition_point(|known| *known < level)).copied()
    }
}
