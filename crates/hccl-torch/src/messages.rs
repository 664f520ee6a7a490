//! Messages: which receive gets which.
//!
//! The engine's messages between two ranks are received in the order in which they were sent.
//! PyTorch's are not: they have tags, and a receive may be for whichever rank. So a receive is
//! brought to the engine when a message that fits it has come. A message that fits none is put by
//! if somebody waits for a later one: it is then in memory of this rank, as in any MPI.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hccl::shared::Block;
use hccl::{Arrival, Communicator, DataType, Direction, Polled, Transfer, Transfers};
use hccl_os::wait::{SLEEP_MAX, Watch};

use crate::abi::Status;
use crate::call::Message;
use crate::group::Looked;
use crate::ticket::{Failure, Ticket};

/// Sends to one rank that the engine knows of at a time: one that is copied, and the next, so that
/// very many need no more memory than two.
const SENDS_AHEAD: usize = 2;
/// How often ranks that are waited for are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A message that somebody here sends or waits for.
pub(crate) struct Posted {
    message: Message,
    ticket: Arc<Ticket>,
    since: Instant,
}

impl Posted {
    pub(crate) fn new(message: Message, ticket: Arc<Ticket>) -> Self {
        Self { message, ticket, since: Instant::now() }
    }

    /// Brings it to the engine, as a message to or from a rank. Where that cannot be, its owner is
    /// among those to be told.
    fn start(
        mut self,
        communicator: &Communicator,
        peer: u32,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Result<Active, Failure> {
        match start(communicator, &mut self.message, peer) {
            Ok(transfers) => Ok(Active { transfers, peer, what: What::Posted(self) }),
            Err(failure) => {
                over.push(self.fail(&failure));
                Err(failure)
            }
        }
    }

    fn is_for(&self, peer: u32, arrival: &Arrival) -> bool {
        self.message.peer.is_none_or(|wanted| wanted == peer) && self.message.tag == arrival.tag
    }

    /// It will not be run, or did not end well.
    pub(crate) fn fail(mut self, failure: &Failure) -> Arc<Ticket> {
        self.message.side.abandon();
        self.ticket.set_over(Err(failure.clone()));
        self.ticket
    }
}

/// A message that the engine has.
struct Active {
    transfers: Transfers,
    peer: u32,
    what: What,
}

enum What {
    Posted(Posted),
    /// One that is put by: its data, and what it is.
    PutBy(Kept),
}

impl Active {
    /// It did not end well; whose it was, if it was somebody's here.
    fn fail(self, failure: &Failure) -> Option<Arc<Ticket>> {
        match self.what {
            What::Posted(posted) => Some(posted.fail(failure)),
            // Others only read what they send, but the engine may still hold the place.
            What::PutBy(kept) => {
                kept.data.leak();
                None
            }
        }
    }
}

/// A message that was put by.
struct Kept {
    peer: u32,
    arrival: Arrival,
    data: Block,
}

/// The messages of a group.
pub(crate) struct Messages {
    /// What goes to each rank and is not with the engine yet.
    sends: Vec<VecDeque<Posted>>,
    /// Receives without message, in the order in which they were posted.
    receives: Vec<Posted>,
    active: Vec<Active>,
    kept: Vec<Kept>,
    looked: Instant,
    /// Whether senders were told that somebody sleeps.
    announced: bool,
}

impl Messages {
    pub(crate) fn new(ranks: u32) -> Self {
        Self {
            sends: (0..ranks).map(|_| VecDeque::new()).collect(),
            receives: Vec::new(),
            active: Vec::new(),
            kept: Vec::new(),
            looked: Instant::now(),
            announced: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.receives.is_empty()
            && self.active.is_empty()
            && self.sends.iter().all(VecDeque::is_empty)
    }

    pub(crate) fn post(&mut self, posted: Posted) {
        match (posted.message.direction, posted.message.peer) {
            (Direction::Send, Some(peer)) => self.sends[peer as usize].push_back(posted),
            _ => self.receives.push(posted),
        }
    }

    /// Looks after all of them once. With `arm` the caller is about to sleep on the watches.
    pub(crate) fn step(
        &mut self,
        communicator: &Communicator,
        arm: bool,
        watches: &mut Vec<Watch>,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Result<Looked, Failure> {
        if std::mem::take(&mut self.announced) {
            communicator.retract_messages();
        }
        let mut progress = self.begin_sends(communicator, over)?;
        progress |= self.match_receives(communicator, over)?;
        if arm && !self.receives.is_empty() {
            let watch = communicator.announce_messages();
            self.announced = true;
            watches.extend(watch);
            progress |= self.match_receives(communicator, over)?;
        }
        let mut looked = Looked { progress, spin: true, sleep: SLEEP_MAX };
        let mut index = 0;
        while index < self.active.len() {
            match self.active[index].transfers.poll(arm) {
                Polled::Done => {
                    let active = self.active.remove(index);
                    self.end(active, over);
                    looked.progress = true;
                    continue;
                }
                Polled::Failed(error) => {
                    let active = self.active.remove(index);
                    let failure = Failure::from(error);
                    over.extend(active.fail(&failure));
                    return Err(failure);
                }
                Polled::Progress => looked.progress = true,
                Polled::Pending { watch, spin, sleep } => {
                    looked.spin &= spin;
                    looked.sleep = looked.sleep.min(sleep);
                    if arm {
                        watches.extend(watch);
                    }
                }
            }
            index += 1;
        }
        self.look_at_clock(communicator)?;
        Ok(looked)
    }

    /// All that is left fails.
    pub(crate) fn fail(&mut self, failure: &Failure, over: &mut Vec<Arc<Ticket>>) {
        let sends = self.sends.iter_mut().flat_map(std::mem::take);
        let waiting = sends.chain(std::mem::take(&mut self.receives));
        over.extend(waiting.map(|posted| posted.fail(failure)));
        let active = std::mem::take(&mut self.active).into_iter();
        over.extend(active.filter_map(|active| active.fail(failure)));
        self.kept.clear();
    }

    /// Ends a receive that has no message yet.
    pub(crate) fn cancel(&mut self, ticket: *const Ticket) -> Option<Arc<Ticket>> {
        let index = self.receives.iter().position(|one| Arc::as_ptr(&one.ticket) == ticket)?;
        let posted = self.receives.remove(index);
        // Nobody else knows of it, so its memory is its owner's.
        posted.ticket.set_over(Err(Failure::new(Status::Aborted, "the receive was cancelled")));
        Some(posted.ticket)
    }

    fn begin_sends(
        &mut self,
        communicator: &Communicator,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Result<bool, Failure> {
        let mut begun = false;
        for (peer, queue) in (0u32..).zip(&mut self.sends) {
            if queue.is_empty() {
                continue;
            }
            let sends = |active: &&Active| {
                let send = |posted: &Posted| posted.message.direction == Direction::Send;
                active.peer == peer && matches!(&active.what, What::Posted(it) if send(it))
            };
            while self.active.iter().filter(sends).count() < SENDS_AHEAD
                && let Some(posted) = queue.pop_front()
            {
                self.active.push(posted.start(communicator, peer, over)?);
                begun = true;
            }
        }
        Ok(begun)
    }

    fn match_receives(
        &mut self,
        communicator: &Communicator,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Result<bool, Failure> {
        if self.receives.is_empty() {
            return Ok(false);
        }
        let mut progress = self.take_kept(communicator, over)?;
        for peer in 0..communicator.ranks() {
            let waits =
                self.receives.iter().any(|one| one.message.peer.is_none_or(|it| it == peer));
            if !waits {
                continue;
            }
            let Some(arrival) = communicator.next_message(peer)? else { continue };
            progress = true;
            let found = self.receives.iter().position(|one| one.is_for(peer, &arrival));
            let Some(index) = found else {
                self.put_by(communicator, peer, arrival)?;
                continue;
            };
            let posted = self.receives.remove(index);
            if let Err(failure) = compare(&posted.message, &arrival, peer, communicator) {
                over.push(posted.fail(&failure));
                return Err(failure);
            }
            self.active.push(posted.start(communicator, peer, over)?);
        }
        Ok(progress)
    }

    /// Gives messages that were put by to those who wait for them.
    fn take_kept(
        &mut self,
        communicator: &Communicator,
        over: &mut Vec<Arc<Ticket>>,
    ) -> Result<bool, Failure> {
        let (mut index, mut progress) = (0, false);
        while let Some(kept) = self.kept.get(index) {
            let found = self.receives.iter().position(|one| one.is_for(kept.peer, &kept.arrival));
            let Some(receive) = found else {
                index += 1;
                continue;
            };
            let kept = self.kept.remove(index);
            let posted = self.receives.remove(receive);
            if let Err(failure) = compare(&posted.message, &kept.arrival, kept.peer, communicator) {
                over.push(posted.fail(&failure));
                return Err(failure);
            }
            posted.message.side.put(kept.data.address().as_ptr());
            posted.ticket.set_source(kept.peer);
            posted.ticket.set_over(Ok(()));
            over.push(posted.ticket);
            progress = true;
        }
        Ok(progress)
    }

    /// Takes a message out of the way of those behind it.
    fn put_by(
        &mut self,
        communicator: &Communicator,
        peer: u32,
        arrival: Arrival,
    ) -> Result<(), Failure> {
        let Arrival { data_type, count, tag } = arrival;
        let bytes = count.saturating_mul(data_type.size() as u64);
        // As much as the host has; what a rank says it sends takes no memory before it comes.
        let data = Block::new(bytes).map_err(|error| {
            let text = format!(
                "rank {peer} sends {bytes} bytes with tag {tag}, for which nobody waits here, and \
                 they cannot be put by: {error}"
            );
            Failure::new(Status::Failed, text)
        })?;
        let (direction, memory) = (Direction::Receive, data.memory(bytes));
        let transfer = Transfer { direction, peer, data_type, count, tag, memory };
        // SAFETY: the block is held until the message is in it, and leaked if that is no good end.
        let transfers = unsafe { communicator.start_transfers_shared(&[transfer]) }?;
        let what = What::PutBy(Kept { peer, arrival, data });
        self.active.push(Active { transfers, peer, what });
        Ok(())
    }

    fn end(&mut self, active: Active, over: &mut Vec<Arc<Ticket>>) {
        let Active { peer, what, .. } = active;
        match what {
            What::Posted(posted) => {
                if posted.message.direction == Direction::Receive {
                    posted.message.side.empty();
                    posted.ticket.set_source(peer);
                }
                posted.ticket.set_over(Ok(()));
                over.push(posted.ticket);
            }
            What::PutBy(kept) => self.kept.push(kept),
        }
    }

    /// Receives that have no message are not known to the engine, so this looks for what makes them
    /// hopeless.
    fn look_at_clock(&mut self, communicator: &Communicator) -> Result<(), Failure> {
        if self.receives.is_empty() || self.looked.elapsed() < LOOK_INTERVAL {
            return Ok(());
        }
        self.looked = Instant::now();
        let others = (0..communicator.ranks()).filter(|&rank| rank != communicator.rank());
        let gone: Vec<(u32, String)> = others
            .clone()
            .filter_map(|rank| communicator.gone(rank).map(|why| (rank, why)))
            .collect();
        for posted in &self.receives {
            let Message { peer, tag, timeout, .. } = posted.message;
            let from = peer.map_or("any rank".to_owned(), |peer| format!("rank {peer}"));
            let own = communicator.rank();
            let what = format!("rank {own} waits for a message from {from} with tag {tag}");
            let hopeless = match peer {
                Some(peer) => gone.iter().find(|(rank, _)| *rank == peer),
                None => gone.first().filter(|_| gone.len() == others.clone().count()),
            };
            // What it sent before it went still counts.
            if let Some((rank, why)) = hopeless
                && communicator.next_message(*rank)?.is_none()
                && !self.active.iter().any(|active| active.peer == *rank)
            {
                return Err(Failure::new(Status::Failed, format!("{what}: {why}")));
            }
            if let Some(limit) = timeout
                && posted.since.elapsed() >= limit
            {
                let text = format!("{what}, and none came: timed out after {limit:?}");
                return Err(Failure::new(Status::TimedOut, text));
            }
        }
        Ok(())
    }
}

fn start(
    communicator: &Communicator,
    message: &mut Message,
    peer: u32,
) -> Result<Transfers, Failure> {
    let memory = message.side.memory()?;
    if message.direction == Direction::Send {
        message.side.fill();
    }
    let Message { direction, tag, data_type, count, timeout, .. } = *message;
    communicator.set_timeout(timeout);
    let transfer = Transfer { direction, peer, data_type, count, tag, memory };
    // SAFETY: blocks of messages are kept until they are over, and abandoned if that is no good end.
    Ok(unsafe { communicator.start_transfers_shared(&[transfer]) }?)
}

/// Refuses a message that is not what is waited for.
fn compare(
    message: &Message,
    arrival: &Arrival,
    peer: u32,
    communicator: &Communicator,
) -> Result<(), Failure> {
    let as_text = |data_type: DataType, count: u64| format!("{count} {data_type}");
    if (arrival.data_type, arrival.count) == (message.data_type, message.count) {
        return Ok(());
    }
    let text = format!(
        "rank {peer} sends {} with tag {}, rank {} receives {}",
        as_text(arrival.data_type, arrival.count),
        arrival.tag,
        communicator.rank(),
        as_text(message.data_type, message.count),
    );
    Err(Failure::new(Status::Failed, text))
}
