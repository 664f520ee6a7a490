//! An operation under way: runs the steps of its plan, never blocks.

use std::sync::Arc;
use std::time::Duration;

use hccl_fabric::{Call, Line, reason};
use hccl_kernels::{Reducer, copy};
use hccl_os::wait::{Backoff, SLEEP_MAX, Watch, sleep_on};
use hccl_plan::{Buffer, Peers, Place, Plan, Span, Step};

use crate::call::{Request, describe};
use crate::communicator::Inner;
use crate::error::{Context, Error, Lag};

/// Bytes of each buffer that one poll works on. Small enough that sources and targets stay in a
/// core's cache between read and write, large enough that the turn costs nothing beside it.
pub(crate) const CHUNK_BYTES: u64 = 256 << 10;
/// Borders between ranks fall on multiples of this: two cache lines, which are fetched together.
const GRANULE_BYTES: u64 = 128;
/// How often a waiting operation asks the kernel whether its peers live.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_millis(100);
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
    },
    /// It failed, and the communicator with it.
    Failed(Error),
}

/// Where a rank's buffers are in this process.
#[derive(Clone, Copy)]
struct Buffers {
    input: *mut u8,
    output: *mut u8,
}

/// An operation that was started. Dropping it before its end aborts the communicator, since the
/// other ranks count on it.
pub struct Operation {
    inner: Arc<Inner>,
    request: Request,
    plan: Arc<Plan>,
    sequence: u64,
    reducer: Option<Reducer>,
    /// Set when the call was published.
    begun: Option<Duration>,
    /// Next step, and elements of it that are done.
    step: usize,
    done: u64,
    level: u32,
    /// First peer that was not seen at the level of the current wait.
    next_peer: u32,
    /// Peer that was told that somebody sleeps for it.
    armed: Option<u32>,
    polls: u32,
    probed: Duration,
    buffers: Vec<Buffers>,
    over: bool,
    /// Reused for each chunk, so that a poll allocates nothing.
    sources: Vec<*const u8>,
    targets: Vec<*mut u8>,
}

// SAFETY: the addresses lie in memory that the fabric keeps mapped as long as the communicator
// lives; one thread at a time polls.
unsafe impl Send for Operation {}

impl Operation {
    pub(crate) fn new(inner: Arc<Inner>, request: Request, plan: Arc<Plan>, sequence: u64) -> Self {
        let reducer = request.reduce_op.and_then(|op| Reducer::new(request.data_type, op));
        let ranks = inner.fabric.ranks() as usize;
        let probed = inner.fabric.now();
        Self {
            inner,
            request,
            plan,
            sequence,
            reducer,
            begun: None,
            step: 0,
            done: 0,
            level: 0,
            next_peer: 0,
            armed: None,
            polls: 0,
            probed,
            buffers: Vec::new(),
            over: false,
            sources: Vec::with_capacity(ranks),
            targets: Vec::with_capacity(ranks),
        }
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
        if self.begun.is_none() {
            if !self.inner.is_turn_of(self.sequence) {
                let watch = self.inner.turn_watch(arm);
                if !self.inner.is_turn_of(self.sequence) {
                    return Polled::Pending { watch: Some(watch), spin: false };
                }
            }
            let fabric = &self.inner.fabric;
            fabric.publish(self.sequence, &self.request.to_call(fabric.ranks(), fabric.rank()));
            self.level = 1;
            self.begun = Some(self.inner.fabric.now());
        }
        match self.run(arm) {
            Ok(polled) => polled,
            Err(error) => {
                self.over = true;
                Polled::Failed(self.inner.fail(error))
            }
        }
    }

    /// Polls until the end, sleeping in between.
    ///
    /// # Errors
    /// When the operation fails.
    pub fn wait(&mut self) -> Result<(), Error> {
        wait(|arm| self.poll(arm))
    }

    fn run(&mut self, arm: bool) -> Result<Polled, Error> {
        let plan = self.plan.clone();
        while let Some(step) = plan.steps.get(self.step) {
            match step {
                Step::Signal { level } => {
                    self.level = *level;
                    self.inner.fabric.signal(self.sequence, self.level);
                }
                Step::Wait { peers, level } => {
                    if let Some(pending) = self.await_peers(*peers, *level, arm)? {
                        return Ok(pending);
                    }
                    self.next_peer = 0;
                    if *level == 1 {
                        self.meet()?;
                    }
                }
                Step::Reduce { span, sources, targets } => {
                    if self.reduce(*span, sources, targets) {
                        return Ok(Polled::Progress);
                    }
                }
                Step::Copy { span, source, target } => {
                    if self.copy(*span, *source, *target) {
                        return Ok(Polled::Progress);
                    }
                }
                _ => unreachable!("a plan with other steps is not `runnable`"),
            }
            self.step += 1;
            self.done = 0;
        }
        self.over = true;
        self.inner.end_turn(self.sequence);
        Ok(Polled::Done)
    }

