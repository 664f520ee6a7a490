//! Functions of the user's that a stream has run on another thread: either on a thread that the
//! user lends ([`ReportThreads`]), or on one of the runtime's own ([`Target::Runtime`]).

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use hccl_os::sync::{AtomicBool, AtomicU8, Ordering};
use parking_lot::{Condvar, Mutex};

use crate::error::{NpuError, NpuResult, code};
use crate::stream::{ACTIVITY, Stream};
use crate::task::{Blocker, Step};

/// A function of the user's with its argument.
#[derive(Clone, Copy)]
pub struct Function {
    /// The function.
    pub entry: unsafe extern "C" fn(*mut c_void),
    /// Its argument.
    pub argument: *mut c_void,
}

// SAFETY: the interface says that the function is called on another thread; the caller answers
// for what it touches.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

const WAITING: u8 = 0;
const HANDED_OVER: u8 = 1;
const OVER: u8 = 2;

/// A queued call.
struct Call {
    body: Body,
    state: AtomicU8,
}

enum Body {
    User(Function),
    Own(Mutex<Option<Box<dyn FnOnce() + Send>>>),
}

impl Call {
    fn run(&self) {
        match &self.body {
            // SAFETY: the user gave this function to be called once, on a thread like this one.
            Body::User(function) => unsafe { (function.entry)(function.argument) },
            Body::Own(body) => {
                if let Some(body) = body.lock().take() {
                    body();
                }
            }
        }
        self.state.store(OVER, Ordering::Release);
        ACTIVITY.ring();
    }
}

/// Which thread runs a call.
#[derive(Clone)]
pub enum Target {
    /// A thread that the user lends.
    Report(Arc<Mailbox>),
    /// A thread of the runtime.
    Runtime,
}

/// A task that has a function run elsewhere.
pub struct HostCall {
    call: Arc<Call>,
    target: Target,
    holds_stream: bool,
}

impl HostCall {
    /// A call of `function`; with `holds_stream` the stream goes on only when it has returned.
    pub fn new(function: Function, target: Target, holds_stream: bool) -> Self {
        let call = Arc::new(Call { body: Body::User(function), state: AtomicU8::new(WAITING) });
        Self { call, target, holds_stream }
    }

    /// Hands the call over when the stream reaches it, and looks whether it is over.
    pub fn step(&mut self) -> Step {
        if self.call.state.load(Ordering::Acquire) == WAITING {
            self.call.state.store(HANDED_OVER, Ordering::Release);
            match &self.target {
                Target::Report(mailbox) => mailbox.put(self.call.clone()),
                Target::Runtime => runtime_mailbox().put(self.call.clone()),
            }
        }
        if !self.holds_stream || self.call.state.load(Ordering::Acquire) == OVER {
            return Step::Done;
        }
        if let Target::Report(mailbox) = &self.target
            && mailbox.closed.load(Ordering::Acquire)
        {
            let text = "The thread that was to run a callback of the stream is subscribed no more.";
            return Step::Failed(NpuError::new(code::RT_STREAM_NO_CB_REG, "EE1001", text).into());
        }
        Step::Blocked(Blocker::default())
    }

    /// The call will not be waited for.
    pub fn cancel(&mut self) {
        self.holds_stream = false;
    }
}

/// Calls that wait for one thread.
#[derive(Default)]
pub struct Mailbox {
    calls: Mutex<VecDeque<Arc<Call>>>,
    arrived: Condvar,
    /// No thread will look here any more.
    closed: AtomicBool,
}

impl Mailbox {
    fn put(&self, call: Arc<Call>) {
        self.calls.lock().push_back(call);
        self.arrived.notify_one();
    }

    /// Runs all calls that are there, waiting for a first one until `deadline`. False if none came,
    /// or none will come any more.
    fn run_all(&self, deadline: Option<Instant>) -> bool {
        let mut calls = self.calls.lock();
        while calls.is_empty() {
            if self.closed.load(Ordering::Acquire) {
                return false;
            }
            match deadline {
                Some(deadline) => {
                    if self.arrived.wait_until(&mut calls, deadline).timed_out() && calls.is_empty()
                    {
                        return false;
                    }
                }
                None => self.arrived.wait(&mut calls),
            }
        }
        let batch: Vec<_> = calls.drain(..).collect();
        drop(calls);
        for call in batch {
            call.run();
        }
        true
    }
}

fn runtime_mailbox() -> &'static Mailbox {
    static MAILBOX: OnceLock<&'static Mailbox> = OnceLock::new();
    MAILBOX.get_or_init(|| {
        let mailbox: &'static Mailbox = Box::leak(Box::default());
        let spawned = std::thread::Builder::new().name("softnpu-host".into()).spawn(|| {
            loop {
                mailbox.run_all(None);
            }
        });
        if let Err(error) = spawned {
            crate::log!(Error, "host_call", "no thread for host functions: {error}");
        }
        mailbox
    })
}

/// Has something done on the runtime's thread for functions of the host.
pub(crate) fn on_runtime_thread(body: Box<dyn FnOnce() + Send>) {
    let body = Body::Own(Mutex::new(Some(body)));
    runtime_mailbox().put(Arc::new(Call { body, state: AtomicU8::new(HANDED_OVER) }));
}

