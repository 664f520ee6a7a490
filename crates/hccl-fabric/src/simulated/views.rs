//! Memory that shows writes as late as it may: each rank has a copy of all memory, and a write
//! reaches another rank's copy only by a signal.
//!
//! ```text
//! release(r):      what r's copies differ from their twins since the last time is a new write;
//!                  it goes to the end of r's log; the length of the log is the mark
//! acquire(o, r):   o goes through r's log up to the mark, and takes over every write it does not
//!                  know, in that order, into its copies, its twins, and its own log
//! ```
//!
//! A log holds what its rank wrote and what it took over, so that a write travels on with the
//! signals of those who have seen it. Order in a log agrees with what happened before what; writes
//! that are not ordered touch different bytes, unless the engine races. The idea is that of lazy
//! release consistency (Keleher, Cox, Zwaenepoel 1992).
//!
//! A read that comes too early sees old bytes here, always; on hardware it mostly gets away with
//! it.

use super::memory::Arena;

/// Bytes that are compared at a time.
const STRIDE: usize = 128;

/// Bytes in a row that a rank wrote.
#[derive(Debug)]
struct Run {
    owner: u32,
    offset: usize,
    bytes: Vec<u8>,
}

/// What a rank wrote between two releases.
#[derive(Debug)]
struct Write {
    runs: Vec<Run>,
}

#[derive(Debug)]
pub(super) struct Views {
    ranks: usize,
    len: usize,
    /// What each copy held when its rank last released or acquired; in the order of the copies.
    twins: Vec<Arena>,
    /// Whether a copy was ever handed out, so that it may differ.
    used: Vec<bool>,
    writes: Vec<Write>,
    /// For each rank the writes that its copies hold.
    logs: Vec<Vec<u32>>,
    /// The same as a set.
    known: Vec<Vec<bool>>,
    /// How much of rank r's log rank o has gone through, at o * ranks + r.
    gone_through: Vec<usize>,
}

impl Views {
    pub(super) fn new(ranks: usize, len: usize, twins: Vec<Arena>) -> Self {
        assert_eq!(twins.len(), ranks * ranks, "one for each copy");
        // A rank writes its own memory without asking where it is.
        let used = (0..ranks * ranks).map(|i| i / ranks == i % ranks).collect();
        Self {
            ranks,
            len,
            twins,
            used,
            writes: Vec::new(),
            logs: vec![Vec::new(); ranks],
            known: vec![Vec::new(); ranks],
            gone_through: vec![0; ranks * ranks],
        }
    }

    pub(super) fn note_use(&mut self, observer: u32, owner: u32) {
        self.used[observer as usize * self.ranks + owner as usize] = true;
    }

    pub(super) fn release(&mut self, rank: u32, copies: &[Arena]) -> u64 {
        let mut runs = Vec::new();
        for owner in 0..self.ranks {
            let at = rank as usize * self.ranks + owner;
            if self.used[at] {
                // SAFETY: both are arenas of `len` bytes; the one thread that drives the ranks is
                // here, so nobody writes to them.
                let (copy, twin) = unsafe {
                    (
                        std::slice::from_raw_parts(copies[at].base(), self.len),
                        std::slice::from_raw_parts_mut(self.twins[at].base(), self.len),
                    )
                };
                differences(owner as u32, copy, twin, &mut runs);
            }
        }
        if !runs.is_empty() {
            let number = self.writes.len() as u32;
            self.writes.push(Write { runs });
            self.note(rank as usize, number);
        }
        self.logs[rank as usize].len() as u64
    }

    pub(super) fn acquire(&mut self, observer: u32, from: u32, mark: u64, copies: &[Arena]) {
        let (observer, from) = (observer as usize, from as usize);
        let pair = observer * self.ranks + from;
        for index in self.gone_through[pair]..mark as usize {
            let number = self.logs[from][index];
            if self.known[observer].get(number as usize).copied().unwrap_or(false) {
                continue;
            }
            for run in &self.writes[number as usize].runs {
                let at = observer * self.ranks + run.owner as usize;
                for arena in [&copies[at], &self.twins[at]] {
                    // SAFETY: the run was found inside an arena of this length; the one thread
                    // that drives the ranks is here.
                    unsafe {
                        let target = arena.base().add(run.offset);
                        target.copy_from_nonoverlapping(run.bytes.as_ptr(), run.bytes.len());
                    }
                }
            }
            self.note(observer, number);
        }
        self.gone_through[pair] = self.gone_through[pair].max(mark as usize);
    }

    fn note(&mut self, rank: usize, number: u32) {
        self.logs[rank].push(number);
        let known = &mut self.known[rank];
        known.resize(known.len().max(number as usize + 1), false);
        known[number as usize] = true;
    }
}

/// Runs in which `copy` differs from `twin`, which is brought up to date.
fn differences(owner: u32, copy: &[u8], twin: &mut [u8], runs: &mut Vec<Run>) {
    // Mostly nothing was written, and the whole is compared fastest.
    if copy == twin {
        return;
    }
    let strides = copy.chunks(STRIDE).zip(twin.chunks_mut(STRIDE)).enumerate();
    for (index, (copy, twin)) in strides.filter(|(_, (copy, twin))| *copy != &**twin) {
        let mut at = 0;
        while at < copy.len() {
            let len = copy[at..].iter().zip(&twin[at..]).take_while(|(a, b)| a != b).count();
            if len > 0 {
                let bytes = copy[at..at + len].to_vec();
                runs.push(Run { owner, offset: index * STRIDE + at, bytes });
            }
            at += len.max(1);
        }
        twin.copy_from_slice(copy);
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::{Memory, Visibility};

    const LEN: usize = 300;

    fn get(memory: &Memory, observer: u32, owner: u32, offset: u64) -> u8 {
        let at = memory.at(observer, owner, offset, 1).unwrap();
        // SAFETY: inside the arena, and the test has one thread.
        unsafe { at.read() }
    }

    fn set(memory: &Memory, observer: u32, owner: u32, offset: u64, byte: u8) {
        let at = memory.at(observer, owner, offset, 1).unwrap();
        // SAFETY: inside the arena, and the test has one thread.
        unsafe { at.write(byte) }
    }

    #[test]
    fn a_write_travels_with_signals_and_not_before() {
        let memory = Memory::new(3, LEN, Visibility::Late);
        set(&memory, 0, 0, 130, 7);
        let mark = memory.release(0);
        assert_eq!(get(&memory, 1, 0, 130), 0);
        set(&memory, 0, 0, 131, 8);
        memory.acquire(1, 0, mark);
        // What came after the signal is not there.
        assert_eq!((get(&memory, 1, 0, 130), get(&memory, 1, 0, 131)), (7, 0));
        // Rank 2 hears of it from rank 1 alone.
        let mark = memory.release(1);
        assert_eq!(get(&memory, 2, 0, 130), 0);
        memory.acquire(2, 1, mark);
        assert_eq!(get(&memory, 2, 0, 130), 7);
    }

    #[test]
    fn writes_into_others_memory_meet_there() {
        let memory = Memory::new(3, LEN, Visibility::Late);
        for rank in 0..3 {
            for owner in 0..3 {
                set(&memory, rank, owner, u64::from(rank), 10 + rank as u8);
            }
        }
        let marks: Vec<u64> = (0..3).map(|rank| memory.release(rank)).collect();
        for observer in 0..3 {
            for from in 0..3 {
                memory.acquire(observer, from, marks[from as usize]);
            }
            let seen = [0, 1, 2].map(|offset| get(&memory, observer, observer, offset));
            assert_eq!(seen, [10, 11, 12]);
        }
    }
}
