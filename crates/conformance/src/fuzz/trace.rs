//! What the threads of a process called last, and what succeeded how often, in a file that outlives it.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, ensure};

use super::successes::COUNTED;

/// Threads that a process has.
pub(super) const THREADS: usize = 3;
/// Calls of each that are remembered.
const CALLS: usize = 48;
/// Bytes of the text of a call.
const TEXT: usize = 248;

/// One call.
#[repr(C)]
struct Entry {
    /// Which call of the thread it is, 0 for none.
    number: AtomicU64,
    text: [u8; TEXT],
}

/// What the file holds.
#[repr(C)]
struct Contents {
    /// The last calls of each thread.
    entries: [[Entry; CALLS]; THREADS],
    /// Successes of all threads.
    successes: [AtomicU64; COUNTED],
}

/// The file, mapped.
pub(super) struct Trace {
    contents: *mut Contents,
}

// SAFETY: each thread writes entries of its own; who reads them after its end, or looks at the
// numbers meanwhile, may find a text half written, which is no worse than that.
unsafe impl Sync for Trace {}
// SAFETY: as above.
unsafe impl Send for Trace {}

impl Trace {
    /// Makes the file.
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        file.set_len(size_of::<Contents>() as u64)?;
        Self::map(&file)
    }

    /// Opens the file that the parent made.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::options().read(true).write(true).open(path).context("the trace")?;
        ensure!(file.metadata()?.len() == size_of::<Contents>() as u64, "a trace of another size");
        Self::map(&file)
    }

    fn map(file: &File) -> anyhow::Result<Self> {
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        // SAFETY: a new mapping of a file that is as long; it is never unmapped.
        let mapped = unsafe {
            let (len, fd) = (size_of::<Contents>(), file.as_raw_fd());
            libc::mmap(std::ptr::null_mut(), len, read | write, libc::MAP_SHARED, fd, 0)
        };
        ensure!(mapped != libc::MAP_FAILED, "the trace cannot be mapped");
        Ok(Self { contents: mapped.cast() })
    }

    fn entry(&self, thread: usize, number: u64) -> *mut Entry {
        assert!(thread < THREADS, "a thread of the process");
        let call = (number % CALLS as u64) as usize;
        // SAFETY: both indices are in range.
        unsafe { (&raw mut (*self.contents).entries[thread][call]).cast() }
    }

    /// The number of successes that is kept at a place.
    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the file stays mapped, and numbers are only touched as atomics.
        let successes = unsafe { &(*self.contents).successes };
        &successes[at]
    }

    /// Notes that a call, or a maker, succeeded.
    pub(super) fn succeeded(&self, at: usize) {
        self.counter(at).fetch_add(1, Ordering::Relaxed);
    }

    /// How often it did.
    pub(super) fn successes(&self, at: usize) -> u64 {
        self.counter(at).load(Ordering::Relaxed)
    }

    /// Notes the call that a thread is about to make.
    pub(super) fn note(&self, thread: usize, number: u64, text: &str) {
        let entry = self.entry(thread, number);
        let len = text.len().min(TEXT - 1);
        // SAFETY: the entry is this thread's.
        unsafe {
            let to = (&raw mut (*entry).text).cast::<u8>();
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, len);
            to.add(len).write(0);
            (*entry).number.store(number, Ordering::Release);
        }
    }

    /// The newest call of each thread.
    pub(super) fn newest(&self) -> [u64; THREADS] {
        std::array::from_fn(|thread| {
            let of = |number| {
                let entry = self.entry(thread, number);
                // SAFETY: a number is read whole.
                unsafe { (*entry).number.load(Ordering::Acquire) }
            };
            (0..CALLS as u64).map(of).max().unwrap_or(0)
        })
    }

    /// What the threads called last, in words.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (thread, newest) in self.newest().into_iter().enumerate() {
            text += &format!("thread {thread}, the last calls of {newest}:\n");
            let first = newest.saturating_sub(CALLS as u64 - 1).max(1);
            for number in first..=newest {
                let entry = self.entry(thread, number);
                // SAFETY: bytes, whatever they are.
                let bytes = unsafe { (*entry).text };
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(TEXT);
                text += &format!("    {number} {}\n", String::from_utf8_lossy(&bytes[..end]));
            }
        }
        text
    }
}
