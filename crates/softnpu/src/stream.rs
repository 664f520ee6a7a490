//! Streams: first-in first-out queues of tasks, and the rule by which they get on.
//!
//! Nothing here has a thread of its own by nature. Whoever waits, drives: a thread that waits for
//! a stream steps the task at its head, and the heads of the streams that this one waits for.
//! Streams that nobody waits for are driven by one background thread ([`crate::background`]).
//! One thread at a time drives a stream; the others see that it is busy and wait for its bell.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hccl_os::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use hccl_os::wait::{Backoff, Bell, SLEEP_MAX, Watch, sleep_on};
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{NpuError, NpuResult, code};
use crate::exceptions::{Exception, note_thread};
use crate::health::{Health, Untold, softnpuPendingTasks};
use crate::limits::Limits;
use crate::task::{Blocker, Failure, Step, Work};

/// Rings when anything inside this process changes that a stream may wait for.
pub(crate) static ACTIVITY: Bell = Bell::new();
/// Rings when a task is queued; the background thread listens.
pub(crate) static SUBMITTED: Bell = Bell::new();

/// Tasks that are queued and not over, in the whole process.
pub(crate) static PENDING: AtomicU64 = AtomicU64::new(0);

/// Tasks that one drive runs before it lets others have the stream.
const BATCH: usize = 64;
/// Flags of streams whose work may never end.
const ENDLESS: u32 = 0x4 | 0x10 | 0x20;
/// How far a drive follows streams that wait for streams.
const CHASE_DEPTH: usize = 16;

/// A queue of tasks on a device.
#[derive(Debug)]
pub struct Stream {
    id: u32,
    priority: u32,
    flags: u32,
    context: Weak<Context>,
    device: u32,
    queue: Mutex<VecDeque<Work>>,
    /// Held by whoever drives; the task at the head lives here while it runs.
    head: Mutex<Option<Work>>,
    submitted: AtomicU64,
    completed: AtomicU64,
    /// Rings when a task is over.
    done: Bell,
    failure: Untold,
    health: Arc<Health>,
    /// Set while queued tasks are to be thrown away.
    dropping: AtomicBool,
    dead: AtomicBool,
    /// Threads that wait for this stream and therefore drive it.
    drivers: AtomicU32,
    /// Changes whenever somebody drives; the background thread compares.
    drives: AtomicU32,
    drives_seen: AtomicU32,
    overflow_switch: AtomicBool,
    /// Attributes that are only kept for whoever asks, by number.
    attributes: Mutex<HashMap<i32, u64>>,
    limits: Mutex<Limits>,
    /// The thread that queued the last task, as messages name it.
    submitter: AtomicU32,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

/// What a drive found.
pub(crate) enum Drive {
    /// Nothing is queued.
    Idle,
    /// Something was done.
    Progress,
    /// The head waits for something.
    Blocked(Blocker),
    /// Another thread drives.
    Busy,
}

impl Stream {
    pub(crate) fn new(context: &Arc<Context>, id: u32, priority: u32, flags: u32) -> Arc<Self> {
        let stream = Arc::new(Self {
            id,
            priority,
            flags,
            context: Arc::downgrade(context),
            device: context.device(),
            queue: Mutex::default(),
            head: Mutex::default(),
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            done: Bell::new(),
            failure: Untold::default(),
            health: context.health().clone(),
            dropping: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            drivers: AtomicU32::new(0),
            drives: AtomicU32::new(0),
            drives_seen: AtomicU32::new(0),
            overflow_switch: AtomicBool::new(false),
            attributes: Mutex::default(),
            limits: Mutex::default(),
            submitter: AtomicU32::new(0),
        });
        crate::background::watch(&stream);
        stream
    }

    /// Number of the stream on its device.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Priority, 0 (highest) to 7.
    pub fn priority(&self) -> u32 {
        self.priority
    }

    /// Flags it was made with.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Whether its work may never end (persistent, scheduled by the CPU, the device's own): nobody
    /// who waits for a stream or a device waits for it.
    pub fn is_endless(&self) -> bool {
        self.flags & ENDLESS != 0
    }

