//! The suite on the fabric of one host: ranks meet as threads and are used by one afterwards; the
//! rank that dies is a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hccl_fabric::{Fabric, HostFabric, Join, Line, ROOT_INFO_BYTES, Region, RootInfo, Server};
use hccl_os::shm::Segment;
use hccl_os::wait::sleep_on;

use crate::suite::TESTS;
use crate::world::{MEMORY, World, last_deeds};

/// Tells the test [`rank_of_its_own`] that it is to be one.
const CHILD: &str = "CONFORMANCE_CHILD";
/// What it says when it has done its deeds.
const READY: &str = "ready to die";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Nothing in a test takes as long, so a sleep that long is one from which nobody wakes.
const FOREVER: Duration = Duration::from_secs(86_400);

struct Rank {
    fabric: HostFabric,
    _memory: Arc<Segment>,
}

struct Host {
    ranks: Vec<Option<Rank>>,
    child: Option<Child>,
}

fn join(root: &RootInfo, rank: u32, ranks: u32) -> Rank {
    let memory = Arc::new(Segment::create("conformance", MEMORY as usize).unwrap());
    // SAFETY: the segment lives as long as the fabric, and is mapped from its first byte on.
    let region = unsafe { Region::local(memory.id(), memory.base(), MEMORY as usize) };
    let join = Join {
        ranks,
        rank,
        device: 0,
        region,
        memory: memory.as_fd().try_clone_to_owned().unwrap(),
        memory_len: MEMORY,
        settings: String::new(),
        timeout: TIMEOUT,
        hopeless: None,
    };
    Rank { fabric: HostFabric::join(root, join).unwrap(), _memory: memory }
}

/// A world; its last rank is a child process if `with_child`.
fn meet(ranks: u32, with_child: bool) -> Box<dyn World> {
    let server = Server::open(0).unwrap();
    let root = server.info().clone();
    server.serve(TIMEOUT).unwrap();
    let child = with_child.then(|| spawn(&root));
    let here = ranks - u32::from(with_child);
    let joined = std::thread::scope(|scope| {
        let start = |rank| {
            let root = &root;
            scope.spawn(move || join(root, rank, ranks))
        };
        let threads: Vec<_> = (0..here).map(start).collect();
        threads.into_iter().map(|thread| Some(thread.join().unwrap())).collect()
    });
    Box::new(Host { ranks: joined, child })
}

/// Starts this program again, as rank 2 of 3.
fn spawn(root: &RootInfo) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "host::rank_of_its_own", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(&root.to_bytes()).unwrap();
    child
}

impl World for Host {
    fn fabric(&self, rank: u32) -> &dyn Fabric {
        &self.ranks[rank as usize].as_ref().unwrap().fabric
    }

    fn drop_fabric(&mut self, rank: u32) {
        self.ranks[rank as usize] = None;
    }

    // Shared memory is there at once.
    fn let_time_pass(&self) {}

    fn let_a_moment_pass(&self) {
        std::thread::yield_now();
    }

    fn sleep_until(&self, rank: u32, line: Line, deed: &dyn Fn()) {
        let watch = self.fabric(rank).watch(line).unwrap();
        let word = watch.word.expose_provenance();
        let scope = watch.scope;
        std::thread::scope(|threads| {
            threads.spawn(move || {
                let word = std::ptr::with_exposed_provenance(word);
                let watch = hccl_os::wait::Watch { word, seen: watch.seen, scope };
                // SAFETY: the fabric keeps the word mapped, and outlives the thread.
                unsafe { sleep_on(&[watch], FOREVER) };
            });
            // So that it mostly sleeps already; it must wake either way.
            std::thread::sleep(Duration::from_millis(10));
            deed();
        });
    }

    fn let_one_die(&mut self) -> u32 {
        let mut child = self.child.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains(READY)));
        child.kill().unwrap();
        child.wait().unwrap();
        2
    }
}

/// Not a test by itself: the rank of a process of its own, when the suite starts this program for
/// it. It does its deeds and waits to be killed.
#[test]
fn rank_of_its_own() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut bytes = [0; ROOT_INFO_BYTES];
    std::io::stdin().read_exact(&mut bytes).unwrap();
    let rank = join(&RootInfo::from_bytes(&bytes).unwrap(), 2, 3);
    last_deeds(&rank.fabric);
    println!("{READY}");
    // Ends with the pipe if the parent dies first.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn the_fabric_of_a_host_keeps_the_contract() {
    let over = Arc::new(AtomicBool::new(false));
    let seen = over.clone();
    // A wake that is lost shows as a sleep without end.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(300));
        if !seen.load(Ordering::Relaxed) {
            eprintln!("the suite does not come back: a sleeper was not woken");
            std::process::abort();
        }
    });
    for (name, test) in TESTS {
        eprintln!("{name}");
        test(&|ranks| meet(ranks, *name == "death_is_found_by_probing"));
    }
    over.store(true, Ordering::Relaxed);
}
