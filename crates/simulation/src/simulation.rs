//! The driver: lets ranks go on in a drawn order under virtual time, until all have ended.

use std::sync::Arc;
use std::time::Duration;

use hccl::{Communicator, Error, Forced, Options};
use hccl_fabric::simulated::{Dice, Network, Settings, SimulatedFabric, Trace, Wake, mix_all};
use hccl_fabric::{Fabric, Fault};

use crate::agenda::{Agenda, Why};
use crate::failure::{Failure, Report, Standing};
use crate::layout::Layout;
use crate::oracle::Oracle;
use crate::player::{Fate, Player, Turn};
use crate::room::{ALIGN, Room};
use crate::scenario::{Faults, Mishap, STALL_MAX_NS, Scenario};
use crate::watchdog::Watchdog;

/// What the engine is given: nothing hangs in a simulation without being noticed long before.
const TIMEOUT: Duration = Duration::from_secs(120);
/// When nobody did anything for so long, nobody will: longer than any stall, and any delay.
const QUIET_MAX_NS: u64 = 2 * STALL_MAX_NS;
/// The longest that a survivor may take to find out who was lost.
const FIND_OUT_MAX: Duration = Duration::from_secs(1);

/// Stands between the engine and its fabric, to break it.
pub type Wrap<'a> = &'a dyn Fn(SimulatedFabric) -> Box<dyn Fabric>;

/// The fabric as it is.
pub fn plain(fabric: SimulatedFabric) -> Box<dyn Fabric> {
    Box::new(fabric)
}

/// Runs a scenario. The same scenario goes the same way each time.
///
/// # Errors
/// With the first thing that is not as it should be.
pub fn run(
    scenario: &Scenario,
    wrap: Wrap<'_>,
    trace: Option<Trace>,
    watchdog: Option<&Watchdog>,
) -> Result<Report, Failure> {
    let layouts: Vec<Layout> =
        (0..scenario.ranks).map(|rank| Layout::new(scenario, rank)).collect();
    let buffers = layouts.iter().map(|layout| layout.bytes).max().unwrap_or(0);
    let room_at = buffers.next_multiple_of(ALIGN);
    let settings = Settings {
        seed: scenario.seed,
        ranks: scenario.ranks,
        memory_bytes: (room_at + Room::bytes(scenario)) as usize,
        delays: scenario.delays(),
        visibility: scenario.visibility,
    };
    let (network, fabrics) = Network::new(&settings, trace);
    let players = fabrics.into_iter().zip(layouts).zip(0..).map(|((fabric, layout), rank)| {
        let options = Options {
            name: "simulated".into(),
            timeout: Some(TIMEOUT),
            workspace: Some(Arc::new(Room::new(room_at, scenario))),
            buffer_bytes: scenario.buffer_bytes,
            forced: scenario.algorithm.clone().map(Forced::Algorithm),
            ..Options::default()
        };
        let communicator = Communicator::new(wrap(fabric), options);
        Player::new(scenario, layout, rank, communicator, &network)
    });
    let players = players.collect();
    let oracles = scenario.calls.iter().map(|call| Oracle::new(call, scenario.ranks)).collect();
    let mut simulation = Simulation::new(scenario, &network, players, oracles);
    simulation.play(watchdog)?;
    simulation.conclude()
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    players: Vec<Player<'a>>,
    oracles: Vec<Oracle<'a>>,
    agenda: Agenda,
    dice: Dice,
    /// Turns of each rank, turns in which it only looked, and when it got on last.
    turns: Vec<u64>,
    looks: Vec<u32>,
    got_on_ns: Vec<u64>,
    ended_ns: Vec<u64>,
    playing: u32,
    wakes: Vec<Wake>,
    /// What the network counted, and when that last changed.
    deeds: u64,
    quiet_since_ns: u64,
    first_rescued: Option<u32>,
    report: Report,
}

