//! The driver: lets ranks go on in a drawn order under virtual time, until all have ended.
//!
//! A rank's turn is a look at its calls by the engine. Within it the rank may be interrupted, and
//! turns of others run first; these are not interrupted again.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hccl::{Communicator, Forced, Options};
use hccl_fabric::Fabric;
use hccl_fabric::simulated::{Dice, Network, Settings, SimulatedFabric, Trace, Wake, mix_all};

use crate::agenda::{Agenda, Why};
use crate::failure::{Failure, Report, Standing};
use crate::interrupt::{Armed, Interruptible};
use crate::layout::Layout;
use crate::oracle::Oracle;
use crate::player::{Fate, Player, Turn};
use crate::room::{ALIGN, Room};
use crate::scenario::{Mishap, STALL_MAX_NS, Scenario};
use crate::verdict;
use crate::watchdog::Watchdog;

/// What the engine is given: nothing hangs in a simulation without being noticed long before.
const TIMEOUT: Duration = Duration::from_secs(120);
/// When nobody did anything for so long, nobody will: longer than any stall, and any delay.
const QUIET_MAX_NS: u64 = 2 * STALL_MAX_NS;
/// Of so many moments in which a rank may be interrupted, it is in one.
const INTERRUPTED_ONCE_IN: u64 = 16;
/// The longest interruption is this many powers of two of a microsecond.
const INTERRUPTION_POWERS: u64 = 9;

/// The fabric as it is.
pub fn plain(fabric: SimulatedFabric) -> SimulatedFabric {
    fabric
}

/// Runs a scenario. The same scenario goes the same way each time. What `wrap` makes of a fabric
/// stands between it and the engine, to break it; [`plain`] leaves it as it is.
///
/// # Errors
/// With the first thing that is not as it should be.
pub fn run<F: Fabric + 'static>(
    scenario: &Scenario,
    wrap: impl Fn(SimulatedFabric) -> F,
    trace: Option<Trace>,
    watchdog: Option<&Watchdog>,
) -> Result<Report, Failure> {
    let scenario = Rc::new(scenario.clone());
    let layouts: Vec<Layout> =
        (0..scenario.ranks).map(|rank| Layout::new(&scenario, rank)).collect();
    let buffers = layouts.iter().map(|layout| layout.bytes).max().unwrap_or(0);
    let room_at = buffers.next_multiple_of(ALIGN);
    let settings = Settings {
        seed: scenario.seed,
        ranks: scenario.ranks,
        memory_bytes: (room_at + Room::bytes(&scenario)) as usize,
        delays: scenario.delays(),
        visibility: scenario.visibility,
        all_copy: scenario.seed.is_multiple_of(2),
    };
    let (network, fabrics) = Network::new(&settings, trace);
    let players = fabrics.into_iter().zip(layouts).zip(0..).map(|((fabric, layout), rank)| {
        let options = Options {
            name: "simulated".into(),
            timeout: Some(TIMEOUT),
            workspace: Some(Arc::new(Room::new(room_at, &scenario))),
            buffer_bytes: scenario.buffer_bytes,
            inline: !scenario.seed.is_multiple_of(5),
            copy_from_processes: true,
            forced: scenario.algorithm.clone().map(Forced::Algorithm),
            ..Options::default()
        };
        let communicator = Communicator::new(Box::new(Interruptible(wrap(fabric))), options);
        RefCell::new(Player::new(scenario.clone(), layout, rank, communicator, &network))
    });
    let players = players.collect();
    let simulation = Rc::new(Simulation::new(scenario, network, players, watchdog.cloned()));
    {
        let interrupted = simulation.clone();
        let _armed = Armed::new(Rc::new(move |rank| interrupted.interrupt(rank)));
        simulation.play()?;
    }
    simulation.conclude()
}

struct Simulation {
    scenario: Rc<Scenario>,
    network: Network,
    players: Vec<RefCell<Player>>,
    oracles: Vec<Oracle>,
    state: RefCell<State>,
    /// Whether a rank is interrupted now.
    interrupting: Cell<bool>,
    /// How often any was.
    interruptions: Cell<u64>,
    watchdog: Option<Watchdog>,
}

/// What changes with every turn. Not borrowed while a rank has its turn.
struct State {
    agenda: Agenda,
    dice: Dice,
    each: Vec<Each>,
    playing: u32,
    wakes: Vec<Wake>,
    /// What the network counted, and when that last changed.
    deeds: u64,
    quiet_since_ns: u64,
    /// What went wrong while a rank was interrupted.
    failure: Option<Failure>,
    report: Report,
}

