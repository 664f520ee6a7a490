//! What this process lends to others: memory, notifies and events, each under a number that names
//! the process and the object.
//!
//! A process that lends something listens on an abstract socket that the number names. A borrower
//! connects, says what it wants, and gets a descriptor and a place in it. It keeps the connection
//! open as long as it uses what it got, so the lender knows who still does, and both know when the
//! other is gone. Nothing has a name in a file system, so nothing outlives the processes.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hccl_os::OsError;
use hccl_os::process::{own_id, own_user};
use hccl_os::socket::{Connection, Listener, wait_for_any};
use hccl_os::sync::{AtomicU32, Ordering};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult, code};

/// What is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A range of device memory.
    Memory,
    /// Physical memory without an address.
    Physical,
    /// A notify.
    Notify,
    /// An event.
    Event,
}

impl Kind {
    /// The word in keys and messages.
    fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Physical => "physical",
            Self::Notify => "notify",
            Self::Event => "event",
        }
    }
}

/// Who may borrow.
#[derive(Debug)]
enum Readers {
    /// Every process of the same user.
    Anyone,
    /// These processes.
    Listed(BTreeSet<i32>),
}

/// A place in a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Id on the host of the device it belongs to.
    pub host_device: u32,
    /// Bytes of the whole file.
    pub file_len: u64,
    /// Where the thing begins in the file.
    pub offset: u64,
    /// Bytes of the thing.
    pub len: u64,
}

/// What a lender offers.
pub struct Offer {
    /// The place.
    pub place: Place,
    /// The file.
    pub fd: OwnedFd,
    /// Whether the thing is still there.
    pub is_valid: Box<dyn Fn() -> bool + Send>,
    /// What must live while somebody borrows.
    pub keep: Option<Arc<dyn Any + Send + Sync>>,
}

struct Lent {
    kind: Kind,
    readers: Readers,
    offer: Offer,
    /// Open connections of those who borrow.
    borrowers: Vec<Connection>,
    /// The lender is done with it; it stays while somebody borrows.
    withdrawn: bool,
}

/// Something borrowed. Dropping it tells the lender.
#[derive(Debug)]
pub struct Borrowed {
    /// The number it has at the lender.
    pub id: u64,
    /// The place.
    pub place: Place,
    /// The file.
    pub fd: OwnedFd,
    lender: Connection,
}

impl Borrowed {
    /// Whether the lender still runs.
    pub fn lender_lives(&self) -> bool {
        // The lender sends nothing after its answer: only the end can come.
        !matches!(self.lender.try_recv(), Err(OsError::Closed))
    }
}

/// Numbers are a process's token above a serial number of this many bits.
const SERIAL_BITS: u32 = 24;
/// How long a lender is waited for that nobody answers for: it is gone, or overrun for a moment.
const CONNECT_LIMIT: Duration = Duration::from_millis(300);
/// How long a lender may take to answer, and a visitor to ask.
const TALK_LIMIT: Duration = Duration::from_secs(10);
/// Visitors that have not asked yet.
const VISITORS_MAX: usize = 256;

const REQUEST_BYTES: usize = 16;
const ANSWER_BYTES: usize = 40;
const MAGIC: u32 = 0x4e50_5531;

const GIVEN: u32 = 0;
const UNKNOWN: u32 = 1;
const FORBIDDEN: u32 = 2;

struct Desk {
    token: u64,
    serial: AtomicU32,
    lent: Mutex<HashMap<u64, Lent>>,
}

fn socket_name(token: u64) -> String {
    format!("softnpu-share-{token:010x}")
}

/// The desk of this process, opened on first use.
fn desk() -> NpuResult<&'static Desk> {
    // Refuses a forked child before it touches locks that its parent's threads may have held.
    crate::runtime::runtime()?;
    // What fails for lack of a descriptor or a thread may work later.
    static DESK: OnceCell<Desk> = OnceCell::new();
    DESK.get_or_try_init(|| {
        let mut last = OsError::TimedOut;
        for _ in 0..8 {
            // The random state of a hash map is what the standard library has of chance.
            let token = RandomState::new().hash_one(own_id()) >> SERIAL_BITS;
            match Listener::bind(socket_name(token).as_bytes()) {
                Ok(listener) => {
                    let spawned = std::thread::Builder::new()
                        .name("softnpu-share".into())
                        .spawn(move || serve(&listener));
                    if let Err(error) = spawned {
                        let text = format!("No thread for sharing with other processes: {error}.");
                        return Err(NpuError::new(code::RT_INTERNAL_ERROR, "EE9999", text));
                    }
                    return Ok(Desk { token, serial: AtomicU32::new(0), lent: Mutex::default() });
                }
                Err(error) => {
                    last = error;
                    if !last.is_address_in_use() {
                        break;
                    }
                }
            }
        }
        let what = "a socket for sharing with other processes";
        Err(NpuError::system(code::RT_INTERNAL_ERROR, what, &last))
    })
}

