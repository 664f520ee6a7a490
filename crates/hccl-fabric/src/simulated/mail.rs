//! Messages between pairs of ranks, and the bell that a rank can sleep on for them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::channel::Message;

/// A number of a message, when it was said, and the mark for private views.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    pub(super) number: u64,
    pub(super) stamp: u64,
    pub(super) mark: u64,
}

/// From one rank to another: the newest message, and the newest that was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Channel {
    pub(super) message: Message,
    pub(super) posted: Said,
    pub(super) taken: Said,
}

#[derive(Debug)]
pub(super) struct Mail {
    ranks: usize,
    /// Where the channel of a pair is, at from * ranks + to; 0 if it was never used.
    index: Vec<u32>,
    channels: Vec<Channel>,
    /// For each rank, when its bell rings, as far as that may lie ahead.
    rings: Vec<BinaryHeap<Reverse<u64>>>,
}

impl Mail {
    pub(super) fn new(ranks: u32) -> Self {
        let ranks = ranks as usize;
        Self {
            ranks,
            index: vec![0; ranks * ranks],
            channels: vec![Channel::default()],
            rings: vec![BinaryHeap::new(); ranks],
        }
    }

    /// What is in a channel.
    pub(super) fn channel(&self, from: u32, to: u32) -> Channel {
        self.channels[self.index[self.pair(from, to)] as usize]
    }

    /// A channel, to write to.
    pub(super) fn channel_mut(&mut self, from: u32, to: u32) -> &mut Channel {
        let pair = self.pair(from, to);
        if self.index[pair] == 0 {
            self.index[pair] = self.channels.len() as u32;
            self.channels.push(Channel::default());
        }
        &mut self.channels[self.index[pair] as usize]
    }

    /// A rank's bell will ring at `at`.
    pub(super) fn ring(&mut self, rank: u32, at: u64) {
        self.rings[rank as usize].push(Reverse(at));
    }

    /// When a rank's bell rings next, after `now` by its own clock.
    pub(super) fn next_ring(&mut self, rank: u32, now: u64) -> Option<u64> {
        let rings = &mut self.rings[rank as usize];
        while rings.peek().is_some_and(|&Reverse(at)| at <= now) {
            rings.pop();
        }
        rings.peek().map(|&Reverse(at)| at)
    }

    fn pair(&self, from: u32, to: u32) -> usize {
        assert!(
            (from as usize) < self.ranks && (to as usize) < self.ranks,
            "ranks are checked where they come in"
        );
        from as usize * self.ranks + to as usize
    }
}
