//! What a stream runs. A task never blocks: a step ends it, moves it on, or says what it waits for.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hccl_os::wait::Watch;

use crate::error::{NpuError, code};
use crate::event::{FlagEvent, Record};
use crate::host_call::HostCall;
use crate::messages::Message;
use crate::stream::Stream;

/// Bytes that one step copies or fills before others get their turn.
const STEP_BYTES: usize = 8 << 20;

/// A task of somebody else's making, such as a collective.
pub trait PollTask: Send {
    /// Goes as far as it can. With `arm` the caller is about to sleep on the watch that comes
    /// back: tell those who may change it, and look once more.
    fn poll(&mut self, arm: bool) -> Poll;
    /// For logs.
    fn name(&self) -> Cow<'_, str>;
}

/// What a poll found.
#[derive(Debug)]
pub enum Poll {
    /// The task is done.
    Done,
    /// It did something; poll again at once.
    Progress,
    /// It cannot go on until the word changes; spin for it if it is near.
    Pending {
        /// What to wait for; `None` if there is no word for it.
        watch: Option<Watch>,
        /// The answer is near and cores are to spare.
        spin: bool,
        /// The longest to sleep before the next poll, if it matters.
        sleep: Option<Duration>,
    },
    /// It failed with this code; messages were left on the calling thread.
    Failed(i32),
}

/// An address inside this process that a task reads or writes later.
#[derive(Clone, Copy, Debug)]
pub struct Address(pub *mut u8);

// SAFETY: the address is only followed by the task it was given to; whoever queued the task
// answers for the memory until the stream has passed it, which is the interface's own rule.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// The work of a task.
pub enum Work {
    /// Copy bytes.
    Copy {
        /// To where.
        to: Address,
        /// From where.
        from: Address,
        /// Bytes left.
        len: usize,
    },
    /// Copy bytes that were taken along when the task was queued.
    CopyOwned {
        /// To where.
        to: Address,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Fill bytes.
    Set {
        /// Where.
        to: Address,
        /// With what.
        value: u8,
        /// Bytes left.
        len: usize,
    },
    /// An event's record is reached.
    Record(Arc<Record>),
    /// Wait for a record.
    WaitRecord(Arc<Record>, Option<Instant>),
    /// Set an event's flag.
    SetFlag(Arc<FlagEvent>),
    /// Wait for an event's flag.
    WaitFlag(Arc<FlagEvent>, Option<Instant>),
    /// Clear an event's flag.
    ResetFlag(Arc<FlagEvent>),
    /// A function of the user's on another thread.
    Host(HostCall),
    /// Something short to be done on the way, such as a small operator.
    Run(Option<Box<dyn FnOnce() + Send>>),
    /// A task of somebody else's making.
    Poll(Box<dyn PollTask>),
    /// A task that a module of this crate keeps to itself.
    Task(Box<dyn Task>),
}

/// A task of a module of this crate.
pub trait Task: Send {
    /// Goes one step. With `arm` the caller is about to sleep on what comes back.
    fn step(&mut self, arm: bool) -> Step;

    /// The task will not run, or what is before it in its stream failed: whoever waits for it is
    /// told why.
    fn cancel(&mut self, _failure: &Failure) {}

    /// Whether others wait for the place of this task in its stream, and so for what is before it.
    fn is_mark(&self) -> bool {
        false
    }
}

/// The limit of a waiting task, from its first look on.
#[derive(Debug)]
pub(crate) struct Late {
    what: &'static str,
    limit: Option<Duration>,
    end: Option<Instant>,
}

impl Late {
    /// A limit for a wait for `what`.
    pub(crate) fn new(what: &'static str, limit: Option<Duration>) -> Self {
        Self { what, limit, end: None }
    }

    /// The failure, once the limit has passed.
    pub(crate) fn check(&mut self) -> Option<Step> {
        let limit = self.limit?;
        let now = Instant::now();
        // A limit beyond what a clock can tell is none.
        let end = *self.end.get_or_insert(now.checked_add(limit).unwrap_or(now + FOREVER));
        (end <= now).then(|| {
            let text = format!("The stream waited for {} longer than {limit:?}.", self.what);
            Step::Failed(NpuError::new(code::RT_WAIT_TIMEOUT, "EE1002", text).into())
        })
    }

