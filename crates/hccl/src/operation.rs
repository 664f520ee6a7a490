//! An operation under way: runs the rounds of its plan, never blocks.
//!
//! A round goes through three stages. What is in private memory is copied into the communicator's
//! room; then the own level says that the buffers may be touched, and the steps of the plan run;
//! then what is in the room is copied out. Where all is shared there is one round, and nothing to
//! copy.

use std::sync::Arc;
use std::time::Duration;

use hccl_fabric::{Call, Fabric, Line};
use hccl_kernels::{Reducer, Stores};
use hccl_os::wait::{Backoff, SLEEP_MAX, Watch, sleep_on};
use hccl_plan::{Peers, Plan, Step};

use crate::average::Average;
use crate::call::Request;
use crate::communicator::{Communicator, Inner};
use crate::error::{Context, Error, Lag};
use crate::exchange::Exchange;
use crate::lengths::Run;
use crate::route::{self, Cut};
use crate::views::{Peer, View, Views};
use crate::waiting::Waiting;

/// Bytes of each buffer that one poll works on. Small enough that sources and targets stay in a
/// core's cache between read and write, large enough that the turn costs nothing beside it.
pub(crate) const CHUNK_BYTES: u64 = 256 << 10;
/// The longest sleep once some rank is gone. News of the next one may come just before a sleep, and
/// a chain of ranks that each learn of it from the next is to be through soon.
const SLEEP_ONCE_GONE: Duration = Duration::from_millis(2);
/// Level of a round at which a rank has collected what others had for it: beyond those of the direct
/// mesh.
const COLLECTED: u32 = 3;
/// Looks at the others in a poll: some 0.2 us.
const LOOKS_A_POLL: u32 = 16;
/// Polls between two looks at the clock while spinning.
pub(crate) const POLLS_A_LOOK: u32 = 256;

/// What a poll found.
#[derive(Debug)]
pub enum Polled {
    /// The operation is done.
    Done,
    /// It got on; poll again at once.
    Progress,
    /// It waits for others.
    Pending {
        /// The word that changes when it can go on.
        watch: Option<Watch>,
        /// Whether to spin for it.
        spin: bool,
        /// The longest to sleep before the next poll, whatever the word does.
        sleep: Duration,
    },
    /// It failed, and the communicator with it.
    Failed(Error),
}

/// Where a round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before a small call is published, all ranks must be in the call before.
    Before,
    /// What the others show of a small call.
    Exchange,
    /// Private memory goes into the room.
    In,
    /// The steps of the plan.
    Steps,
    /// What others have for private output.
    Collect,
    /// Others may still collect.
    Leave,
    /// What the own rank must divide of its output.
    Average,
    /// The room goes into private memory.
    Out,
}

/// An operation that was started. Dropping it before its end aborts the communicator, since the
/// other ranks count on it.
pub struct Operation {
    pub(crate) inner: Arc<Inner>,
    pub(crate) request: Request,
    pub(crate) plan: Arc<Plan>,
    pub(crate) sequence: u64,
    pub(crate) signature: [u8; hccl_fabric::SIGNATURE_BYTES],
    pub(crate) direct: bool,
    /// Whether input and output pass through the room.
    pub(crate) in_room: (bool, bool),
    /// Whether others copy from the private input.
    pub(crate) remote: bool,
    pub(crate) cut: Cut,
    pub(crate) reducer: Option<Reducer>,
    pub(crate) average: Average,
    /// How it is run, if it is small.
    exchange: Option<Exchange>,
    /// When it was first seen to wait for its turn.
    queued: Option<Duration>,
    /// Whether its turn has come.
    begun: bool,
    pub(crate) round: u64,
    pub(crate) stage: Stage,
    /// Next step, or run of elements between a buffer and the room, and elements of it that are
    /// done.
    pub(crate) step: usize,
    pub(crate) done: u64,
    /// What is left to pass in or out in this round.
    pub(crate) runs: Vec<Run>,
    /// The room for input and for output, where they pass through it.
    pub(crate) rooms: (View, View),
    /// Elements from a block to the next there.
    pub(crate) room_chunk: u64,
    /// Whether any rank collects its output from the others.
    pub(crate) collecting: bool,
    /// Whether each rank reduces all of a small block by itself.
    pub(crate) one_shot: bool,
    /// The call as the others read it.
    pub(crate) call: Call,
    /// First peer that was not seen at the level of the current wait.
    next_peer: u32,
    /// Peer that was told that somebody sleeps for it.
    armed: Option<u32>,
    polls: u32,
    waiting: Waiting,
    pub(crate) views: Views,
    over: bool,
    /// How the output is stored.
    pub(crate) stores: Stores,
    /// Reused for each chunk, so that a poll allocates nothing.
    pub(crate) sources: Vec<*const u8>,
    pub(crate) targets: Vec<*mut u8>,
}

