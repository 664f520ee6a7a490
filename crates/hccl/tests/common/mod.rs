//! Ranks as threads, each with memory of its own that it shares.

#![allow(dead_code, reason = "each test program uses a part")]

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use hccl::{Communicator, Options, Piece, Workspace};
use hccl_fabric::{HostFabric, Join, JoinError, Region, RootInfo, Server};
use hccl_os::shm::Segment;
use parking_lot::Mutex;

pub(crate) const MEMORY: usize = 8 << 20;
/// Where the room of the communicator may begin.
pub(crate) const ROOM: u64 = MEMORY as u64 / 2;

pub(crate) struct Rank {
    pub(crate) communicator: Communicator,
    pub(crate) memory: Arc<Segment>,
}

impl Rank {
    /// A piece of the shared memory. Tests touch it only between operations.
    pub(crate) fn bytes(&mut self, offset: usize, len: usize) -> &mut [u8] {
        assert!(offset + len <= MEMORY);
        // SAFETY: inside the segment, and nothing runs on it now.
        unsafe { std::slice::from_raw_parts_mut(self.memory.base().add(offset), len) }
    }

    /// Elements of a rank's memory.
    pub(crate) fn floats(&mut self, offset: usize, count: usize) -> &mut [f32] {
        // SAFETY: as above, and aligned.
        unsafe { std::slice::from_raw_parts_mut(self.memory.base().add(offset).cast(), count) }
    }
}

/// Memory of all ranks: a rank that fails must not pull it from under the others.
static KEPT: Mutex<Vec<Arc<Segment>>> = Mutex::new(Vec::new());

/// The upper half of the memory, given out once at a time.
#[derive(Default)]
pub(crate) struct Upper(Mutex<bool>);

// SAFETY: the upper half is nobody else's, and is given out once at a time.
unsafe impl Workspace for Upper {
    fn allocate(&self, bytes: u64) -> Result<Piece, String> {
        let mut taken = self.0.lock();
        if *taken || bytes > MEMORY as u64 - ROOM {
            return Err(format!("the upper half is taken ({taken}) or too small"));
        }
        *taken = true;
        Ok(Piece { offset: ROOM, len: MEMORY as u64 - ROOM })
    }

    fn free(&self, _: Piece) {
        assert!(std::mem::replace(&mut *self.0.lock(), false), "freed twice");
    }
}

pub(crate) fn options() -> Options {
    Options {
        name: "test".into(),
        timeout: Some(Duration::from_millis(300)),
        workspace: Some(Arc::new(Upper::default())),
        ..Options::default()
    }
}

/// A rank's fabric, and the memory that it shares.
pub(crate) fn fabric(
    root: &RootInfo,
    (rank, ranks): (u32, u32),
    timeout: Duration,
) -> Result<(HostFabric, Arc<Segment>), JoinError> {
    fabric_with(root, (rank, ranks), MEMORY, timeout)
}

/// As [`fabric`], with so many bytes of memory.
pub(crate) fn fabric_with(
    root: &RootInfo,
    (rank, ranks): (u32, u32),
    bytes: usize,
    timeout: Duration,
) -> Result<(HostFabric, Arc<Segment>), JoinError> {
    let memory = Arc::new(Segment::create("test", bytes).unwrap());
    memory.advise_huge();
    KEPT.lock().push(memory.clone());
    // SAFETY: the segment stays until the program ends, and tests look at it between operations.
    let region = unsafe { Region::local(memory.id(), memory.base(), bytes) };
    let join = Join {
        ranks,
        rank,
        device: rank as i32,
        region,
        memory: memory.as_fd().try_clone_to_owned().unwrap(),
        memory_len: bytes as u64,
        settings: String::new(),
        timeout,
        hopeless: None,
    };
    Ok((HostFabric::join(root, join)?, memory))
}

pub(crate) fn join(
    root: &RootInfo,
    place: (u32, u32),
    options: Options,
    timeout: Duration,
) -> Result<Rank, JoinError> {
    let (fabric, memory) = fabric(root, place, timeout)?;
    Ok(Rank { communicator: Communicator::new(Box::new(fabric), options), memory })
}

/// Opens a meeting and runs `body` for each of `present` ranks on a thread of its own.
pub(crate) fn run_with<T: Send>(
    present: &[u32],
    total: u32,
    options: impl Fn() -> Options + Sync,
    timeout: Duration,
    body: impl Fn(u32, Result<Rank, JoinError>) -> T + Sync,
) -> Vec<T> {
    let server = Server::open(0).unwrap();
    let root = server.info().clone();
    server.serve(timeout).unwrap();
    std::thread::scope(|scope| {
        let (root, body, options) = (&root, &body, &options);
        let start = |&rank: &u32| {
            scope.spawn(move || body(rank, join(root, (rank, total), options(), timeout)))
        };
        let threads: Vec<_> = present.iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
