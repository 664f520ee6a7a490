//! Ends the test program when ranks stand still, and says what each of them was doing.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// Longest time without any call beginning or ending, in which also an engine that waits would have
/// given up.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_secs(1);

struct State {
    beats: AtomicU64,
    /// What ranks are doing, by communicator and rank.
    doing: Mutex<Vec<((u64, u32), String)>>,
}

static STATE: LazyLock<State> = LazyLock::new(|| {
    std::thread::spawn(watch);
    State { beats: AtomicU64::new(0), doing: Mutex::default() }
});

/// A rank begins something.
pub(crate) fn begins(communicator: u64, rank: u32, what: String) {
    let mut doing = STATE.doing.lock().unwrap();
    match doing.iter_mut().find(|(who, _)| *who == (communicator, rank)) {
        Some((_, text)) => *text = what,
        None => doing.push(((communicator, rank), what)),
    }
    STATE.beats.fetch_add(1, Relaxed);
}

/// The ranks of a communicator are through.
pub(crate) fn ends(communicator: u64) {
    STATE.doing.lock().unwrap().retain(|((of, _), _)| *of != communicator);
    STATE.beats.fetch_add(1, Relaxed);
}

fn watch() {
    let (mut seen, mut still) = (0, Duration::ZERO);
    loop {
        std::thread::sleep(LOOK);
        let beats = STATE.beats.load(Relaxed);
        let doing = STATE.doing.lock().unwrap();
        let is_still = beats == seen && !doing.is_empty();
        still = if is_still { still + LOOK } else { Duration::ZERO };
        seen = beats;
        if still >= PATIENCE {
            // Not by `eprintln`: the harness keeps what that says until the test is over.
            let mut err = std::io::stderr().lock();
            let _ = writeln!(err, "no call began or ended for {still:?}, after {beats} of them:");
            for ((communicator, rank), what) in &*doing {
                let _ = writeln!(err, "  communicator {communicator}, rank {rank}: {what}");
            }
            std::process::exit(3);
        }
    }
}
