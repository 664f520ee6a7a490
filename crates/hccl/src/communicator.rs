//! A communicator: the order of its operations, and what became of it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hccl_fabric::{Fabric, Line};
use hccl_os::barrier::Pair;
use hccl_os::sync::{AtomicU32, AtomicU64, Ordering, low_half};
use hccl_os::wait::{Scope, Watch, wake_all};
use hccl_plan::select::{Case, Choice, Forced, Product, Reach, offers, reprice, select};
use hccl_plan::{Algorithm, Operator, Task, Topology, expand};
use parking_lot::Mutex;

use crate::average::Average;
use crate::call::Request;
use crate::error::{Context, Error};
use crate::exchange::{self, Came, Exchange};
use crate::memory::{Memory, Piece, Workspace};
use crate::operation::{Lists, Operation, Route};
use crate::plans::{Key, PlanStatistics, Plans};
use crate::recent::{Kind, Recent};
use crate::rooms::Rooms;
use crate::route;
use crate::transfer::{Arrival, Transfer, Transfers};
use crate::tuner::{Answers, Tuned, Tuner};

/// Takes a sentence for the user.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// What a communicator is told at creation.
#[derive(Clone)]
pub struct Options {
    /// Its name, for messages.
    pub name: String,
    /// How long an operation may wait for others; `None` for as long as it takes.
    pub timeout: Option<Duration>,
    /// Where room comes from for private memory, and for algorithms that need scratch memory.
    /// Without it, requests that need room are refused.
    pub workspace: Option<Arc<dyn Workspace>>,
    /// Bytes of room that a call may take before it is cut into rounds; equal on all ranks.
    pub buffer_bytes: u64,
    /// Where the ranks are, for the choice of algorithms; `None` for ranks without groups. Equal on
    /// all ranks, as the next two.
    pub topology: Option<Topology>,
    /// Which algorithms the user wants.
    pub forced: Option<Forced>,
    /// Whose documented lists say what the words of `HCCL_ALGO` act on.
    pub product: Product,
    /// Whether data of small calls goes beside them; equal on all ranks. Otherwise ranks look for
    /// each other's buffers, as they do for larger ones.
    pub inline: bool,
    /// Whether the kernel copies from private memory of this rank into that of others, where it can
    /// between all of them, from 16 KiB on. Otherwise such memory passes through room of the
    /// communicator: twice, but in a core's cache, which was faster wherever it was measured.
    pub copy_from_processes: bool,
    /// Told, once for each, what of the user's wish for algorithms cannot be followed.
    pub notice: Option<Notice>,
    /// Asked what algorithms cost; alike on all ranks. Where the user forces an algorithm it is not
    /// asked.
    pub tuner: Option<Arc<dyn Tuner>>,
}

/// Looks for others that a call on its way to a stream takes, about a microsecond.
const SOME_LOOKS: u32 = 64;
/// After as many calls for which the others came late, one look is enough.
const LATE_MAX: u32 = 8;

/// Size of the room where nothing else is said: 200 MiB, HCCL's own default.
pub const BUFFER_BYTES: u64 = 200 << 20;

impl Default for Options {
    fn default() -> Self {
        Self {
            name: String::new(),
            timeout: None,
            workspace: None,
            buffer_bytes: BUFFER_BYTES,
            topology: None,
            forced: None,
            product: Product::A2,
            inline: true,
            copy_from_processes: false,
            notice: None,
            tuner: None,
        }
    }
}

impl Options {
    /// What of it must be equal on all ranks, in words.
    pub(crate) fn settings(&self) -> String {
        let Self { buffer_bytes, topology, forced, product, inline, .. } = self;
        let topology = topology.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        format!(
            "buffer_bytes {buffer_bytes}, topology {topology}, forced {forced:?}, product \
             {product:?}, inline {inline}"
        )
    }
}

/// A group of ranks, seen from one of them. Cheap to clone; clones are the same communicator.
#[derive(Clone)]
pub struct Communicator(pub(crate) Arc<Inner>);

