//! A run, seen from the data: messages, reductions, and messages with their results.

use crate::plan::Span;
use crate::topology::Ports;

use super::flows::Owner;
use super::path::{Hop, Work};
use super::program::{LOCAL, Message, Segment};
use super::run::{Event, Run, Wait};
use super::{BYTES_MAX, Size};

impl<'a> Run<'a> {
    /// Asks for the messages up to this one.
    pub(super) fn start(&mut self, rank: u32, until: u32) {
        let me = rank as usize;
        for index in self.ranks[me].message..until {
            let message = self.program.messages[index as usize];
            let bytes = self.bytes(index);
            if bytes == 0 {
                continue;
            }
            let (now_ps, node) = (self.ranks[me].now_ps, self.ranks[me].node);
            let mut owner = Owner { rank, message: index, bytes, from_ps: now_ps, after: node };
            if message.tier == LOCAL {
                self.copied = self.copied.saturating_add(bytes);
                if self.network.copy.is_none() {
                    continue;
                }
                // A rank acts at home when it has heard that it may; messages do not wait for that.
                if self.catch_up(rank) {
                    owner.from_ps = self.ranks[me].heard_ps;
                    owner.after = std::mem::replace(&mut self.ranks[me].node, node);
                }
                self.announce(owner, owner.from_ps);
            } else {
                let traffic = &mut self.traffic[usize::from(message.tier)];
                traffic.bytes = traffic.bytes.saturating_add(bytes);
                traffic.messages += 1;
                self.announce(owner, now_ps.saturating_add(self.network.latency(message.tier)));
            }
            self.ranks[me].under_way += 1;
        }
        self.ranks[me].message = until;
    }

    fn announce(&mut self, owner: Owner, at_ps: u64) {
        let index = self.starting_free.pop().unwrap_or(self.starting.len() as u32);
        if index as usize == self.starting.len() {
            self.starting.push(owner);
        } else {
            self.starting[index as usize] = owner;
        }
        self.agenda.push(at_ps, Event::First(index));
    }

    fn bytes(&mut self, message: u32) -> u64 {
        let messages = &self.program.messages;
        let first = message.checked_sub(1).map_or(0, |before| messages[before as usize].until);
        let pieces =
            &self.program.pieces[first as usize..messages[message as usize].until as usize];
        let size = self.size;
        let sum = pieces.iter().map(|piece| size.bytes(piece.span)).fold(0, u64::saturating_add);
        self.too_large |= sum > BYTES_MAX;
        sum
    }

    /// The ports that a message passes.
    pub(super) fn ports(&self, rank: u32, message: &Message) -> (u32, Option<u32>) {
        if message.tier == LOCAL {
            return (rank, None);
        }
        match self.network.link(message.tier).ports {
            Ports::Pair => (self.port_of_pairs + message.pair, None),
            Ports::Rank => {
                let first = self.port_of_tier[usize::from(message.tier)];
                let (from, to) = match message.is_put {
                    true => (rank, message.peer),
                    false => (message.peer, rank),
                };
                (first + 2 * from, Some(first + 2 * to + 1))
            }
        }
    }

    /// The last byte of a message has come.
    pub(super) fn arrive(&mut self, owner: Owner, now_ps: u64) {
        let me = owner.rank as usize;
        self.ranks[me].under_way -= 1;
        let is_last = self.ranks[me].under_way == 0;
        match self.ranks[me].wait {
            Wait::Messages if is_last => {
                self.note(owner, now_ps);
                self.combine(owner.rank);
            }
            Wait::Puts if is_last => {
                self.note(owner, now_ps);
                self.settle(owner.rank);
            }
            _ => {}
        }
    }

    /// A message was the last thing that a rank waited for.
    fn note(&mut self, owner: Owner, now_ps: u64) {
        let message = &self.program.messages[owner.message as usize];
        let (peer, bytes, tier) = (message.peer, owner.bytes, usize::from(message.tier));
        let work = match message.tier {
            LOCAL => Work::Copy { bytes },
            _ if message.is_put => Work::Put { peer, bytes, tier },
            _ => Work::Get { peer, bytes, tier },
        };
        let step = message.step as usize;
        let hop = Hop { rank: owner.rank, step, from_ps: owner.from_ps, to_ps: now_ps, work };
        let me = &mut self.ranks[owner.rank as usize];
        me.node = self.story.add(owner.after, hop);
        me.now_ps = now_ps;
    }

    fn segment(&self, rank: u32) -> &'a Segment {
        &self.program.segments[self.ranks[rank as usize].segment as usize]
    }

    /// All that a segment started has come: its reductions.
    pub(super) fn combine(&mut self, rank: u32) {
        let me = rank as usize;
        let until = self.segment(rank).works;
        let works = &self.program.works[self.ranks[me].work as usize..until as usize];
        self.ranks[me].work = until;
        let mut bytes = 0u64;
        for work in works {
            let once = self.size.bytes(work.span);
            bytes = bytes.saturating_add(once.saturating_mul(u64::from(work.times)));
        }
        self.too_large |= bytes > BYTES_MAX;
        let lasts_ps = self.network.reduce.map_or(0, |rate| (bytes as f64 / rate).ceil() as u64);
        if lasts_ps == 0 {
            return self.start_puts(rank);
        }
        if self.catch_up(rank) {
            self.ranks[me].now_ps = self.ranks[me].heard_ps;
        }
        let from_ps = self.ranks[me].now_ps;
        let to_ps = from_ps.saturating_add(lasts_ps);
        let hop = self.hop(rank, from_ps, to_ps, Work::Reduce { bytes });
        self.ranks[me].node = self.story.add(self.ranks[me].node, hop);
        self.ranks[me].wait = Wait::Works;
        self.agenda.push(to_ps, Event::Combined(rank));
    }

    /// What was computed goes out to peers.
    pub(super) fn start_puts(&mut self, rank: u32) {
        self.ranks[rank as usize].wait = Wait::Puts;
        self.start(rank, self.segment(rank).puts);
        if self.ranks[rank as usize].under_way == 0 {
            self.settle(rank);
        }
    }

    /// A segment is over as soon as the rank has heard what it was told.
    fn settle(&mut self, rank: u32) {
        if !self.catch_up(rank) {
            return self.finish(rank);
        }
        self.ranks[rank as usize].wait = Wait::Hearing;
        self.agenda.push(self.ranks[rank as usize].heard_ps, Event::Heard(rank));
    }
}

impl Size {
    /// Bytes of a span.
    fn bytes(self, span: Span) -> u64 {
        let range = span.range(self.count, self.granule);
        (range.end - range.start).saturating_mul(u64::from(self.element_bytes))
    }
}
