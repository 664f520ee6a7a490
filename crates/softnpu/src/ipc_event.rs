//! Events that several processes record and wait for.
//!
//! Each record draws a ticket in the event's shared slot, and says there when its stream has come to
//! it. A wait means the last ticket that was drawn when it was called.
//!
//! The slot has a place for each ticket modulo [`TICKETS`], where a later one overwrites an earlier
//! one. A process remembers its own tickets that are under way and says them there in order, so that
//! none seems to have ended before it did. Between processes that record the same event, tickets are
//! told apart as long as no more than [`TICKETS`] are under way.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hccl_os::sync::Ordering;
use hccl_os::wait::{SLEEP_MAX, sleep_on};
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult, code};
use crate::runtime::runtime;
use crate::share::{self, Borrowed, Kind, Offer};
use crate::signal::{Signal, TICKETS};
use crate::stream::{Stream, drive_until};
use crate::task::{Blocker, Failure, Late, Step, Task, Work};

/// How often a wait looks whether those who could end it still live.
const LIFE_CHECK: Duration = Duration::from_millis(200);

/// What processes share of an event.
#[derive(Debug)]
pub(crate) struct SharedEvent {
    signal: Signal,
    lent: Mutex<Option<u64>>,
    borrowed: Option<Borrowed>,
    /// Tickets of this process that the slot does not say the end of yet, in order.
    own: Mutex<VecDeque<Ticket>>,
}

/// A record of this process.
#[derive(Debug)]
struct Ticket {
    number: u64,
    stream: Weak<Stream>,
    /// How it came to its end, if it did: 0 or the code of a failure.
    code: Option<i32>,
}

/// Where a ticket has its place in the slot.
fn place_of(ticket: u64) -> usize {
    (ticket % TICKETS as u64) as usize
}

impl SharedEvent {
    pub(crate) fn new() -> NpuResult<Arc<Self>> {
        Ok(Self::of(Signal::new()?, None))
    }

    fn of(signal: Signal, borrowed: Option<Borrowed>) -> Arc<Self> {
        Arc::new(Self { signal, lent: Mutex::default(), borrowed, own: Mutex::default() })
    }

    /// The event behind a handle of another process.
    pub(crate) fn open(handle: &str) -> NpuResult<Arc<Self>> {
        let borrowed = share::borrow(Kind::Event, share::parse_key(Kind::Event, handle)?)?;
        let signal = Signal::adopt(&borrowed.fd, borrowed.place)?;
        Ok(Self::of(signal, Some(borrowed)))
    }

    /// The text by which other processes find it.
    pub(crate) fn handle(&self, device: u32) -> NpuResult<String> {
        if self.borrowed.is_some() {
            let allowed = "an event that this process made";
            return Err(NpuError::value("event", "an event of another process", allowed));
        }
        let mut lent = self.lent.lock();
        if let Some(id) = *lent {
            return Ok(share::key(Kind::Event, id));
        }
        let host = runtime()?.device(device)?.host();
        let (place, fd) = self.signal.place(host)?;
        let offer = Offer { place, fd, is_valid: Box::new(|| true), keep: None };
        let id = share::lend(Kind::Event, offer, true)?;
        *lent = Some(id);
        Ok(share::key(Kind::Event, id))
    }

    pub(crate) fn record(self: &Arc<Self>, stream: &Arc<Stream>) -> NpuResult<()> {
        let ticket = {
            let mut own = self.own.lock();
            // A ticket is never drawn twice, whoever draws.
            let number = self.signal.slot().issued.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
            own.push_back(Ticket { number, stream: Arc::downgrade(stream), code: None });
            number
        };
        let queued = stream.submit(Work::Task(Box::new(Mark { event: self.clone(), ticket })));
        if let Err(error) = &queued {
            // Nobody may wait for a place that does not exist.
            self.end(ticket, error.code);
        }
        queued
    }

    pub(crate) fn wait_on(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        limit: Option<Duration>,
    ) -> NpuResult<()> {
        let ticket = self.latest();
        if ticket == 0 || self.result(ticket) == Some(0) {
            return Ok(());
        }
        let (event, late) = (self.clone(), Late::new("an event of another process", limit));
        stream.submit(Work::Task(Box::new(Wait { event, ticket, late, looked: Instant::now() })))
    }

    /// Whether the latest record is reached; `None` if there is none.
    pub(crate) fn is_recorded(&self) -> Option<bool> {
        let ticket = self.latest();
        (ticket != 0).then(|| self.result(ticket).is_some())
    }