    /// User id of its device.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Its context, if that still exists.
    pub fn context(&self) -> Option<Arc<Context>> {
        self.context.upgrade()
    }

    /// Whether it was destroyed, by itself or with its device.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// The switch for overflow detection, which has nothing to switch here.
    pub fn overflow_switch(&self) -> &AtomicBool {
        &self.overflow_switch
    }

    /// Attributes that have no effect here.
    pub fn attributes(&self) -> &Mutex<HashMap<i32, u64>> {
        &self.attributes
    }

    /// Limits of cores, where they were set.
    pub fn limits(&self) -> &Mutex<Limits> {
        &self.limits
    }

    /// Queues work.
    ///
    /// # Errors
    /// With the code of an earlier failure when the context stops on failures, 107022 when the
    /// device's tasks were aborted.
    pub fn submit(self: &Arc<Self>, work: Work) -> NpuResult<()> {
        if let Some(failure) = self.health.cause() {
            return Err(failure.tell());
        }
        note_thread(&self.submitter);
        let is_first;
        {
            let mut queue = self.queue.lock();
            // Looked at under the lock under which it is set: what is queued is either run or
            // thrown away by whoever destroys the stream.
            if self.is_dead() {
                return Err(NpuError::handle("stream", Arc::as_ptr(self).cast()));
            }
            is_first = self.is_idle() && matches!(work, Work::Poll(_));
            PENDING.fetch_add(1, Ordering::AcqRel);
            softnpuPendingTasks.fetch_add(1, Ordering::AcqRel);
            let submitted = self.submitted.load(Ordering::Relaxed);
            // Written under the lock of the queue.
            self.submitted.store(submitted + 1, Ordering::Release);
            queue.push_back(work);
        }
        crate::background::start();
        if is_first {
            // Other ranks that wait for a collective need not wait until somebody waits here too.
            self.drive(false);
        }
        if !self.is_idle() {
            SUBMITTED.ring();
            if is_first {
                // Whoever found the stream busy meanwhile has to look what it waits for.
                ACTIVITY.ring();
            }
        }
        Ok(())
    }

    /// Whether nothing is queued, and tasks would be taken: what is done now comes after all that
    /// was queued before, as a task would.
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() && !self.is_dead() && self.health.cause().is_none()
    }

    /// Whether all that was queued is over.
    pub fn is_idle(&self) -> bool {
        self.completed.load(Ordering::Acquire) >= self.submitted.load(Ordering::Acquire)
    }

    /// Waits until all that is queued now is over, driving the stream meanwhile.
    ///
    /// # Errors
    /// 507046 when `limit` passes first (the tasks go on); the code of a task that failed.
    pub fn synchronize(self: &Arc<Self>, limit: Option<Duration>) -> NpuResult<()> {
        let target = self.submitted.load(Ordering::Acquire);
        let deadline = limit.map(|limit| Instant::now() + limit);
        let reached = || self.completed.load(Ordering::Acquire) >= target;
        if !drive_until(std::slice::from_ref(self), deadline, reached) {
            return Err(sync_timeout("Stream", limit));
        }
        self.take_failure()
    }

    /// The failure of a task since the last wait, if there was one, or the one that stopped all
    /// streams of the context.
    ///
    /// # Errors
    /// With that failure; its messages are put on the calling thread.
    pub fn take_failure(&self) -> NpuResult<()> {
        let own = self.failure.take();
        own.or_else(|| self.health.cause()).map_or(Ok(()), |failure| Err(failure.tell()))
    }

    /// Stops the running task, throws the queued ones away, and releases waiters with `code`.
    pub fn abort(&self, code: i32) {
        let text = "The stream was aborted; tasks that were queued did not run.";
        self.failure.replace(NpuError::new(code, "EE9999", text).into());
        self.throw_away();
    }

