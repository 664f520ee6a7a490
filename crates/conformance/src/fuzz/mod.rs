//! Random calls with random arguments, right and wrong ones, from several threads: whatever comes,
//! the libraries must neither crash nor hang.
//!
//! A process makes some thousand calls from a seed and ends, with whatever is under way. The parent
//! looks after it: a signal or a call that does not return fails the run, which then shows the seed
//! and what the threads called last. So does a run that never got the handles that calls are made with.

mod calls;
mod draw;
mod lists;
mod successes;
mod table;
mod trace;
mod worker;

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::worker::absolute;
use successes::Successes;
use trace::Trace;
pub(crate) use worker::run as run_worker;

/// How long a call may take. The longest that any may wait is the time-out of operations, a second,
/// and several may be queued one behind the other.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Makes calls for so long, from seeds that follow each other.
pub(crate) fn run(folder: &Path, seconds: u64, first: u64, calls: u64) -> anyhow::Result<()> {
    let folder = absolute(folder)?;
    let scratch = tempfile::tempdir()?;
    let path = scratch.path().join("trace");
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut seed = first;
    let mut made = 0;
    let mut successes = Successes::default();
    while Instant::now() < deadline || seed == first {
        let trace = Trace::create(&path)?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--libraries")
            .arg(&folder)
            .args(["fuzz-worker", "--seed", &seed.to_string(), "--calls", &calls.to_string()])
            .arg("--trace")
            .arg(&path)
            .env("HCCL_EXEC_TIMEOUT", "1")
            .env("SOFTNPU_DEVICES", "3")
            .env("SOFTNPU_MEMORY", "256M")
            .env("ASCEND_GLOBAL_LOG_LEVEL", "4")
            .stdout(Stdio::null())
            .spawn()
            .context("a process that makes the calls")?;
        let end = watch(&mut child, &trace)?;
        made += trace.newest().iter().sum::<u64>();
        successes.add(&trace);
        match end {
            Ended::Exited(status) if status.success() => {}
            Ended::Exited(status) => bail!(
                "seed {seed}: {status}; run it again with --seed {seed} --seconds 0 --calls {calls}\n{}",
                trace.text()
            ),
            Ended::Hung => bail!(
                "seed {seed}: a call did not return within {CALL_LIMIT:?}; run it again with \
                 --seed {seed} --seconds 0 --calls {calls}\n{}",
                trace.text()
            ),
        }
        seed += 1;
    }
    println!(
        "{made} calls in {} processes, from seed {first}: none crashed, none hung",
        seed - first
    );
    println!("{}", successes.text());
    successes.suffice(made)
}

/// How a process ended.
enum Ended {
    Exited(ExitStatus),
    Hung,
}

/// Waits for a process as long as it gets on.
fn watch(child: &mut Child, trace: &Trace) -> anyhow::Result<Ended> {
    let mut seen = trace.newest();
    let mut moved = [Instant::now(); trace::THREADS];
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exited(status));
        }
        let newest = trace.newest();
        for (thread, time) in moved.iter_mut().enumerate() {
            if newest[thread] != seen[thread] {
                *time = Instant::now();
            }
        }
        seen = newest;
        // Threads that are through wait for the last one, which gets on.
        if moved.iter().all(|time| time.elapsed() > CALL_LIMIT) {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Hung);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