    /// What is left of the limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }
}

/// Longer than any program runs.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Why a task cannot go on.
#[derive(Default)]
pub struct Blocker {
    /// A word that will change.
    pub watch: Option<Watch>,
    /// Whether spinning for it makes sense.
    pub spin: bool,
    /// The longest to sleep for it, if it matters.
    pub sleep: Option<Duration>,
    /// A stream that has to get on first.
    pub stream: Option<Arc<Stream>>,
}

/// What a step did.
pub enum Step {
    /// The task is over.
    Done,
    /// Step again.
    Progress,
    /// Not now.
    Blocked(Blocker),
    /// The task is over, badly.
    Failed(Failure),
}

/// How a task failed: the code that a wait returns, and what the user should read.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Code of the failure.
    pub error: NpuError,
    /// Messages that the task left.
    pub messages: Vec<Message>,
}

impl Failure {
    /// Tells the calling thread: its messages get what the task left.
    pub fn tell(self) -> NpuError {
        // Where the task said what happened, the bare code need not be said again.
        let id = if self.messages.is_empty() { self.error.id } else { NpuError::TOLD };
        self.messages.into_iter().for_each(crate::messages::push);
        NpuError { id, ..self.error }
    }
}

impl From<NpuError> for Failure {
    fn from(error: NpuError) -> Self {
        Self { error, messages: Vec::new() }
    }
}

impl Work {
    /// Goes one step.
    pub fn step(&mut self, arm: bool) -> Step {
        match self {
            Self::Copy { to, from, len } => {
                let now = STEP_BYTES.min(*len);
                // SAFETY: the caller of the copy promised both ranges until the stream passes it;
                // `ptr::copy` allows any overlap.
                unsafe {
                    std::ptr::copy(from.0, to.0, now);
                    *to = Address(to.0.add(now));
                    *from = Address(from.0.add(now));
                }
                *len -= now;
                if *len == 0 { Step::Done } else { Step::Progress }
            }
            Self::CopyOwned { to, bytes } => {
                // SAFETY: the caller of the copy promised the target until the stream passes it.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.0, bytes.len()) };
                Step::Done
            }
            Self::Set { to, value, len } => {
                let now = STEP_BYTES.min(*len);
                // SAFETY: the caller of the fill promised the range until the stream passes it.
                unsafe {
                    to.0.write_bytes(*value, now);
                    *to = Address(to.0.add(now));
                }
                *len -= now;
                if *len == 0 { Step::Done } else { Step::Progress }
            }
            Self::Record(record) => {
                record.complete();
                Step::Done
            }
            Self::WaitRecord(record, limit) => {
                if record.is_done() {
                    return record.failure().map_or(Step::Done, Step::Failed);
                }
                late(*limit).unwrap_or_else(|| {
                    Step::Blocked(Blocker { stream: record.stream(), ..Blocker::default() })
                })
            }
            Self::SetFlag(event) => {
                event.set(true);
                Step::Done
            }
            Self::ResetFlag(event) => {
                event.set(false);
                Step::Done
            }
            Self::WaitFlag(event, limit) => {
                if event.is_set() {
                    return Step::Done;
                }
                late(*limit).unwrap_or_else(|| {
                    Step::Blocked(Blocker { stream: event.setter(), ..Blocker::default() })
                })
            }
            Self::Host(call) => call.step(),
            Self::Task(task) => task.step(arm),
            Self::Run(body) => {
                if let Some(body) = body.take() {
                    body();
                }
                Step::Done
            }
            Self::Poll(task) => {
                let (result, messages) = crate::messages::capture(|| task.poll(arm));
                match result {
                    Poll::Done => Step::Done,
                    Poll::Progress => Step::Progress,
                    Poll::Pending { watch, spin, sleep } => {
                        Step::Blocked(Blocker { watch, spin, sleep, stream: None })
                    }
                    Poll::Failed(code) => {
                        let text = format!("The task {} failed while it ran.", task.name());
                        Step::Failed(Failure {
                            error: NpuError::new(code, "EE9999", text),
                            messages,
                        })
                    }
                }
            }
        }
    }

    /// Lets go of those who wait for a task that will not run, and tells them why.
    pub fn cancel(&mut self, failure: &Failure) {
        match self {
            Self::Record(record) => record.fail(failure.clone()),
            Self::Host(call) => call.cancel(),
            Self::Task(task) => task.cancel(failure),
            _ => {}
        }
    }

    /// Whether others wait for the place of this task in its stream.
    pub(crate) fn is_mark(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Task(task) => task.is_mark(),
            _ => false,
        }
    }
}

fn late(limit: Option<Instant>) -> Option<Step> {
    (limit? <= Instant::now()).then(|| {
        let text = "The stream waited for an event longer than the time-out of the wait.";
        Step::Failed(NpuError::new(code::RT_WAIT_TIMEOUT, "EE1002", text).into())
    })
}
