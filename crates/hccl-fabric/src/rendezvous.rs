//! Ranks meet at the root's socket: each says who it is and hands over its memory, the root waits
//! until all are there, and passes everybody's memory to everybody.
//!
//! The root trusts nobody: a visitor that is silent, or not of this job, or of another user, costs
//! others nothing and is let go. When something goes wrong, every rank is told what and who.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hccl_os::OsError;
use hccl_os::barrier::Pair;
use hccl_os::host::{HostId, host_id, random16};
use hccl_os::process::ProcessHandle;
use hccl_os::shm::Mapping;
use hccl_os::socket::{Connection, Listener, Message, wait_for_any};
use hccl_os::sync::Ordering;
use parking_lot::Mutex;

use crate::board::Board;
use crate::host::{Join, Peer};
use crate::region::Region;
use crate::root_info::RootInfo;
use crate::wire::{Member, RANKS_MAX, Refusal, SETTINGS_MAX, Wire};

/// Ranks whose descriptors travel in one message: two each.
const HANDLES_A_MESSAGE: usize = hccl_os::socket::FDS_MAX / 2;
/// A visitor that does not say who it is for this long is let go.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Extra time of the ranks over the root, so that the root's word on who is missing arrives.
const GRACE: Duration = Duration::from_secs(2);

/// How long ranks that are through with an agreed place may take to leave it.
const LET_GO: Duration = Duration::from_secs(2);
/// Between two tries to open such a place, or to get in.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// The longest that anybody waits: a year, which a point in time can be away.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// How often whoever waits looks whether waiting has sense.
const LOOK: Duration = Duration::from_millis(200);

/// Says who of those that have to come cannot come any more, if somebody.
pub type Hopeless = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A rendezvous did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// What the ranks said does not fit together.
    #[error("{0}")]
    Invalid(String),
    /// Ranks were told different things.
    #[error("{0}")]
    Differs(String),
    /// Ranks did not come in time.
    #[error("{0}")]
    Missing(String),
    /// A rank went away meanwhile.
    #[error("{0}")]
    Left(String),
    /// The root cannot be reached from here.
    #[error("{0}")]
    Unreachable(String),
    /// Somebody else has opened the meeting place.
    #[error("{0}")]
    Taken(String),
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: OsError,
    },
}

fn system(what: &'static str) -> impl FnOnce(OsError) -> JoinError {
    move |error| JoinError::System { what, error }
}

/// The root's side, before it runs.
#[derive(Debug)]
pub struct Server {
    info: RootInfo,
    listener: Listener,
}

impl Server {
    /// Opens a meeting place.
    ///
    /// # Errors
    /// When the system gives no socket.
    pub fn open(device: i32) -> Result<Self, JoinError> {
        let nonce = random16().map_err(system("drawing a nonce"))?;
        let host = host_id().map_err(system("finding out which host this is"))?;
        let micros = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as u64);
        let process = hccl_os::process::own_id();
        Self::open_at(RootInfo { nonce, host, process, device, micros })
    }

    /// Opens a meeting place that ranks agreed on ([`RootInfo::agreed`]).
    ///
    /// # Errors
    /// When it is open already, or the system gives no socket.
    pub fn open_at(info: RootInfo) -> Result<Self, JoinError> {
        let patience = Instant::now() + LET_GO;
        let listener = loop {
            match Listener::bind(&info.socket_name()) {
                Ok(listener) => break listener,
                // The ranks of the time before may be about to be let go.
                Err(error) if error.is_address_in_use() && Instant::now() < patience => {
                    std::thread::sleep(BETWEEN_TRIES);
                }
                Err(error) if error.is_address_in_use() => {
                    return Err(JoinError::Taken(
                        "the meeting place of these ranks is open already: another process plays \
                         the same rank, or an earlier attempt has not ended"
                            .into(),
                    ));
                }
                Err(error) => return Err(system("opening the root's socket")(error)),
            }
        };
        Ok(Self { info, listener })
    }

    /// What the ranks need to come.
    pub fn info(&self) -> &RootInfo {
        &self.info
    }

    /// Receives the ranks on a thread of its own, for at most `timeout`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn serve(self, timeout: Duration) -> Result<(), JoinError> {
        self.serve_unless(timeout, None)
    }

    /// As [`Self::serve`], and gives up once it is `hopeless` to wait.
    ///
    /// # Errors
    /// As [`Self::serve`].
    pub fn serve_unless(
        self,
        timeout: Duration,
        hopeless: Option<Hopeless>,
    ) -> Result<(), JoinError> {
        let spawn = std::thread::Builder::new().name("hccl-root".into());
        spawn
            .spawn(move || Meeting::new(self, timeout, hopeless).run())
            .map(drop)
            .map_err(|error| JoinError::Unreachable(format!("no thread for the root: {error}")))
    }
}