/// What the driver knows of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Each {
    turns: u64,
    /// Turns since it last slept or got on.
    looks: u32,
    /// When it last got on, and when it ended, nanoseconds.
    pub(crate) got_on_ns: u64,
    pub(crate) ended_ns: u64,
}

impl Simulation {
    fn new(
        scenario: Rc<Scenario>,
        network: Network,
        players: Vec<RefCell<Player>>,
        watchdog: Option<Watchdog>,
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
        let state = State {
            agenda,
            dice,
            each: vec![Each::default(); ranks as usize],
            playing: ranks,
            wakes: Vec::new(),
            deeds: 0,
            quiet_since_ns: 0,
            failure: None,
            report: Report::default(),
        };
        let oracles = (0..scenario.calls.len()).map(|call| Oracle::new(&scenario, call)).collect();
        Self {
            scenario,
            network,
            players,
            oracles,
            state: RefCell::new(state),
            interrupting: Cell::new(false),
            interruptions: Cell::new(0),
            watchdog,
        }
    }

    fn play(&self) -> Result<(), Failure> {
        loop {
            let next = {
                let mut state = self.state.borrow_mut();
                if state.playing == 0 {
                    return Ok(());
                }
                state.agenda.next(u64::MAX)
            };
            let Some((at, rank, why)) = next else { return Err(self.hang()) };
            self.step(at, rank, why)?;
            if let Some(failure) = self.state.borrow_mut().failure.take() {
                return Err(failure);
            }
        }
    }

    /// Others go on while a rank is in the middle of its turn.
    fn interrupt(&self, rank: u32) {
        if self.interrupting.get() || self.network.died_ns(rank).is_some() {
            return;
        }
        let until = {
            let dice = &mut self.state.borrow_mut().dice;
            if !dice.once_in(INTERRUPTED_ONCE_IN) {
                return;
            }
            let longest = 1000 << dice.below(INTERRUPTION_POWERS + 1);
            self.network.clock_ns(rank) + dice.below(longest)
        };
        self.interrupting.set(true);
        self.interruptions.set(self.interruptions.get() + 1);
        // Whom the rank has woken by now goes on because of it.
        self.pass_wakes();
        loop {
            let next = self.state.borrow_mut().agenda.next(until);
            let Some((at, other, why)) = next else { break };
            if let Err(failure) = self.step(at, other, why) {
                self.state.borrow_mut().failure.get_or_insert(failure);
                break;
            }
        }
        self.network.advance(rank, until);
        self.interrupting.set(false);
    }

    /// One rank goes on.
    fn step(&self, at: u64, rank: u32, why: Why) -> Result<(), Failure> {
        // Far beyond what any scenario takes: an engine that gets on without an end.
        let calls = self.scenario.calls.len() as u64;
        let most = 1_000_000 + 10_000 * calls * u64::from(self.scenario.ranks);
        let quiet_since_ns = {
            let mut state = self.state.borrow_mut();
            let report = &mut state.report;
            report.virtual_time = report.virtual_time.max(Duration::from_nanos(at));
            report.turns += 1;
            if report.turns > most {
                drop(state);
                return Err(Failure::Endless { turns: most, standings: self.standings() });
            }
            state.quiet_since_ns
        };
        if at > quiet_since_ns + QUIET_MAX_NS {
            return Err(self.hang());
        }
        if let Some(watchdog) = &self.watchdog {
            watchdog.beat();
        }
        self.turn(at, rank, why)?;
        let deeds = self.network.deeds();
        let mut state = self.state.borrow_mut();
        if deeds != state.deeds {
            state.deeds = deeds;
            state.quiet_since_ns = state.quiet_since_ns.max(at);
        }
        Ok(())
    }