/// What was started on the way to or from a rank.
#[derive(Default)]
pub(crate) struct Way {
    pub(crate) messages: AtomicU64,
    /// Messages of the fabric that they go in.
    pub(crate) parts: AtomicU64,
}

pub(crate) struct Inner {
    pub(crate) fabric: Box<dyn Fabric>,
    pub(crate) options: Options,
    /// Sequence numbers given out; the first operation has number 1.
    issued: AtomicU64,
    /// The operation whose turn it is. Operations run in the order in which they were started,
    /// also when they are polled out of order.
    turn: AtomicU64,
    turn_waiters: AtomicU32,
    /// The algorithm of each operator, by the size of the call as a power of two.
    chosen: Mutex<HashMap<(Operator, u32), Arc<Chosen>>>,
    /// The same for calls that a tuner was asked about.
    answers: Answers,
    topology: Topology,
    /// What `Options::notice` was told.
    noticed: Mutex<Vec<String>>,
    plans: Plans,
    recent: Mutex<Recent>,
    room: Mutex<Option<Piece>>,
    pub(crate) rooms: Mutex<Rooms>,
    /// Reused by the operation whose turn it is.
    lists: Mutex<Lists>,
    failed: OnceLock<Error>,
    /// Whether the memory that it shares is the heap, where buffers are.
    pub(crate) on_heap: bool,
    /// Of the process that made it.
    generation: u32,
    /// The last call in which all ranks were found; written by the operation whose turn it is.
    pub(crate) seen_all: AtomicU64,
    /// Calls in a row for which the others came late.
    late: AtomicU32,
    /// Whether each rank has a core of its own.
    pub(crate) spins: bool,
    /// Whether ranks copy from the own private memory.
    pub(crate) remote: bool,
    /// How threads that end a turn and those that wait for theirs keep their steps in order.
    pair: Pair,
    /// Messages to and from each rank that were started, and transfers that have not ended.
    pub(crate) sent: Vec<Way>,
    pub(crate) received: Vec<Way>,
    pub(crate) transfers: AtomicU32,
    /// Nanoseconds that the next call may wait for others; `u64::MAX` for as long as it takes.
    timeout_ns: AtomicU64,
}

impl Communicator {
    /// A communicator on a fabric that all ranks have joined, whose memory is the caller's affair.
    pub fn new(fabric: Box<dyn Fabric>, options: Options) -> Self {
        Self::on(fabric, options, false)
    }

    /// A communicator on a fabric whose memory is the heap of this process.
    pub(crate) fn with_heap(fabric: Box<dyn Fabric>, options: Options) -> Self {
        Self::on(fabric, options, true)
    }

