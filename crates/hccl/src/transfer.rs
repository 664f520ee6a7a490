//! Messages between two ranks: sends, receives, and sets of both that go on side by side.
//!
//! A sender says where its data is; the receiver copies it and says so. The k-th message that a
//! rank sends to another meets the k-th receive there, whatever else goes on. Long messages go in
//! parts, of which each is a message of the fabric; both sides know how many from the length. What
//! is in private memory of the sender waits in room of the communicator, a part at a time. Short
//! data is the message itself: its sender is through as soon as it is posted.

use std::sync::Arc;

use hccl_fabric::{BODY_BYTES, Line, MESSAGE_SIGNATURE_BYTES, Message};
use hccl_kernels::{DataType, copy};
use hccl_os::sync::{Ordering, fence};
use hccl_os::wait::SLEEP_MAX;

use crate::communicator::{Communicator, Inner};
use crate::error::{Context, Error, Lag};
use crate::exchange::LOOKS;
use crate::faults::no_copy;
use crate::memory::{Memory, Piece};
use crate::operation::{CHUNK_BYTES, POLLS_A_LOOK, Polled, longest_sleep, wait};
use crate::route::REMOTE_FROM;
use crate::waiting::Waiting;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the peer.
    Send,
    /// From the peer.
    Receive,
}

/// One message to or from a peer; the peer may be the own rank, if both ways are in one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// The other rank.
    pub peer: u32,
    /// Type of the elements.
    pub data_type: DataType,
    /// Elements.
    pub count: u64,
    /// What both ends call the message: equal, or they fail. 0 where there is nothing to tell.
    pub tag: u32,
    /// The data, or where it goes.
    pub memory: Memory,
}

/// A message that has come and that nobody received yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Type of its elements.
    pub data_type: DataType,
    /// Elements.
    pub count: u64,
    /// What the sender calls it.
    pub tag: u32,
}

impl Arrival {
    /// `None` where it is no message of this version's.
    pub(crate) fn of(message: &Message) -> Option<Self> {
        let signature = &message.signature;
        let data_type = DataType::from_byte(signature[2])?;
        let count = u64::from_le_bytes(std::array::from_fn(|i| signature[8 + i]));
        let tag = u32::from_le_bytes(std::array::from_fn(|i| signature[4 + i]));
        (signature[..2] == [VERSION, KIND]).then_some(Self { data_type, count, tag })
    }
}

/// Bytes of a part: small enough that two of them, of which one is read while the other is written,
/// stay in a core's cache.
const PART_BYTES: u64 = 128 << 10;
/// Parts that wait in the room: one that the receiver has, and the next.
const PARTS_AHEAD: u64 = 2;
/// Parts in room begin at multiples of this.
const ALIGN: u64 = 128;

/// What a message says of the memory where its data is.
const SHARED: u64 = 0;
const REMOTE: u64 = 1;

/// Where the signature of a message says that it is one.
const KIND: u8 = 200;
const VERSION: u8 = 4;

