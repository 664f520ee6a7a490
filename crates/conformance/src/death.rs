//! Ranks that are killed: what the others say, how soon, and what is left behind.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::libraries::Libraries;
use crate::matrix::root_info;
use crate::oracle::mix;
use crate::worker::{Started, Suite, absolute, start};

const RANKS: u32 = 4;
/// A survivor that says nothing for this long hangs.
const WORD_MAX: Duration = Duration::from_secs(20);

struct Job {
    processes: Vec<Started>,
    words: Receiver<String>,
}

impl Job {
    fn start(folder: &Path, libraries: &Libraries) -> anyhow::Result<Self> {
        let root = root_info(libraries)?;
        let (sender, words) = channel();
        let mut processes = Vec::new();
        for rank in 0..RANKS {
            let mut started = start(folder, Suite::Endless, &root, &[rank], RANKS, &[])?;
            let out = started.child.stdout.take().context("a piped standard output")?;
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
            processes.push(started);
        }
        let job = Self { processes, words };
        for _ in 0..RANKS {
            let word = job.words.recv_timeout(WORD_MAX).context("a rank did not start")?;
            ensure!(word.starts_with("running"), "a rank said {word}");
        }
        Ok(job)
    }

    fn end(mut self) -> anyhow::Result<()> {
        for started in &mut self.processes {
            let _ = started.child.kill();
            started.child.wait()?;
        }
        Ok(())
    }
}

pub(crate) fn run(folder: &Path, times: u32) -> anyhow::Result<()> {
    let folder = absolute(folder)?;
    let libraries = Libraries::load(&folder)?;
    let mut latest = Duration::ZERO;
    for round in 0..RANKS {
        latest = latest.max(one_dies(&folder, &libraries, round)?);
    }
    println!("one of {RANKS} ranks killed, {RANKS} times: survivors named it within {latest:.1?}");
    let before = Traces::now()?;
    for round in 0..times {
        let job = Job::start(&folder, &libraries)?;
        let pause = mix(u64::from(round) ^ u64::from(std::process::id()) << 32) % 60_000;
        std::thread::sleep(Duration::from_micros(pause));
        job.end()?;
    }
    let after = Traces::now()?;
    let new: Vec<_> = after.0.difference(&before.0).collect();
    ensure!(new.is_empty(), "left behind after {times} kills: {new:?}");
    println!("all ranks killed {times} times: no file, segment, socket or process is left");
    Ok(())
}

/// Kills one rank; gives the time until the last survivor has named it.
fn one_dies(folder: &Path, libraries: &Libraries, victim: u32) -> anyhow::Result<Duration> {
    let mut job = Job::start(folder, libraries)?;
    std::thread::sleep(Duration::from_millis(20));
    let killed = Instant::now();
    job.processes[victim as usize].child.kill()?;
    let mut last = Duration::ZERO;
    for _ in 1..RANKS {
        let word = job.words.recv_timeout(WORD_MAX).context("a survivor hangs")?;
        last = killed.elapsed();
        let name = format!("rank {victim} (process ");
        ensure!(word.starts_with("failed"), "a survivor said {word}");
        ensure!(word.contains(&name) && word.contains("has ended"), "the culprit is not in {word}");
        ensure!(word.contains("AllReduce number"), "the operation is not in {word}");
    }
    job.end()?;
    Ok(last)
}

/// What a job could leave on the host.
struct Traces(BTreeSet<String>);

impl Traces {
    fn now() -> anyhow::Result<Self> {
        let mut found = BTreeSet::new();
        for folder in ["/dev/shm", "/tmp", "/var/tmp"] {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                // Others use these folders too, all the time.
                if folder == "/dev/shm" || name.contains("hccl") || name.contains("softnpu") {
                    found.insert(format!("{folder}/{name}"));
                }
            }
        }
        let own = std::process::id().to_string();
        for line in std::fs::read_to_string("/proc/net/unix")?.lines() {
            // The socket's name is the last word; our own root's socket goes with its time-out.
            if let Some(name) = line.split_whitespace().last().filter(|w| w.starts_with("@hccl-"))
                && !own_socket(line)?
            {
                found.insert(format!("socket {name}"));
            }
        }
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let pid = entry.file_name().to_string_lossy().into_owned();
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            if pid != own && line.contains("conformance") && line.contains("worker") {
                found.insert(format!("process {pid}"));
            }
        }
        Ok(Self(found))
    }
}

/// Whether a line of `/proc/net/unix` is a socket of this very process.
fn own_socket(line: &str) -> anyhow::Result<bool> {
    let inode = line.split_whitespace().nth(6).unwrap_or_default();
    let link = format!("socket:[{inode}]");
    for entry in std::fs::read_dir("/proc/self/fd")?.flatten() {
        if std::fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy() == link) {
            return Ok(true);
        }
    }
    Ok(false)
}
