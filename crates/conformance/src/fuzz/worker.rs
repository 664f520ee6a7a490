//! A process that makes random calls.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use parking_lot::Mutex;

use super::draw::{DEVICE_BYTES, Pools, Random, Scratch};
use super::successes::Maker;
use super::table::{Call, End, Kind, Pool, calls};
use super::trace::{THREADS, Trace};
use crate::libraries::{Libraries, ROOT_INFO_BYTES, symbol_of};

/// A function that takes what fits in registers and on the stack, and may look at less.
type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

/// Most arguments of a call.
const ARGUMENTS: usize = 16;
/// Devices that communicators of two ranks are on.
const PAIR: [i32; 2] = [0, 1];
/// Communicators of a kind that live at most.
const COMMUNICATORS: usize = 6;
/// How long the process stays after its last call, so that what is under way goes on for a while.
const LINGER: Duration = Duration::from_millis(50);

/// What all threads share.
struct Job<'a> {
    libraries: Libraries,
    calls: Vec<(Call, Function)>,
    pools: Mutex<Pools>,
    trace: &'a Trace,
}

/// Makes so many calls on each thread.
pub(crate) fn run(folder: &Path, seed: u64, count: u64, trace: &Path) -> anyhow::Result<()> {
    let libraries = Libraries::load(folder)?;
    let trace = Trace::open(trace)?;
    let mut found = Vec::new();
    for call in calls() {
        ensure!(call.arguments.len() <= ARGUMENTS, "{} has too many arguments", call.name);
        let address = symbol_of(call.name)?;
        // SAFETY: the functions of the table take arguments in integer registers, as many as it
        // says; those beyond are not looked at. A result of 32 bits is in the low half of its
        // register.
        let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
        found.push((call, function));
    }
    // SAFETY: NULL means no configuration.
    libraries.check("aclInit", unsafe { (libraries.init)(std::ptr::null()) })?;
    let job = Job { libraries, calls: found, pools: Mutex::default(), trace: &trace };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let job = &job;
            scope.spawn(move || Caller::new(job, seed, thread).run(count));
        }
    });
    std::thread::sleep(LINGER);
    Ok(())
}

/// One thread.
struct Caller<'a> {
    job: &'a Job<'a>,
    thread: usize,
    random: Random,
    scratch: Scratch,
    number: u64,
}

impl<'a> Caller<'a> {
    fn new(job: &'a Job<'a>, seed: u64, thread: usize) -> Self {
        let random = Random::new(crate::oracle::mix(seed) ^ (thread as u64) << 48);
        Self { job, thread, random, scratch: Scratch::new(), number: 0 }
    }

    fn run(&mut self, count: u64) {
        // SAFETY: a number.
        unsafe { (self.job.libraries.set_device)((self.thread % 2) as i32) };
        while self.number < count {
            match self.random.below(40) {
                0 => self.make_alone(),
                1 => self.make_pair(),
                2 => self.make_memory(),
                3 => self.make_stream(),
                4 => self.make_world(),
                _ => self.call(),
            }
        }
    }

    /// Tells the parent.
    fn note(&mut self, text: &str) {
        self.number += 1;
        self.job.trace.note(self.thread, self.number, text);
    }