    fn on(fabric: Box<dyn Fabric>, options: Options, on_heap: bool) -> Self {
        let ranks = fabric.ranks();
        let topology = topology(&options, ranks);
        let spins = fabric.cores_to_spare();
        let remote = fabric.all_copy() && options.copy_from_processes;
        let timeout_ns = AtomicU64::new(nanoseconds(options.timeout));
        Self(Arc::new(Inner {
            fabric,
            topology,
            noticed: Mutex::default(),
            options,
            issued: AtomicU64::new(0),
            turn: AtomicU64::new(1),
            turn_waiters: AtomicU32::new(0),
            chosen: Mutex::default(),
            answers: Answers::new(),
            plans: Plans::new(),
            recent: Mutex::default(),
            room: Mutex::default(),
            rooms: Mutex::default(),
            lists: Mutex::default(),
            failed: OnceLock::new(),
            on_heap,
            generation: hccl_os::fork::generation(),
            seen_all: AtomicU64::new(0),
            late: AtomicU32::new(0),
            spins,
            remote,
            pair: Pair::of_process(),
            sent: (0..ranks).map(|_| Way::default()).collect(),
            received: (0..ranks).map(|_| Way::default()).collect(),
            transfers: AtomicU32::new(0),
            timeout_ns,
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

    /// Changes how long calls may wait for others that are started from now on; `None` for as long as
    /// it takes. Only this rank hears of it.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.0.timeout_ns.store(nanoseconds(timeout), Ordering::Relaxed);
    }

    /// Starts an operation. All ranks start the same ones in the same order.
    ///
    /// Pieces of shared memory are those of a communicator that was made on memory of the caller's.
    /// One that was joined takes shared memory as [`Buffer`](crate::Buffer)s only.
    ///
    /// # Errors
    /// When the request cannot be, or the communicator has failed before.
    pub fn start(&self, request: Request) -> Result<Operation, Error> {
        self.check_pieces([request.input, request.output])?;
        self.begin(request)
    }

    /// As [`Self::start`], where a small call may be through when this returns, since the other ranks
    /// were there already or came within a microsecond or two: then there is nothing to poll.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_or_finish(&self, request: Request) -> Result<Option<Operation>, Error> {
        self.check_pieces([request.input, request.output])?;
        self.begin_or_finish(request)
    }

    /// As [`Self::start_or_finish`], also on pieces of the heap of this process
    /// ([`shared`](crate::shared)), for callers that keep them.
    ///
    /// # Safety
    /// 1. Such a piece is part of a block that is not freed before the call has ended well. If it
    ///    does not end well, other ranks may still be in the block: it is never freed.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub unsafe fn start_or_finish_shared(
        &self,
        request: Request,
    ) -> Result<Option<Operation>, Error> {
        self.begin_or_finish(request)
    }

    fn begin_or_finish(&self, request: Request) -> Result<Option<Operation>, Error> {
        // Where the others came late of late, there is no use in waiting for them.
        let late = self.0.late.load(Ordering::Relaxed);
        let looks = if late < LATE_MAX { SOME_LOOKS } else { 1 };
        Ok(match self.run_at_once(&request, looks)? {
            Ran::Through => {
                self.0.late.store(0, Ordering::Relaxed);
                None
            }
            Ran::Admitted(admitted) => {
                if admitted.is_shown {
                    self.0.late.store((late + 1).min(LATE_MAX), Ordering::Relaxed);
                }
                Some(self.start_admitted(request, &admitted))
            }
        })
    }

    /// Refuses pieces of a heap whose owner is not known.
    fn check_pieces(&self, memories: impl IntoIterator<Item = Memory>) -> Result<(), Error> {
        for memory in memories {
            if let (true, Memory::Shared(piece)) = (self.0.on_heap && !memory.is_empty(), memory) {
                return Err(Error::Invalid {
                    what: "memory",
                    given: format!("{} bytes at offset {} of the heap", piece.len, piece.offset),
                    allowed: "private memory, or a buffer in a typed call".into(),
                });
            }
        }
        Ok(())
    }

    /// As [`Self::start`], on memory that is known to be the caller's.
    pub(crate) fn begin(&self, request: Request) -> Result<Operation, Error> {
        let admitted = self.admit(&request)?;
        Ok(self.start_admitted(request, &admitted))
    }

    /// Takes a request as the next call.
    pub(crate) fn admit(&self, request: &Request) -> Result<Admitted, Error> {
        let inner = &self.0;
        inner.check_usable()?;
        request.check(self.ranks(), self.rank())?;
        let route = inner.route(request)?;
        let sequence = inner.issued.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Admitted { route, sequence, is_shown: false })
    }

    pub(crate) fn start_admitted(&self, request: Request, admitted: &Admitted) -> Operation {
        let Admitted { ref route, sequence, is_shown } = *admitted;
        let mut operation = Operation::new(self.0.clone(), request, route, sequence);
        if is_shown {
            operation.is_shown();
        }
        operation
    }

    /// Runs a request to its end, if it is small and of a kind that was there before, if it is its
    /// turn, and if the others are quick. Else it has its number and goes on as an operation.
    pub(crate) fn run_at_once(&self, request: &Request, looks: u32) -> Result<Ran, Error> {
        let inner = &self.0;
        inner.check_usable()?;
        let known = Kind::of(request).and_then(|kind| inner.recent.lock().exchange(kind));
        let known = known.filter(|exchange| inner.is_idle() && exchange.has_memory(request));
        let Some(exchange) = known else {
            return self.admit(request).map(Ran::Admitted);
        };
        // Whoever waits on a core that others need keeps them from coming.
        let looks = if inner.spins { looks } else { 1 };
        let sequence = inner.issued.fetch_add(1, Ordering::Relaxed) + 1;
        let came = exchange.run(inner, request, sequence, looks);
        if came == Came::Through {
            inner.end_turn(sequence);
            return Ok(Ran::Through);
        }
        // It was known a moment ago. Should it not be found again, others wait for this call.
        let route = inner.route(request).map_err(|error| inner.fail(error))?;
        Ok(Ran::Admitted(Admitted { route, sequence, is_shown: came == Came::Shown }))
    }