struct Visitor {
    connection: Connection,
    since: Instant,
}

struct Guest {
    connection: Connection,
    member: Member,
    memory: OwnedFd,
    process: OwnedFd,
    ready: bool,
}

struct Meeting {
    server: Server,
    deadline: Instant,
    timeout: Duration,
    hopeless: Option<Hopeless>,
    looked: Instant,
    visitors: Vec<Visitor>,
    guests: Vec<Option<Guest>>,
    /// The first rank that came, and what it was told.
    first: Option<(u32, String)>,
}

/// Why a meeting ends without success.
struct End {
    kind: Refusal,
    text: String,
}

impl Meeting {
    fn new(server: Server, timeout: Duration, hopeless: Option<Hopeless>) -> Self {
        let looked = Instant::now();
        let deadline = looked + timeout.min(TIMEOUT_MAX);
        let (visitors, guests) = (Vec::new(), Vec::new());
        Self { server, deadline, timeout, hopeless, looked, visitors, guests, first: None }
    }

    fn run(mut self) {
        let result = self.gather();
        // It may hold what the ranks end meanwhile.
        self.hopeless = None;
        let result = result.and_then(|()| self.settle());
        if let Err(end) = result {
            let bytes = Wire::Refuse { kind: end.kind, text: end.text }.to_bytes();
            for guest in self.guests.iter().flatten() {
                let _ = guest.connection.send(&bytes, &[], Instant::now());
            }
            self.guests.clear();
            if self.server.info.is_agreed() {
                // The ranks may try again at once, and come to this place.
                for visitor in &self.visitors {
                    let _ = visitor.connection.send(&bytes, &[], Instant::now());
                }
            } else {
                self.turn_away(&bytes);
            }
        }
    }

    /// Tells whoever still comes why there is no meeting any more, as long as ranks may come.
    fn turn_away(&mut self, bytes: &[u8]) {
        for visitor in &self.visitors {
            let _ = visitor.connection.send(bytes, &[], Instant::now());
        }
        while Instant::now() < self.deadline {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if wait_for_any(&self.server.listener, &[], left).is_err() {
                return;
            }
            loop {
                let connection = match self.server.listener.accept() {
                    Ok(Some(connection)) => connection,
                    Ok(None) => break,
                    // No descriptor left: whoever waits there has to run into its time-out.
                    Err(_) => {
                        std::thread::sleep(Duration::from_millis(100));
                        break;
                    }
                };
                // A stranger learns nothing that matters, and a rank that has not said so yet need
                // not be waited for: it reads the answer after it has greeted.
                let _ = connection.send(bytes, &[], Instant::now());
                self.visitors.push(Visitor { connection, since: Instant::now() });
            }
            self.visitors.retain(|visitor| visitor.since.elapsed() < SILENCE_MAX);
        }
    }