    /// `None` when the peers have come as far; else what to wait for.
    fn await_peers(
        &mut self,
        peers: Peers,
        level: u32,
        arm: bool,
    ) -> Result<Option<Polled>, Error> {
        let ranks = self.inner.fabric.ranks();
        let (first, end) = match peers {
            Peers::All => (self.next_peer, ranks),
            Peers::One(rank) => (rank, rank + 1),
        };
        let Some(mut peer) = self.behind(first, end, level) else {
            return Ok(None);
        };
        self.next_peer = peer;
        self.polls = self.polls.wrapping_add(1);
        // The look at faults comes after the look at progress: what a rank did before it went
        // still counts.
        if self.inner.fabric.any_gone() {
            self.look_for_faults(level, end)?;
        }
        if arm || self.polls.is_multiple_of(POLLS_A_LOOK) {
            self.look_at_clock(level, end)?;
        }
        let fabric = &*self.inner.fabric;
        if !arm {
            return Ok(Some(Polled::Pending {
                watch: fabric.watch(Line::Progress(peer)),
                spin: fabric.cores_to_spare(),
            }));
        }
        loop {
            fabric.announce(Line::Progress(peer));
            let watch = fabric.watch(Line::Progress(peer));
            if !fabric.reached(peer, self.sequence, level) {
                let spin = fabric.cores_to_spare();
                self.armed = Some(peer);
                return Ok(Some(Polled::Pending { watch, spin }));
            }
            fabric.retract(Line::Progress(peer));
            match self.behind(peer, end, level) {
                Some(next) => peer = next,
                None => return Ok(None),
            }
        }
    }

    /// First of the peers from `from` on that has not come as far.
    fn behind(&self, from: u32, end: u32, level: u32) -> Option<u32> {
        (from..end).find(|&peer| !self.inner.fabric.reached(peer, self.sequence, level))
    }