    /// Starts messages to and from other ranks, all at once: none waits for another, except that
    /// messages between two ranks go one after the other. Memory is that of [`Self::start`].
    ///
    /// # Errors
    /// When a request cannot be, or the communicator has failed before.
    pub fn start_transfers(&self, requests: &[Transfer]) -> Result<Transfers, Error> {
        self.check_pieces(requests.iter().map(|request| request.memory))?;
        self.begin_transfers(requests)
    }

    /// As [`Self::start_transfers`], also on pieces of the heap of this process.
    ///
    /// # Safety
    /// 1. As for [`Self::start_or_finish_shared`].
    ///
    /// # Errors
    /// As [`Self::start_transfers`].
    pub unsafe fn start_transfers_shared(&self, requests: &[Transfer]) -> Result<Transfers, Error> {
        self.begin_transfers(requests)
    }

    /// What the next message from a rank is, for which no receive was started yet; `None` while
    /// there is none.
    ///
    /// # Errors
    /// When it is none of this version's.
    pub fn next_message(&self, peer: u32) -> Result<Option<Arrival>, Error> {
        let inner = &self.0;
        inner.check_usable()?;
        let Some(way) = inner.received.get(peer as usize).filter(|_| peer != self.rank()) else {
            return Ok(None);
        };
        let number = way.parts.load(Ordering::Relaxed) + 1;
        let Some(message) = inner.fabric.posted(peer, number) else { return Ok(None) };
        Arrival::of(&message).map(Some).ok_or_else(|| {
            let context = inner.context(format!("receive from rank {peer}"));
            inner.fail(Error::Broken { context, peer, what: "a message of this version".into() })
        })
    }

    /// Announces a sleeper who waits for a message from any rank, for receivers that have no receive
    /// to poll yet: the word that changes when one comes. Look for messages once more after this.
    pub fn announce_messages(&self) -> Option<Watch> {
        let line = Line::Mail(self.rank());
        self.0.fabric.announce(line);
        self.0.fabric.watch(line)
    }

    /// Takes back an announcement.
    pub fn retract_messages(&self) {
        self.0.fabric.retract(Line::Mail(self.rank()));
    }

    /// Looks whether the process of a rank lives; why it does not, where it is gone.
    pub fn gone(&self, rank: u32) -> Option<String> {
        let fabric = &self.0.fabric;
        fabric.probe();
        fabric.any_gone().then(|| fabric.fault(rank)).flatten().map(|fault| fault.to_string())
    }

    /// As [`Self::start_transfers`], on memory that is known to be the caller's.
    pub(crate) fn begin_transfers(&self, requests: &[Transfer]) -> Result<Transfers, Error> {
        self.0.check_usable()?;
        Transfers::new(self.0.clone(), requests)
    }

    /// A message to or from another rank, if that can be done at once; `None` if it is through.
    pub(crate) fn transfer_at_once(&self, request: &Transfer) -> Result<Option<Transfers>, Error> {
        self.0.check_usable()?;
        Transfers::at_once(&self.0, request)
    }

    /// Which algorithm an operator runs on blocks of so many bytes, why, and what else was
    /// considered. A tuner is not asked.
    pub fn choice(&self, operator: Operator, block_bytes: u64) -> Choice {
        self.0.select(operator, size_class(block_bytes))
    }

    /// Where a piece of the memory that a rank shares is in this process; `None` where there is none.
    pub fn address_of(&self, rank: u32, piece: Piece) -> Option<*mut u8> {
        self.0.fabric.memory(rank, piece.offset, piece.len)
    }

