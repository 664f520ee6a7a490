//! A communicator with the calls that were made on it and are not over.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hccl::{Communicator, JoinOptions, Options, RootInfo};
use hccl_os::wait::{Bell, SLEEP_MAX, Watch};
use parking_lot::Mutex;

use crate::abi::{Call, Hooks, Status};
use crate::background;
use crate::call::{Asked, Collective, Message, read};
use crate::job::{Job, Queued, Step};
use crate::messages::{Messages, Posted};
use crate::ticket::{Failure, Ticket};

/// How long a group that goes waits for calls that are still under way, where nothing is said.
pub(crate) const DRAIN: Duration = Duration::from_millis(500);

pub(crate) struct Group {
    pub(crate) communicator: Communicator,
    hooks: Hooks,
    timeout_ms: AtomicU64,
    /// Calls that whoever drives has not seen.
    inbox: Mutex<Inbox>,
    /// Held by whoever drives.
    pub(crate) driver: Mutex<Driver>,
    /// Calls that are not over.
    pending: AtomicU64,
    /// Threads that wait for calls, of which one drives.
    pub(crate) waiters: AtomicU32,
    /// Rings when a call came, a call ended, or nobody drives any more.
    pub(crate) bell: Bell,
    /// Why it is of no use any more.
    failure: OnceLock<Failure>,
    /// Collectives so far.
    sequence: AtomicU64,
    /// Of the process that made it.
    generation: u32,
}

#[derive(Default)]
struct Inbox {
    jobs: VecDeque<Queued>,
    messages: Vec<Posted>,
}

pub(crate) struct Driver {
    jobs: VecDeque<Queued>,
    messages: Messages,
}

/// What became of a call that was made.
pub(crate) enum Submitted {
    /// It is over; a message came from this rank.
    Done {
        source: i32,
    },
    Pending(Arc<Ticket>),
}

/// What a look at all calls found.
pub(crate) struct Looked {
    pub(crate) progress: bool,
    pub(crate) spin: bool,
    pub(crate) sleep: Duration,
}