    /// Receives visitors until every rank has come.
    fn gather(&mut self) -> Result<(), End> {
        loop {
            if !self.guests.is_empty() && self.guests.iter().all(Option::is_some) {
                return Ok(());
            }
            let now = Instant::now();
            if now >= self.deadline {
                return Err(self.missing());
            }
            self.look(now)?;
            // Silent visitors are looked after even when nobody else moves.
            let limit = (self.deadline - now).min(Duration::from_millis(500));
            let connections: Vec<_> = self
                .visitors
                .iter()
                .map(|visitor| &visitor.connection)
                .chain(self.guests.iter().flatten().map(|guest| &guest.connection))
                .collect();
            // A failure to wait is waited out: the deadline ends it.
            if wait_for_any(&self.server.listener, &connections, limit).is_err() {
                std::thread::sleep(Duration::from_millis(20));
            }
            while let Some(connection) = self.server.listener.accept().map_err(exhausted)? {
                self.visitors.push(Visitor { connection, since: now });
            }
            self.hear_visitors()?;
            self.hear_guests()?;
        }
    }

    /// Ends the meeting when a rank that has to come cannot any more.
    fn look(&mut self, now: Instant) -> Result<(), End> {
        let Some(hopeless) = &self.hopeless else { return Ok(()) };
        if now.duration_since(self.looked) < LOOK {
            return Ok(());
        }
        self.looked = now;
        hopeless().map_or(Ok(()), |text| Err(End { kind: Refusal::Left, text }))
    }

    fn hear_visitors(&mut self) -> Result<(), End> {
        let mut at = 0;
        while at < self.visitors.len() {
            let visitor = &self.visitors[at];
            match visitor.connection.try_recv() {
                Ok(None) if visitor.since.elapsed() < SILENCE_MAX => at += 1,
                Ok(Some(message)) => {
                    let visitor = self.visitors.swap_remove(at);
                    self.admit(visitor.connection, message)?;
                }
                // Descriptors came that there was no room for: the ranks cannot all be served.
                Err(error @ OsError::Unexpected { .. }) => return Err(exhausted(error)),
                // Silent for too long, or gone: not of this job.
                Ok(None) | Err(_) => {
                    self.visitors.swap_remove(at);
                }
            }
        }
        Ok(())
    }

    /// Looks whether a visitor is one of the ranks.
    fn admit(&mut self, connection: Connection, message: Message) -> Result<(), End> {
        let Some(Wire::Hello { nonce, ranks, rank, member, settings }) =
            Wire::from_bytes(&message.bytes)
        else {
            return Ok(());
        };
        // Another user's process cannot be one of ours, whatever it knows; the superuser may.
        let own = hccl_os::process::own_user();
        let stranger =
            connection.peer().map_or(true, |peer| peer.uid != own && peer.uid != 0 && own != 0);
        let Ok([memory, process]) = <[OwnedFd; 2]>::try_from(message.fds) else {
            return Ok(());
        };
        if nonce != self.server.info.nonce || stranger {
            return Ok(());
        }
        let refuse_as = |kind, text: String| {
            let bytes = Wire::Refuse { kind, text: text.clone() }.to_bytes();
            let _ = connection.send(&bytes, &[], Instant::now());
            Err(End { kind, text })
        };
        let refuse = |text: String| refuse_as(Refusal::Invalid, text);
        let pid = member.pid;
        if ranks == 0 || ranks > RANKS_MAX || rank >= ranks {
            return refuse(format!(
                "process {pid} joined as rank {rank} of {ranks}; allowed are ranks below the rank \
                 count, and counts from 1 to {RANKS_MAX}"
            ));
        }
        if self.guests.is_empty() {
            self.guests = (0..ranks).map(|_| None).collect();
        }
        let expected = self.guests.len();
        if ranks as usize != expected {
            return refuse(format!(
                "process {pid} joined as rank {rank} of {ranks}, but other ranks joined with a rank \
                 count of {expected}: all ranks must give the same count"
            ));
        }
        if let Some(other) = &self.guests[rank as usize] {
            return refuse(format!(
                "rank {rank} joined twice: as process {} with device {}, and as process {pid} with \
                 device {}. Each rank from 0 to {} must join once",
                other.member.pid,
                other.member.device,
                member.device,
                ranks - 1
            ));
        }
        match &self.first {
            Some((first, told)) if *told != settings => {
                return refuse_as(
                    Refusal::Differs,
                    format!(
                        "rank {first} has {told}, but rank {rank} (process {pid}) has {settings}: \
                         these must be the same on all ranks"
                    ),
                );
            }
            Some(_) => {}
            None => self.first = Some((rank, settings)),
        }
        self.guests[rank as usize] =
            Some(Guest { connection, member, memory, process, ready: false });
        Ok(())
    }