    /// How well the plans that are kept have served so far.
    pub fn plan_statistics(&self) -> PlanStatistics {
        self.0.plans.statistics()
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

    /// The first of some ranks whose process has ended, in words.
    pub fn ended(&self, mut ranks: impl Iterator<Item = u32>) -> Option<String> {
        let fabric = &self.0.fabric;
        ranks.find(|&rank| fabric.has_ended(rank)).map(|rank| {
            let (name, pid) = (self.name(), fabric.process(rank));
            format!("rank {rank} of communicator {name} (process {pid}) has ended")
        })
    }

    /// Why the communicator can no longer be used, if so.
    pub fn failure(&self) -> Option<Error> {
        self.0.failed.get().cloned()
    }
}

/// A request that has its number.
pub(crate) struct Admitted {
    route: Arc<Route>,
    sequence: u64,
    /// Whether it was published beside its data.
    is_shown: bool,
}

impl Admitted {
    /// Whether other ranks are in the buffers meanwhile, where they are shared.
    pub(crate) fn is_shared(&self) -> bool {
        self.route.exchange.is_none()
    }
}

/// What became of a request that was to run at once.
pub(crate) enum Ran {
    /// It is done.
    Through,
    /// It is the next call, and goes on as an operation.
    Admitted(Admitted),
}

/// The algorithm of an operator and a size class, and what of it ranks compare.
pub(crate) struct Chosen {
    algorithm: Algorithm,
    digest: u64,
}

impl From<Algorithm> for Chosen {
    fn from(algorithm: Algorithm) -> Self {
        Self { digest: route::digest_of(&algorithm), algorithm }
    }
}

/// Where the ranks are: as the options say, if that can be.
fn topology(options: &Options, ranks: u32) -> Topology {
    let Some(topology) = &options.topology else {
        return Topology::uniform(&[ranks]);
    };
    let why = match topology.check() {
        Err(why) => why.to_string(),
        Ok(()) if topology.ranks() != ranks => format!("it has {} ranks", topology.ranks()),
        Ok(()) => return topology.clone(),
    };
    if let Some(notice) = &options.notice {
        notice(&format!("the topology of {} does not act on {ranks} ranks: {why}", options.name));
    }
    Topology::uniform(&[ranks])
}

fn nanoseconds(timeout: Option<Duration>) -> u64 {
    timeout.map_or(u64::MAX, |timeout| timeout.as_nanos().try_into().unwrap_or(u64::MAX))
}

/// Bits of a size: sizes with as many run by one algorithm.
fn size_class(bytes: u64) -> u32 {
    u64::BITS - bytes.leading_zeros()
}

impl Inner {
    /// How long a call that is started now may wait for others.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let nanoseconds = self.timeout_ns.load(Ordering::Relaxed);
        (nanoseconds != u64::MAX).then(|| Duration::from_nanos(nanoseconds))
    }

    /// Refuses a communicator that failed, or that is another process's.
    fn check_usable(&self) -> Result<(), Error> {
        if let Some(error) = self.failed.get() {
            return Err(error.clone());
        }
        if hccl_os::fork::generation() != self.generation {
            return Err(Error::Forked { communicator: self.options.name.clone() });
        }
        Ok(())
    }

