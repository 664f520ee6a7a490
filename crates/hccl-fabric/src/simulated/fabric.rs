//! One rank's seat at a simulated network.

use std::sync::Arc;
use std::time::Duration;

use hccl_os::wait::Watch;

use super::delay::{Kind, Way};
use super::line::{Event, position, word};
use super::mail::Said;
use super::network::{Shared, progress};
use super::record::Deed;
use super::seat::{Seat, Told};
use super::sleepers::Cause;
use crate::board::{Call, State};
use crate::channel::{Line, Message};
use crate::fabric::{Fabric, Fault, reason};
use crate::inline::{Data, Inline};

/// What a look at another rank's line costs, nanoseconds.
const LOOK_NS: u64 = 5;
/// What everything else costs.
const CALL_NS: u64 = 20;
/// Levels that the real board can hold.
const LEVELS: u32 = 1 << 24;
/// Number of the process of rank 0, in messages.
const FIRST_PROCESS: u32 = 1000;

/// The fabric of one rank in a simulation. Dropping it leaves the communicator.
pub struct SimulatedFabric {
    shared: Arc<Shared>,
    rank: u32,
}

impl SimulatedFabric {
    pub(super) fn new(shared: Arc<Shared>, rank: u32) -> Self {
        Self { shared, rank }
    }

    fn seat(&self) -> &Seat {
        &self.shared.seats[self.rank as usize]
    }

    /// Begins a call: the clock moves on. `None` if the rank is dead, so that nothing may happen.
    #[inline]
    fn enter(&self, cost: u64) -> Option<u64> {
        let now = self.seat().count(cost);
        if now.is_none() {
            self.shared.die(self.rank);
        }
        now
    }

    /// Begins a call that others will see: when it happens, and whether it wakes sleepers, which
    /// it does not if the rank dies half way.
    fn enter_deed(&self, deed: Deed) -> Option<(u64, bool)> {
        let was_dead = self.seat().died().is_some();
        let alive = self.enter(CALL_NS);
        let half_done = !was_dead && self.shared.draw(self.rank, 1).is_multiple_of(2);
        let now = alive.or_else(|| half_done.then(|| self.seat().clock()))?;
        self.shared.note(self.rank, deed);
        Some((now, alive.is_some()))
    }

    /// Now and then lets time pass in the middle of something, so that others get on meanwhile.
    fn pause(&self, salt: u64) {
        let drawn = self.shared.draw(self.rank, salt);
        let longest = self.shared.delay.pause_max();
        if drawn.is_multiple_of(2) && longest > 0 {
            let seat = self.seat();
            seat.advance(seat.clock() + (drawn >> 1) % longest);
        }
    }

    fn say(&self, state: State, reason: u32, now: u64) {
        let told = Told { state, reason, stamp: now, teller: self.rank };
        self.shared.tell(self.rank, told);
    }

    /// Whether something in a channel has arrived here.
    fn has_come(&self, kind: Kind, from: u32, said: Said, now: u64) -> bool {
        let shared = &self.shared;
        let way = Way { kind, from, to: self.rank, event: said.number };
        shared.delay.is_over(way, said.stamp, now) || shared.heard(self.rank, from, now).is_some()
    }

    /// Rings a rank's bell.
    fn ring(&self, kind: Kind, to: u32, number: u64, now: u64, wakes: bool) {
        let way = Way { kind, from: self.rank, to, event: number };
        let at = now + self.shared.delay.of(way);
        if wakes {
            self.shared.mail.lock().ring(to, at);
            self.shared.sleepers.lock().wake_all(Line::Mail(to), |_| at);
        }
    }

    /// When a line that was announced changes next, of what is under way already.
    fn next_change(&self, line: Line, now: u64) -> Option<u64> {
        let shared = &self.shared;
        match line {
            Line::Mail(rank) => shared.mail.lock().next_ring(rank, now),
            Line::Progress(rank) => {
                let arrival = |event: Event| {
                    event.stamp + shared.delay.of(progress(rank, self.rank, event.number))
                };
                if !self.exists(rank) {
                    return None;
                }
                shared.lines.under_way(rank).map(arrival).filter(|&at| at > now).min()
            }
        }
    }

    fn exists(&self, rank: u32) -> bool {
        rank < self.shared.ranks
    }
}