    fn turn(&self, at: u64, rank: u32, why: Why) -> Result<(), Failure> {
        let index = rank as usize;
        let mut player = self.players[index].borrow_mut();
        self.network.advance(rank, at);
        match self.next_mishap(rank) {
            Some(Mishap::Stall { ns, .. }) => {
                let mut state = self.state.borrow_mut();
                state.agenda.go_on(rank, at + ns);
                state.quiet_since_ns = state.quiet_since_ns.max(at);
                return Ok(());
            }
            Some(_) => return self.lose(&mut player, at),
            None => {}
        }
        let may_arm = {
            let state = &mut *self.state.borrow_mut();
            // Looks that are no more than that come before a sleep, as with a thread that yields.
            state.each[index].looks >= 2 || !state.dice.once_in(4)
        };
        let interruptions = self.interruptions.get();
        let mut turn = player.turn(false, &self.oracles, &self.network)?;
        // What the rank found at once was there to be woken for.
        let found =
            !matches!(turn, Turn::Waits { .. }) && interruptions == self.interruptions.get();
        let mut armed = false;
        if matches!(turn, Turn::Waits { .. }) && may_arm && self.network.died_ns(rank).is_none() {
            armed = true;
            turn = player.turn(true, &self.oracles, &self.network)?;
        }
        self.pass_wakes();
        if let Some(died_ns) = self.network.died_ns(rank) {
            return self.lose(&mut player, died_ns);
        }
        let now = self.network.clock_ns(rank);
        let state = &mut *self.state.borrow_mut();
        let failed = matches!(player.fate, Fate::Failed(_));
        if why == Why::SleptOut && found && !failed {
            state.report.rescued += 1;
            state.report.first_rescued.get_or_insert(rank);
        }
        let each = &mut state.each[index];
        match turn {
            Turn::Over => return self.end(state, &mut player, now),
            Turn::Waits { sleep } if armed => {
                each.looks = 0;
                state.report.sleeps += 1;
                state.agenda.sleep(rank, now, sleep);
            }
            _ => {
                if turn == Turn::GotOn {
                    (each.got_on_ns, each.looks) = (now, 0);
                } else {
                    each.looks += 1;
                }
                let pause = pause(&mut state.dice);
                state.agenda.go_on(rank, now + pause);
            }
        }
        Ok(())
    }

    /// What happens to a rank instead of its next turn.
    fn next_mishap(&self, rank: u32) -> Option<Mishap> {
        let each = &mut self.state.borrow_mut().each[rank as usize];
        each.turns += 1;
        let now = each.turns;
        self.scenario.mishaps.iter().copied().find(|mishap| match *mishap {
            Mishap::Stall { rank: who, turn, .. } | Mishap::Leave { rank: who, turn } => {
                who == rank && turn == now
            }
            Mishap::Die { .. } => false,
        })
    }

    fn lose(&self, player: &mut Player, at: u64) -> Result<(), Failure> {
        player.lose();
        self.pass_wakes();
        let state = &mut *self.state.borrow_mut();
        state.report.lost = Some(player.rank);
        self.end(state, player, at)
    }

    /// A rank has ended. Some give their communicator back at once, others keep it to the end.
    fn end(&self, state: &mut State, player: &mut Player, at: u64) -> Result<(), Failure> {
        let rank = player.rank;
        if let Fate::Failed(error) = &player.fate
            && state.report.lost.is_none()
        {
            return Err(Failure::Failed { rank, error: error.to_string() });
        }
        if self.scenario.leaves_early && state.dice.once_in(2) {
            player.retire();
            self.network.take_wakes(&mut state.wakes);
            state.wakes.drain(..).for_each(|wake| state.agenda.wake(wake));
        }
        state.agenda.end(rank);
        state.each[rank as usize].ended_ns = at;
        state.playing -= 1;
        Ok(())
    }

    /// Tells the agenda who is woken.
    fn pass_wakes(&self) {
        let state = &mut *self.state.borrow_mut();
        self.network.take_wakes(&mut state.wakes);
        state.wakes.drain(..).for_each(|wake| state.agenda.wake(wake));
    }

    fn hang(&self) -> Failure {
        let at = self.state.borrow().report.virtual_time;
        Failure::Hang { at, standings: self.standings() }
    }

    fn standings(&self) -> Vec<Standing> {
        let standing = |(player, rank): (&RefCell<Player>, u32)| {
            let what = player.try_borrow().map_or("in its turn".into(), |player| player.describe());
            let is_asleep = self.state.borrow().agenda.is_asleep(rank);
            let (sequence, level) = self.network.position(rank);
            let asleep = if is_asleep { ", asleep" } else { "" };
            let text = format!("{what} at level {level} of operation {sequence}{asleep}");
            Standing { rank, text }
        };
        self.players.iter().zip(0..).map(standing).collect()
    }

    /// All have ended: looks at how.
    fn conclude(&self) -> Result<Report, Failure> {
        let state = self.state.borrow();
        let players: Vec<_> = self.players.iter().map(RefCell::borrow).collect();
        verdict::conclude(&self.scenario, &self.network, &players, &state.each, &state.report)
    }
}

/// Time between two turns of a rank that does not sleep. Now and then something else has its core.
fn pause(dice: &mut Dice) -> u64 {
    if dice.once_in(200) { 50_000 + dice.below(500_000) } else { 200 + dice.below(3_000) }
}
