//! Calls between `HcclGroupStart` and `HcclGroupEnd`: checked when they are made, carried out
//! together at the end of the outermost group of the thread.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;

use hccl::{Request, Transfer};

use crate::border::{hccl_call, present};
use crate::communicators::{Comm, check_process};
use crate::errors::{Failure, Record, Status};
use crate::{operators, transfers, tuner};

/// An address that goes to another thread with the promise that was given for it.
#[derive(Clone, Copy)]
pub(crate) struct Place<T>(pub(crate) *mut T);

// SAFETY: an address; whoever follows it has the caller's promise.
unsafe impl<T> Send for Place<T> {}

/// Makes or ends a communicator.
pub(crate) type Job = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

/// A collective that waits for the end of its group.
pub(crate) struct Collective {
    pub(crate) call: &'static str,
    pub(crate) comm: Arc<Comm>,
    pub(crate) stream: *mut c_void,
    pub(crate) request: Request,
}

/// A message that waits for the end of its group.
pub(crate) struct Message {
    pub(crate) call: &'static str,
    pub(crate) comm: Arc<Comm>,
    pub(crate) stream: *mut c_void,
    pub(crate) transfer: Transfer,
}

/// What a group holds: calls of one kind.
enum Work {
    None,
    Management(Vec<Job>),
    Collectives(Vec<Collective>),
    Messages(Vec<Message>),
}

impl Work {
    fn kind(&self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Management(_) => "calls that make or destroy communicators",
            Self::Collectives(_) => "collectives",
            Self::Messages(_) => "sends and receives",
        }
    }
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WORK: RefCell<Work> = const { RefCell::new(Work::None) };
}

/// Whether the calling thread is inside of a group.
pub(crate) fn is_open() -> bool {
    DEPTH.get() > 0
}

/// A call that its group cannot hold.
pub(crate) fn misplaced(call: &str, why: &str) -> Failure {
    let record = Record::argument(
        call,
        "group",
        &format!("open, and {why}"),
        "calls of one kind: of communicator management, collectives, or HcclSend and HcclRecv",
    );
    Failure::new(Status::NotSupport, record)
}

fn mixed(call: &str, work: &Work) -> Failure {
    misplaced(call, &format!("it holds {}", work.kind()))
}

/// Carries a management call out, or keeps it for the end of the group.
pub(crate) fn manage(call: &str, job: Job) -> Result<(), Failure> {
    if !is_open() {
        return job();
    }
    WORK.with_borrow_mut(|work| {
        match work {
            Work::None => *work = Work::Management(vec![job]),
            Work::Management(jobs) => jobs.push(job),
            other => return Err(mixed(call, other)),
        }
        Ok(())
    })
}

/// Keeps a collective for the end of the group.
pub(crate) fn keep_collective(collective: Collective) -> Result<(), Failure> {
    WORK.with_borrow_mut(|work| {
        match work {
            Work::None => *work = Work::Collectives(vec![collective]),
            Work::Collectives(all) => all.push(collective),
            other => return Err(mixed(collective.call, other)),
        }
        Ok(())
    })
}

/// Keeps a message for the end of the group.
pub(crate) fn keep_message(message: Message) -> Result<(), Failure> {
    WORK.with_borrow_mut(|work| {
        match work {
            Work::None => *work = Work::Messages(vec![message]),
            Work::Messages(all) => all.push(message),
            other => return Err(mixed(message.call, other)),
        }
        Ok(())
    })
}

hccl_call! {
    /// Begins a group; groups nest.
    fn HcclGroupStart() {
        check_process()?;
        let depth = DEPTH.get().checked_add(1).ok_or_else(|| {
            Failure::argument("HcclGroupStart", "depth", "4294967296", "at most 4294967295")
        })?;
        DEPTH.set(depth);
        Ok(())
    }
}

hccl_call! {
    /// Ends a group; the end of the outermost one carries all of it out.
    fn HcclGroupEnd() {
        const CALL: &str = "HcclGroupEnd";
        check_process()?;
        let Some(depth) = DEPTH.get().checked_sub(1) else {
            let expect = "a group that HcclGroupStart opened on this thread";
            return Err(Failure::unsupported(CALL, "group", "not open", expect));
        };
        DEPTH.set(depth);
        if depth > 0 {
            return Ok(());
        }
        match WORK.replace(Work::None) {
            Work::None => Ok(()),
            Work::Management(jobs) => run_side_by_side(jobs),
            Work::Collectives(all) => {
                // One that fails must not keep those from starting that others wait for.
                let started = all.into_iter().map(operators::start);
                first_failure(started.collect())
            }
            Work::Messages(all) => first_failure(batches(all).into_iter().map(start_batch).collect()),
        }
    }
}

hccl_call! {
    /// Whether the calling thread is inside of a group.
    fn HcclGroupStatusGet(is_open_now: *mut bool) {
        present("HcclGroupStatusGet", "status", is_open_now)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { is_open_now.write(is_open()) };
        Ok(())
    }
}

fn first_failure(results: Vec<Result<(), Failure>>) -> Result<(), Failure> {
    results.into_iter().collect()
}

/// Runs jobs that may wait for each other, each on a thread of its own.
fn run_side_by_side(jobs: Vec<Job>) -> Result<(), Failure> {
    let in_plugin = tuner::is_inside();
    std::thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .into_iter()
            .map(|job| {
                let thread = std::thread::Builder::new().name("hccl-group".into());
                thread.spawn_scoped(scope, move || {
                    hccl_abi::contain(|| tuner::inherit(in_plugin, job))
                })
            })
            .collect();
        let mut results = Vec::new();
        for thread in threads {
            let ended = thread.map(std::thread::ScopedJoinHandle::join);
            results.push(match ended {
                Ok(Ok(Ok(result))) => result,
                Ok(Ok(Err(panic))) => defect(&panic.0),
                Ok(Err(_)) => defect("a thread ended"),
                Err(error) => defect(&format!("no thread for a call: {error}")),
            });
        }
        first_failure(results)
    })
}

fn defect(what: &str) -> Result<(), Failure> {
    let record = Record::internal(&format!("HcclGroupEnd: {what}."));
    Err(Failure::new(Status::Internal, record))
}

/// Messages of one communicator on one stream.
struct Batch {
    call: &'static str,
    comm: Arc<Comm>,
    stream: *mut c_void,
    transfers: Vec<Transfer>,
}

fn batches(messages: Vec<Message>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for Message { call, comm, stream, transfer } in messages {
        let same = |batch: &&mut Batch| Arc::ptr_eq(&batch.comm, &comm) && batch.stream == stream;
        match batches.iter_mut().find(same) {
            Some(batch) => batch.transfers.push(transfer),
            None => batches.push(Batch { call, comm, stream, transfers: vec![transfer] }),
        }
    }
    batches
}

fn start_batch(batch: Batch) -> Result<(), Failure> {
    batch.comm.still_there(batch.call)?;
    transfers::issue(batch.call, &batch.comm, &batch.transfers, batch.stream)
}
