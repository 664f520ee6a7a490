//! How ranks come together.

use std::sync::Arc;
use std::time::Duration;

use hccl_fabric::{HostFabric, Join, JoinError, RootInfo, Server};

use crate::communicator::{Communicator, Options};
use crate::error::Error;
use crate::heap::Heap;

/// How long ranks wait for each other where nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A meeting place that has opened. One for each communicator: any process opens it, and gives
/// the [`info`](Self::info) to all ranks by a means of its own (a file, an environment variable,
/// a pipe).
#[derive(Debug)]
pub struct Root {
    info: RootInfo,
}

impl Root {
    /// Opens a meeting place, which stays open until all ranks have come, or for two minutes.
    ///
    /// # Errors
    /// When the system has no socket or thread for it.
    pub fn open() -> Result<Self, Error> {
        Self::open_for(TIMEOUT)
    }

    /// As [`Self::open`], for as long as said.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for(timeout: Duration) -> Result<Self, Error> {
        let server = Server::open(0)?;
        let info = server.info().clone();
        server.serve(timeout)?;
        Ok(Self { info })
    }

    /// What ranks need to find it; [`RootInfo::to_bytes`] makes bytes of it.
    pub fn info(&self) -> &RootInfo {
        &self.info
    }
}

/// How a rank joins.
#[derive(Clone, Default)]
pub struct JoinOptions {
    /// How long to wait for the other ranks; `None` for two minutes.
    pub timeout: Option<Duration>,
    /// What the communicator is told. Its room is in the memory that this process shares, whatever
    /// workspace is given; without a name it is called after the meeting place.
    pub communicator: Options,
}

impl Communicator {
    /// Joins the meeting as one of `ranks` ranks; returns when all have come. Ranks are processes
    /// of one host, threads of one process, or both.
    ///
    /// # Errors
    /// When ranks are missing, come twice, or do not agree on their number; when the meeting place
    /// is on another host.
    ///
    /// ```
    /// use hccl::{Communicator, JoinOptions, Root};
    ///
    /// let root = Root::open()?;
    /// let alone = Communicator::join(root.info(), 0, 1, JoinOptions::default())?;
    /// assert_eq!((alone.rank(), alone.ranks()), (0, 1));
    /// # Ok::<(), hccl::Error>(())
    /// ```
    pub fn join(
        root: &RootInfo,
        rank: u32,
        ranks: u32,
        options: JoinOptions,
    ) -> Result<Self, Error> {
        if ranks == 0 || rank >= ranks {
            return Err(Error::Invalid {
                what: "rank",
                given: format!("{rank} of {ranks}"),
                allowed: "a rank below the number of ranks".into(),
            });
        }
        let failed = |why: String| Error::Join(JoinError::Unreachable(why));
        let heap = Heap::of_process().map_err(failed)?;
        let memory = heap.descriptor();
        let join = Join {
            ranks,
            rank,
            device: rank.cast_signed(),
            region: heap.region(),
            memory: memory.map_err(|error| failed(format!("no descriptor is left: {error}")))?,
            memory_len: heap.len(),
            settings: options.communicator.settings(),
            timeout: options.timeout.unwrap_or(TIMEOUT),
            hopeless: None,
        };
        let fabric = HostFabric::join(root, join)?;
        let mut options = options.communicator;
        options.workspace = Some(heap);
        if options.name.is_empty() {
            options.name = root.identifier();
        }
        Ok(Self::with_heap(Box::new(fabric), options))
    }
}

/// Runs ranks as threads of this process, and gives what each returned, in rank order.
///
/// # Errors
/// When the ranks cannot come together; then the body runs on none of them, or on those that had.
///
/// # Panics
/// When the body panics on a rank.
pub fn run_threads<T: Send>(
    ranks: u32,
    body: impl Fn(Communicator) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let root = Root::open()?;
    let (info, body) = (Arc::new(root.info().clone()), &body);
    std::thread::scope(|scope| {
        let start = |rank: u32| {
            let info = info.clone();
            scope.spawn(move || {
                Communicator::join(&info, rank, ranks, JoinOptions::default()).map(body)
            })
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        let results = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    })
}