/// Offers something under a new number. Nobody may borrow it yet but by [`allow`], unless `open`.
///
/// # Errors
/// When the system gives no socket or thread, or the process has lent 2^24 things.
pub fn lend(kind: Kind, offer: Offer, open: bool) -> NpuResult<u64> {
    let desk = desk()?;
    let serial = desk.serial.fetch_add(1, Ordering::AcqRel);
    if serial >> SERIAL_BITS != 0 {
        desk.serial.fetch_sub(1, Ordering::AcqRel);
        let text = "This process has shared 16777216 objects, and that is all it can.";
        return Err(NpuError::new(code::RT_RESOURCE_ALLOC_FAIL, "EE1023", text));
    }
    let id = desk.token << SERIAL_BITS | u64::from(serial);
    let readers = if open { Readers::Anyone } else { Readers::Listed(BTreeSet::new()) };
    let lent = Lent { kind, readers, offer, borrowers: Vec::new(), withdrawn: false };
    desk.lent.lock().insert(id, lent);
    Ok(id)
}

/// Lets processes borrow.
///
/// # Errors
/// 107000 when this process lends nothing under that number.
pub fn allow(kind: Kind, id: u64, processes: &[i32]) -> NpuResult<()> {
    with_lent(kind, id, |lent| {
        if let Readers::Listed(list) = &mut lent.readers {
            list.extend(processes);
        }
    })
}

/// Lets every process of the user borrow.
///
/// # Errors
/// As [`allow`].
pub fn open(kind: Kind, id: u64) -> NpuResult<()> {
    with_lent(kind, id, |lent| lent.readers = Readers::Anyone)
}

/// Whether this process lends something under that number.
pub fn lends(kind: Kind, id: u64) -> bool {
    with_lent(kind, id, |_| ()).is_ok()
}

/// How many processes borrow it now.
///
/// # Errors
/// As [`allow`].
pub fn borrowers(kind: Kind, id: u64) -> NpuResult<usize> {
    with_lent(kind, id, |lent| {
        forget_closed(lent);
        lent.borrowers.len()
    })
}

/// Lends it to nobody any more. What it keeps alive goes with the last who borrows it.
pub fn withdraw(id: u64) {
    let Ok(desk) = desk() else { return };
    let mut lent = desk.lent.lock();
    let Some(entry) = lent.get_mut(&id) else { return };
    entry.withdrawn = true;
    forget_closed(entry);
    if entry.borrowers.is_empty() {
        let gone = lent.remove(&id);
        // Objects that it kept may want this lock when they go.
        drop(lent);
        drop(gone);
    }
}

fn with_lent<T>(kind: Kind, id: u64, what: impl FnOnce(&mut Lent) -> T) -> NpuResult<T> {
    let unknown = || {
        let given = format!("{id:#x}");
        NpuError::value("key", given, "one that this process exported and did not close")
    };
    if !is_own(id) {
        return Err(unknown());
    }
    let mut lent = desk()?.lent.lock();
    let entry = lent.get_mut(&id).filter(|lent| lent.kind == kind && !lent.withdrawn);
    entry.map(what).ok_or_else(unknown)
}

/// Whether a number names this process.
pub fn is_own(id: u64) -> bool {
    desk().is_ok_and(|desk| desk.token == id >> SERIAL_BITS)
}

/// The text that stands for a number: at most 64 characters.
pub fn key(kind: Kind, id: u64) -> String {
    format!("softnpu-{}-{id:016x}", kind.word())
}