    /// Guests only wait while others come; one that speaks or goes ends the meeting.
    fn hear_guests(&mut self) -> Result<(), End> {
        for (rank, guest) in self.guests.iter().enumerate() {
            let Some(guest) = guest else { continue };
            match guest.connection.try_recv() {
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return Err(left(rank, guest)),
            }
        }
        Ok(())
    }

    fn missing(&self) -> End {
        let text = if self.guests.is_empty() {
            format!("no rank joined within {:?}", self.timeout)
        } else {
            let list = |present: bool| {
                let ranks = self.guests.iter().enumerate();
                let ranks = ranks.filter(|(_, guest)| guest.is_some() == present);
                ranks.map(|(rank, _)| rank.to_string()).collect::<Vec<_>>().join(",")
            };
            let total = self.guests.len();
            let here = self.guests.iter().flatten().count();
            format!(
                "{here} of {total} ranks joined within {:?}. Failed to connect agent[{}]; joined \
                 are ranks [{}]",
                self.timeout,
                list(false),
                list(true)
            )
        };
        End { kind: Refusal::Missing, text }
    }

    /// Hands everybody everything, and lets all go once all are ready.
    fn settle(&mut self) -> Result<(), End> {
        let internal = |what: &str| {
            let what = what.to_owned();
            move |error: OsError| End { kind: Refusal::Internal, text: format!("{what}: {error}") }
        };
        let ranks = self.guests.len() as u32;
        let board = Board::create(ranks, &self.server.info.nonce)
            .map_err(internal("the root could not make the control block"))?;
        let guests: Vec<&Guest> = self.guests.iter().flatten().collect();
        let members = guests.iter().map(|guest| guest.member).collect();
        let welcome = Wire::Welcome { board: board.len() as u64, members }.to_bytes();
        let fds: Vec<BorrowedFd<'_>> =
            guests.iter().flat_map(|guest| [guest.memory.as_fd(), guest.process.as_fd()]).collect();
        for (rank, guest) in guests.iter().enumerate() {
            let to = &guest.connection;
            let gone = |_| left(rank, guest);
            to.send(&welcome, &[board.as_fd()], self.deadline).map_err(gone)?;
            for (i, fds) in fds.chunks(2 * HANDLES_A_MESSAGE).enumerate() {
                let first = (i * HANDLES_A_MESSAGE) as u32;
                let message = Wire::Handles { first, count: (fds.len() / 2) as u32 };
                to.send(&message.to_bytes(), fds, self.deadline).map_err(gone)?;
            }
        }
        self.await_ready()?;
        // Whoever is told may end its process at once, so ranks of the root's own are told last: this
        // thread would go with them.
        let own = hccl_os::process::own_id();
        for are_here in [false, true] {
            for (rank, guest) in self.guests.iter().enumerate() {
                let Some(guest) = guest else { continue };
                if (guest.member.pid == own) == are_here {
                    let sent = guest.connection.send(&Wire::Go.to_bytes(), &[], self.deadline);
                    sent.map_err(|_| left(rank, guest))?;
                }
            }
        }
        Ok(())
    }

