//! Notifies: flags, or counters, that one stream sets and another waits for.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hccl_os::sync::{AtomicU32, Ordering};
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult, code};
use crate::runtime::runtime;
use crate::share::{self, Borrowed, Kind, Offer};
use crate::signal::Signal;
use crate::stream::{ACTIVITY, Stream};
use crate::task::{Blocker, Late, Step, Task, Work};

/// A flag. A wait takes it away, so one record lets one wait pass.
#[derive(Debug)]
pub struct Notify {
    signal: Signal,
    device: u32,
    setter: Mutex<Weak<Stream>>,
    /// The number under which it is lent to other processes.
    lent: Mutex<Option<u64>>,
    /// The lender, if it belongs to another process.
    borrowed: Option<Borrowed>,
}

impl Notify {
    /// Makes a notify that is not set.
    ///
    /// # Errors
    /// 207009 when the process has no more.
    pub fn new(device: u32) -> NpuResult<Arc<Self>> {
        let (setter, lent) = (Mutex::default(), Mutex::default());
        Ok(Arc::new(Self { signal: Signal::new()?, device, setter, lent, borrowed: None }))
    }

    /// The notify of another process.
    ///
    /// # Errors
    /// As [`share::borrow`], and 107000 for a key that is none.
    pub fn import(device: u32, key: &str) -> NpuResult<Arc<Self>> {
        let borrowed = share::borrow(Kind::Notify, share::parse_key(Kind::Notify, key)?)?;
        let signal = Signal::adopt(&borrowed.fd, borrowed.place)?;
        let (setter, lent) = (Mutex::default(), Mutex::default());
        Ok(Arc::new(Self { signal, device, setter, lent, borrowed: Some(borrowed) }))
    }

    /// User id of the device that it was made on.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Whether it belongs to another process.
    pub fn is_imported(&self) -> bool {
        self.borrowed.is_some()
    }

    /// Its number: the same in every process that has it.
    pub fn id(&self) -> u32 {
        self.signal.index()
    }

    /// Sets it in stream order.
    ///
    /// # Errors
    /// When the stream takes no more work.
    pub fn record(self: &Arc<Self>, stream: &Arc<Stream>) -> NpuResult<()> {
        *self.setter.lock() = Arc::downgrade(stream);
        stream.submit(Work::Task(Box::new(Set(self.clone()))))
    }

    /// Makes a stream wait until it is set, and take it away; `limit` bounds the wait.
    ///
    /// # Errors
    /// When the stream takes no more work.
    pub fn wait_on(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        limit: Option<Duration>,
    ) -> NpuResult<()> {
        let late = Late::new("a notify", limit);
        stream.submit(Work::Task(Box::new(Take { notify: self.clone(), late })))
    }

    /// Takes the flag away at once.
    pub fn reset(&self) {
        self.signal.slot().value.store(0, Ordering::SeqCst);
    }

    /// A key by which other processes find it: any of them if `open`, else those that
    /// [`Self::allow`] names.
    ///
    /// # Errors
    /// 107000 for an imported notify.
    pub fn export(&self, open: bool) -> NpuResult<String> {
        if self.is_imported() {
            let allowed = "a notify that this process made";
            return Err(NpuError::value("notify", "an imported notify", allowed));
        }
        let mut lent = self.lent.lock();
        if let Some(id) = *lent {
            // The key is the same for everybody, so whoever asks again gets it again.
            if open {
                share::open(Kind::Notify, id)?;
            }
            return Ok(share::key(Kind::Notify, id));
        }
        let host = runtime()?.device(self.device)?.host();
        let (place, fd) = self.signal.place(host)?;
        let offer = Offer { place, fd, is_valid: Box::new(|| true), keep: None };
        let id = share::lend(Kind::Notify, offer, open)?;
        *lent = Some(id);
        Ok(share::key(Kind::Notify, id))
    }

    /// Lets processes import it.
    ///
    /// # Errors
    /// 107000 when it was not exported.
    pub fn allow(&self, processes: &[i32]) -> NpuResult<()> {
        match *self.lent.lock() {
            Some(id) => share::allow(Kind::Notify, id, processes),
            None => {
                let allowed = "one that was exported (aclrtNotifyGetExportKey)";
                Err(NpuError::value("notify", "a notify that was not exported", allowed))
            }
        }
    }

    fn setter(&self) -> Option<Arc<Stream>> {
        // A stream at rest will not set it: somebody else may.
        self.setter.lock().upgrade().filter(|stream| !stream.is_idle())
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        if let Some(id) = *self.lent.lock() {
            share::withdraw(id);
        }
    }
}

struct Set(Arc<Notify>);

impl Task for Set {
    fn step(&mut self, _arm: bool) -> Step {
        let slot = self.0.signal.slot();
        slot.value.store(1, Ordering::SeqCst);
        slot.changed();
        Step::Done
    }
}

struct Take {
    notify: Arc<Notify>,
    late: Late,
}

