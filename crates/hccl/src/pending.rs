//! Calls under way: something to wait for, and a future.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hccl_os::wait::{Backoff, SLEEP_MAX, Watch, sleep_on};

use crate::buffer::Use;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::operation::{Operation, Polled, wait};
use crate::reactor;
use crate::transfer::Transfers;

/// A call that was started. What can be done without other ranks is done; from then on it goes on
/// while somebody waits for it or polls it.
///
/// It is a future that needs no particular runtime: a thread of this library looks after those
/// that wait for other ranks. Dropped before its end it aborts the communicator, since the other
/// ranks count on it.
#[must_use = "a call goes on only while somebody waits for it"]
pub struct Pending<'a> {
    work: Work,
    /// Shared buffers in which other ranks are meanwhile.
    uses: [Option<Use>; 2],
    _borrows: PhantomData<&'a mut [u8]>,
}

enum Work {
    Operation(Box<Operation>),
    Transfers(Box<Transfers>),
}

/// Steps of work that a future does before it lets other tasks have the thread.
const STEPS: u32 = 8;

impl Pending<'_> {
    pub(crate) fn operation(operation: Operation, uses: [Option<Use>; 2]) -> Self {
        Self { work: Work::Operation(Box::new(operation)), uses, _borrows: PhantomData }.begun()
    }

    pub(crate) fn transfers(transfers: Transfers, used: Option<Use>) -> Self {
        let uses = [used, None];
        Self { work: Work::Transfers(Box::new(transfers)), uses, _borrows: PhantomData }.begun()
    }

    /// Lets the other ranks know of the call. What comes of that, the next step finds too.
    fn begun(mut self) -> Self {
        self.step(false);
        self
    }

    /// Waits until it is done.
    ///
    /// # Errors
    /// When the call fails; the communicator has failed then.
    pub fn wait(mut self) -> Result<(), Error> {
        wait(|arm| self.step(arm))
    }

    /// Goes as far as it can.
    pub(crate) fn step(&mut self, arm: bool) -> Polled {
        let polled = match &mut self.work {
            Work::Operation(operation) => operation.poll(arm),
            Work::Transfers(transfers) => transfers.poll(arm),
        };
        if let Polled::Done = polled {
            self.uses.iter_mut().filter_map(Option::take).for_each(Use::end);
        }
        polled
    }

    fn communicator(&self) -> Communicator {
        match &self.work {
            Work::Operation(operation) => operation.communicator(),
            Work::Transfers(transfers) => transfers.communicator(),
        }
    }
}

impl Future for Pending<'_> {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        for _ in 0..STEPS {
            match self.step(false) {
                Polled::Done => return Poll::Ready(Ok(())),
                Polled::Failed(error) => return Poll::Ready(Err(error)),
                Polled::Progress => {}
                Polled::Pending { .. } => match self.step(true) {
                    Polled::Done => return Poll::Ready(Ok(())),
                    Polled::Failed(error) => return Poll::Ready(Err(error)),
                    Polled::Progress => {}
                    Polled::Pending { watch, sleep, .. } => {
                        let (waker, communicator) = (context.waker().clone(), self.communicator());
                        reactor::wake_on(watch, sleep, waker, communicator);
                        return Poll::Pending;
                    }
                },
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Calls that go on side by side, on one communicator or several.
///
/// Messages to and from several ranks belong into a group: one after the other they could wait for
/// each other in a circle.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let received = hccl::run_threads(3, |ranks| {
///     let (own, mut from_left) = ([ranks.rank()], [0u32]);
///     let mut group = hccl::Group::new();
///     group.add(ranks.send_async(&own, (ranks.rank() + 1) % 3)?);
///     group.add(ranks.receive_async(&mut from_left, (ranks.rank() + 2) % 3)?);
///     group.wait()?;
///     Ok::<_, hccl::Error>(from_left[0])
/// })?;
/// assert_eq!(received, [Ok(2), Ok(0), Ok(1)]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "calls go on only while somebody waits for them"]
pub struct Group<'a> {
    calls: Vec<Pending<'a>>,
}

impl<'a> Group<'a> {
    /// A group of no calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call.
    pub fn add(&mut self, call: Pending<'a>) {
        self.calls.push(call);
    }

    /// Waits until all are done.
    ///
    /// # Errors
    /// The first failure; the other calls are thrown away then.
    pub fn wait(mut self) -> Result<(), Error> {
        let mut watches: Vec<Watch> = Vec::new();
        let mut backoff: Option<Backoff> = None;
        while !self.calls.is_empty() {
            match self.step(None)? {
                Found::Progress => {
                    if let Some(backoff) = &mut backoff {
                        backoff.reset();
                    }
                }
                Found::Idle { spin, .. } => {
                    if backoff.get_or_insert_with(|| Backoff::new(spin)).pause() {
                        continue;
                    }
                    watches.clear();
                    if let Found::Idle { sleep, .. } = self.step(Some(&mut watches))? {
                        // SAFETY: the words live in the communicators, which the calls hold.
                        unsafe { sleep_on(&watches, sleep) };
                    }
                }
            }
        }
        Ok(())
    }

    /// Steps all calls once and takes out those that are done. With a list for words to wait for,
    /// the caller is about to sleep on them.
    fn step(&mut self, mut watches: Option<&mut Vec<Watch>>) -> Result<Found, Error> {
        let (mut idle, mut spins, mut index, mut longest) = (true, true, 0, SLEEP_MAX);
        while let Some(call) = self.calls.get_mut(index) {
            match call.step(watches.is_some()) {
                Polled::Done => {
                    drop(self.calls.remove(index));
                    idle = false;
                    continue;
                }
                Polled::Failed(error) => return Err(error),
                Polled::Progress => idle = false,
                Polled::Pending { watch, spin, sleep } => {
                    spins &= spin;
                    longest = longest.min(sleep);
                    if let Some(watches) = &mut watches {
                        watches.extend(watch);
                    }
                }
            }
            index += 1;
        }
        Ok(if idle { Found::Idle { spin: spins, sleep: longest } } else { Found::Progress })
    }
}

/// What a look at the calls of a group found.
enum Found {
    Progress,
    Idle { spin: bool, sleep: Duration },
}

impl Future for Group<'_> {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut index = 0;
        while let Some(call) = self.calls.get_mut(index) {
            match Pin::new(call).poll(context) {
                Poll::Ready(Ok(())) => drop(self.calls.remove(index)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => index += 1,
            }
        }
        if self.calls.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}
