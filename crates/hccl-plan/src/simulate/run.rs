//! The run itself: its state, and events in the order of time.

use std::collections::VecDeque;

use crate::topology::Ports;

use super::agenda::Agenda;
use super::flows::{End, Flows, Owner};
use super::network::Network;
use super::path::{Node, Story};
use super::program::Program;
use super::{Outcome, SimulateError, Size, TIME_MAX, Traffic};

/// Runs a program for one size.
pub(super) fn run(
    network: &Network,
    program: &Program,
    size: Size,
) -> Result<Outcome, SimulateError> {
    let mut run = Run::new(network, program, size);
    run.go()?;
    run.outcome()
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The first byte of a message flows. An index into [`Run::starting`].
    First(u32),
    /// A flow may be over.
    Last(End),
    /// A rank has combined what had come.
    Combined(u32),
    /// A rank has heard what it has to hear before the end of a segment.
    Heard(u32),
}

/// What keeps a rank that is not through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing yet: it has not begun.
    Nothing,
    /// A peer or all, in a `Wait` or `Meet`.
    Peer,
    /// The messages of a segment.
    Messages,
    /// The reductions of a segment.
    Works,
    /// The messages that carry results to peers.
    Puts,
    /// The latency of what it was told.
    Hearing,
    /// It is through.
    Over,
}

pub(super) struct Rank {
    pub(super) op: u32,
    /// Next message to start, next segment to end, and next reduction.
    pub(super) message: u32,
    pub(super) segment: u32,
    pub(super) work: u32,
    /// Messages under way.
    pub(super) under_way: u32,
    pub(super) wait: Wait,
    /// What happened last here, and when. While messages are under way, before they started.
    pub(super) node: Node,
    pub(super) now_ps: u64,
    /// When it has heard all that it was told, from whom, and what that one did last.
    pub(super) heard_ps: u64,
    pub(super) heard: (u32, u8, Node),
    /// When it was through.
    pub(super) end_ps: u64,
}

/// A level that somebody waits for all to reach.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    pub(super) come: u32,
    /// When the last has come, who, and what that one did last.
    pub(super) at_ps: u64,
    pub(super) last: (u32, Node),
}