    /// Stops the running task and throws the queued ones away.
    fn throw_away(&self) {
        self.dropping.store(true, Ordering::Release);
        ACTIVITY.ring();
        // Whoever drives now sees the flag after the step; otherwise it is ours to do.
        while self.dropping.load(Ordering::Acquire) {
            if let Some(mut head) = self.head.try_lock() {
                self.drop_all(&mut head);
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Marks the stream as destroyed and throws away what is queued.
    pub fn destroy(&self) {
        {
            let _queue = self.queue.lock();
            self.dead.store(true, Ordering::Release);
        }
        self.throw_away();
        self.failure.take();
    }

    fn drop_all(&self, head: &mut Option<Work>) {
        let mut dropped: Vec<Work> = head.take().into_iter().collect();
        dropped.extend(self.queue.lock().drain(..));
        let failure = self.failure.peek().or_else(|| self.health.cause()).unwrap_or_else(|| {
            let text = "The stream was destroyed; tasks that were queued did not run.";
            NpuError::new(code::RT_STREAM_ABORT, "EE9999", text).into()
        });
        let count = dropped.len() as u64;
        for work in &mut dropped {
            work.cancel(&failure);
        }
        drop(dropped);
        self.dropping.store(false, Ordering::Release);
        self.complete(count);
    }

    /// Tasks are over. To be called by whoever holds the head.
    fn complete(&self, tasks: u64) {
        let completed = self.completed.load(Ordering::Relaxed);
        // SYNC(task-done): pairs with the acquire loads of waiters; what the task wrote is theirs.
        self.completed.store(completed + tasks, Ordering::Release);
        PENDING.fetch_sub(tasks, Ordering::AcqRel);
        softnpuPendingTasks.fetch_sub(tasks, Ordering::AcqRel);
        self.done.ring();
    }

    /// Steps the head of the queue as far as it goes.
    pub(crate) fn drive(self: &Arc<Self>, arm: bool) -> Drive {
        if self.is_idle() {
            return Drive::Idle;
        }
        let Some(mut head) = self.head.try_lock() else {
            return Drive::Busy;
        };
        self.drives.fetch_add(1, Ordering::Relaxed);
        let mut progressed = false;
        for _ in 0..BATCH {
            if self.dropping.load(Ordering::Acquire) || self.health.cause().is_some() {
                self.drop_all(&mut head);
                return Drive::Progress;
            }
            if head.is_none() {
                *head = self.queue.lock().pop_front();
            }
            let Some(work) = head.as_mut() else {
                return if progressed { Drive::Progress } else { Drive::Idle };
            };
            if work.is_mark()
                && let Some(failure) = self.failure.peek()
            {
                // Whoever waits for this place counts on work that failed.
                work.cancel(&failure);
            }
            match work.step(arm) {
                Step::Blocked(_) if progressed => return Drive::Progress,
                Step::Blocked(blocker) => return Drive::Blocked(blocker),
                Step::Progress => return Drive::Progress,
                Step::Done => {
                    // The task is let go before anybody learns that it is over.
                    *head = None;
                    self.complete(1);
                }
                Step::Failed(failure) => {
                    work.cancel(&failure);
                    *head = None;
                    self.fail(failure, &mut head);
                    self.complete(1);
                }
            }
            progressed = true;
        }
        Drive::Progress
    }

    fn fail(&self, failure: Failure, head: &mut Option<Work>) {
        crate::log!(Error, "stream", "stream {}: {}", self.id, failure.error);
        crate::exceptions::tell(Exception {
            task: self.completed.load(Ordering::Relaxed) as u32,
            stream: self.id,
            thread: self.submitter.load(Ordering::Relaxed),
            device: self.device,
            code: failure.error.code as u32,
        });
        let stops = self.health.note(&failure);
        self.failure.keep(failure);
        if stops {
            self.drop_all(head);
            // The context's other streams stop as soon as somebody drives them.
            ACTIVITY.ring();
        }
    }

    /// Whether the background thread should take over: tasks wait, no thread waits for them, and
    /// nobody has driven since it last looked.
    pub(crate) fn is_neglected(&self) -> bool {
        if self.is_idle() || self.drivers.load(Ordering::Acquire) != 0 {
            return false;
        }
        let drives = self.drives.load(Ordering::Relaxed);
        self.drives_seen.swap(drives, Ordering::Relaxed) == drives
    }

    /// The background thread drove: that does not count as somebody else.
    pub(crate) fn note_background_drive(&self) {
        self.drives_seen.store(self.drives.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The error of a wait for streams that ran out of time.
pub(crate) fn sync_timeout(what: &str, limit: Option<Duration>) -> NpuError {
    NpuError::new(
        code::RT_STREAM_SYNC_TIMEOUT,
        "EE1002",
        format!("{what} synchronize timeout: {:?} passed.", limit.unwrap_or_default()),
    )
}

/// Drives `stream`, and where its head waits for another stream, that one too.
pub(crate) fn chase(stream: &Arc<Stream>, arm: bool) -> Drive {
    let mut current = match stream.drive(arm) {
        Drive::Blocked(Blocker { stream: Some(next), .. }) if !Arc::ptr_eq(&next, stream) => next,
        found => return found,
    };
    for _ in 1..CHASE_DEPTH {
        match current.drive(arm) {
            Drive::Blocked(Blocker { stream: Some(next), .. }) if !Arc::ptr_eq(&next, &current) => {
                current = next;
            }
            // The stream that everybody waits for has nothing to do: its task is being queued,
            // or was finished this moment.
            Drive::Idle if !Arc::ptr_eq(&current, stream) => {
                return Drive::Blocked(Blocker::default());
            }
            found => return found,
        }
    }
    Drive::Blocked(Blocker::default())
}

struct Driver<'a>(&'a [Arc<Stream>]);

impl<'a> Driver<'a> {
    fn new(streams: &'a [Arc<Stream>]) -> Self {
        for stream in streams {
            stream.drivers.fetch_add(1, Ordering::AcqRel);
        }
        Self(streams)
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        for stream in self.0 {
            stream.drivers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Drives `streams` until `done` says so. False when `deadline` passes first.
pub(crate) fn drive_until(
    streams: &[Arc<Stream>],
    deadline: Option<Instant>,
    done: impl Fn() -> bool,
) -> bool {
    if done() {
        return true;
    }
    let _driver = Driver::new(streams);
    let mut backoff: Option<Backoff> = None;
    loop {
        let mut progressed = false;
        let mut spin = true;
        for stream in streams {
            match chase(stream, false) {
                Drive::Progress => progressed = true,
                Drive::Blocked(blocker) => spin &= blocker.spin,
                Drive::Busy => spin = false,
                Drive::Idle => {}
            }
            if done() {
                return true;
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return false;
        }
        if progressed {
            if let Some(backoff) = &mut backoff {
                backoff.reset();
            }
            continue;
        }
        if backoff.get_or_insert_with(|| Backoff::new(spin)).pause() {
            continue;
        }
        sleep(streams, deadline, &done);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Tasks that nobody can run any more.
        let mut head = self.head.lock().take();
        self.drop_all(&mut head);
    }
}

/// Sleeps until one of `streams` may get on.
fn sleep(streams: &[Arc<Stream>], deadline: Option<Instant>, done: &impl Fn() -> bool) {
    let activity = ACTIVITY.announce();
    // Idle streams have nothing to wait for, and a device may have hundreds of them.
    let busy: Vec<_> = streams.iter().filter(|stream| !stream.is_idle()).collect();
    let bells: Vec<_> = busy.iter().map(|stream| stream.done.announce()).collect();
    let mut watches: Vec<Watch> = Vec::with_capacity(2 * busy.len() + 1);
    let (mut inside, mut longest) = (busy.is_empty(), SLEEP_MAX);
    for stream in &busy {
        match chase(stream, true) {
            Drive::Progress => return,
            Drive::Blocked(blocker) => {
                longest = longest.min(blocker.sleep.unwrap_or(SLEEP_MAX));
                inside |= blocker.watch.is_none();
                watches.extend(blocker.watch);
            }
            // Bells tell when the other thread is through, or goes without an end.
            Drive::Busy => inside = true,
            Drive::Idle => {}
        }
    }
    if inside {
        watches.push(activity.watch());
    }
    watches.extend(bells.iter().map(|bell| bell.watch()));
    if done() {
        return;
    }
    let left = deadline.map_or(longest, |deadline| {
        deadline.saturating_duration_since(Instant::now()).min(longest)
    });
    // SAFETY: bells live in streams and statics that outlive the call; a task's word stays mapped
    // as long as the task, and the stream that holds it is not let go while we drive it.
    unsafe { sleep_on(&watches, left) };
}
