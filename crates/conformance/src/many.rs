//! Many communicators: made and destroyed one after the other, and alive at the same time. What they
//! take of the process must be given back.

use std::ffi::c_void;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::libraries::Libraries;

/// Devices of each communicator, in this process.
const DEVICES: [i32; 2] = [0, 1];
/// Rounds before the first measurement: what is made once is there by then.
const WARM_UP: u32 = 200;
/// Growth of the resident memory that is taken for noise of allocators, KiB.
const NOISE_KIB: u64 = 4096;
/// Growth of the heap that is taken for tables that grew, KiB: nothing beside what a thousand
/// communicators take.
const TABLES_KIB: u64 = 256;

/// Mappings that the C library may add for heaps of its own.
const HEAPS: usize = 16;

/// How long threads may take to end.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// What a process has.
#[derive(Clone, Copy, Debug)]
struct Held {
    descriptors: usize,
    threads: usize,
    resident_kib: u64,
    /// Of the C library's heap, what is in use.
    heap_kib: u64,
    mappings: usize,
}

impl Held {
    fn now() -> anyhow::Result<Self> {
        let count = |folder: &str| Ok::<_, anyhow::Error>(std::fs::read_dir(folder)?.count());
        let status = std::fs::read_to_string("/proc/self/status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        // SAFETY: a call without conditions.
        let heap = unsafe { libc::mallinfo2() };
        Ok(Self {
            descriptors: count("/proc/self/fd")?,
            threads: count("/proc/self/task")?,
            resident_kib: resident.context("VmRSS of this process")?,
            heap_kib: (heap.uordblks as u64 + heap.hblkhd as u64) >> 10,
            mappings: std::fs::read_to_string("/proc/self/maps")?.lines().count(),
        })
    }

    /// What there is once it is as little as before, or after a moment: threads that are done end a
    /// little later.
    fn settled(before: Self) -> anyhow::Result<Self> {
        let deadline = Instant::now() + SETTLE_MAX;
        loop {
            let now = Self::now()?;
            if now.is_flat_since(before) || Instant::now() >= deadline {
                return Ok(now);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether it holds no more than before. What the C library keeps for the next allocation is
    /// resident and no communicator's, so after many at a time the heap in use counts.
    fn is_flat_since(self, before: Self) -> bool {
        self.descriptors <= before.descriptors
            && self.threads <= before.threads
            && self.heap_kib <= before.heap_kib + TABLES_KIB
            && self.mappings <= before.mappings + HEAPS
    }
}

/// Communicators of all devices, and what they work on.
struct Job {
    libraries: Libraries,
    streams: Vec<*mut c_void>,
    buffers: Vec<*mut c_void>,
}

/// Elements of the all-reduce that each communicator runs.
const COUNT: u64 = 1000;

impl Job {
    fn new(libraries: Libraries) -> anyhow::Result<Self> {
        let (mut streams, mut buffers) = (Vec::new(), Vec::new());
        // SAFETY: NULL means no configuration; places for results are locals.
        unsafe {
            libraries.check("aclInit", (libraries.init)(std::ptr::null()))?;
            for device in DEVICES {
                let (mut stream, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
                libraries.check("aclrtSetDevice", (libraries.set_device)(device))?;
                libraries.check("aclrtCreateStream", (libraries.create_stream)(&raw mut stream))?;
                let size = COUNT as usize * 4;
                libraries.check("aclrtMalloc", (libraries.malloc)(&raw mut buffer, size, 0))?;
                streams.push(stream);
                buffers.push(buffer);
            }
        }
        Ok(Self { libraries, streams, buffers })
    }

    fn make(&self) -> anyhow::Result<[*mut c_void; DEVICES.len()]> {
        let mut comms = [std::ptr::null_mut(); DEVICES.len()];
        // SAFETY: as many places as devices.
        let code = unsafe {
            let count = DEVICES.len() as u32;
            (self.libraries.join_all)(count, DEVICES.as_ptr(), comms.as_mut_ptr())
        };
        self.libraries.check("HcclCommInitAll", code)?;
        Ok(comms)
    }

    /// The element of rank r is r + `seed`.
    fn reduce(&self, comms: &[*mut c_void], seed: i32) -> anyhow::Result<()> {
        const INT32: i32 = 2;
        const SUM: i32 = 0;
        let (libs, size) = (&self.libraries, COUNT as usize * 4);
        let ranks = (0i32..).zip(comms.iter().zip(self.buffers.iter().zip(&self.streams)));
        for (rank, (&comm, (&buffer, &stream))) in ranks {
            let values = vec![rank + seed; COUNT as usize];
            // SAFETY: buffers, communicators and streams are live and long enough.
            unsafe {
                let copied = (libs.memcpy)(buffer, size, values.as_ptr().cast(), size, 1);
                libs.check("aclrtMemcpy", copied)?;
                let code = (libs.all_reduce)(buffer, buffer, COUNT, INT32, SUM, comm, stream);
                libs.check("HcclAllReduce", code)?;
            }
        }
        for (&buffer, &stream) in self.buffers.iter().zip(&self.streams) {
            let mut values = vec![0i32; COUNT as usize];
            // SAFETY: as above.
            unsafe {
                libs.check("aclrtSynchronizeStream", (libs.synchronize)(stream))?;
                let copied = (libs.memcpy)(values.as_mut_ptr().cast(), size, buffer, size, 2);
                libs.check("aclrtMemcpy", copied)?;
            }
            let sum: i32 = (0..DEVICES.len() as i32).map(|rank| rank + seed).sum();
            ensure!(values.iter().all(|&value| value == sum), "a wrong sum after {seed} rounds");
        }
        Ok(())
    }

    fn destroy(&self, comms: &[*mut c_void]) -> anyhow::Result<()> {
        for &comm in comms {
            // SAFETY: a live communicator.
            let code = unsafe { (self.libraries.destroy)(comm) };
            self.libraries.check("HcclCommDestroy", code)?;
        }
        Ok(())
    }
}

/// Makes and destroys `cycles` communicators, then has `live` at a time.
pub(crate) fn run(folder: &Path, cycles: u32, live: u32) -> anyhow::Result<()> {
    let job = Job::new(Libraries::load(folder)?)?;
    let round = |number: u32| {
        let comms = job.make()?;
        job.reduce(&comms, number as i32)?;
        job.destroy(&comms)
    };
    for number in 0..WARM_UP {
        round(number)?;
    }
    let before = Held::now()?;
    let begun = Instant::now();
    for number in 0..cycles {
        round(number).with_context(|| format!("round {number}"))?;
    }
    let each = begun.elapsed() / cycles.max(1);
    let after = Held::settled(before)?;
    println!("before {before:?}\nafter {cycles} more communicators {after:?}, {each:.1?} each");
    let resident = after.resident_kib <= before.resident_kib + NOISE_KIB;
    ensure!(resident && after.is_flat_since(before), "communicators leave something behind");

    let mut all = Vec::new();
    for number in 0..live {
        all.push(job.make().with_context(|| format!("communicator {number}"))?);
    }
    for (number, comms) in all.iter().enumerate() {
        job.reduce(comms, number as i32)?;
    }
    let most = Held::now()?;
    for comms in &all {
        job.destroy(comms)?;
    }
    drop(all);
    let end = Held::settled(before)?;
    println!("{live} at a time {most:?}\nwithout them {end:?}");
    let per = |now: usize, then: usize| (now.saturating_sub(then)) as f64 / f64::from(live.max(1));
    println!(
        "one of {} ranks takes {:.2} descriptors, {:.2} threads, {} KiB",
        DEVICES.len(),
        per(most.descriptors, after.descriptors),
        per(most.threads, after.threads),
        most.resident_kib.saturating_sub(after.resident_kib) / u64::from(live.max(1))
    );
    ensure!(most.descriptors <= after.descriptors, "live communicators hold descriptors");
    ensure!(most.threads <= after.threads, "live communicators hold threads");
    ensure!(end.is_flat_since(before), "something is left of the live communicators");
    Ok(())
}