    /// How a request is run.
    fn route(&self, request: &Request) -> Result<Arc<Route>, Error> {
        let (ranks, rank) = (self.fabric.ranks(), self.fabric.rank());
        let operator = request.operator;
        if matches!(operator, Operator::Send | Operator::BatchSendRecv) {
            return Err(Error::Invalid {
                what: "operator",
                given: operator.to_string(),
                allowed: "a collective; messages are started as transfers".into(),
            });
        }
        let kind = Kind::of(request);
        if let Some(known) = kind.and_then(|kind| self.recent.lock().get(kind).cloned()) {
            self.plans.hit();
            return Ok(known);
        }
        let chosen = self.choose(request);
        let algorithm = &chosen.algorithm;
        let direct = route::is_direct(algorithm);
        let gaps = match &request.lengths {
            Some(lengths) => lengths.has_gaps(operator, direct),
            None => (false, false),
        };
        let (input, output) = request.elements(ranks, rank);
        let remote = self.is_remote(request, direct, input);
        let in_room = (
            input > 0 && (request.input.is_private() && !remote || gaps.0),
            output > 0
                && (request.output.is_private() && !(direct && route::pulls(operator)) || gaps.1),
        );
        let cut = route::cut(
            algorithm,
            operator,
            ranks,
            (request.count, request.data_type.size() as u64),
            (self.options.buffer_bytes, in_room.0 || in_room.1),
        );
        cut.check(operator)?;
        let key = Key {
            operator,
            root: if operator.is_rooted() { request.root } else { 0 },
            extents: request.lengths.as_ref().map(|it| it.extents(operator, rank, in_room)),
            algorithm: algorithm.clone(),
        };
        let plan = self.plans.get(key, |key| {
            let Key { operator, root, extents, algorithm } = key.clone();
            let invalid = |given: String, allowed: &str| Error::Invalid {
                what: "algorithm",
                given,
                allowed: allowed.to_owned(),
            };
            let plan = expand(&algorithm, &Task { operator, ranks, root, extents }, rank)
                .map_err(|why| invalid(why.to_string(), "one that has the operator"))?;
            match route::runnable(&plan) {
                Ok(()) => Ok(plan),
                Err(why) => {
                    let given = format!("{} with {why}", plan.algorithm);
                    Err(invalid(given, "a plan of this version for these ranks"))
                }
            }
        })?;
        let at_once = route::reduces_at_once(algorithm);
        let reduce_op = request.reduce_op.filter(|_| operator.reduces());
        let average = Average::new(reduce_op, ranks, at_once);
        let reducer = reduce_op.and_then(|op| average.reducer(request.data_type, op));
        let block_bytes = request.count * request.data_type.size() as u64;
        let small = direct
            && ranks > 1
            && self.options.inline
            && exchange::fits(operator, ranks, block_bytes);
        let signature = request.signature(route::digest(chosen.digest, direct, small, cut));
        let exchange =
            small.then(|| Exchange::new(request, (ranks, rank), signature, (reducer, average)));
        let route = Arc::new(Route {
            plan,
            signature,
            direct,
            in_room,
            remote,
            cut,
            average,
            reducer,
            exchange,
        });
        if let Some(kind) = kind {
            self.recent.lock().keep(kind, route.clone());
        }
        Ok(route)
    }

    /// Whether others copy from the private input of a request where it is. Each rank says so in
    /// its call.
    fn is_remote(&self, request: &Request, direct: bool, input: u64) -> bool {
        let bytes = input.saturating_mul(request.data_type.size() as u64);
        direct
            && request.input.is_private()
            && route::copies(request.operator)
            && bytes >= route::REMOTE_FROM
            && self.remote
    }

    /// The algorithm for a request; the same on all ranks.
    fn choose(&self, request: &Request) -> Arc<Chosen> {
        if let Some(tuner) = &self.options.tuner
            && request.operator != Operator::Barrier
        {
            return self.choose_by(&**tuner, request);
        }
        let class = size_class(request.block_bytes());
        if let Some(known) = self.chosen.lock().get(&(request.operator, class)) {
            return known.clone();
        }
        let choice = self.select(request.operator, class);
        self.notice(&choice);
        let chosen = Arc::new(Chosen::from(choice.algorithm));
        self.chosen.lock().insert((request.operator, class), chosen.clone());
        chosen
    }

    /// The algorithm for a request by the costs of a tuner.
    fn choose_by(&self, tuner: &dyn Tuner, request: &Request) -> Arc<Chosen> {
        let (operator, bytes) = (request.operator, request.block_bytes());
        let call = Tuned { operator, bytes, data_type: request.data_type };
        if let Some(known) = self.answers.get(&call) {
            return known;
        }
        let mut choice = self.select(operator, size_class(bytes));
        let offers = offers(&self.case(operator, bytes), &choice);
        if !offers.is_empty()
            && let Some(costs) = tuner.costs(&call, &offers)
        {
            choice = reprice(choice, &offers, &costs);
            tuner.chosen(&call, &choice);
        }
        self.notice(&choice);
        self.answers.keep(call, Arc::new(Chosen::from(choice.algorithm)))
    }