    fn await_ready(&mut self) -> Result<(), End> {
        loop {
            let mut waiting = Vec::new();
            for (rank, guest) in self.guests.iter_mut().enumerate() {
                let Some(guest) = guest else { continue };
                if guest.ready {
                    continue;
                }
                match guest.connection.try_recv() {
                    Ok(None) => waiting.push(rank),
                    Ok(Some(message)) if Wire::from_bytes(&message.bytes) == Some(Wire::Ready) => {
                        guest.ready = true;
                    }
                    Ok(Some(_)) | Err(_) => return Err(left(rank, guest)),
                }
            }
            if waiting.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            if now >= self.deadline {
                let text = format!("ranks {waiting:?} joined and then did not get ready in time");
                return Err(End { kind: Refusal::Missing, text });
            }
            let connections: Vec<_> = waiting
                .iter()
                .filter_map(|&rank| self.guests[rank].as_ref())
                .map(|guest| &guest.connection)
                .collect();
            let limit = (self.deadline - now).min(Duration::from_millis(500));
            if wait_for_any(&self.server.listener, &connections, limit).is_err() {
                std::thread::sleep(Duration::from_millis(20));
            }
            // Late visitors are not of this meeting.
            while let Ok(Some(_)) = self.server.listener.accept() {}
        }
    }
}

fn exhausted(error: OsError) -> End {
    let text = format!(
        "the root cannot receive the ranks, probably since it has no descriptor left \
         (RLIMIT_NOFILE, `ulimit -n`): {error}"
    );
    End { kind: Refusal::Internal, text }
}

fn left(rank: usize, guest: &Guest) -> End {
    let Member { pid, device, .. } = guest.member;
    let text = format!("rank {rank} (process {pid}, device {device}) left while the ranks joined");
    End { kind: Refusal::Left, text }
}

/// Random mark of this process, drawn once.
fn process_tag() -> Result<[u8; 16], JoinError> {
    use std::sync::OnceLock;
    static TAG: OnceLock<(u32, [u8; 16])> = OnceLock::new();
    if let Some((generation, tag)) = TAG.get() {
        if *generation == hccl_os::fork::generation() {
            return Ok(*tag);
        }
        // A forked child is another process: it draws each time, which is rare and right.
        return random16().map_err(system("drawing the mark of this process"));
    }
    let tag = random16().map_err(system("drawing the mark of this process"))?;
    Ok(TAG.get_or_init(|| (hccl_os::fork::generation(), tag)).1)
}

/// The handle of another process, kept once however many communicators watch it.
fn process_handle(tag: [u8; 16], fd: OwnedFd) -> Arc<ProcessHandle> {
    static HANDLES: Mutex<Option<HashMap<[u8; 16], Weak<ProcessHandle>>>> = Mutex::new(None);
    let mut handles = HANDLES.lock();
    let handles = handles.get_or_insert_default();
    handles.retain(|_, handle| handle.strong_count() > 0);
    if let Some(known) = handles.get(&tag).and_then(Weak::upgrade) {
        return known;
    }
    let handle = Arc::new(ProcessHandle::adopt(fd));
    handles.insert(tag, Arc::downgrade(&handle));
    handle
}