    /// A call of the table.
    fn call(&mut self) {
        let job = self.job;
        let at = self.random.below(job.calls.len() as u64) as usize;
        let (call, function) = &job.calls[at];
        let mut arguments = [0usize; ARGUMENTS];
        for (slot, kind) in call.arguments.iter().enumerate() {
            arguments[slot] = self.scratch.draw(&mut self.random, &job.pools, *kind, slot);
        }
        let list: Vec<String> =
            arguments[..call.arguments.len()].iter().map(|it| format!("{it:#x}")).collect();
        self.note(&format!("{}({})", call.name, list.join(", ")));
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = arguments;
        // SAFETY: what is followed is what the table says of it: memory of this process that stays.
        let code = unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) };
        if code == 0 {
            job.trace.succeeded(at);
            self.succeeded(call, &arguments);
        }
    }

    fn succeeded(&mut self, call: &Call, arguments: &[usize; ARGUMENTS]) {
        for (kind, &argument) in call.arguments.iter().zip(arguments) {
            match *kind {
                Kind::New(pool) if argument != 0 => {
                    // SAFETY: the place is this thread's.
                    let made = unsafe { self.scratch.place.read() };
                    // A group may write it later, and small allocations are not for copies.
                    let small = pool == Pool::Device && arguments[1] < DEVICE_BYTES as usize;
                    if made != 0 && !small {
                        self.job.pools.lock().add(pool, made);
                    }
                }
                Kind::Handle(pool, End::Yes) => self.job.pools.lock().end(pool, argument),
                _ => {}
            }
        }
    }

    /// Keeps what a maker made.
    fn made(&self, maker: Maker, pool: Pool, handle: usize) {
        if handle != 0 {
            self.job.trace.succeeded(maker.counted_at());
            self.job.pools.lock().add(pool, handle);
        }
    }

    /// A communicator of one rank, as programs make it.
    fn make_alone(&mut self) {
        if self.job.pools.lock().count(Pool::Alone) >= COMMUNICATORS {
            return;
        }
        let libraries = &self.job.libraries;
        let mut root = [0u8; ROOT_INFO_BYTES];
        self.note(Maker::Alone.name());
        // The place must outlive this call: a group that is open writes it at its end.
        let place: &'static mut [*mut c_void] = Vec::leak(vec![std::ptr::null_mut()]);
        // SAFETY: places of the right sizes.
        unsafe {
            (libraries.set_device)(self.random.below(2) as i32);
            if (libraries.root_info)(root.as_mut_ptr()) == 0
                && (libraries.join)(1, root.as_ptr(), 0, place.as_mut_ptr()) == 0
            {
                self.made(Maker::Alone, Pool::Alone, place.as_ptr().read_volatile().addr());
            }
        }
    }

    /// Communicators of two ranks on two devices.
    fn make_pair(&mut self) {
        if self.job.pools.lock().count(Pool::Pair) >= COMMUNICATORS {
            return;
        }
        let mut comms = [std::ptr::null_mut(); PAIR.len()];
        self.note(Maker::Pair.name());
        // SAFETY: as many places as devices.
        let code = unsafe {
            let (count, comms) = (PAIR.len() as u32, comms.as_mut_ptr());
            (self.job.libraries.join_all)(count, PAIR.as_ptr(), comms)
        };
        if code == 0 {
            for comm in comms {
                self.made(Maker::Pair, Pool::Pair, comm.addr());
            }
        }
    }

    /// Device memory that copies may use.
    fn make_memory(&mut self) {
        let mut made = std::ptr::null_mut();
        self.note(Maker::Memory.name());
        // SAFETY: a place for the result.
        let code = unsafe { (self.job.libraries.malloc)(&raw mut made, DEVICE_BYTES as usize, 0) };
        if code == 0 {
            self.made(Maker::Memory, Pool::Device, made.addr());
        }
    }

    /// A world of one rank, which groups by name are of.
    fn make_world(&mut self) {
        const TABLE: &CStr =
            c"{\"version\":\"1.0\",\"status\":\"completed\",\"server_count\":\"1\",\
            \"server_list\":[{\"server_id\":\"fuzz\",\"device\":[{\"device_id\":\"2\",\
            \"device_ip\":\"\",\"rank_id\":\"0\"}]}]}";
        self.note(Maker::World.name());
        // SAFETY: texts, of which the second is the rank, and no configuration.
        let code = unsafe {
            (self.job.libraries.set_device)(2);
            (self.job.libraries.world)(TABLE.as_ptr(), c"0".as_ptr(), 0, std::ptr::null())
        };
        if code == 0 {
            self.job.trace.succeeded(Maker::World.counted_at());
        }
    }

    fn make_stream(&mut self) {
        let mut made = std::ptr::null_mut();
        self.note(Maker::Stream.name());
        // SAFETY: a place for the result.
        if unsafe { (self.job.libraries.create_stream)(&raw mut made) } == 0 {
            self.made(Maker::Stream, Pool::Stream, made.addr());
        }
    }
}