    /// Passes on the notes of a choice that are new.
    fn notice(&self, choice: &Choice) {
        for note in &choice.notes {
            let mut noticed = self.noticed.lock();
            if !noticed.contains(note) {
                noticed.push(note.clone());
                if let Some(notice) = &self.options.notice {
                    notice(note);
                }
            }
        }
    }

    fn select(&self, operator: Operator, class: u32) -> Choice {
        // All sizes of a class run alike: as its largest.
        let bytes = if class == 0 { 0 } else { u64::MAX >> (u64::BITS - class) };
        select(&self.case(operator, bytes))
    }

    fn case(&self, operator: Operator, block_bytes: u64) -> Case<'_> {
        Case {
            operator,
            ranks: self.fabric.ranks(),
            block_bytes,
            topology: &self.topology,
            reach: Reach::Mapped,
            forced: self.options.forced.as_ref(),
            product: self.options.product,
        }
    }

    /// Room of so many bytes; what was in it is lost. For the operation whose turn it is.
    pub(crate) fn room(
        &self,
        bytes: u64,
        context: impl FnOnce() -> Context,
    ) -> Result<Piece, Error> {
        let mut room = self.room.lock();
        if let Some(piece) = room.filter(|piece| piece.len >= bytes) {
            return Ok(piece);
        }
        if let Some(old) = room.take() {
            self.free(old);
        }
        self.allocate(bytes, context).map(|piece| *room.insert(piece))
    }

    /// Takes room from the workspace.
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        context: impl FnOnce() -> Context,
    ) -> Result<Piece, Error> {
        let piece = match &self.options.workspace {
            Some(workspace) => workspace.allocate(bytes),
            None => Err("the communicator was made without a workspace".into()),
        };
        piece.map_err(|why| Error::NoRoom { context: context(), bytes, why })
    }

    /// Gives room back, unless the communicator failed: then others may still be in it, and it is
    /// theirs until the memory goes.
    pub(crate) fn free(&self, room: Piece) {
        if let (Some(workspace), None) = (&self.options.workspace, self.failed.get()) {
            workspace.free(room);
        }
    }

    /// Address of a part of an own buffer.
    pub(crate) fn address(
        &self,
        rank: u32,
        memory: Memory,
        start: u64,
        len: u64,
    ) -> Option<*mut u8> {
        if len == 0 {
            return Some(std::ptr::NonNull::dangling().as_ptr());
        }
        match memory {
            Memory::Private(private) => Some(private.address().wrapping_add(start as usize)),
            Memory::Shared(piece) => {
                self.fabric.memory(rank, piece.offset.checked_add(start)?, len)
            }
        }
    }

    /// Lists of an operation before, empty: so that the next one allocates nothing.
    pub(crate) fn take_lists(&self) -> Lists {
        std::mem::take(&mut *self.lists.lock())
    }

    pub(crate) fn give_back(&self, mut lists: Lists) {
        lists.clear();
        *self.lists.lock() = lists;
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

    /// Whether no operation is under way.
    fn is_idle(&self) -> bool {
        self.turn.load(Ordering::Acquire) > self.issued.load(Ordering::Relaxed)
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
            self.pair.rarely();
        }
        let seen = self.turn.load(Ordering::SeqCst) as u32;
        Watch::new(low_half(&self.turn), seen, Scope::Private)
    }

    pub(crate) fn end_turn(&self, sequence: u64) {
        self.turn.store(sequence + 1, Ordering::Release);
        self.wake_turn();
    }

    fn wake_turn(&self) {
        self.pair.often();
        if self.turn_waiters.load(Ordering::Relaxed) != 0 {
            wake_all(low_half(&self.turn), Scope::Private);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // What a forked child lets go of is still its parent's.
        if hccl_os::fork::generation() != self.generation {
            return;
        }
        let kept = self.rooms.get_mut().drain();
        for room in self.room.get_mut().take().into_iter().chain(kept) {
            self.free(room);
        }
    }
}