impl Group {
    pub(crate) fn join(
        root: &RootInfo,
        rank: u32,
        ranks: u32,
        (name, timeout_ms): (String, u64),
        hooks: Hooks,
    ) -> Result<Arc<Self>, Failure> {
        let timeout = (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms));
        let options =
            JoinOptions { timeout, communicator: Options { name, timeout, ..Options::default() } };
        let communicator = Communicator::join(root, rank, ranks, options)?;
        let group = Arc::new(Self {
            communicator,
            hooks,
            timeout_ms: AtomicU64::new(timeout_ms),
            inbox: Mutex::default(),
            driver: Mutex::new(Driver { jobs: VecDeque::new(), messages: Messages::new(ranks) }),
            pending: AtomicU64::new(0),
            waiters: AtomicU32::new(0),
            bell: Bell::new(),
            failure: OnceLock::new(),
            sequence: AtomicU64::new(0),
            generation: hccl_os::fork::generation(),
        });
        background::add(&group);
        Ok(group)
    }

    pub(crate) fn set_timeout_ms(&self, timeout_ms: u64) {
        self.timeout_ms.store(timeout_ms, Ordering::Relaxed);
    }

    /// Collectives that were called so far.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Relaxed)
    }

    /// Whether this process made it, and is not a forked child of the one that did.
    pub(crate) fn is_own(&self) -> bool {
        hccl_os::fork::generation() == self.generation
    }

    /// Why it is of no use any more, if so.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let own = self.failure.get().cloned();
        own.or_else(|| self.communicator.failure().map(Failure::from))
    }

    pub(crate) fn has_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Makes a call. What can be done at once is done.
    ///
    /// # Safety
    /// 1. As for [`read`], and the tensors are there until the call is over.
    pub(crate) unsafe fn submit(&self, call: &Call) -> Result<Submitted, Failure> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if !self.is_own() {
            let name = self.communicator.name();
            let text = format!("group {name} belongs to the parent process: make a new one");
            return Err(Failure::new(Status::Failed, text));
        }
        let communicator = &self.communicator;
        // SAFETY: (1).
        let asked = unsafe { read(call, communicator.ranks(), communicator.rank()) }?;
        let default = || match self.timeout_ms.load(Ordering::Relaxed) {
            0 => None,
            limit => Some(Duration::from_millis(limit)),
        };
        let submitted = match asked {
            Asked::Collective(mut asked) => {
                asked.timeout = asked.timeout.or_else(default);
                self.sequence.fetch_add(1, Ordering::Relaxed);
                self.submit_collective(asked, call)?
            }
            Asked::Message(mut message) => {
                message.timeout = message.timeout.or_else(default);
                self.submit_message(message, call)
            }
        };
        // Whoever drives has a new call; whoever wants to may.
        self.bell.ring();
        if let (Submitted::Pending(_), true) = (&submitted, call.background != 0) {
            background::ring();
        }
        Ok(submitted)
    }

    fn ticket(&self, call: &Call) -> Arc<Ticket> {
        self.pending.fetch_add(1, Ordering::AcqRel);
        Arc::new(Ticket::new(call.owner, self.hooks))
    }

    fn submit_collective(&self, asked: Collective, call: &Call) -> Result<Submitted, Failure> {
        let mut job = Job::new(asked);
        // One that nobody is before is begun at once, so that the others need not wait for it.
        let driver = self.driver.try_lock();
        let driver = driver.filter(|it| it.jobs.is_empty() && self.inbox.lock().jobs.is_empty());
        let Some(mut driver) = driver else {
            let ticket = self.ticket(call);
            self.inbox.lock().jobs.push_back(Queued { job, ticket: ticket.clone() });
            return Ok(Submitted::Pending(ticket));
        };
        match job.poll(&self.communicator, false) {
            Step::Over(Ok(())) => Ok(Submitted::Done { source: -1 }),
            Step::Over(Err(failure)) => Err(failure),
            Step::Progress | Step::Pending { .. } => {
                let ticket = self.ticket(call);
                driver.jobs.push_back(Queued { job, ticket: ticket.clone() });
                Ok(Submitted::Pending(ticket))
            }
        }
    }

    fn submit_message(&self, message: Message, call: &Call) -> Submitted {
        let ticket = self.ticket(call);
        let posted = Posted::new(message, ticket.clone());
        let Some(mut driver) = self.driver.try_lock() else {
            self.inbox.lock().messages.push(posted);
            return Submitted::Pending(ticket);
        };
        let before = std::mem::take(&mut self.inbox.lock().messages);
        before.into_iter().for_each(|before| driver.messages.post(before));
        driver.messages.post(posted);
        let mut over = Vec::new();
        self.step_messages(&mut driver, false, &mut Vec::new(), &mut over);
        drop(driver);
        let mut ended = false;
        over.retain(|other| {
            let own = Arc::ptr_eq(other, &ticket);
            ended |= own && other.failure().is_none();
            !(own && other.failure().is_none())
        });
        self.tell(&mut over);
        if ended {
            self.pending.fetch_sub(1, Ordering::AcqRel);
            return Submitted::Done { source: ticket.source() };
        }
        Submitted::Pending(ticket)
    }

    /// Ends a receive that no message has come for.
    pub(crate) fn cancel(&self, ticket: *const Ticket) {
        let mut over = Vec::new();
        {
            // Whoever drives sleeps for so long at most, and wakes by the bell.
            self.bell.ring();
            let mut driver = self.driver.lock();
            let mut inbox = self.inbox.lock();
            inbox.messages.drain(..).for_each(|message| driver.messages.post(message));
            drop(inbox);
            over.extend(driver.messages.cancel(ticket));
        }
        self.tell(&mut over);
        self.bell.ring();
    }

    /// Looks after all calls once. Tickets that are over are in the list afterwards: whoever calls
    /// this [tells](Self::tell) them, without the driver's lock.
    pub(crate) fn step(
        &self,
        driver: &mut Driver,
        arm: bool,
        watches: &mut Vec<Watch>,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Looked {
        {
            let mut inbox = self.inbox.lock();
            driver.jobs.append(&mut inbox.jobs);
            inbox.messages.drain(..).for_each(|message| driver.messages.post(message));
        }
        if let Some(failure) = self.failure() {
            self.fail_all(driver, &failure, over);
            return Looked { progress: true, spin: true, sleep: Duration::ZERO };
        }
        let mut looked = self.step_messages(driver, arm, watches, over);
        if let Some(head) = driver.jobs.front_mut() {
            match head.job.poll(&self.communicator, arm) {
                Step::Over(result) => {
                    looked.progress = true;
                    let head = driver.jobs.pop_front().expect("it was looked at");
                    head.ticket.set_over(result.clone());
                    over.push(head.ticket);
                    if let Err(failure) = result {
                        self.give_up(driver, failure, over);
                    }
                }
                Step::Progress => looked.progress = true,
                Step::Pending { watch, spin, sleep } => {
                    looked.spin &= spin;
                    looked.sleep = looked.sleep.min(sleep);
                    if arm {
                        watches.extend(watch);
                    }
                }
            }
        }
        looked
    }

    fn step_messages(
        &self,
        driver: &mut Driver,
        arm: bool,
        watches: &mut Vec<Watch>,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Looked {
        if driver.messages.is_empty() {
            return Looked { progress: false, spin: true, sleep: SLEEP_MAX };
        }
        match driver.messages.step(&self.communicator, arm, watches, over) {
            Ok(looked) => looked,
            Err(failure) => {
                self.give_up(driver, failure, over);
                Looked { progress: true, spin: true, sleep: Duration::ZERO }
            }
        }
    }

    /// Tells the owners of calls that are over, and whoever waits.
    pub(crate) fn tell(&self, over: &mut Vec<Arc<Ticket>>) {
        if over.is_empty() {
            return;
        }
        self.pending.fetch_sub(over.len() as u64, Ordering::AcqRel);
        over.drain(..).for_each(|ticket| ticket.tell());
        self.bell.ring();
    }

    /// A call failed, and with it the group.
    fn give_up(&self, driver: &mut Driver, failure: Failure, over: &mut Vec<Arc<Ticket>>) {
        self.communicator.abort(&failure.text);
        let failure = self.failure.get_or_init(|| failure).clone();
        self.fail_all(driver, &failure, over);
    }

    fn fail_all(&self, driver: &mut Driver, failure: &Failure, over: &mut Vec<Arc<Ticket>>) {
        over.extend(driver.jobs.drain(..).map(|queued| queued.refuse(failure)));
        driver.messages.fail(failure, over);
    }

    /// Ends all calls with an error, here and on the other ranks. From any thread.
    pub(crate) fn abort(&self, why: &str) {
        if !self.is_own() {
            return;
        }
        let _ = self.failure.set(Failure::new(Status::Aborted, why));
        self.communicator.abort(why);
        self.bell.ring();
        background::ring();
        self.drain(DRAIN);
    }

    /// Waits until all calls are over, for so long at most; whether they are.
    pub(crate) fn drain(&self, limit: Duration) -> bool {
        crate::drive::until(self, Some(limit), || !self.has_pending())
    }

    /// Ends the part of this rank: calls under way have so long to end.
    pub(crate) fn close(&self, limit: Duration) {
        if !self.is_own() {
            return;
        }
        if !self.drain(limit) {
            let rank = self.communicator.rank();
            self.abort(&format!("rank {rank} left while calls were under way"));
        }
        // The first reason stands; whoever calls it from now on is told.
        let _ = self.failure.set(Failure::new(Status::Aborted, "the group was shut down"));
        self.communicator.leave();
    }
}