// SAFETY: the addresses lie in memory that the fabric keeps mapped as long as the communicator
// lives, or in private memory that the caller vouched for; one thread at a time polls.
unsafe impl Send for Operation {}

/// What an operation keeps in lists.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) peers: Vec<Peer>,
    pub(crate) runs: Vec<Run>,
    pub(crate) sources: Vec<*const u8>,
    pub(crate) targets: Vec<*mut u8>,
}

// SAFETY: addresses, which whoever follows them answers for.
unsafe impl Send for Lists {}

impl Lists {
    pub(crate) fn clear(&mut self) {
        let Self { peers, runs, sources, targets } = self;
        peers.clear();
        runs.clear();
        sources.clear();
        targets.clear();
    }
}

/// How a request is to be run.
pub(crate) struct Route {
    pub(crate) plan: Arc<Plan>,
    pub(crate) signature: [u8; hccl_fabric::SIGNATURE_BYTES],
    pub(crate) direct: bool,
    pub(crate) in_room: (bool, bool),
    pub(crate) remote: bool,
    pub(crate) cut: Cut,
    pub(crate) average: Average,
    /// Combines values, where the operator does.
    pub(crate) reducer: Option<Reducer>,
    /// For small calls.
    pub(crate) exchange: Option<Exchange>,
}

/// What a rank waits for.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// A level of a call.
    Level { sequence: u64, level: u32 },
    /// What ranks show beside a call.
    Inline { sequence: u64 },
}

impl Awaited {
    #[inline]
    fn has_come(self, fabric: &dyn Fabric, peer: u32) -> bool {
        match self {
            Self::Level { sequence, level } => fabric.reached(peer, sequence, level),
            Self::Inline { sequence } => fabric.inline_of(peer, sequence).is_some(),
        }
    }

    /// Whether ranks are waited for that met already.
    fn is_late(self) -> bool {
        matches!(self, Self::Level { level, .. } if level > 1)
    }
}