/// The other side: joins the meeting of `root`.
pub(crate) fn join(root: &RootInfo, with: Join) -> Result<(Board, Vec<Peer>), JoinError> {
    let Join { ranks, rank, device, region, memory, memory_len, .. } = with;
    let Join { mut settings, timeout, hopeless, .. } = with;
    settings.truncate(settings.floor_char_boundary(SETTINGS_MAX as usize));
    if ranks == 0 || ranks > RANKS_MAX || rank >= ranks {
        return Err(JoinError::Invalid(format!(
            "rank {rank} of {ranks} was asked for; allowed are ranks below the rank count, and \
             counts from 1 to {RANKS_MAX}"
        )));
    }
    let here = host_id().map_err(system("finding out which host this is"))?;
    check_reachable(root, here)?;
    let timeout = timeout.min(TIMEOUT_MAX);
    let started = Instant::now();
    let deadline = started + timeout + GRACE;
    let tag = process_tag()?;
    let member = Member {
        pid: hccl_os::process::own_id(),
        device,
        process_tag: tag,
        memory: memory_len,
        registered: hccl_os::barrier::register(),
        // It stays there until all are ready.
        tag_at: tag.as_ptr().addr() as u64,
    };
    let own_process = ProcessHandle::own().map_err(system("opening the handle of this process"))?;
    let hello = Wire::Hello { nonce: root.nonce, ranks, rank, member, settings }.to_bytes();
    let fds = [memory.as_fd(), own_process.as_fd()];
    let (connection, first) = loop {
        let connection = reach(root, rank, hopeless.as_ref(), (started, timeout))?;
        let came = Instant::now();
        let first = greet(&connection, &hello, &fds, root, (deadline, timeout))?;
        // Who comes to an agreed place while the ranks of the time before are let go comes again.
        let again = first.is_none() && root.is_agreed() && came.elapsed() < LET_GO;
        if !again || Instant::now() >= started + timeout {
            break (connection, first);
        }
        std::thread::sleep(BETWEEN_TRIES);
    };
    let first = first.ok_or_else(|| closed(root))?;
    let receive = || receive(&connection, root, deadline, timeout);
    let (Wire::Welcome { board, members }, mut fds) = understand(first)? else {
        return Err(out_of_order());
    };
    if members.len() != ranks as usize || fds.len() != 1 || board != Board::bytes(ranks) as u64 {
        return Err(out_of_order());
    }
    let memory = Mapping::adopt(&fds.remove(0), board as usize)
        .map_err(system("mapping the control block"))?;
    let all_registered = members.iter().all(|member| member.registered);
    let pair = if all_registered { Pair::Kernel } else { Pair::Fences };
    let board = Board::adopt(memory, ranks, pair).map_err(system("reading the control block"))?;
    let mut peers: Vec<Peer> = Vec::with_capacity(members.len());
    while peers.len() < members.len() {
        let (Wire::Handles { first, count }, fds) = receive()? else {
            return Err(out_of_order());
        };
        let fits = first as usize == peers.len()
            && fds.len() == 2 * count as usize
            && peers.len() + count as usize <= members.len();
        if !fits || count == 0 {
            return Err(out_of_order());
        }
        let mut fds = fds.into_iter();
        while let (Some(memory), Some(process)) = (fds.next(), fds.next()) {
            let member = members[peers.len()];
            let peer = if peers.len() == rank as usize {
                Peer { member, region: region.clone(), process: None }
            } else {
                let region = Region::adopt(memory, member.memory as usize)
                    .map_err(system("mapping a rank's memory (`ulimit -v` limits what can be)"))?;
                let foreign = member.process_tag != tag;
                let process = foreign.then(|| process_handle(member.process_tag, process));
                Peer { member, region, process }
            };
            peers.push(peer);
        }
    }
    if members.iter().all(can_copy_from) {
        board.can_copy(rank).store(1, Ordering::Release);
    }
    connection
        .send(&Wire::Ready.to_bytes(), &[], deadline)
        .map_err(system("telling the root that this rank is ready"))?;
    match receive()? {
        (Wire::Go, _) => Ok((board, peers)),
        _ => Err(out_of_order()),
    }
}

/// Connects to the root.
fn reach(
    root: &RootInfo,
    rank: u32,
    hopeless: Option<&Hopeless>,
    (started, timeout): (Instant, Duration),
) -> Result<Connection, JoinError> {
    let connection = loop {
        let until = (started + timeout).min(Instant::now() + LOOK);
        match Connection::connect(&root.socket_name(), until) {
            Ok(connection) => break connection,
            Err(OsError::TimedOut) => {}
            Err(error) => return Err(system("connecting to the root")(error)),
        }
        if let Some(text) = hopeless.and_then(|look| look()) {
            return Err(JoinError::Left(text));
        }
        if Instant::now() >= started + timeout {
            return Err(JoinError::Missing(format!(
                "rank {rank} found nobody at the root's socket within {timeout:?}: {} has not come, \
                 has ended, has given up, or has let its ranks go already",
                root.whom()
            )));
        }
    };
    // The name of an agreed place can be guessed, so whoever listens there must be one of ours.
    let own = hccl_os::process::own_user();
    let host = connection.peer().map_err(system("asking who the root is"))?;
    if host.uid != own && host.uid != 0 && own != 0 {
        return Err(JoinError::Taken(format!(
            "the meeting place of these ranks was opened by user {}, and this process belongs to \
             user {own}",
            host.uid
        )));
    }
    Ok(connection)
}

