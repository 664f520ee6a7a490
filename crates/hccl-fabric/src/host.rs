//! The fabric of ranks that share a host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hccl_os::process::ProcessHandle;
use hccl_os::sync::{AtomicBool, AtomicU64, Ordering};
use hccl_os::wait::Watch;

use crate::board::{Board, Call, State};
use crate::channel::{Line, Message};
use crate::fabric::{Fabric, Fault, reason};
use crate::inline::{Data, Inline};
use crate::region::Region;
use crate::rendezvous::{Hopeless, JoinError, join};
use crate::root_info::RootInfo;
use crate::wire::Member;

/// What a rank brings along.
pub struct Join {
    /// How many ranks take part.
    pub ranks: u32,
    /// Which one the caller is.
    pub rank: u32,
    /// Its device, for messages.
    pub device: i32,
    /// The memory that it shares with the others, at its address here.
    pub region: Arc<Region>,
    /// A descriptor of that memory, to pass on.
    pub memory: std::os::fd::OwnedFd,
    /// Bytes of that memory.
    pub memory_len: u64,
    /// What must be the same on all ranks, in words: ranks that differ are told so. Cut off after
    /// four KiB.
    pub settings: String,
    /// How long to wait for the others.
    pub timeout: Duration,
    /// When there is no sense in waiting any more.
    pub hopeless: Option<Hopeless>,
}

/// A rank of which this process knows.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) member: Member,
    pub(crate) region: Arc<Region>,
    /// `None` for ranks of this process.
    pub(crate) process: Option<Arc<ProcessHandle>>,
}

/// Stands for a record that was not published with inline data, and for a digest that is looked at
/// as if it were new.
const NOT_SHOWN: u64 = 0;

/// Ranks that share a host, as threads or processes.
#[derive(Debug)]
pub struct HostFabric {
    rank: u32,
    board: Board,
    peers: Vec<Peer>,
    cores_to_spare: bool,
    /// Whether each rank can copy from the private memory of each.
    all_copy: bool,
    over: AtomicBool,
    /// Of the process that joined.
    generation: u32,
    /// Digests of the calls in the two records, where they were published with inline data.
    shown: [AtomicU64; 2],
    made: Instant,
}

impl HostFabric {
    /// Joins the communicator of a root info; returns when all ranks have.
    ///
    /// # Errors
    /// When they do not come in time, do not fit together, or one goes away.
    pub fn join(root: &RootInfo, join_with: Join) -> Result<Self, JoinError> {
        let rank = join_with.rank;
        let (board, peers) = join(root, join_with)?;
        let all_copy =
            (0..board.ranks()).all(|rank| board.can_copy(rank).load(Ordering::Acquire) == 1);
        let cores_to_spare = peers.len() <= hccl_os::cpu::allowance();
        Ok(Self {
            rank,
            board,
            peers,
            cores_to_spare,
            all_copy,
            over: AtomicBool::new(false),
            generation: hccl_os::fork::generation(),
            shown: [const { AtomicU64::new(NOT_SHOWN) }; 2],
            made: Instant::now(),
        })
    }
}

impl HostFabric {
    /// Whether this is a copy in a child of the rank's process: the rank goes on in the parent.
    fn is_forked(&self) -> bool {
        self.generation != hccl_os::fork::generation()
    }

    /// Device of each rank, as it said when it joined.
    pub fn devices(&self) -> Vec<i32> {
        self.peers.iter().map(|peer| peer.member.device).collect()
    }
}

