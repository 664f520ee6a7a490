//! Ends the process when a simulation does not come back: a loop inside of the engine cannot be
//! seen from the driver, which waits for it.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long one turn of one rank may take. A turn takes microseconds.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Shared {
    beats: AtomicU64,
    over: AtomicBool,
    what: Mutex<String>,
}

/// Watches the simulations of a process. It ends the process with code 3 if they stand still.
#[derive(Debug, Clone)]
pub struct Watchdog(Arc<Shared>);

impl Watchdog {
    /// Begins to watch.
    ///
    /// # Panics
    /// When the system gives no thread.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let watched = shared.clone();
        let spawned = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            let (mut seen, mut still) = (0, Duration::ZERO);
            while !watched.over.load(Relaxed) {
                std::thread::sleep(LOOK);
                let beats = watched.beats.load(Relaxed);
                still = if beats == seen { still + LOOK } else { Duration::ZERO };
                seen = beats;
                if still >= PATIENCE {
                    let what = watched.what.lock().map(|what| what.clone()).unwrap_or_default();
                    // Not by `eprintln`: a test harness keeps what that says until the test is over.
                    let mut err = std::io::stderr();
                    let _ = writeln!(err, "no turn of a rank ended for {still:?}; {what}");
                    std::process::exit(3);
                }
            }
        });
        spawned.expect("a system that runs tests has threads");
        Self(shared)
    }

    /// Says what is being done, for the message at the end.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if let Ok(mut text) = self.0.what.lock() {
            *text = what();
        }
        self.beat();
    }

    /// All is well.
    pub fn beat(&self) {
        self.0.beats.fetch_add(1, Relaxed);
    }

    /// Stops watching.
    pub fn stop(&self) {
        self.0.over.store(true, Relaxed);
    }
}