/// The number that a text stands for.
///
/// # Errors
/// 107000 for a text that is no such key.
pub fn parse_key(kind: Kind, text: &str) -> NpuResult<u64> {
    let digits = text.strip_prefix("softnpu-").and_then(|rest| rest.strip_prefix(kind.word()));
    let digits = digits.and_then(|rest| rest.strip_prefix('-')).filter(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    let id = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    id.ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        let allowed = format!("a {} key that another process exported", kind.word());
        NpuError::value("key", shown, &allowed)
    })
}

/// Borrows what another process of this host lends.
///
/// # Errors
/// 107000 for a number of this process, of no living process, or of nothing that is lent; 207006
/// when this process is not in the list of those who may; 507022 when the lender does not answer.
pub fn borrow(kind: Kind, id: u64) -> NpuResult<Borrowed> {
    let shown = key(kind, id);
    if is_own(id) {
        let allowed = "a key of another process: the exporting process has the object already";
        return Err(NpuError::value("key", shown, allowed));
    }
    let broken = |error: &OsError| {
        let what = format!("the process that exported {shown} did not answer");
        NpuError::system(code::RT_IPC_ERROR, &what, error)
    };
    let name = socket_name(id >> SERIAL_BITS);
    let connected = Connection::connect(name.as_bytes(), Instant::now() + CONNECT_LIMIT);
    let connection = match connected {
        Ok(connection) => connection,
        Err(OsError::TimedOut) => {
            let allowed = "a key of a process of this host that still runs";
            return Err(NpuError::value("key", shown, allowed));
        }
        Err(error) => return Err(broken(&error)),
    };
    let deadline = Instant::now() + TALK_LIMIT;
    let mut request = [0; REQUEST_BYTES];
    request[..4].copy_from_slice(&MAGIC.to_le_bytes());
    request[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
    request[8..].copy_from_slice(&id.to_le_bytes());
    connection.send(&request, &[], deadline).map_err(|error| broken(&error))?;
    let answer = connection.recv(deadline).map_err(|error| broken(&error))?;
    let unclear = || {
        let text = format!("The process that exported {shown} answered something unknown.");
        NpuError::new(code::RT_IPC_ERROR, "EE9999", text)
    };
    let bytes: &[u8; ANSWER_BYTES] = answer.bytes.as_slice().try_into().map_err(|_| unclear())?;
    let word = |at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight bytes"))
    };
    match word(0) as u32 {
        GIVEN => {}
        FORBIDDEN => {
            let text = format!(
                "Process {} may not import {shown}: it is not in the list of processes that the \
                 exporter allowed.",
                own_id()
            );
            return Err(NpuError::new(code::RT_NO_PERMISSION, "EE1001", text));
        }
        _ => {
            let allowed = "a key of something that its process still shares";
            return Err(NpuError::value("key", shown, allowed));
        }
    }
    let place = Place {
        host_device: (word(0) >> 32) as u32,
        file_len: word(8),
        offset: word(16),
        len: word(24),
    };
    let fits = place.offset.checked_add(place.len).is_some_and(|end| end <= place.file_len);
    let fd = answer.fds.into_iter().next();
    match fd {
        Some(fd) if fits && place.len > 0 => Ok(Borrowed { id, place, fd, lender: connection }),
        _ => Err(unclear()),
    }
}

/// Answers those who come, for ever.
fn serve(listener: &Listener) {
    let mut visitors: Vec<(Connection, Instant)> = Vec::new();
    loop {
        let waiting: Vec<&Connection> = visitors.iter().map(|(visitor, _)| visitor).collect();
        if wait_for_any(listener, &waiting, Duration::from_secs(1)).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        sweep();
        loop {
            match listener.accept() {
                Ok(Some(visitor)) => {
                    if visitors.len() >= VISITORS_MAX {
                        // Whoever has said nothing for the longest time makes room.
                        visitors.remove(0);
                    }
                    visitors.push((visitor, Instant::now()));
                }
                Ok(None) => break,
                // No descriptor is left, and the visitor still knocks.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(50));
                    break;
                }
            }
        }
        let now = Instant::now();
        for (visitor, since) in std::mem::take(&mut visitors) {
            match visitor.try_recv() {
                Ok(Some(message)) => answer(visitor, &message.bytes),
                Ok(None) if now.duration_since(since) < TALK_LIMIT => {
                    visitors.push((visitor, since));
                }
                // It is gone, or it never asks: so are we.
                Ok(None) | Err(_) => {}
            }
        }
    }
}

