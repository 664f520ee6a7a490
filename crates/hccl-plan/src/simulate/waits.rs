//! A run, seen from the ranks: what each does next, what it waits for, and whom its signals wake.

use super::path::{Hop, Node, Work};
use super::program::Op;
use super::run::{Meeting, Rank, Run, Wait};

impl Run<'_> {
    /// A queue instead of calls: one rank's signal may set many going, one after the other.
    pub(super) fn advance_all(&mut self) {
        while let Some(rank) = self.ready.pop_front() {
            self.advance(rank);
        }
    }

    /// Lets a rank go on until it waits for something or is through.
    fn advance(&mut self, rank: u32) {
        let me = rank as usize;
        let until = self.program.begins[me + 1].op;
        while self.ranks[me].op < until {
            match self.program.ops[self.ranks[me].op as usize] {
                Op::Wait { peer, level, tier, hears } => {
                    let Some((at_ps, node)) = self.reached(peer, level) else {
                        self.sleepers[peer as usize].push((rank, level));
                        self.ranks[me].wait = Wait::Peer;
                        return;
                    };
                    if hears {
                        self.hear(rank, at_ps + self.network.latency(tier), (peer, tier, node));
                    }
                }
                Op::Meet { meeting, hears } => {
                    let Meeting { come, at_ps, last } = self.meetings[meeting as usize];
                    if come < self.network.ranks {
                        self.meeters[meeting as usize].push(rank);
                        self.ranks[me].wait = Wait::Peer;
                        return;
                    }
                    if hears {
                        let at_ps = at_ps + self.network.meeting_latency();
                        self.hear(rank, at_ps, (last.0, self.network.meeting_tier(), last.1));
                    }
                }
                Op::Start { until } => self.start(rank, until),
                Op::Close => {
                    self.ranks[me].wait = Wait::Messages;
                    if self.ranks[me].under_way == 0 {
                        self.combine(rank);
                    }
                    return;
                }
            }
            self.ranks[me].op += 1;
        }
        // What it has heard at the end without doing anything upon it.
        if self.catch_up(rank) {
            self.ranks[me].now_ps = self.ranks[me].heard_ps;
        }
        self.ranks[me].end_ps = self.ranks[me].now_ps;
        self.ranks[me].wait = Wait::Over;
    }

    /// When a peer reached a level, and what it did last before that.
    fn reached(&self, peer: u32, level: u32) -> Option<(u64, Node)> {
        if level <= 1 {
            return Some((0, Node::START));
        }
        let begin = self.program.begins[peer as usize].segment as usize;
        let now = self.ranks[peer as usize].segment as usize;
        let over = &self.program.segments[begin..now];
        // It is mostly one of the last: look back in ever longer strides.
        let mut back = 1;
        while back < over.len() && over[over.len() - back].level >= level {
            back *= 2;
        }
        let from = over.len().saturating_sub(back);
        let first = from + over[from..].partition_point(|segment| segment.level < level);
        (first < over.len()).then(|| self.done[begin + first])
    }

    /// Notes that a rank was told something that takes until then to be heard.
    fn hear(&mut self, rank: u32, at_ps: u64, from: (u32, u8, Node)) {
        let rank = &mut self.ranks[rank as usize];
        if at_ps > rank.heard_ps {
            rank.heard_ps = at_ps;
            rank.heard = from;
        }
    }

    /// If the rank has not yet heard what it was told: that is the last thing now, and so in the
    /// story.
    pub(super) fn catch_up(&mut self, rank: u32) -> bool {
        let me = &self.ranks[rank as usize];
        if me.heard_ps <= me.now_ps {
            return false;
        }
        let (peer, tier, node) = me.heard;
        let latency_ps = self.network.latency(tier);
        let work = Work::Hear { peer, tier: tier.into() };
        let hop = self.hop(rank, me.heard_ps - latency_ps, me.heard_ps, work);
        self.ranks[rank as usize].node = self.story.add(node, hop);
        true
    }

    pub(super) fn hop(&self, rank: u32, from_ps: u64, to_ps: u64, work: Work) -> Hop {
        let me = &self.ranks[rank as usize];
        let until = self.program.begins[rank as usize + 1].segment;
        // At the end of a plan there may be waits behind the last segment.
        let last = me.segment.min(until.wrapping_sub(1)) as usize;
        let step = self.program.segments.get(last).map_or(0, |segment| segment.step);
        Hop { rank, step: step as usize, from_ps, to_ps, work }
    }

    /// A segment is over: whoever waits for the level that this brings goes on.
    pub(super) fn finish(&mut self, rank: u32) {
        let me = rank as usize;
        let index = self.ranks[me].segment as usize;
        let Rank { now_ps, node, .. } = self.ranks[me];
        self.done[index] = (now_ps, node);
        self.ranks[me].segment += 1;
        self.ranks[me].op += 1;
        let begin = self.program.begins[me].segment as usize;
        let before = if index > begin { self.program.segments[index - 1].level } else { 1 };
        let level = self.program.segments[index].level;
        if level > before {
            self.rise(rank, before, level);
        }
        self.ready.push_back(rank);
    }

    fn rise(&mut self, rank: u32, before: u32, level: u32) {
        let Rank { now_ps, node, .. } = self.ranks[rank as usize];
        let first = self.program.meetings.partition_point(|&meeting| meeting <= before);
        let until = self.program.meetings.partition_point(|&meeting| meeting <= level);
        for index in first..until {
            self.meetings[index].come += 1;
            if self.meetings[index].come == self.network.ranks {
                self.meetings[index].at_ps = now_ps;
                self.meetings[index].last = (rank, node);
                for sleeper in std::mem::take(&mut self.meeters[index]) {
                    self.wake(sleeper, now_ps, node);
                }
            }
        }
        let mut sleepers = std::mem::take(&mut self.sleepers[rank as usize]);
        let awake: Vec<u32> = sleepers
            .extract_if(.., |(_, wanted)| *wanted <= level)
            .map(|(sleeper, _)| sleeper)
            .collect();
        self.sleepers[rank as usize] = sleepers;
        for sleeper in awake {
            self.wake(sleeper, now_ps, node);
        }
    }

    /// A rank goes on because another has signalled.
    fn wake(&mut self, sleeper: u32, now_ps: u64, node: Node) {
        let me = &mut self.ranks[sleeper as usize];
        me.now_ps = now_ps;
        me.node = node;
        self.ready.push_back(sleeper);
    }
}