impl Operation {
    pub(crate) fn new(inner: Arc<Inner>, request: Request, route: &Route, sequence: u64) -> Self {
        let views = Views {
            peers: Vec::new(),
            size: request.data_type.size() as u64,
            first: 0,
            odd: false,
            exact: request.lengths.is_some(),
        };
        let &Route { ref plan, signature, direct, in_room, remote, .. } = route;
        let &Route { cut, average, reducer, exchange, .. } = route;
        let waiting = Waiting::up_to(inner.timeout());
        Self {
            inner,
            request,
            plan: plan.clone(),
            sequence,
            signature,
            direct,
            in_room,
            remote,
            cut,
            reducer,
            average,
            exchange,
            queued: None,
            begun: false,
            round: 0,
            stage: if exchange.is_some() { Stage::Before } else { Stage::In },
            step: 0,
            done: 0,
            runs: Vec::new(),
            rooms: (View::NONE, View::NONE),
            collecting: false,
            one_shot: false,
            room_chunk: 0,
            call: Call::default(),
            next_peer: 0,
            armed: None,
            polls: 0,
            waiting,
            views,
            over: false,
            stores: Stores::Cached,
            sources: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// The call was published by [`Exchange::run`].
    pub(crate) fn is_shown(&mut self) {
        self.begun = true;
        self.call = self.exchange.as_ref().map_or_else(Call::default, Exchange::call);
        self.enter(Stage::Exchange);
    }

    /// Goes as far as it can. With `arm` the caller is about to sleep on the watch that comes back:
    /// the peers are told, and progress is looked at once more.
    pub fn poll(&mut self, arm: bool) -> Polled {
        if self.over {
            return match self.inner.failure() {
                Some(error) => Polled::Failed(error.clone()),
                None => Polled::Done,
            };
        }
        if let Some(peer) = self.armed.take() {
            self.inner.fabric.retract(Line::Progress(peer));
        }
        if let Some(error) = self.inner.failure() {
            self.over = true;
            return Polled::Failed(error.clone());
        }
        if !self.begun {
            if !self.inner.is_turn_of(self.sequence) {
                let watch = self.inner.turn_watch(arm);
                if !self.inner.is_turn_of(self.sequence) {
                    return match self.wait_for_turn(arm) {
                        Ok(()) => {
                            let sleep = longest_sleep(&*self.inner.fabric);
                            Polled::Pending { watch: Some(watch), spin: false, sleep }
                        }
                        Err(error) => {
                            self.over = true;
                            Polled::Failed(self.inner.fail(error))
                        }
                    };
                }
            }
            self.begun = true;
            if self.exchange.is_none()
                && let Err(error) = self.prepare()
            {
                self.over = true;
                return Polled::Failed(self.inner.fail(error));
            }
        }
        match self.run(arm) {
            Ok(polled) => polled,
            Err(error) => {
                self.over = true;
                Polled::Failed(self.inner.fail(error))
            }
        }
    }

    /// The communicator that it runs on.
    pub(crate) fn communicator(&self) -> Communicator {
        Communicator(self.inner.clone())
    }

    /// Polls until the end, sleeping in between.
    ///
    /// # Errors
    /// When the operation fails.
    pub fn wait(&mut self) -> Result<(), Error> {
        wait(|arm| self.poll(arm))
    }

    /// An operation that nobody polls keeps those behind it waiting, not for ever.
    fn wait_for_turn(&mut self, arm: bool) -> Result<(), Error> {
        self.polls = self.polls.wrapping_add(1);
        if !arm && !self.polls.is_multiple_of(POLLS_A_LOOK) {
            return Ok(());
        }
        let now = self.inner.fabric.now();
        let since = *self.queued.get_or_insert(now);
        match self.waiting.overdue(now.saturating_sub(since)) {
            Some(waited) => Err(Error::NotItsTurn { context: self.context(), waited }),
            None => Ok(()),
        }
    }

    fn run(&mut self, arm: bool) -> Result<Polled, Error> {
        loop {
            match self.stage {
                Stage::Before => {
                    let before = self.sequence - 1;
                    let level = u32::from(before > 0);
                    let awaited = Awaited::Level { sequence: before, level };
                    if !self.inner.all_in(before)
                        && let Some(pending) = self.await_all(Peers::All, awaited, arm)?
                    {
                        return Ok(pending);
                    }
                    self.inner.seen_all(before);
                    self.next_peer = 0;
                    self.show()?;
                    self.enter(Stage::Exchange);
                }
                Stage::Exchange => {
                    let awaited = Awaited::Inline { sequence: self.sequence };
                    if let Some(pending) = self.await_all(Peers::All, awaited, arm)? {
                        return Ok(pending);
                    }
                    self.take_shown()?;
                    break;
                }
                Stage::In => {
                    if self.pass(true)? {
                        return Ok(Polled::Progress);
                    }
                    if self.round == 0 {
                        self.publish();
                    } else {
                        self.inner.fabric.signal(self.sequence, self.level(1));
                    }
                    self.enter(Stage::Steps);
                }
                Stage::Steps => {
                    if let Some(polled) = self.run_steps(arm)? {
                        return Ok(polled);
                    }
                    self.enter(Stage::Collect);
                }
                Stage::Collect => {
                    if self.collect()? {
                        return Ok(Polled::Progress);
                    }
                    if self.collecting && !self.one_shot && self.round + 1 >= self.cut.rounds() {
                        self.inner.fabric.signal(self.sequence, self.level(COLLECTED));
                        self.enter(Stage::Leave);
                    } else {
                        self.enter(Stage::Average);
                    }
                }
                Stage::Leave => {
                    if let Some(pending) = self.await_peers(Peers::All, COLLECTED, arm)? {
                        return Ok(pending);
                    }
                    self.next_peer = 0;
                    self.enter(Stage::Average);
                }
                Stage::Average => {
                    if self.divide()? {
                        return Ok(Polled::Progress);
                    }
                    self.enter(Stage::Out);
                    self.find_runs(false);
                }
                Stage::Out => {
                    if self.pass(false)? {
                        return Ok(Polled::Progress);
                    }
                    self.round += 1;
                    if self.round >= self.cut.rounds() {
                        break;
                    }
                    self.enter(Stage::In);
                    self.find_runs(true);
                    // A poll is short, also where no step of a round took long.
                    return Ok(Polled::Progress);
                }
            }
        }
        self.over = true;
        if self.exchange.is_none() {
            self.give_back();
        }
        self.inner.end_turn(self.sequence);
        Ok(Polled::Done)
    }

    fn give_back(&mut self) {
        self.inner.give_back(Lists {
            peers: std::mem::take(&mut self.views.peers),
            runs: std::mem::take(&mut self.runs),
            sources: std::mem::take(&mut self.sources),
            targets: std::mem::take(&mut self.targets),
        });
    }

    /// Publishes a small call.
    fn show(&mut self) -> Result<(), Error> {
        let exchange = self.exchange.as_ref().expect("only small calls come here");
        self.call = exchange.call();
        let shown = exchange.show(&self.inner, &self.request, self.sequence);
        shown.ok_or_else(|| self.no_buffer())
    }

    /// Ends a small call.
    fn take_shown(&mut self) -> Result<(), Error> {
        let exchange = self.exchange.as_ref().expect("only small calls come here");
        if exchange.finish(&self.inner, &self.request, self.sequence).is_some() {
            return Ok(());
        }
        let found = |peer| self.inner.fabric.inline_of(peer, self.sequence);
        let same = (0..self.inner.fabric.ranks())
            .all(|peer| found(peer).is_some_and(|inline| exchange.is_same(inline)));
        Err(if same { self.no_buffer() } else { self.mismatch() })
    }

    fn no_buffer(&self) -> Error {
        let peer = self.inner.fabric.rank();
        Error::Broken { context: self.context(), peer, what: "a buffer of its own".into() }
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.step, self.done) = (stage, 0, 0);
    }

    fn run_steps(&mut self, arm: bool) -> Result<Option<Polled>, Error> {
        let plan = self.plan.clone();
        while let Some(step) = plan.steps.get(self.step) {
            match step {
                Step::Signal { level } => {
                    self.inner.fabric.signal(self.sequence, self.level(*level));
                }
                Step::Wait { level, .. } if *level > 1 && self.meets_again() => {}
                Step::Wait { peers, level } => {
                    if let Some(pending) = self.await_peers(*peers, *level, arm)? {
                        return Ok(Some(pending));
                    }
                    self.next_peer = 0;
                    if self.round == 0 {
                        self.meet(*peers)?;
                    }
                }
                Step::Reduce { span, sources, targets } => {
                    if self.reduce(*span, sources, targets)? {
                        return Ok(Some(Polled::Progress));
                    }
                }
                Step::Copy { span, source, target } => {
                    if self.copy(*span, *source, *target)? {
                        return Ok(Some(Polled::Progress));
                    }
                }
                _ => unreachable!("a plan with other steps is not `runnable`"),
            }
            self.step += 1;
            self.done = 0;
        }
        Ok(None)
    }

    /// Whether the ranks meet in another round before anything that the others read is written
    /// again, so that none needs to wait at the end of this one.
    fn meets_again(&self) -> bool {
        self.direct && route::pulls(self.request.operator) && self.round + 1 < self.cut.rounds()
    }

    /// The level of this round that stands for one of the plan.
    fn level(&self, level: u32) -> u32 {
        // `Cut::check` refused more rounds than levels.
        self.round as u32 * self.cut.stride + level
    }

    /// `None` when the peers have come as far; else what to wait for.
    fn await_peers(
        &mut self,
        peers: Peers,
        level: u32,
        arm: bool,
    ) -> Result<Option<Polled>, Error> {
        let awaited = Awaited::Level { sequence: self.sequence, level: self.level(level) };
        self.await_all(peers, awaited, arm)
    }

    /// `None` when all of the peers have done what is awaited; else what to wait for.
    fn await_all(
        &mut self,
        peers: Peers,
        awaited: Awaited,
        arm: bool,
    ) -> Result<Option<Polled>, Error> {
        let ranks = self.inner.fabric.ranks();
        let (first, end) = match peers {
            Peers::All => (self.next_peer, ranks),
            Peers::One(rank) => (rank, rank + 1),
        };
        let Some(mut peer) = self.look_for_all(first, end, awaited) else {
            return Ok(None);
        };
        self.next_peer = peer;
        self.polls = self.polls.wrapping_add(1);
        // The look at faults comes after the look at progress: what a rank did before it went
        // still counts.
        if self.inner.fabric.any_gone() {
            self.look_for_faults(awaited, end)?;
        }
        if arm || self.polls.is_multiple_of(POLLS_A_LOOK) {
            self.look_at_clock(awaited, end)?;
            self.look_for_others(awaited, end)?;
        }
        let fabric = &*self.inner.fabric;
        if !arm {
            return Ok(Some(Polled::Pending {
                watch: fabric.watch(Line::Progress(peer)),
                spin: fabric.cores_to_spare(),
                sleep: SLEEP_MAX,
            }));
        }
        loop {
            fabric.announce(Line::Progress(peer));
            let watch = fabric.watch(Line::Progress(peer));
            if !awaited.has_come(fabric, peer) {
                let spin = fabric.cores_to_spare();
                self.armed = Some(peer);
                let sleep = longest_sleep(fabric);
                return Ok(Some(Polled::Pending { watch, spin, sleep }));
            }
            fabric.retract(Line::Progress(peer));
            match self.behind(peer, end, awaited) {
                Some(next) => peer = next,
                None => return Ok(None),
            }
        }
    }

    /// As [`Self::behind`], after some looks where each rank has a core of its own: whoever polls
    /// has more to do between two polls than to look.
    fn look_for_all(&self, mut from: u32, end: u32, awaited: Awaited) -> Option<u32> {
        let looks = if self.inner.spins { LOOKS_A_POLL } else { 1 };
        for _ in 0..looks {
            from = self.behind(from, end, awaited)?;
            std::hint::spin_loop();
        }
        Some(from)
    }

    /// First of the peers from `from` on that has not come as far.
    fn behind(&self, from: u32, end: u32, awaited: Awaited) -> Option<u32> {
        let fabric = &*self.inner.fabric;
        (from..end).find(|&peer| !awaited.has_come(fabric, peer))
    }

    /// Fails if a rank shows nothing with its call: it called something else.
    fn look_for_others(&self, awaited: Awaited, end: u32) -> Result<(), Error> {
        let Awaited::Inline { sequence } = awaited else { return Ok(()) };
        let fabric = &*self.inner.fabric;
        // It showed what it has before its progress rose.
        let other = |peer: u32| {
            fabric.reached(peer, sequence, 1) && fabric.inline_of(peer, sequence).is_none()
        };
        if (self.next_peer..end).any(other) {
            return Err(self.mismatch());
        }
        Ok(())
    }

    /// Fails if a rank that is still needed is gone. A rank that went after it did its part is
    /// none of our business.
    fn look_for_faults(&self, awaited: Awaited, end: u32) -> Result<(), Error> {
        // A rank that called something else has failed for it, and the table says more.
        self.look_for_others(awaited, end)?;
        let waited = || self.waiting.waited(self.inner.fabric.now());
        let late = |peer: u32| !awaited.has_come(&*self.inner.fabric, peer);
        crate::faults::of_late_ranks(
            &*self.inner.fabric,
            self.next_peer..end,
            late,
            || self.context(),
            |lagging| self.timed_out(waited(), lagging, awaited),
        )
    }

    pub(crate) fn context(&self) -> Context {
        self.inner.context(format!("{} number {}", self.request.operator, self.sequence))
    }

    fn timed_out(&self, waited: Duration, lagging: Vec<Lag>, awaited: Awaited) -> Error {
        let context = self.context();
        Error::TimedOut { context, waited, lagging, finishing: awaited.is_late() }
    }

    fn look_at_clock(&mut self, awaited: Awaited, end: u32) -> Result<(), Error> {
        let (waited, is_due) = self.waiting.look(self.inner.fabric.now());
        if is_due {
            self.inner.fabric.probe();
            if self.inner.fabric.any_gone() {
                self.look_for_faults(awaited, end)?;
            }
        }
        match self.waiting.overdue(waited) {
            Some(limit) => {
                let fabric = &*self.inner.fabric;
                let late = |peer: u32| !awaited.has_come(fabric, peer);
                let lagging = crate::faults::lagging(fabric, self.next_peer..end, late);
                Err(self.timed_out(limit, lagging, awaited))
            }
            None => Ok(()),
        }
    }
}

/// How long a rank may sleep before it looks around.
pub(crate) fn longest_sleep(fabric: &dyn Fabric) -> Duration {
    if fabric.any_gone() { SLEEP_ONCE_GONE } else { SLEEP_MAX }
}

/// Polls until the end, sleeping in between. The words that come back must stay mapped meanwhile,
/// which they do as long as the operation holds its communicator.
pub(crate) fn wait(mut poll: impl FnMut(bool) -> Polled) -> Result<(), Error> {
    let mut backoff: Option<Backoff> = None;
    loop {
        match poll(false) {
            Polled::Done => return Ok(()),
            Polled::Failed(error) => return Err(error),
            Polled::Progress => {
                if let Some(backoff) = &mut backoff {
                    backoff.reset();
                }
            }
            Polled::Pending { spin, .. } => {
                if backoff.get_or_insert_with(|| Backoff::new(spin)).pause() {
                    continue;
                }
                if let Polled::Pending { watch, sleep, .. } = poll(true) {
                    // SAFETY: the word lives in the communicator, see above.
                    unsafe { sleep_on(watch.as_slice(), sleep) };
                }
            }
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if let Some(peer) = self.armed.take() {
            self.inner.fabric.retract(Line::Progress(peer));
        }
        if !self.over && self.inner.failure().is_none() {
            let context = self.context();
            self.inner.abort(&format!("{context} was thrown away before its end"));
        }
    }
}