    /// Fails if a rank that is still needed is gone. A rank that went after it did its part is
    /// none of our business.
    fn look_for_faults(&self, level: u32, end: u32) -> Result<(), Error> {
        use hccl_fabric::Fault::{Dead, Failed};
        let fabric = &*self.inner.fabric;
        let late = |peer: &u32| !fabric.reached(*peer, self.sequence, level);
        let faults: Vec<_> =
            (self.next_peer..end).filter(late).filter_map(|peer| fabric.fault(peer)).collect();
        // A death explains the failures and departures that follow from it.
        let worst = faults
            .iter()
            .find(|fault| matches!(fault, Dead { .. }))
            .or_else(|| faults.iter().find(|fault| matches!(fault, Failed { .. })))
            .or_else(|| faults.first());
        // Another rank ran into its time-out, waiting as we do: the cause is whoever keeps both of
        // us waiting, if there is such a rank.
        if let Some(Failed { reason: reason::TIMED_OUT, .. }) = worst {
            let lagging = self.lagging(level, end);
            if !lagging.is_empty() {
                let waited = self
                    .begun
                    .map_or(Duration::ZERO, |begun| self.inner.fabric.now().saturating_sub(begun));
                return Err(self.timed_out(waited, lagging, level));
            }
        }
        match worst {
            // The rank may have finished between our look at its progress and its going.
            Some(fault) if late(&fault.rank()) => {
                let context = self.context();
                Err(Error::Peer { context, fault: fault.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Ranks that are late and of which nothing is known that would explain it.
    fn lagging(&self, level: u32, end: u32) -> Vec<Lag> {
        let fabric = &*self.inner.fabric;
        (self.next_peer..end)
            .filter(|&peer| !fabric.reached(peer, self.sequence, level))
            .filter(|&peer| fabric.fault(peer).is_none())
            .map(|rank| Lag {
                rank,
                process: fabric.process(rank),
                sequence: fabric.position(rank).0,
            })
            .collect()
    }

    fn context(&self) -> Context {
        self.inner.context(format!("{} number {}", self.request.operator, self.sequence))
    }

    fn timed_out(&self, waited: Duration, lagging: Vec<Lag>, level: u32) -> Error {
        let context = self.context();
        Error::TimedOut { context, waited, lagging, finishing: level > 1 }
    }

    fn look_at_clock(&mut self, level: u32, end: u32) -> Result<(), Error> {
        let now = self.inner.fabric.now();
        if now.saturating_sub(self.probed) >= PROBE_INTERVAL {
            self.probed = now;
            self.inner.fabric.probe();
            if self.inner.fabric.any_gone() {
                self.look_for_faults(level, end)?;
            }
        }
        let waited = self.begun.map_or(Duration::ZERO, |begun| now.saturating_sub(begun));
        match self.inner.options.timeout {
            Some(limit) if waited >= limit => {
                Err(self.timed_out(limit, self.lagging(level, end), level))
            }
            _ => Ok(()),
        }
    }

    /// All have called: compares what, and finds everybody's buffers.
    fn meet(&mut self) -> Result<(), Error> {
        let fabric = &*self.inner.fabric;
        let own = self.request.signature();
        let context = || self.context();
        let calls: Vec<Option<Call>> =
            (0..fabric.ranks()).map(|peer| fabric.call_of(peer, self.sequence)).collect();
        if calls.iter().any(|call| call.is_none_or(|call| call.signature != own)) {
            return Err(Error::Mismatch { context: context(), table: table(&calls) });
        }
        let mut buffers = Vec::with_capacity(calls.len());
        for (peer, call) in (0u32..).zip(calls.iter().flatten()) {
            // The lengths follow from the signature and the rank; what the rank says is not
            // believed. Its offsets are checked against the memory that it shares.
            let expected = self.request.to_call(fabric.ranks(), peer);
            let find = |what: &str, offset: u64, len: u64| {
                if len == 0 {
                    return Ok(std::ptr::null_mut());
                }
                let aligned = !self.request.operator.reduces()
                    || offset.is_multiple_of(self.request.data_type.size() as u64);
                fabric.memory(peer, offset, len).filter(|_| aligned).ok_or_else(|| Error::Broken {
                    context: context(),
                    peer,
                    what: format!("{what} of {len} bytes at offset {offset}"),
                })
            };
            let input = find("its input", call.input.offset, expected.input.len)?;
            let output = find("its output", call.output.offset, expected.output.len)?;
            buffers.push(Buffers { input, output });
        }
        self.buffers = buffers;
        Ok(())
    }

    /// Address of an element from a place on.
    fn address(&self, place: Place, element: u64) -> *mut u8 {
        let buffers = &self.buffers[place.rank as usize];
        let base = match place.buffer {
            Buffer::Input => buffers.input,
            _ => buffers.output,
        };
        let size = self.request.data_type.size() as u64;
        let offset = (place.at * self.request.count + element) * size;
        base.wrapping_add(offset as usize)
    }

    /// The next elements of a step, at most a chunk; `None` when the step is done.
    fn chunk(&self, span: Span) -> Option<(u64, u64)> {
        let size = self.request.data_type.size() as u64;
        let range = span.range(self.request.count, (GRANULE_BYTES / size).max(1));
        let start = range.start + self.done;
        let len = range.end.saturating_sub(start).min(CHUNK_BYTES / size);
        (len > 0).then_some((start, len))
    }

    /// Combines the next chunk. True if more is left.
    fn reduce(&mut self, span: Span, sources: &[Place], targets: &[Place]) -> bool {
        let Some((start, len)) = self.chunk(span) else {
            return false;
        };
        let mut from = std::mem::take(&mut self.sources);
        let mut to = std::mem::take(&mut self.targets);
        from.extend(sources.iter().map(|place| self.address(*place, start).cast_const()));
        to.extend(targets.iter().map(|place| self.address(*place, start)));
        let reducer = self.reducer.expect("a request without a reduction was refused");
        // SAFETY: every address was found by `meet`: mapped memory of that rank, aligned for the
        // type, as long as the operator needs. By the plan no other rank touches these elements
        // until the next level; buffers that overlap otherwise than by being the same are against
        // the operator's contract and give wrong values, nothing else.
        unsafe { reducer.run(&to, &from, len as usize) };
        from.clear();
        to.clear();
        (self.sources, self.targets) = (from, to);
        self.done += len;
        self.chunk(span).is_some()
    }

    /// Copies the next chunk. True if more is left.
    fn copy(&mut self, span: Span, source: Place, target: Place) -> bool {
        let Some((start, len)) = self.chunk(span) else {
            return false;
        };
        let bytes = len as usize * self.request.data_type.size();
        let (to, from) = (self.address(target, start), self.address(source, start));
        // SAFETY: as in `reduce`.
        unsafe { copy(to, from.cast_const(), bytes) };
        self.done += len;
        self.chunk(span).is_some()
    }
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
                if let Polled::Pending { watch, .. } = poll(true) {
                    // SAFETY: the word lives in the communicator, see above.
                    unsafe { sleep_on(watch.as_slice(), SLEEP_MAX) };
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

/// Who called what, equal calls together.
fn table(calls: &[Option<Call>]) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (rank, call) in calls.iter().enumerate() {
        let text = call.map_or_else(
            || "a call that it overwrote".to_owned(),
            |call| describe(&call.signature),
        );
        match rows.iter_mut().find(|(known, _)| *known == text) {
            Some((_, ranks)) => ranks.push(rank.to_string()),
            None => rows.push((text, vec![rank.to_string()])),
        }
    }
    let row = |(text, ranks): &(String, Vec<String>)| {
        let word = if ranks.len() == 1 { "rank" } else { "ranks" };
        format!("{word} {}: {text}", ranks.join(", "))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}