    pub(crate) fn synchronize(&self, limit: Option<Duration>) -> NpuResult<()> {
        let ticket = self.latest();
        if ticket == 0 {
            return Ok(());
        }
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let timeout = || {
            let text =
                format!("Event synchronize timeout: {:?} passed.", limit.unwrap_or_default());
            NpuError::new(code::RT_EVENT_SYNC_TIMEOUT, "EE1002", text)
        };
        let mut looked = Instant::now();
        loop {
            if let Some(code) = self.result(ticket) {
                return outcome(code);
            }
            if let Some(stream) = self.setter(ticket) {
                if !drive_until(&[stream], deadline, || self.result(ticket).is_some()) {
                    return Err(timeout());
                }
                continue;
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Err(timeout());
            }
            if now.duration_since(looked) >= LIFE_CHECK {
                self.check_life(ticket)?;
                looked = now;
            }
            let watch = self.signal.slot().arm();
            if self.result(ticket).is_none() {
                let left = deadline.map_or(SLEEP_MAX, |deadline| (deadline - now).min(SLEEP_MAX));
                // SAFETY: the slot stays mapped as long as this event.
                unsafe { sleep_on(&[watch], left) };
            }
        }
    }

    fn latest(&self) -> u64 {
        self.signal.slot().issued.load(Ordering::SeqCst)
    }

    /// How a ticket came to its end, if it did: 0 or the code of a failure.
    fn result(&self, ticket: u64) -> Option<i32> {
        // What the slot does not say yet, this process knows.
        if let Some(own) = self.own.lock().iter().rev().find(|own| own.number == ticket) {
            return own.code;
        }
        let (slot, at) = (self.signal.slot(), place_of(ticket));
        let ended = slot.ended[at].load(Ordering::SeqCst) >= ticket;
        ended.then(|| slot.codes[at].load(Ordering::SeqCst))
    }

    fn end(&self, ticket: u64, code: i32) {
        let mut own = self.own.lock();
        if let Some(own) = own.iter_mut().find(|own| own.number == ticket) {
            own.code = Some(code);
        }
        let at = place_of(ticket);
        while let Some(first) = own.iter().position(|own| place_of(own.number) == at)
            && let Some(code) = own[first].code
        {
            let number = own[first].number;
            self.publish(number, code);
            own.remove(first);
        }
        drop(own);
        self.signal.slot().changed();
    }

    /// Says in the slot how a ticket came to its end.
    fn publish(&self, ticket: u64, code: i32) {
        let (slot, at) = (self.signal.slot(), place_of(ticket));
        if slot.ended[at].load(Ordering::SeqCst) < ticket {
            slot.codes[at].store(code, Ordering::SeqCst);
            slot.ended[at].fetch_max(ticket, Ordering::SeqCst);
        }
    }

    /// The stream of this process that will end a ticket.
    fn setter(&self, ticket: u64) -> Option<Arc<Stream>> {
        let own = self.own.lock();
        let stream = own.iter().rev().find(|own| own.number == ticket)?.stream.upgrade();
        drop(own);
        stream.filter(|stream| !stream.is_idle())
    }

    /// Whether anybody is left who could end a ticket that is under way.
    fn check_life(&self, ticket: u64) -> NpuResult<()> {
        let is_own = self.own.lock().iter().any(|own| own.number == ticket);
        let alive = is_own
            || match &self.borrowed {
                Some(borrowed) => borrowed.lender_lives(),
                None => self
                    .lent
                    .lock()
                    .is_some_and(|id| share::borrowers(Kind::Event, id).is_ok_and(|n| n > 0)),
            };
        // It may have come to its end just before its process did.
        if alive || self.result(ticket).is_some() {
            return Ok(());
        }
        let text = "The process that recorded a shared event ended before its stream came to it.";
        Err(NpuError::new(code::RT_IPC_ERROR, "EE9999", text))
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        if let Some(id) = *self.lent.lock() {
            share::withdraw(id);
        }
    }
}

fn outcome(code: i32) -> NpuResult<()> {
    if code == 0 {
        return Ok(());
    }
    let text = format!("What was recorded in a shared event had failed (error code {code}).");
    Err(NpuError::new(code, "EE9999", text))
}

struct Mark {
    event: Arc<SharedEvent>,
    ticket: u64,
}

impl Task for Mark {
    fn step(&mut self, _arm: bool) -> Step {
        self.event.end(self.ticket, 0);
        Step::Done
    }

    fn cancel(&mut self, failure: &Failure) {
        self.event.end(self.ticket, failure.error.code);
    }

    fn is_mark(&self) -> bool {
        true
    }
}

struct Wait {
    event: Arc<SharedEvent>,
    ticket: u64,
    late: Late,
    looked: Instant,
}

impl Task for Wait {
    fn step(&mut self, arm: bool) -> Step {
        let finish = |code: i32| match outcome(code) {
            Ok(()) => Step::Done,
            Err(error) => Step::Failed(error.into()),
        };
        if let Some(code) = self.event.result(self.ticket) {
            return finish(code);
        }
        if let Some(step) = self.late.check() {
            return step;
        }
        if self.looked.elapsed() >= LIFE_CHECK {
            if let Err(error) = self.event.check_life(self.ticket) {
                return Step::Failed(error.into());
            }
            self.looked = Instant::now();
        }
        let stream = self.event.setter(self.ticket);
        let watch = (arm && stream.is_none()).then(|| self.event.signal.slot().arm());
        if arm && let Some(code) = self.event.result(self.ticket) {
            return finish(code);
        }
        Step::Blocked(Blocker { watch, stream, sleep: self.late.left(), spin: false })
    }
}