struct Subscription {
    device: u32,
    mailbox: Arc<Mailbox>,
    streams: Vec<Weak<Stream>>,
}

/// Threads that the user lends, by their `pthread_t`.
#[derive(Default)]
pub struct ReportThreads {
    threads: Mutex<HashMap<u64, Subscription>>,
}

/// The report threads of this process.
pub fn report_threads() -> &'static ReportThreads {
    static THREADS: OnceLock<ReportThreads> = OnceLock::new();
    THREADS.get_or_init(ReportThreads::default)
}

/// Threads that wait for functions which the device calls by itself. Nothing here does: they wait.
pub fn device_call_threads() -> &'static ReportThreads {
    static THREADS: OnceLock<ReportThreads> = OnceLock::new();
    THREADS.get_or_init(ReportThreads::default)
}

fn is(stream: &Arc<Stream>) -> impl Fn(&Weak<Stream>) -> bool + '_ {
    |weak| std::ptr::eq(weak.as_ptr(), Arc::as_ptr(stream))
}

impl ReportThreads {
    /// Lets a thread serve a stream.
    ///
    /// # Errors
    /// 107011 for a stream that has a thread, 107012 for a thread that serves another device.
    pub fn subscribe(&self, thread: u64, stream: &Arc<Stream>) -> NpuResult<()> {
        let mut threads = self.threads.lock();
        if threads.values().any(|s| s.streams.iter().any(is(stream))) {
            let text = "The stream is subscribed already.";
            return Err(NpuError::new(code::RT_STREAM_SUBSCRIBE, "EE1001", text));
        }
        let device = stream.device();
        let entry = threads.entry(thread).or_insert_with(|| Subscription {
            device,
            mailbox: Arc::default(),
            streams: Vec::new(),
        });
        if entry.device != device {
            let text = format!(
                "Thread {thread} serves device {}, and the stream belongs to device {device}.",
                entry.device
            );
            return Err(NpuError::new(code::RT_THREAD_SUBSCRIBE, "EE1001", text));
        }
        entry.streams.push(Arc::downgrade(stream));
        Ok(())
    }

    /// Ends what [`Self::subscribe`] began.
    ///
    /// # Errors
    /// 107012 for a thread, 107011 for a stream that was not subscribed.
    pub fn unsubscribe(&self, thread: u64, stream: &Arc<Stream>) -> NpuResult<()> {
        let mut threads = self.threads.lock();
        let Some(entry) = threads.get_mut(&thread) else {
            return Err(unknown_thread(thread));
        };
        let Some(at) = entry.streams.iter().position(is(stream)) else {
            let text = format!("The stream is not subscribed by thread {thread}.");
            return Err(NpuError::new(code::RT_STREAM_SUBSCRIBE, "EE1001", text));
        };
        entry.streams.remove(at);
        entry.streams.retain(|stream| stream.strong_count() > 0);
        if entry.streams.is_empty()
            && let Some(ended) = threads.remove(&thread)
        {
            // Streams that wait for calls of theirs must not wait for ever, nor the thread itself.
            let calls = ended.mailbox.calls.lock();
            ended.mailbox.closed.store(true, Ordering::Release);
            ended.mailbox.arrived.notify_all();
            drop(calls);
            ACTIVITY.ring();
        }
        Ok(())
    }

    /// Where calls of a stream go.
    ///
    /// # Errors
    /// 107015 for a stream that nobody subscribed.
    pub fn mailbox_of(&self, stream: &Arc<Stream>) -> NpuResult<Arc<Mailbox>> {
        let threads = self.threads.lock();
        let found = threads.values().find(|s| s.streams.iter().any(is(stream)));
        found.map(|s| s.mailbox.clone()).ok_or_else(|| {
            let text = "No thread is subscribed to the stream (aclrtSubscribeReport).";
            NpuError::new(code::RT_STREAM_NO_CB_REG, "EE1001", text)
        })
    }

    /// Runs the calls that wait for `thread`, which is the calling one.
    ///
    /// # Errors
    /// 107012 for a thread without subscription, also where it ends meanwhile; 507012 when none came
    /// in time.
    pub fn process(&self, thread: u64, limit: Option<Duration>) -> NpuResult<()> {
        let mailbox = self.threads.lock().get(&thread).map(|s| s.mailbox.clone());
        let Some(mailbox) = mailbox else {
            return Err(unknown_thread(thread));
        };
        if mailbox.run_all(limit.map(|limit| Instant::now() + limit)) {
            return Ok(());
        }
        if mailbox.closed.load(Ordering::Acquire) {
            return Err(unknown_thread(thread));
        }
        let text = format!("No callback came within {:?}.", limit.unwrap_or_default());
        Err(NpuError::new(code::RT_REPORT_TIMEOUT, "EE1002", text))
    }
}

fn unknown_thread(thread: u64) -> NpuError {
    let text = format!("Thread {thread} is subscribed to no stream.");
    NpuError::new(code::RT_THREAD_SUBSCRIBE, "EE1001", text)
}