pub(super) struct Run<'a> {
    pub(super) network: &'a Network,
    pub(super) program: &'a Program,
    pub(super) size: Size,
    pub(super) ranks: Vec<Rank>,
    /// When each segment was over, and with what.
    pub(super) done: Vec<(u64, Node)>,
    pub(super) meetings: Vec<Meeting>,
    /// Who waits for each rank, and for which level.
    pub(super) sleepers: Vec<Vec<(u32, u32)>>,
    /// Who waits for each meeting.
    pub(super) meeters: Vec<Vec<u32>>,
    /// Ranks that can go on.
    pub(super) ready: VecDeque<u32>,
    pub(super) agenda: Agenda<Event>,
    pub(super) starting: Vec<Owner>,
    pub(super) starting_free: Vec<u32>,
    pub(super) flows: Flows,
    /// The first port of each tier that has ports of ranks.
    pub(super) port_of_tier: Vec<u32>,
    pub(super) port_of_pairs: u32,
    pub(super) story: Story,
    pub(super) traffic: Vec<Traffic>,
    pub(super) copied: u64,
    pub(super) too_large: bool,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, program: &'a Program, size: Size) -> Self {
        let ranks = network.ranks;
        // Ports: the copy engine of each rank; for tiers with ports of ranks, those that send and
        // those that receive; links of pairs.
        let mut capacities = vec![network.copy.unwrap_or(f64::INFINITY); ranks as usize];
        let mut port_of_tier = Vec::with_capacity(network.tiers.len());
        for tier in &network.tiers {
            port_of_tier.push(capacities.len() as u32);
            if tier.ports == Ports::Rank {
                capacities.extend(std::iter::repeat_n(tier.rate, 2 * ranks as usize));
            }
        }
        let port_of_pairs = capacities.len() as u32;
        capacities.extend(program.pair_tiers.iter().map(|tier| network.link(*tier).rate));
        let rank = |begin: &super::program::Begin| Rank {
            op: begin.op,
            message: begin.message,
            segment: begin.segment,
            work: begin.work,
            under_way: 0,
            wait: Wait::Nothing,
            node: Node::START,
            now_ps: 0,
            heard_ps: 0,
            heard: (0, 0, Node::START),
            end_ps: 0,
        };
        let meeting = |&level: &u32| Meeting {
            come: if level <= 1 { ranks } else { 0 },
            at_ps: 0,
            last: (0, Node::START),
        };
        Self {
            network,
            program,
            size,
            ranks: program.begins[..ranks as usize].iter().map(rank).collect(),
            done: vec![(0, Node::START); program.segments.len()],
            meetings: program.meetings.iter().map(meeting).collect(),
            sleepers: vec![Vec::new(); ranks as usize],
            meeters: vec![Vec::new(); program.meetings.len()],
            ready: (0..ranks).collect(),
            agenda: Agenda::new(),
            starting: Vec::new(),
            starting_free: Vec::new(),
            flows: Flows::new(capacities.into_iter()),
            port_of_tier,
            port_of_pairs,
            story: Story::default(),
            traffic: vec![Traffic::default(); network.tiers.len()],
            copied: 0,
            too_large: false,
        }
    }

    fn go(&mut self) -> Result<(), SimulateError> {
        self.advance_all();
        while let Some(now_ps) = self.agenda.next_ps() {
            if now_ps > TIME_MAX || self.too_large {
                return Err(SimulateError::TooLong);
            }
            let events = self.agenda.take();
            for event in &events {
                self.happen(now_ps, *event);
                self.advance_all();
            }
            self.agenda.done(events);
            if self.agenda.next_ps() != Some(now_ps) {
                let agenda = &mut self.agenda;
                self.flows.share(now_ps, |at_ps, end| agenda.push(at_ps, Event::Last(end)));
            }
        }
        if self.too_large {
            return Err(SimulateError::TooLong);
        }
        let stuck = |rank: &Rank| rank.wait != Wait::Over;
        match self.ranks.iter().position(stuck) {
            Some(rank) => Err(SimulateError::Stuck {
                rank: rank as u32,
                others: self.ranks.iter().filter(|rank| stuck(rank)).count() - 1,
            }),
            None => Ok(()),
        }
    }

    fn happen(&mut self, now_ps: u64, event: Event) {
        match event {
            Event::First(index) => {
                let owner = self.starting[index as usize];
                self.starting_free.push(index);
                let message = &self.program.messages[owner.message as usize];
                let ports = self.ports(owner.rank, message);
                self.flows.begin(owner, ports, now_ps);
            }
            Event::Last(end) => {
                if let Some(owner) = self.flows.end(end) {
                    self.arrive(owner, now_ps);
                }
            }
            Event::Combined(rank) => {
                self.ranks[rank as usize].now_ps = now_ps;
                self.start_puts(rank);
            }
            Event::Heard(rank) => {
                self.ranks[rank as usize].now_ps = now_ps;
                self.finish(rank);
            }
        }
    }

    fn outcome(self) -> Result<Outcome, SimulateError> {
        let ends_ps: Vec<u64> = self.ranks.iter().map(|rank| rank.end_ps).collect();
        let time_ps = ends_ps.iter().copied().max().unwrap_or(0);
        if time_ps > TIME_MAX {
            return Err(SimulateError::TooLong);
        }
        let last = self.ranks.iter().find(|rank| rank.end_ps == time_ps);
        let path = self.story.path(last.map_or(Node::START, |rank| rank.node));
        Ok(Outcome { time_ps, ends_ps, traffic: self.traffic, copied: self.copied, path })
    }
}