impl<'a> Simulation<'a> {
    fn new(
        scenario: &'a Scenario,
        network: &'a Network,
        players: Vec<Player<'a>>,
        oracles: Vec<Oracle<'a>>,
    ) -> Self {
        let ranks = scenario.ranks;
        let mut dice = Dice::new(mix_all([scenario.seed, ranks.into(), 2]));
        let mut agenda = Agenda::new(ranks, Dice::new(dice.roll()));
        for rank in 0..ranks {
            agenda.go_on(rank, dice.below(5000));
        }
        for mishap in &scenario.mishaps {
            if let Mishap::Die { rank, call } = *mishap {
                network.die_in_call(rank, call);
            }
        }
        let each = vec![0; ranks as usize];
        Self {
            scenario,
            network,
            players,
            oracles,
            agenda,
            dice,
            turns: each.clone(),
            looks: vec![0; ranks as usize],
            got_on_ns: each.clone(),
            ended_ns: each,
            playing: ranks,
            wakes: Vec::new(),
            deeds: 0,
            quiet_since_ns: 0,
            first_rescued: None,
            report: Report::default(),
        }
    }

    fn play(&mut self, watchdog: Option<&Watchdog>) -> Result<(), Failure> {
        // Far beyond what any scenario takes: polls of an engine that gets on without an end.
        let calls = self.scenario.calls.len() as u64;
        let most = 1_000_000 + 10_000 * calls * u64::from(self.scenario.ranks);
        while self.playing > 0 {
            let Some((at, rank, why)) = self.agenda.next() else {
                return Err(self.hang(self.report.virtual_time));
            };
            let time = Duration::from_nanos(at);
            self.report.virtual_time = self.report.virtual_time.max(time);
            self.report.turns += 1;
            if let Some(watchdog) = watchdog {
                watchdog.beat();
            }
            if self.report.turns > most {
                return Err(Failure::Endless { turns: most, standings: self.standings() });
            }
            if at > self.quiet_since_ns + QUIET_MAX_NS {
                return Err(self.hang(time));
            }
            self.turn(at, rank, why)?;
            let deeds = self.network.deeds();
            // Announcements of sleepers that look around count for nothing.
            if deeds != self.deeds {
                (self.deeds, self.quiet_since_ns) = (deeds, self.quiet_since_ns.max(at));
            }
        }
        Ok(())
    }

    fn turn(&mut self, at: u64, rank: u32, why: Why) -> Result<(), Failure> {
        let index = rank as usize;
        self.turns[index] += 1;
        if let Some(stall) = self.mishap(rank) {
            match stall {
                Mishap::Stall { ns, .. } => {
                    self.agenda.go_on(rank, at + ns);
                    self.quiet_since_ns = self.quiet_since_ns.max(at);
                    return Ok(());
                }
                _ => {
                    self.network.advance(rank, at);
                    self.players[index].lose();
                    self.report.lost = Some(rank);
                    return self.end(rank, at);
                }
            }
        }
        self.network.advance(rank, at);
        // Looks that are no more than that come before a sleep, as with a thread that yields.
        let mut arm = self.looks[index] >= 2 || !self.dice.once_in(4);
        let player = &mut self.players[index];
        let mut turn = player.turn(false, &self.oracles, self.network, &mut self.dice)?;
        if turn == Turn::Waits && arm && self.network.died_ns(rank).is_none() {
            turn = player.turn(true, &self.oracles, self.network, &mut self.dice)?;
        } else if turn == Turn::Waits {
            self.looks[index] += 1;
            arm = false;
        }
        let now = self.network.clock_ns(rank);
        self.network.take_wakes(&mut self.wakes);
        while let Some(wake) = self.wakes.pop() {
            self.agenda.wake(wake);
        }
        if let Some(died_ns) = self.network.died_ns(rank) {
            self.players[index].lose();
            self.report.lost = Some(rank);
            return self.end(rank, died_ns);
        }
        match turn {
            Turn::Over => {
                self.rescue(rank, why);
                return self.end(rank, now);
            }
            Turn::GotOn => {
                self.rescue(rank, why);
                self.got_on_ns[index] = now;
                self.looks[index] = 0;
                let pause = self.pause();
                self.agenda.go_on(rank, now + pause);
            }
            Turn::Waits if arm => {
                self.report.sleeps += 1;
                self.looks[index] = 0;
                self.agenda.sleep(rank, now);
            }
            Turn::Waits => {
                let pause = self.pause();
                self.agenda.go_on(rank, now + pause);
            }
        }
        Ok(())
    }

    /// Time between two turns of a rank that does not sleep. Now and then something else has its
    /// core.
    fn pause(&mut self) -> u64 {
        if self.dice.once_in(200) {
            50_000 + self.dice.below(500_000)
        } else {
            200 + self.dice.below(3_000)
        }
    }