/// Gives back what was withdrawn and is borrowed no more.
fn sweep() {
    let Ok(desk) = desk() else { return };
    let mut gone = Vec::new();
    {
        let mut lent = desk.lent.lock();
        lent.retain(|_, entry| {
            if !entry.withdrawn {
                return true;
            }
            forget_closed(entry);
            if entry.borrowers.is_empty() {
                gone.extend(entry.offer.keep.take());
            }
            !entry.borrowers.is_empty()
        });
    }
    drop(gone);
}

fn forget_closed(lent: &mut Lent) {
    lent.borrowers.retain(|borrower| matches!(borrower.try_recv(), Ok(None)));
}

/// Answers one visitor, and keeps its connection if it borrows something.
fn answer(visitor: Connection, request: &[u8]) {
    let Ok(desk) = desk() else { return };
    let deadline = Instant::now() + Duration::from_millis(100);
    let refuse = |visitor: &Connection, status: u32| {
        let mut bytes = [0; ANSWER_BYTES];
        bytes[..4].copy_from_slice(&status.to_le_bytes());
        let _ = visitor.send(&bytes, &[], deadline);
    };
    let Ok(request) = <&[u8; REQUEST_BYTES]>::try_from(request) else {
        return refuse(&visitor, UNKNOWN);
    };
    let word = |at: usize| {
        u32::from_le_bytes(request[at..at + 4].try_into().expect("four bytes are four bytes"))
    };
    let id = u64::from(word(8)) | u64::from(word(12)) << 32;
    let Ok(peer) = visitor.peer() else { return };
    let mut lent = desk.lent.lock();
    let found = lent.get_mut(&id).filter(|entry| {
        word(0) == MAGIC
            && word(4) == entry.kind as u32
            && !entry.withdrawn
            && (entry.offer.is_valid)()
    });
    let Some(entry) = found else {
        return refuse(&visitor, UNKNOWN);
    };
    let is_listed = match &entry.readers {
        Readers::Anyone => true,
        Readers::Listed(list) => list.contains(&peer.pid),
    };
    if !is_listed || peer.uid != own_user() {
        return refuse(&visitor, FORBIDDEN);
    }
    let Place { host_device, file_len, offset, len } = entry.offer.place;
    let mut bytes = [0; ANSWER_BYTES];
    bytes[..4].copy_from_slice(&GIVEN.to_le_bytes());
    bytes[4..8].copy_from_slice(&host_device.to_le_bytes());
    for (at, value) in [(8, file_len), (16, offset), (24, len)] {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    let fd: BorrowedFd<'_> = entry.offer.fd.as_fd();
    if visitor.send(&bytes, &[fd], deadline).is_ok() {
        forget_closed(entry);
        entry.borrowers.push(visitor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_and_others_are_refused() {
        let id = 0x0123_4567_89ab_cdef;
        let text = key(Kind::Notify, id);
        assert!(text.len() <= 64);
        assert_eq!(parse_key(Kind::Notify, &text).unwrap(), id);
        for wrong in [
            "",
            "softnpu-notify-",
            "softnpu-notify-0123456789abcde",
            "softnpu-notify-0123456789abcdefa",
            "softnpu-notify-0123456789abcdeg",
            "softnpu-notify-+123456789abcdef",
            &key(Kind::Memory, id),
        ] {
            assert_eq!(parse_key(Kind::Notify, wrong).unwrap_err().code, code::RT_PARAM_INVALID);
        }
    }

    #[test]
    fn own_numbers_and_those_of_nobody_are_refused() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let place = Place { host_device: 0, file_len: 10, offset: 0, len: 10 };
        let offer = Offer { place, fd: file.into(), is_valid: Box::new(|| true), keep: None };
        let id = lend(Kind::Memory, offer, true).unwrap();
        assert_eq!(borrow(Kind::Memory, id).unwrap_err().code, code::RT_PARAM_INVALID);
        assert_eq!(borrow(Kind::Memory, id ^ 1 << 60).unwrap_err().code, code::RT_PARAM_INVALID);
        assert_eq!(borrowers(Kind::Memory, id).unwrap(), 0);
        assert!(allow(Kind::Notify, id, &[1]).is_err());
        withdraw(id);
        assert!(!lends(Kind::Memory, id));
    }
}