impl Fabric for HostFabric {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.board.ranks()
    }

    fn now(&self) -> Duration {
        self.made.elapsed()
    }

    fn publish(&self, sequence: u64, call: &Call) {
        self.board.write_call(self.rank, sequence, call);
        self.shown[(sequence % 2) as usize].store(NOT_SHOWN, Ordering::Relaxed);
        self.board.signal(self.rank, sequence, 1);
    }

    unsafe fn publish_inline(&self, sequence: u64, call: &Call, digest: u64, data: Data) {
        // What is there of the call before the last is mostly the same call.
        let last = &self.shown[(sequence % 2) as usize];
        if digest != NOT_SHOWN && last.load(Ordering::Relaxed) == digest {
            self.board.renumber_call(self.rank, sequence);
        } else {
            self.board.write_call(self.rank, sequence, call);
            last.store(digest, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is the same.
        unsafe { self.board.write_inline(self.rank, sequence, digest, data) };
        self.board.signal(self.rank, sequence, 1);
    }

    fn inline_of(&self, peer: u32, sequence: u64) -> Option<Inline> {
        self.board.read_inline(peer, sequence)
    }

    fn call_of(&self, peer: u32, sequence: u64) -> Option<Call> {
        self.board.read_call(peer, sequence)
    }

    fn signal(&self, sequence: u64, level: u32) {
        self.board.signal(self.rank, sequence, level);
    }

    fn reached(&self, peer: u32, sequence: u64, level: u32) -> bool {
        self.board.reached(peer, sequence, level)
    }

    fn position(&self, peer: u32) -> (u64, u32) {
        self.board.position(peer)
    }

    fn post(&self, to: u32, number: u64, message: &Message) {
        self.board.post(self.rank, to, number, message);
    }

    fn posted(&self, from: u32, number: u64) -> Option<Message> {
        self.board.posted(from, self.rank, number)
    }

    fn take(&self, from: u32, number: u64) {
        self.board.take(from, self.rank, number);
    }

    fn taken(&self, to: u32, number: u64) -> bool {
        self.board.taken(self.rank, to, number)
    }

    fn announce(&self, line: Line) {
        self.board.announce(line);
    }

    fn retract(&self, line: Line) {
        self.board.retract(line);
    }

    fn watch(&self, line: Line) -> Option<Watch> {
        Some(self.board.watch(line))
    }

    fn cores_to_spare(&self) -> bool {
        self.cores_to_spare
    }

    fn memory(&self, peer: u32, offset: u64, len: u64) -> Option<*mut u8> {
        self.peers.get(peer as usize)?.region.at(offset, len)
    }

    fn all_copy(&self) -> bool {
        self.all_copy
    }

    unsafe fn copy_from(
        &self,
        peer: u32,
        from: u64,
        to: *mut u8,
        len: usize,
    ) -> Result<(), String> {
        let peer = self.peers.get(peer as usize).ok_or("there is no such rank")?;
        // SAFETY: the caller's promise is the same.
        unsafe { hccl_os::remote::copy_from_process(peer.member.pid, from, to, len) }
            .map_err(|error| error.to_string())?;
        // Its number may be another process's by now.
        match &peer.process {
            Some(process) if !process.is_alive() => Err("its process has ended".into()),
            _ => Ok(()),
        }
    }

    fn any_gone(&self) -> bool {
        self.board.gone() != 0
    }

    fn fault(&self, rank: u32) -> Option<Fault> {
        let pid = self.process(rank);
        match self.board.state(rank) {
            (State::Here, _) => None,
            (State::Left, _) => Some(Fault::Left { rank, pid }),
            (State::Failed, reason::DEAD) => Some(Fault::Dead { rank, pid }),
            (State::Failed, reason) => Some(Fault::Failed { rank, pid, reason }),
        }
    }

    fn probe(&self) {
        if self.is_forked() {
            return;
        }
        for (rank, peer) in (0u32..).zip(&self.peers) {
            let dead = peer.process.as_ref().is_some_and(|process| !process.is_alive());
            if dead && self.board.state(rank).0 == State::Here {
                self.board.set_state(rank, State::Failed, reason::DEAD);
            }
        }
    }

    fn has_ended(&self, rank: u32) -> bool {
        let process = self.peers.get(rank as usize).and_then(|peer| peer.process.as_ref());
        process.is_some_and(|process| !process.is_alive())
    }

    fn fail(&self, reason: u32) {
        if self.is_forked() {
            return;
        }
        self.over.store(true, Ordering::Release);
        self.board.set_state(self.rank, State::Failed, reason);
    }

    fn leave(&self) {
        if !self.is_forked() && !self.over.swap(true, Ordering::AcqRel) {
            self.board.set_state(self.rank, State::Left, 0);
        }
    }

    fn process(&self, rank: u32) -> u32 {
        self.peers.get(rank as usize).map_or(0, |peer| peer.member.pid)
    }
}

impl Drop for HostFabric {
    fn drop(&mut self) {
        self.leave();
    }
}