    fn mishap(&self, rank: u32) -> Option<Mishap> {
        let now = self.turns[rank as usize];
        self.scenario.mishaps.iter().copied().find(|mishap| match *mishap {
            Mishap::Stall { rank: who, turn, .. } | Mishap::Leave { rank: who, turn } => {
                who == rank && turn == now
            }
            Mishap::Die { .. } => false,
        })
    }

    /// Counts a rank that got on without having been woken.
    fn rescue(&mut self, rank: u32, why: Why) {
        let failed = matches!(self.players[rank as usize].fate, Fate::Failed(_));
        if why == Why::SleptOut && !failed {
            self.report.rescued += 1;
            self.first_rescued.get_or_insert(rank);
        }
    }

    /// A rank has ended. Some give their communicator back at once, others keep it to the end.
    fn end(&mut self, rank: u32, at: u64) -> Result<(), Failure> {
        let player = &mut self.players[rank as usize];
        if let Fate::Failed(error) = &player.fate
            && self.report.lost.is_none()
        {
            return Err(Failure::Failed { rank, error: error.to_string() });
        }
        if self.scenario.leaves_early && self.dice.once_in(2) {
            player.retire();
            self.network.take_wakes(&mut self.wakes);
            while let Some(wake) = self.wakes.pop() {
                self.agenda.wake(wake);
            }
        }
        self.agenda.end(rank);
        self.ended_ns[rank as usize] = at;
        self.playing -= 1;
        Ok(())
    }

    fn hang(&self, at: Duration) -> Failure {
        Failure::Hang { at, standings: self.standings() }
    }

    fn standings(&self) -> Vec<Standing> {
        let standing = |player: &Player<'_>| {
            let rank = player.rank;
            let asleep = if self.agenda.is_asleep(rank) { ", asleep" } else { "" };
            let (sequence, level) = self.network.position(rank);
            let at = format!(" at level {level} of operation {sequence}");
            Standing { rank, text: player.describe() + &at + asleep }
        };
        self.players.iter().map(standing).collect()
    }

    /// All have ended: looks at how.
    fn conclude(mut self) -> Result<Report, Failure> {
        let breaches = self.network.breaches();
        if !breaches.is_empty() {
            return Err(Failure::Breach(breaches));
        }
        let half_done = self.scenario.faults == Faults::Death && self.report.lost.is_some();
        if let Some(rank) = self.first_rescued.filter(|_| !half_done) {
            return Err(Failure::LostWake { times: self.report.rescued, rank });
        }
        match self.report.lost {
            Some(lost) => self.blame(lost)?,
            None => self.players.iter().try_for_each(|player| player.inspect(self.network))?,
        }
        Ok(self.report)
    }

    /// Looks whether the errors of the survivors lead to the rank that was lost, and came soon.
    fn blame(&mut self, lost: u32) -> Result<(), Failure> {
        let faults: Vec<Option<&Fault>> = self.players.iter().map(fault).collect();
        let names_lost = |fault: &Fault| fault.to_string().contains(&format!("rank {lost} "));
        // A rank may have waited for one that stood still.
        let stalls = self.scenario.stalls_ns();
        for player in &self.players {
            let Fate::Failed(error) = &player.fate else { continue };
            let rank = player.rank;
            let mut at = faults[rank as usize];
            let mut steps = 0;
            while let Some(fault) =
                at.filter(|fault| !names_lost(fault) && steps < self.scenario.ranks)
            {
                at = faults[fault.rank() as usize];
                steps += 1;
            }
            match at.filter(|fault| names_lost(fault)) {
                Some(_) if steps == 0 => self.report.named += 1,
                Some(_) => self.report.named_by_way += 1,
                None => return Err(Failure::Unnamed { lost, rank, error: error.to_string() }),
            }
            let index = rank as usize;
            let since = self.ended_ns[lost as usize].max(self.got_on_ns[index]);
            let took = self.ended_ns[index].saturating_sub(since).saturating_sub(stalls);
            let took = Duration::from_nanos(took);
            if took > FIND_OUT_MAX {
                return Err(Failure::Slow { lost, rank, took });
            }
        }
        Ok(())
    }
}

/// What a player's error says of other ranks.
fn fault<'a>(player: &'a Player<'_>) -> Option<&'a Fault> {
    match &player.fate {
        Fate::Failed(Error::Peer { fault, .. }) => Some(fault),
        _ => None,
    }
}