impl Task for Take {
    fn step(&mut self, arm: bool) -> Step {
        let slot = self.notify.signal.slot();
        let take = || slot.value.swap(0, Ordering::SeqCst) != 0;
        if take() {
            return Step::Done;
        }
        if let Some(step) = self.late.check() {
            return step;
        }
        let stream = self.notify.setter();
        let watch = (arm && stream.is_none()).then(|| slot.arm());
        if arm && take() {
            return Step::Done;
        }
        Step::Blocked(Blocker { watch, stream, sleep: self.late.left(), spin: false })
    }
}

/// What a record does to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Change {
    Set,
    Add,
    Or,
    And,
}

/// What a wait asks of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Compare {
    Less,
    Equal,
    Bigger,
    BiggerOrEqual,
    /// The bits of the value, and no look at others.
    EqualWithBitmask,
}

/// A counter of this process.
#[derive(Debug)]
pub struct Counter {
    count: AtomicU32,
    device: u32,
    signal: Signal,
    setter: Mutex<Weak<Stream>>,
}

impl Counter {
    /// Makes a counter at 0.
    ///
    /// # Errors
    /// 207009 when the process has no more.
    pub fn new(device: u32) -> NpuResult<Arc<Self>> {
        let (count, setter) = (AtomicU32::new(0), Mutex::default());
        Ok(Arc::new(Self { count, device, signal: Signal::new()?, setter }))
    }

    /// User id of the device that it was made on.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Its number, unlike that of any notify.
    pub fn id(&self) -> u32 {
        self.signal.index()
    }

    /// Changes it in stream order.
    ///
    /// # Errors
    /// When the stream takes no more work.
    pub fn record(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        change: Change,
        by: u32,
    ) -> NpuResult<()> {
        *self.setter.lock() = Arc::downgrade(stream);
        stream.submit(Work::Task(Box::new(Count { counter: self.clone(), change, by })))
    }

    /// Makes a stream wait for the counter; with `clear` it is 0 after the wait.
    ///
    /// # Errors
    /// When the stream takes no more work.
    pub fn wait_on(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        compare: Compare,
        value: u32,
        clear: bool,
        limit: Option<Duration>,
    ) -> NpuResult<()> {
        let late = Late::new("a counting notify", limit);
        let wait = Await { counter: self.clone(), compare, value, clear, late };
        stream.submit(Work::Task(Box::new(wait)))
    }

    fn setter(&self) -> Option<Arc<Stream>> {
        self.setter.lock().upgrade().filter(|stream| !stream.is_idle())
    }
}

struct Count {
    counter: Arc<Counter>,
    change: Change,
    by: u32,
}

impl Task for Count {
    fn step(&mut self, _arm: bool) -> Step {
        let (count, by) = (&self.counter.count, self.by);
        match self.change {
            Change::Set => count.store(by, Ordering::SeqCst),
            Change::Add => drop(count.fetch_add(by, Ordering::SeqCst)),
            Change::Or => drop(count.fetch_or(by, Ordering::SeqCst)),
            Change::And => drop(count.fetch_and(by, Ordering::SeqCst)),
        }
        ACTIVITY.ring();
        Step::Done
    }
}

struct Await {
    counter: Arc<Counter>,
    compare: Compare,
    value: u32,
    clear: bool,
    late: Late,
}

impl Await {
    fn passes(&self, count: u32) -> bool {
        match self.compare {
            Compare::Less => count < self.value,
            Compare::Equal => count == self.value,
            Compare::Bigger => count > self.value,
            Compare::BiggerOrEqual => count >= self.value,
            Compare::EqualWithBitmask => count & self.value == self.value,
        }
    }
}

impl Task for Await {
    fn step(&mut self, _arm: bool) -> Step {
        let mut count = self.counter.count.load(Ordering::SeqCst);
        while self.passes(count) {
            if !self.clear {
                return Step::Done;
            }
            // What was compared is what is cleared: a count that comes between is not lost.
            let cleared =
                self.counter.count.compare_exchange(count, 0, Ordering::SeqCst, Ordering::SeqCst);
            match cleared {
                Ok(_) => {
                    ACTIVITY.ring();
                    return Step::Done;
                }
                Err(now) => count = now,
            }
        }
        if let Some(step) = self.late.check() {
            return step;
        }
        let stream = self.counter.setter();
        Step::Blocked(Blocker { watch: None, stream, sleep: self.late.left(), spin: false })
    }
}

/// How many notifies a device still has, and the error when it has none.
///
/// # Errors
/// 207009 when all are in use.
pub fn take_number(device: u32) -> NpuResult<()> {
    let runtime = runtime()?;
    let max = runtime.config().soc.family.notifies_max() as u32;
    let notifies = &runtime.device(device)?.notifies;
    if notifies.fetch_add(1, Ordering::AcqRel) >= max {
        notifies.fetch_sub(1, Ordering::AcqRel);
        let text = format!("The Notify resources are insufficient: device {device} has {max}.");
        return Err(NpuError::new(code::RT_NO_NOTIFY_RESOURCE, "EL0010", text));
    }
    Ok(())
}

/// Gives back what [`take_number`] took.
pub fn give_number(device: u32) {
    if let Ok(device) = runtime().and_then(|runtime| runtime.device(device)) {
        device.notifies.fetch_sub(1, Ordering::AcqRel);
    }
}