/// Says who this rank is, and hears the first word of the root; `None` if it closed without one.
fn greet(
    connection: &Connection,
    hello: &[u8],
    fds: &[BorrowedFd<'_>],
    root: &RootInfo,
    (deadline, timeout): (Instant, Duration),
) -> Result<Option<Message>, JoinError> {
    match connection.send(hello, fds, deadline) {
        // A root that has closed may have said why.
        Ok(()) | Err(OsError::Closed) => {}
        Err(error) => return Err(system("greeting the root")(error)),
    }
    match connection.recv(deadline) {
        Ok(message) => Ok(Some(message)),
        Err(OsError::Closed) => Ok(None),
        Err(OsError::TimedOut) => Err(silent(root, timeout)),
        Err(error) => Err(system("hearing the root")(error)),
    }
}

/// Whether this process can copy from a rank's memory, also where that is private.
fn can_copy_from(member: &Member) -> bool {
    let mut tag = [0u8; 16];
    // SAFETY: the array has as many bytes.
    let copied = unsafe {
        let to = tag.as_mut_ptr();
        hccl_os::remote::copy_from_process(member.pid, member.tag_at, to, tag.len())
    };
    copied.is_ok() && tag == member.process_tag
}

fn check_reachable(root: &RootInfo, here: HostId) -> Result<(), JoinError> {
    if root.host.boot != here.boot {
        return Err(JoinError::Unreachable(
            "the root info comes from another host (or from before this one's last start); all \
             ranks must be on one host in this version"
                .into(),
        ));
    }
    if root.host.network != here.network {
        return Err(JoinError::Unreachable(
            "the root is on this host but in another network namespace (another container); all \
             ranks must share one in this version"
                .into(),
        ));
    }
    Ok(())
}

fn out_of_order() -> JoinError {
    JoinError::Invalid("the root's answer is not what this version of the library expects".into())
}

fn receive(
    connection: &Connection,
    root: &RootInfo,
    deadline: Instant,
    timeout: Duration,
) -> Result<(Wire, Vec<OwnedFd>), JoinError> {
    let message = connection.recv(deadline).map_err(|error| match error {
        OsError::Closed => closed(root),
        OsError::TimedOut => silent(root, timeout),
        error => JoinError::System { what: "hearing the root", error },
    })?;
    understand(message)
}

fn closed(root: &RootInfo) -> JoinError {
    JoinError::Left(format!(
        "{} closed the connection: it has ended, or is through with this communicator",
        root.whom()
    ))
}

fn silent(root: &RootInfo, timeout: Duration) -> JoinError {
    JoinError::Missing(format!("{} did not answer within {timeout:?}", root.whom()))
}

/// A word of the root, unless it refuses.
fn understand(message: Message) -> Result<(Wire, Vec<OwnedFd>), JoinError> {
    match Wire::from_bytes(&message.bytes) {
        Some(Wire::Refuse { kind, text }) => Err(match kind {
            Refusal::Invalid => JoinError::Invalid(text),
            Refusal::Differs => JoinError::Differs(text),
            Refusal::Missing => JoinError::Missing(text),
            Refusal::Left => JoinError::Left(text),
            Refusal::Internal => JoinError::Unreachable(text),
        }),
        Some(wire) => Ok((wire, message.fds)),
        None => Err(out_of_order()),
    }
}