impl Transfer {
    fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.data_type.size() as u64)
    }

    /// Parts that it goes in; a message of nothing is one.
    fn parts(&self) -> u64 {
        self.bytes().div_ceil(PART_BYTES).max(1)
    }

    /// Whether the message is its data.
    fn is_short(&self) -> bool {
        self.bytes() <= BODY_BYTES as u64
    }

    /// The message that is its data; `None` where the own buffer is not where it was said to be.
    fn short(&self, inner: &Inner) -> Option<Message> {
        let len = self.bytes();
        let from = inner.address(inner.fabric.rank(), self.memory, 0, len)?;
        let mut body = [0; BODY_BYTES];
        // SAFETY: the buffer was checked to be as long, and its owner does not write it meanwhile.
        unsafe { body.as_mut_ptr().copy_from_nonoverlapping(from, len as usize) };
        Some(Message { signature: self.signature(), body, len: len as usize })
    }

    /// Takes the data of a message; `None` as in [`Self::short`], and where it is another message.
    fn take_short(&self, inner: &Inner, message: &Message) -> Option<()> {
        if message.signature != self.signature() {
            return None;
        }
        let len = self.bytes();
        let to = inner.address(inner.fabric.rank(), self.memory, 0, len)?;
        // SAFETY: the buffer was checked to be as long, and nobody else is in it meanwhile.
        unsafe { to.copy_from_nonoverlapping(message.body.as_ptr(), len as usize) };
        Some(())
    }

    /// Whether its data must be copied into the room.
    fn needs_room(&self, inner: &Inner) -> bool {
        let private = self.direction == Direction::Send && self.memory.is_private();
        private && !self.is_short() && !self.is_remote(inner)
    }

    /// Whether the receiver copies from the sender's private memory where it is.
    fn is_remote(&self, inner: &Inner) -> bool {
        inner.remote && self.bytes() >= REMOTE_FROM
    }

    fn signature(&self) -> [u8; MESSAGE_SIGNATURE_BYTES] {
        let mut bytes = [0u8; MESSAGE_SIGNATURE_BYTES];
        bytes[0] = VERSION;
        bytes[1] = KIND;
        bytes[2] = self.data_type.code();
        bytes[4..8].copy_from_slice(&self.tag.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    fn check(&self, ranks: u32) -> Result<(), Error> {
        let invalid =
            |what, given: String, allowed: String| Err(Error::Invalid { what, given, allowed });
        if self.peer >= ranks {
            let allowed = format!("a rank from 0 to {}", ranks - 1);
            return invalid("peer", self.peer.to_string(), allowed);
        }
        if let Memory::Shared(piece) = self.memory
            && piece.offset.checked_add(self.bytes()).is_none()
        {
            let given = format!("{} bytes at offset {}", self.bytes(), piece.offset);
            return invalid("buffer", given, "memory that the rank shares".into());
        }
        if self.bytes() > self.memory.len() {
            let given = format!("{} bytes long", self.memory.len());
            return invalid("buffer", given, format!("at least {} bytes", self.bytes()));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A send whose channel is not free, or a receive without message.
    Waiting,
    /// A send whose part was posted.
    Posted,
    /// A part that is copied: by a receiver, or within the rank.
    Copying {
        from: *const u8,
        to: *mut u8,
        left: u64,
        /// Whether it is in private memory of the peer.
        remote: bool,
    },
    Over,
}

struct Item {
    transfer: Transfer,
    /// Number of the message on its way, from 1.
    number: u64,
    /// Number of its first part on its way, from 1.
    first: u64,
    /// Part that is worked on.
    part: u64,
    /// Parts that were copied into the room so far.
    copied: u64,
    /// Where it waits in the room, if it does.
    room: Option<Piece>,
    state: State,
}

impl Item {
    /// The next message on its way.
    fn new(inner: &Inner, transfer: &Transfer) -> Self {
        let counters = match transfer.direction {
            Direction::Send => &inner.sent,
            Direction::Receive => &inner.received,
        };
        let way = &counters[transfer.peer as usize];
        let first = way.parts.fetch_add(transfer.parts(), Ordering::Relaxed) + 1;
        let number = way.messages.fetch_add(1, Ordering::Relaxed) + 1;
        let (transfer, state) = (*transfer, State::Waiting);
        Self { transfer, number, first, part: 0, copied: 0, room: None, state }
    }

    /// Number on its way of the part that is worked on.
    fn number_of_part(&self) -> u64 {
        self.first + self.part
    }

    /// First byte of a part, and how many it has.
    fn range(&self, part: u64) -> (u64, u64) {
        let start = part * PART_BYTES;
        (start, (self.transfer.bytes() - start).min(PART_BYTES))
    }

    /// Where a part waits in the room, if it does.
    fn place(&self, part: u64) -> Option<Piece> {
        let (_, len) = self.range(part);
        self.room.map(|room| Piece { offset: room.offset + part % PARTS_AHEAD * PART_BYTES, len })
    }

    /// The part to copy into the room now, if there is one and its place is free: the part that is
    /// worked on; once that is posted, the next.
    fn part_to_copy(&self) -> Option<u64> {
        let ahead = if self.state == State::Posted { PARTS_AHEAD } else { 1 };
        let end = self.transfer.parts().min(self.part + ahead);
        (self.room.is_some() && self.copied < end).then_some(self.copied)
    }

    /// After a part: the next one, or the end.
    fn next(&mut self) {
        self.part += 1;
        let over = self.part == self.transfer.parts();
        self.state = if over { State::Over } else { State::Waiting };
    }
}

/// Messages under way. Dropping them before their end aborts the communicator, since the other
/// ranks count on them.
pub struct Transfers {
    inner: Arc<Inner>,
    items: Vec<Item>,
    waiting: Waiting,
    polls: u32,
    armed: Option<Line>,
    over: bool,
    /// Where private data waits.
    room: Option<Piece>,
}

// SAFETY: the addresses lie in memory that the fabric keeps mapped as long as the communicator
// lives, or in private memory that the caller vouched for; one thread at a time polls.
unsafe impl Send for Transfers {}

impl Transfers {
    pub(crate) fn new(inner: Arc<Inner>, requests: &[Transfer]) -> Result<Self, Error> {
        let (ranks, rank) = (inner.fabric.ranks(), inner.fabric.rank());
        for request in requests {
            request.check(ranks)?;
        }
        let own = own_copies(&inner, requests, rank)?;
        let (mut room, room_bytes) = (None, room_bytes(&inner, requests, rank));
        if room_bytes > 0 {
            let context = || inner.context("transfers".to_owned());
            room = Some(inner.room_for_messages(room_bytes, context)?);
        }
        let mut next_room = room.map_or(0, |room| room.offset);
        let mut items = Vec::with_capacity(requests.len());
        for request in requests.iter().filter(|request| request.peer != rank) {
            let room = request.needs_room(&inner).then(|| {
                let len = room_of(request);
                let piece = Piece { offset: next_room, len };
                next_room += len.next_multiple_of(ALIGN);
                piece
            });
            items.push(Item { room, ..Item::new(&inner, request) });
        }
        items.extend(own);
        Ok(Self::of(inner, items, room))
    }

    fn of(inner: Arc<Inner>, items: Vec<Item>, room: Option<Piece>) -> Self {
        inner.transfers.fetch_add(1, Ordering::AcqRel);
        let waiting = Waiting::up_to(inner.timeout());
        Self { inner, items, waiting, polls: 0, armed: None, over: false, room }
    }

    /// A message to or from another rank, if it is short and the other side is quick; `None` if it
    /// is through.
    pub(crate) fn at_once(inner: &Arc<Inner>, request: &Transfer) -> Result<Option<Self>, Error> {
        if !request.is_short() {
            return Self::new(inner.clone(), &[*request]).map(Some);
        }
        let fabric = &*inner.fabric;
        request.check(fabric.ranks())?;
        let item = Item::new(inner, request);
        let Transfer { peer, direction, .. } = *request;
        match direction {
            Direction::Send if !fabric.any_gone() && fabric.taken(peer, item.first - 1) => {
                if let Some(message) = request.short(inner) {
                    fabric.post(peer, item.first, &message);
                    return Ok(None);
                }
            }
            Direction::Send => {}
            Direction::Receive => {
                // Whoever waits on a core that others need keeps them from coming.
                let looks = if inner.spins { LOOKS } else { 1 };
                for _ in 0..looks {
                    if let Some(message) = fabric.posted(peer, item.first) {
                        if request.take_short(inner, &message).is_some() {
                            fabric.take(peer, item.first);
                            return Ok(None);
                        }
                        break;
                    }
                    std::hint::spin_loop();
                }
            }
        }
        Ok(Some(Self::of(inner.clone(), vec![item], None)))
    }

    /// Goes as far as it can; see [`crate::Operation::poll`].
    pub fn poll(&mut self, arm: bool) -> Polled {
        if let Some(line) = self.armed.take() {
            self.inner.fabric.retract(line);
        }
        if let Some(error) = self.inner.failure() {
            let error = error.clone();
            self.end();
            return Polled::Failed(error);
        }
        if self.over {
            return Polled::Done;
        }
        match self.run(arm) {
            Ok(Polled::Done) => {
                self.end();
                Polled::Done
            }
            Ok(polled) => polled,
            Err(error) => {
                self.end();
                Polled::Failed(self.inner.fail(error))
            }
        }
    }

    /// The communicator that it runs on.
    pub(crate) fn communicator(&self) -> Communicator {
        Communicator(self.inner.clone())
    }

    /// Polls until the end, sleeping in between.
    ///
    /// # Errors
    /// When a message fails.
    pub fn wait(&mut self) -> Result<(), Error> {
        wait(|arm| self.poll(arm))
    }

    fn end(&mut self) {
        if !self.over {
            self.over = true;
            self.inner.transfers.fetch_sub(1, Ordering::AcqRel);
            if let Some(room) = self.room.take() {
                self.inner.keep_room(room);
            }
        }
    }

    fn run(&mut self, arm: bool) -> Result<Polled, Error> {
        if self.step_all()? {
            return Ok(Polled::Progress);
        }
        if self.items.iter().all(|item| item.state == State::Over) {
            return Ok(Polled::Done);
        }
        let line = Line::Mail(self.inner.fabric.rank());
        self.polls = self.polls.wrapping_add(1);
        if self.inner.fabric.any_gone() {
            self.look_for_faults()?;
        }
        if arm || self.polls.is_multiple_of(POLLS_A_LOOK) {
            self.look_at_clock()?;
        }
        let fabric = &*self.inner.fabric;
        let spin = fabric.cores_to_spare();
        if !arm {
            return Ok(Polled::Pending { watch: fabric.watch(line), spin, sleep: SLEEP_MAX });
        }
        fabric.announce(line);
        self.armed = Some(line);
        let watch = self.inner.fabric.watch(line);
        // Somebody may have got on before the announcement was there to be seen.
        if self.step_all()? {
            return Ok(Polled::Progress);
        }
        let sleep = longest_sleep(&*self.inner.fabric);
        Ok(Polled::Pending { watch, spin, sleep })
    }

    /// Steps every message once. True if any got on.
    fn step_all(&mut self) -> Result<bool, Error> {
        let mut progressed = false;
        for index in 0..self.items.len() {
            progressed |= self.step(index)?;
        }
        Ok(progressed)
    }

    fn step(&mut self, index: usize) -> Result<bool, Error> {
        let fabric = &*self.inner.fabric;
        let item = &self.items[index];
        let Transfer { peer, direction, .. } = item.transfer;
        let number = item.number_of_part();
        let next = match (item.state, direction) {
            (State::Over, _) => return Ok(false),
            (State::Waiting | State::Posted, Direction::Send) if item.part_to_copy().is_some() => {
                return self.copy_part(index);
            }
            (State::Waiting, Direction::Send) => {
                if !fabric.taken(peer, number - 1) {
                    return Ok(false);
                }
                if item.transfer.is_short() {
                    // Nobody would take it.
                    self.check_peer(item)?;
                    let (rank, len) = (fabric.rank(), item.transfer.bytes());
                    let message = item.transfer.short(&self.inner);
                    let message = message.ok_or_else(|| self.broken(item, rank, 0, len))?;
                    fabric.post(peer, number, &message);
                    self.items[index].next();
                    return Ok(true);
                }
                let mut body = [0; 16];
                let (at, kind) = self.find_part(item);
                body[..8].copy_from_slice(&at.to_le_bytes());
                body[8..].copy_from_slice(&kind.to_le_bytes());
                fabric.post(peer, number, &Message::new(item.transfer.signature(), &body));
                State::Posted
            }
            (State::Posted, _) => {
                if !fabric.taken(peer, number) {
                    return Ok(false);
                }
                self.items[index].next();
                return Ok(true);
            }
            (State::Waiting, Direction::Receive) => {
                let Some(message) = fabric.posted(peer, number) else { return Ok(false) };
                let next = self.accept(item, &message)?;
                if next == State::Over {
                    fabric.take(peer, number);
                    self.items[index].next();
                    return Ok(true);
                }
                next
            }
            (State::Copying { from, to, left, remote: true }, _) => {
                let now = left.min(CHUNK_BYTES);
                let at = from.addr() as u64;
                // SAFETY: the receiver's buffer was found; the kernel checks what is read.
                let copied = unsafe { fabric.copy_from(peer, at, to, now as usize) };
                copied.map_err(|why| no_copy(fabric, self.context(item), peer, &why))?;
                let (from, to) = (from.wrapping_add(now as usize), to.wrapping_add(now as usize));
                State::Copying { from, to, left: left - now, remote: true }
            }
            (State::Copying { from, to, left, remote: false }, _) => {
                let now = left.min(CHUNK_BYTES);
                // SAFETY: both ranges were found: mapped memory of as many bytes, or private
                // memory that the caller vouched for; the sender's until the message is taken and
                // the receiver's until it is told.
                unsafe { copy(to, from, now as usize) };
                let (from, to) = (from.wrapping_add(now as usize), to.wrapping_add(now as usize));
                State::Copying { from, to, left: left - now, remote: false }
            }
        };
        let rank = fabric.rank();
        match next {
            // A copy within the rank goes in one part.
            State::Copying { left: 0, .. } if peer == rank => self.items[index].state = State::Over,
            State::Copying { left: 0, .. } => {
                self.check_sender(&self.items[index])?;
                fabric.take(peer, number);
                self.items[index].next();
            }
            next => self.items[index].state = next,
        }
        Ok(true)
    }

    /// Fails if the sender of a part that was copied is gone: it cannot be through with the part, so
    /// it may have used its memory for something else meanwhile.
    fn check_sender(&self, item: &Item) -> Result<(), Error> {
        // SYNC(gone): between the copy and the look. A rank says that it is gone before it touches
        // the memory again, see `Board::set_state`.
        fence(Ordering::Acquire);
        self.check_peer(item)
    }

    /// Fails if the other rank is gone.
    fn check_peer(&self, item: &Item) -> Result<(), Error> {
        let fabric = &*self.inner.fabric;
        let gone = fabric.any_gone().then(|| fabric.fault(item.transfer.peer)).flatten();
        let Some(fault) = gone else { return Ok(()) };
        let fault = crate::faults::first_cause(fabric, fault);
        Err(Error::Peer { context: self.context(item), fault })
    }

    /// Where a receiver finds the part of a send, and in what kind of memory.
    fn find_part(&self, item: &Item) -> (u64, u64) {
        let (start, _) = item.range(item.part);
        match (item.transfer.memory, item.place(item.part)) {
            (Memory::Shared(piece), _) => (piece.offset + start, SHARED),
            (Memory::Private(_), Some(room)) => (room.offset, SHARED),
            (Memory::Private(private), None) => (private.address().addr() as u64 + start, REMOTE),
        }
    }

    /// Copies a part of a private send into the room, while the receiver may be at the one before.
    fn copy_part(&mut self, index: usize) -> Result<bool, Error> {
        let item = &self.items[index];
        let part = item.part_to_copy();
        let place = part.and_then(|part| item.place(part).map(|room| (part, room)));
        let (Memory::Private(private), Some((part, room))) = (item.transfer.memory, place) else {
            return Ok(false);
        };
        let (start, len) = item.range(part);
        let from = private.address().wrapping_add(start as usize).cast_const();
        let Some(to) = find(&self.inner, self.inner.fabric.rank(), room.offset, len) else {
            return Err(self.broken(item, self.inner.fabric.rank(), room.offset, len));
        };
        // SAFETY: the caller vouched for the private memory; the room was taken for this message,
        // and the receiver has taken the part that was there before.
        unsafe { copy(to, from, len as usize) };
        self.items[index].copied += 1;
        Ok(true)
    }

    fn broken(&self, item: &Item, peer: u32, offset: u64, len: u64) -> Error {
        let what = format!("its data of {len} bytes at offset {offset}");
        Error::Broken { context: self.context(item), peer, what }
    }

    /// A part has come: compares it with what is expected, and finds the data, or takes it if the
    /// message is all there is.
    fn accept(&self, item: &Item, message: &Message) -> Result<State, Error> {
        let fabric = &*self.inner.fabric;
        let Transfer { peer, memory, .. } = item.transfer;
        if message.signature != item.transfer.signature() {
            let table = format!(
                "rank {peer} sends {}; rank {} receives {}",
                describe(&message.signature),
                fabric.rank(),
                describe(&item.transfer.signature())
            );
            return Err(Error::Mismatch { context: self.context(item), table });
        }
        let (start, len) = item.range(item.part);
        let no_buffer = || self.broken(item, fabric.rank(), start, len);
        if item.transfer.is_short() {
            let taken = item.transfer.take_short(&self.inner, message);
            return taken.map(|()| State::Over).ok_or_else(no_buffer);
        }
        let to = self.inner.address(fabric.rank(), memory, start, len).ok_or_else(no_buffer)?;
        let [at, kind] = [0, 8]
            .map(|first| u64::from_le_bytes(std::array::from_fn(|i| message.body[first + i])));
        let remote = kind == REMOTE && fabric.all_copy();
        let from = match kind {
            REMOTE if remote => Some(std::ptr::without_provenance_mut(at as usize)),
            SHARED => find(&self.inner, peer, at, len),
            _ => None,
        };
        let from = from.ok_or_else(|| self.broken(item, peer, at, len))?;
        Ok(State::Copying { from: from.cast_const(), to, left: len, remote })
    }

    fn context(&self, item: &Item) -> Context {
        let Item { transfer, number, .. } = item;
        let way = match transfer.direction {
            Direction::Send => "send",
            Direction::Receive => "receive",
        };
        let to = if transfer.direction == Direction::Send { "to" } else { "from" };
        self.inner.context(format!("{way} number {number} {to} rank {}", transfer.peer))
    }

    fn look_for_faults(&self) -> Result<(), Error> {
        let fabric = &*self.inner.fabric;
        for item in self.items.iter().filter(|item| item.state != State::Over) {
            let Some(fault) = fabric.fault(item.transfer.peer) else { continue };
            // What the peer did before it went still counts.
            let served = match (item.state, item.transfer.direction) {
                (State::Copying { .. }, _) => true,
                (_, Direction::Receive) => {
                    fabric.posted(item.transfer.peer, item.number_of_part()).is_some()
                }
                (State::Posted, _) => fabric.taken(item.transfer.peer, item.number_of_part()),
                _ => false,
            };
            if served {
                continue;
            }
            let fault = crate::faults::first_cause(fabric, fault);
            return Err(Error::Peer { context: self.context(item), fault });
        }
        Ok(())
    }

    fn look_at_clock(&mut self) -> Result<(), Error> {
        let (waited, is_due) = self.waiting.look(self.inner.fabric.now());
        if is_due {
            self.inner.fabric.probe();
            if self.inner.fabric.any_gone() {
                self.look_for_faults()?;
            }
        }
        let Some(limit) = self.waiting.overdue(waited) else {
            return Ok(());
        };
        let fabric = &*self.inner.fabric;
        let mut lagging: Vec<Lag> = Vec::new();
        let waiting = self.items.iter().filter(|item| item.state != State::Over);
        for peer in waiting.clone().map(|item| item.transfer.peer) {
            if lagging.iter().all(|lag| lag.rank != peer) {
                let sequence = fabric.position(peer).0;
                lagging.push(Lag { rank: peer, process: fabric.process(peer), sequence });
            }
        }
        match waiting.clone().next() {
            Some(item) => {
                let context = self.context(item);
                Err(Error::TimedOut { context, waited: limit, lagging, finishing: false })
            }
            None => Ok(()),
        }
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        if let Some(line) = self.armed.take() {
            self.inner.fabric.retract(line);
        }
        if !self.over {
            if self.inner.failure().is_none() {
                let text = self.items.iter().find(|item| item.state != State::Over);
                let text = text.map_or_else(String::new, |item| self.context(item).to_string());
                self.inner.abort(&format!("{text} was thrown away before its end"));
            }
            self.end();
        }
    }
}

/// Address of a piece of a rank's memory; any address will do for no bytes.
fn find(inner: &Inner, rank: u32, offset: u64, len: u64) -> Option<*mut u8> {
    if len == 0 {
        return Some(std::ptr::NonNull::dangling().as_ptr());
    }
    inner.fabric.memory(rank, offset, len)
}

/// Room for the parts of one message.
fn room_of(request: &Transfer) -> u64 {
    request.bytes().min(PARTS_AHEAD * PART_BYTES)
}

/// Room for the parts of what is private, side by side.
fn room_bytes(inner: &Inner, requests: &[Transfer], rank: u32) -> u64 {
    let rooms = requests.iter().filter(|one| one.peer != rank && one.needs_room(inner));
    let bytes = rooms.map(|one| room_of(one).next_multiple_of(ALIGN));
    bytes.fold(0, u64::saturating_add)
}

/// Messages to the own rank: the k-th send meets the k-th receive, as copies.
fn own_copies(inner: &Inner, requests: &[Transfer], rank: u32) -> Result<Vec<Item>, Error> {
    let of = |direction| {
        let own = move |t: &&Transfer| t.peer == rank && t.direction == direction;
        requests.iter().filter(own).collect::<Vec<_>>()
    };
    let (sends, receives) = (of(Direction::Send), of(Direction::Receive));
    let describe_all = |list: &[&Transfer]| {
        let each = list.iter().map(|transfer| describe(&transfer.signature()));
        each.collect::<Vec<_>>().join(", ")
    };
    let pairs = sends.iter().zip(&receives);
    let fits = sends.len() == receives.len()
        && pairs.clone().all(|(send, receive)| send.signature() == receive.signature());
    if !fits {
        return Err(Error::Invalid {
            what: "messages to the own rank",
            given: format!("sends of [{}]", describe_all(&sends)),
            allowed: format!("the same as the receives of [{}]", describe_all(&receives)),
        });
    }
    let copies = pairs.map(|(send, receive)| {
        let len = send.bytes();
        let from = inner.address(rank, send.memory, 0, len);
        let to = inner.address(rank, receive.memory, 0, len);
        let (Some(from), Some(to)) = (from, to) else {
            return Err(Error::Invalid {
                what: "buffer",
                given: format!("{len} bytes outside of the memory that the rank shares"),
                allowed: "memory that the rank shares".into(),
            });
        };
        let state = State::Copying { from: from.cast_const(), to, left: len, remote: false };
        let transfer = **receive;
        Ok(Item { transfer, number: 0, first: 0, part: 0, copied: 0, room: None, state })
    });
    copies.collect()
}

/// A message's signature in words, whatever stands in it.
fn describe(signature: &[u8; MESSAGE_SIGNATURE_BYTES]) -> String {
    let count = u64::from_le_bytes(std::array::from_fn(|i| signature[8 + i]));
    if signature[..2] != [VERSION, KIND] {
        return "a message that this version does not know".to_owned();
    }
    let code = signature[2];
    let data = match DataType::from_byte(code) {
        Some(data_type) => format!("{count} {data_type}"),
        None => format!("{count} of data type {code}"),
    };
    match u32::from_le_bytes(std::array::from_fn(|i| signature[4 + i])) {
        0 => data,
        tag => format!("{data} with tag {tag}"),
    }
}