impl Fabric for SimulatedFabric {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.shared.ranks
    }

    fn now(&self) -> Duration {
        self.enter(CALL_NS);
        Duration::from_nanos(self.seat().clock())
    }

    fn publish(&self, sequence: u64, call: &Call) {
        let Some((now, wakes)) = self.enter_deed(Deed::Publish { sequence }) else { return };
        let newest = position(self.shared.lines.word(self.rank)).0;
        if sequence <= newest {
            let what = || format!("publishes call {sequence} after call {newest}");
            return self.shared.breach(self.rank, what);
        }
        self.seat().set_call(sequence, call);
        self.shared.raise(self.rank, sequence, 1, now, wakes);
    }

    unsafe fn publish_inline(&self, sequence: u64, call: &Call, digest: u64, data: Data) {
        let former = sequence.saturating_sub(1);
        let now = self.seat().clock();
        let here = |peer: &u32| {
            let wanted = word(former, u32::from(former > 0));
            self.shared.reached(self.rank, *peer, wanted, now)
        };
        if let Some(peer) = (0..self.shared.ranks).find(|peer| !here(peer)) {
            let what = || {
                format!("publishes data with call {sequence} without rank {peer} in call {former}")
            };
            self.shared.breach(self.rank, what);
        }
        // SAFETY: the caller's promise.
        unsafe { self.seat().slots.fill(sequence, digest, data) };
        self.publish(sequence, call);
    }

    #[inline]
    fn inline_of(&self, peer: u32, sequence: u64) -> Option<Inline> {
        self.reached(peer, sequence, 1)
            .then(|| self.shared.seats[peer as usize].slots.get(sequence))?
    }

    #[inline]
    fn call_of(&self, peer: u32, sequence: u64) -> Option<Call> {
        let now = self.enter(LOOK_NS)?;
        if self.shared.reached(self.rank, peer, word(sequence, 1), now) {
            self.shared.seats[peer as usize].call(sequence)
        } else {
            None
        }
    }

    fn signal(&self, sequence: u64, level: u32) {
        let Some((now, wakes)) = self.enter_deed(Deed::Signal { sequence, level }) else { return };
        let newest = self.shared.lines.word(self.rank);
        if level >= LEVELS || word(sequence, level) < newest || sequence != position(newest).0 {
            let (at, reached) = position(newest);
            let what = || {
                format!("signals level {level} of call {sequence} at level {reached} of call {at}")
            };
            return self.shared.breach(self.rank, what);
        }
        self.shared.raise(self.rank, sequence, level, now, wakes);
    }

    #[inline]
    fn reached(&self, peer: u32, sequence: u64, level: u32) -> bool {
        let Some(now) = self.enter(LOOK_NS) else { return false };
        let wanted = word(sequence, level);
        let reached = self.shared.reached(self.rank, peer, wanted, now);
        if reached && self.shared.memory.is_late() {
            let first = self.shared.lines.first(peer, wanted);
            self.shared.memory.acquire(self.rank, peer, first.mark);
        }
        reached
    }

    fn position(&self, peer: u32) -> (u64, u32) {
        let Some(now) = self.enter(LOOK_NS) else { return (0, 0) };
        if !self.exists(peer) {
            return (0, 0);
        }
        if self.shared.heard(self.rank, peer, now).is_some() {
            return position(self.shared.lines.word(peer));
        }
        let arrived = |event, stamp| self.shared.arrived(self.rank, peer, event, stamp, now);
        position(self.shared.lines.seen(peer, arrived).word)
    }

    fn post(&self, to: u32, number: u64, message: &Message) {
        let Some((now, wakes)) = self.enter_deed(Deed::Post { to, number }) else { return };
        let mark = self.shared.memory.release(self.rank);
        let newest = {
            let mut mail = self.shared.mail.lock();
            let channel = mail.channel_mut(self.rank, to);
            let newest = (channel.posted.number, channel.taken.number);
            channel.message = *message;
            channel.posted = Said { number, stamp: now, mark };
            newest
        };
        if (newest.0 + 1, newest.1 + 1) != (number, number) {
            let (posted, taken) = newest;
            self.shared.breach(self.rank, || {
                format!(
                    "posts message {number} to rank {to} after message {posted}, of which {taken} \
                     were taken"
                )
            });
        }
        self.ring(Kind::Post, to, number, now, wakes);
    }

    fn posted(&self, from: u32, number: u64) -> Option<Message> {
        let now = self.enter(LOOK_NS)?;
        if !self.exists(from) || number == 0 {
            return None;
        }
        let channel = self.shared.mail.lock().channel(from, self.rank);
        let has_come =
            channel.posted.number == number && self.has_come(Kind::Post, from, channel.posted, now);
        if has_come {
            self.shared.memory.acquire(self.rank, from, channel.posted.mark);
        }
        has_come.then_some(channel.message)
    }

    fn take(&self, from: u32, number: u64) {
        let Some((now, wakes)) = self.enter_deed(Deed::Take { from, number }) else { return };
        let mark = self.shared.memory.release(self.rank);
        let newest = {
            let mut mail = self.shared.mail.lock();
            let channel = mail.channel_mut(from, self.rank);
            let newest = (channel.posted.number, channel.taken.number);
            channel.taken = Said { number, stamp: now, mark };
            newest
        };
        if (newest.0, newest.1 + 1) != (number, number) {
            let (posted, taken) = newest;
            self.shared.breach(self.rank, || {
                format!(
                    "takes message {number} from rank {from} after message {taken}, of {posted} \
                     posted"
                )
            });
        }
        self.ring(Kind::Take, from, number, now, wakes);
    }

    fn taken(&self, to: u32, number: u64) -> bool {
        let Some(now) = self.enter(LOOK_NS) else { return false };
        if !self.exists(to) {
            return false;
        }
        let said = self.shared.mail.lock().channel(self.rank, to).taken;
        // The sender posted a later message, so it has seen that the earlier ones were taken.
        if number < said.number || number == 0 {
            return true;
        }
        let has_come = number == said.number && self.has_come(Kind::Take, to, said, now);
        if has_come {
            self.shared.memory.acquire(self.rank, to, said.mark);
        }
        has_come
    }

    fn announce(&self, line: Line) {
        // Somebody may get on between the caller's last look and this.
        self.pause(2);
        let Some(now) = self.enter(CALL_NS) else { return };
        self.shared.record(self.rank, Deed::Announce(line));
        let next = self.next_change(line, now);
        let mut sleepers = self.shared.sleepers.lock();
        sleepers.announce(self.rank, line);
        if let Some(at) = next {
            sleepers.wake(self.rank, at, Cause::Line);
        }
    }

    fn retract(&self, line: Line) {
        if self.enter(CALL_NS).is_none() {
            return;
        }
        if !self.shared.sleepers.lock().retract(self.rank, line) {
            self.shared.breach(self.rank, || format!("was not announced on {line:?}"));
        }
    }

    fn watch(&self, _line: Line) -> Option<Watch> {
        // And between the announcement and the caller's next look.
        self.pause(3);
        self.enter(CALL_NS);
        None
    }

    fn cores_to_spare(&self) -> bool {
        false
    }

    #[inline]
    fn memory(&self, peer: u32, offset: u64, len: u64) -> Option<*mut u8> {
        self.enter(LOOK_NS)?;
        self.shared.memory.at(self.rank, peer, offset, len)
    }

    fn all_copy(&self) -> bool {
        self.shared.all_copy
    }

    unsafe fn copy_from(&self, _: u32, from: u64, to: *mut u8, len: usize) -> Result<(), String> {
        if self.enter(CALL_NS).is_none() {
            return Err("this rank is dead".into());
        }
        // All ranks are in this process, and what is private shows writes at once.
        let own = hccl_os::process::own_id();
        // SAFETY: the caller's promise is the same.
        unsafe { hccl_os::remote::copy_from_process(own, from, to, len) }
            .map_err(|error| error.to_string())
    }

    fn any_gone(&self) -> bool {
        let Some(now) = self.enter(LOOK_NS) else { return false };
        self.shared.heard_any(self.rank, now)
    }

    fn fault(&self, rank: u32) -> Option<Fault> {
        // A rank may do its part and go between the caller's look at its progress and this.
        if self.shared.is_any_gone() {
            self.pause(4);
        }
        let now = self.enter(LOOK_NS)?;
        let told = self.shared.heard(self.rank, rank, now)?;
        let pid = self.process(rank);
        Some(match (told.state, told.reason) {
            (State::Left, _) => Fault::Left { rank, pid },
            (_, reason::DEAD) => Fault::Dead { rank, pid },
            (_, reason) => Fault::Failed { rank, pid, reason },
        })
    }

    fn probe(&self) {
        let Some(now) = self.enter(CALL_NS) else { return };
        for rank in self.shared.ended(now) {
            self.shared.note(self.rank, Deed::Find { rank });
            let (state, reason, teller) = (State::Failed, reason::DEAD, self.rank);
            self.shared.tell(rank, Told { state, reason, stamp: now, teller });
        }
    }

    fn fail(&self, reason: u32) {
        if let Some((now, _)) = self.enter_deed(Deed::Fail { reason }) {
            self.say(State::Failed, reason, now);
        }
    }

    fn leave(&self) {
        if let Some((now, _)) = self.enter_deed(Deed::Leave) {
            self.say(State::Left, 0, now);
        }
    }

    fn process(&self, rank: u32) -> u32 {
        FIRST_PROCESS + rank
    }
}

impl Drop for SimulatedFabric {
    fn drop(&mut self) {
        self.leave();
    }
}
