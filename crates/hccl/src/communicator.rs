//! A communicator: the order of its operations, and what became of it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hccl_fabric::Fabric;
use hccl_os::sync::{AtomicU32, AtomicU64, Ordering, fence, low_half};
use hccl_os::wait::{Scope, Watch, wake_all};
use hccl_plan::{Operator, Plan, mesh};
use parking_lot::Mutex;

use crate::call::Request;
use crate::error::{Context, Error};
use crate::operation::Operation;
use crate::runnable::{RUNNABLE, runnable};
use crate::transfer::{Transfer, Transfers};

/// What a communicator is told at creation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name, for messages.
    pub name: String,
    /// How long an operation may wait for others; `None` for as long as it takes.
    pub timeout: Option<Duration>,
}

/// A group of ranks, seen from one of them. Cheap to clone; clones are the same communicator.
#[derive(Clone)]
pub struct Communicator(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) fabric: Box<dyn Fabric>,
    pub(crate) options: Options,
    /// Sequence numbers given out; the first operation has number 1.
    issued: AtomicU64,
    /// The operation whose turn it is. Operations run in the order in which they were started,
    /// also when they are polled out of order.
    turn: AtomicU64,
    turn_waiters: AtomicU32,
    plans: Mutex<HashMap<(Operator, u32), Arc<Plan>>>,
    failed: OnceLock<Error>,
    /// Messages to and from each rank that were started, and transfers that have not ended.
    pub(crate) sent: Vec<AtomicU64>,
    pub(crate) received: Vec<AtomicU64>,
    pub(crate) transfers: AtomicU32,
}

impl Communicator {
    /// A communicator on a fabric that all ranks have joined.
    pub fn new(fabric: Box<dyn Fabric>, options: Options) -> Self {
        let ranks = fabric.ranks();
        Self(Arc::new(Inner {
            fabric,
            options,
            issued: AtomicU64::new(0),
            turn: AtomicU64::new(1),
            turn_waiters: AtomicU32::new(0),
            plans: Mutex::default(),
            failed: OnceLock::new(),
            sent: (0..ranks).map(|_| AtomicU64::new(0)).collect(),
            received: (0..ranks).map(|_| AtomicU64::new(0)).collect(),
            transfers: AtomicU32::new(0),
        }))
    }

    /// The own rank.
    pub fn rank(&self) -> u32 {
        self.0.fabric.rank()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.0.fabric.ranks()
    }

    /// Name of the communicator.
    pub fn name(&self) -> &str {
        &self.0.options.name
    }

    /// Starts an operation. All ranks start the same ones in the same order.
    ///
    /// # Errors
    /// When the request cannot be, or the communicator has failed before.
    pub fn start(&self, request: Request) -> Result<Operation, Error> {
        let inner = &self.0;
        if let Some(error) = inner.failed.get() {
            return Err(error.clone());
        }
        request.check(self.ranks(), self.rank())?;
        let plan = inner.plan(request.operator, request.root)?;
        let sequence = inner.issued.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Operation::new(inner.clone(), request, plan, sequence))
    }

    /// Starts messages to and from other ranks, all at once: none waits for another, except that
    /// messages between two ranks go one after the other.
    ///
    /// # Errors
    /// When a request cannot be, or the communicator has failed before.
    pub fn start_transfers(&self, requests: &[Transfer]) -> Result<Transfers, Error> {
        if let Some(error) = self.0.failed.get() {
            return Err(error.clone());
        }
        Transfers::new(self.0.clone(), requests)
    }

    /// Whether operations were started that have not ended.
    pub fn is_busy(&self) -> bool {
        let collectives =
            self.0.turn.load(Ordering::Acquire) <= self.0.issued.load(Ordering::Acquire);
        let transfers = self.0.transfers.load(Ordering::Acquire) != 0;
        (collectives || transfers) && self.0.failed.get().is_none()
    }

    /// Stops everything: operations under way end with an error here, and on the other ranks as
    /// soon as they need this one. Returns at once, from any thread, any number of times.
    pub fn abort(&self, cause: &str) {
        self.0.abort(cause);
    }

    /// Ends the own part: the others learn that this rank takes part in nothing any more.
    pub fn leave(&self) {
        self.0.fabric.leave();
    }

    /// Why the communicator can no longer be used, if so.
    pub fn failure(&self) -> Option<Error> {
        self.0.failed.get().cloned()
    }
}

impl Inner {
    /// Plans are made once for each operator and root.
    fn plan(&self, operator: Operator, root: u32) -> Result<Arc<Plan>, Error> {
        let invalid = |what, given: String, allowed: &str| {
            Err(Error::Invalid { what, given, allowed: allowed.into() })
        };
        if operator.has_extents() {
            let allowed = "an operator with one count for all ranks";
            return invalid("operator", operator.to_string(), allowed);
        }
        let root = if operator.is_rooted() { root } else { 0 };
        let (ranks, rank) = (self.fabric.ranks(), self.fabric.rank());
        let mut plans = self.plans.lock();
        if let Some(plan) = plans.get(&(operator, root)) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(mesh(operator, ranks, rank, root));
        if let Err(why) = runnable(&plan) {
            return invalid("plan", format!("{} with {why}", plan.algorithm), RUNNABLE);
        }
        plans.insert((operator, root), plan.clone());
        Ok(plan)
    }

    pub(crate) fn context(&self, operation: String) -> Context {
        Context {
            communicator: self.options.name.clone(),
            rank: self.fabric.rank(),
            ranks: self.fabric.ranks(),
            operation,
        }
    }

    /// The failure of the communicator, if it has one.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failed.get()
    }

    /// Ends the communicator; the first failure stands and is given back.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let stands = self.failed.get_or_init(|| {
            self.fabric.fail(error.reason());
            error
        });
        let stands = stands.clone();
        self.wake_turn();
        stands
    }

    pub(crate) fn abort(&self, cause: &str) {
        self.fail(Error::Aborted {
            communicator: self.options.name.clone(),
            rank: self.fabric.rank(),
            cause: cause.to_owned(),
        });
    }

    pub(crate) fn is_turn_of(&self, sequence: u64) -> bool {
        self.turn.load(Ordering::Acquire) == sequence
    }

    /// What to sleep on until the turn changes; announces the sleeper for good measure, once.
    pub(crate) fn turn_watch(&self, arm: bool) -> Watch {
        if arm {
            // Never taken back: a communicator with operations on several streams pays a system
            // call an operation from then on.
            self.turn_waiters.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
        let seen = self.turn.load(Ordering::SeqCst) as u32;
        Watch::new(low_half(&self.turn), seen, Scope::Private)
    }

    pub(crate) fn end_turn(&self, sequence: u64) {
        self.turn.store(sequence + 1, Ordering::Release);
        self.wake_turn();
    }

    fn wake_turn(&self) {
        fence(Ordering::SeqCst);
        if self.turn_waiters.load(Ordering::Relaxed) != 0 {
            wake_all(low_half(&self.turn), Scope::Private);
        }
    }
}
