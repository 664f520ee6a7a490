//! Plans in the form in which they are run: what a rank waits for, which messages it starts when,
//! and what it does when they have come. Sizes stay symbolic, so one program serves all sizes.
//!
//! The steps of a rank fall into segments. A segment ends with a signal, or where a step touches
//! bytes of a step before it; within a segment all messages run beside each other, as soon as the
//! waits before them allow.

use std::collections::HashMap;

use crate::plan::{Peers, Place, Plan, Span, Step, VERSION};
use crate::topology::Ports;

use super::SimulateError;
use super::conflict::{Conflicts, places, span};
use super::network::Network;

/// Entries of a program that fit into a few gigabytes.
pub(super) const ENTRIES_MAX: u64 = 1 << 26;

/// The tier of a message inside of a rank.
pub(super) const LOCAL: u8 = u8::MAX;

/// What a rank does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Waits for a peer. `hears` says whether the rank acts on what it hears, so that the latency
    /// of hearing counts.
    Wait { peer: u32, level: u32, tier: u8, hears: bool },
    /// Waits for all; `meeting` is an index into [`Program::meetings`].
    Meet { meeting: u32, hears: bool },
    /// Starts messages, up to this one.
    Start { until: u32 },
    /// Ends a segment: goes on when all that was started is done.
    Close,
}

/// What one rank moves from or to one peer in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) peer: u32,
    /// Number of the pair among those that have a link of their own.
    pub(super) pair: u32,
    /// Pieces up to this one; they begin where those of the message before end.
    pub(super) until: u32,
    /// The step it belongs to, the first if there are several.
    pub(super) step: u32,
    /// The tier it goes over, or [`LOCAL`].
    pub(super) tier: u8,
    /// Whether the rank writes to the peer; else it reads from it.
    pub(super) is_put: bool,
}

/// What a rank does at the end of a segment, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Reductions up to this one; they begin where those of the segment before end.
    pub(super) works: u32,
    /// Messages up to this one, which write results to peers. Where they begin, those end that
    /// the rank has started.
    pub(super) puts: u32,
    /// The level that the rank has afterwards.
    pub(super) level: u32,
    /// Its first reduction, or if there is none, its last step.
    pub(super) step: u32,
}

/// A reduction, or the part of a message that lies in one piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) span: Span,
    /// How many times its bytes count.
    pub(super) times: u32,
}

/// The plans of all ranks.
#[derive(Default)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) messages: Vec<Message>,
    pub(super) segments: Vec<Segment>,
    pub(super) pieces: Vec<Piece>,
    pub(super) works: Vec<Piece>,
    /// Where the ranks begin: in `ops`, `messages`, `segments`, `works`. One entry more than ranks.
    pub(super) begins: Vec<Begin>,
    /// Levels for which somebody waits for all, in order.
    pub(super) meetings: Vec<u32>,
    /// The tier of each pair of ranks with a link of its own.
    pub(super) pair_tiers: Vec<u8>,
    /// Numbers of the pairs, from and to.
    pairs: HashMap<(u32, u32), u32>,
}

/// Where the entries of a rank begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begin {
    pub(super) op: u32,
    pub(super) message: u32,
    pub(super) segment: u32,
    pub(super) work: u32,
}

impl Program {
    pub(super) fn new(
        network: &Network,
        plans: impl IntoIterator<Item = Result<Plan, SimulateError>>,
    ) -> Result<Self, SimulateError> {
        let mut program = Self { begins: vec![Begin::default()], ..Self::default() };
        for (rank, plan) in plans.into_iter().enumerate() {
            program.add(network, rank, &plan?)?;
        }
        let ranks = program.begins.len() - 1;
        if ranks != network.ranks as usize {
            return Err(SimulateError::Ranks { plans: ranks, topology: network.ranks });
        }
        program.pairs = HashMap::new();
        program.meetings.sort_unstable();
        program.meetings.dedup();
        for op in &mut program.ops {
            if let Op::Meet { meeting, .. } = op {
                let found = program.meetings.binary_search(meeting);
                *meeting = found.unwrap_or(0) as u32;
            }
        }
        Ok(program)
    }

    fn add(&mut self, network: &Network, rank: usize, plan: &Plan) -> Result<(), SimulateError> {
        let wrong = |why| SimulateError::Plan { rank, why };
        if plan.version != VERSION {
            return Err(wrong("it is of another version"));
        }
        if plan.rank as usize != rank {
            return Err(wrong("it is the plan of another rank"));
        }
        if plan.ranks != network.ranks || rank >= network.ranks as usize {
            return Err(SimulateError::Ranks {
                plans: plan.ranks as usize,
                topology: network.ranks,
            });
        }
        let conflicts =
            Conflicts::new(plan).ok_or_else(|| wrong("its parts have no common measure"))?;
        let mut writer = Writer {
            network,
            program: self,
            rank: plan.rank,
            conflicts,
            window: Window::default(),
            puts: Window::default(),
            level: 1,
            first_work: None,
            is_open: false,
        };
        writer.write(plan)?;
        self.begins.push(Begin {
            op: self.ops.len() as u32,
            message: self.messages.len() as u32,
            segment: self.segments.len() as u32,
            work: self.works.len() as u32,
        });
        Ok(())
    }

    fn entries(&self) -> u64 {
        let all = [self.ops.len(), self.messages.len(), self.pieces.len(), self.works.len()];
        all.into_iter().map(|len| len as u64).sum()
    }
}

/// Messages that start together.
#[derive(Default)]
struct Window {
    messages: Vec<Message>,
    /// By message, in the order of steps.
    pieces: Vec<(u32, Piece)>,
    /// Which message goes to or comes from a peer.
    by_peer: HashMap<(u32, bool), u32>,
}

impl Window {
    fn add(&mut self, span: Span, message: Message) {
        let key = (message.peer, message.is_put);
        let last = self.messages.len().wrapping_sub(1);
        let same = |message: &Message| (message.peer, message.is_put) == key;
        // Mostly it is the last one.
        let index = if self.messages.last().is_some_and(same) {
            last as u32
        } else {
            *self.by_peer.entry(key).or_insert_with(|| {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            })
        };
        self.pieces.push((index, Piece { span, times: 1 }));
    }

    fn flush(&mut self, messages: &mut Vec<Message>, pieces: &mut Vec<Piece>) {
        self.pieces.sort_by_key(|(message, _)| *message);
        let mut at = 0;
        for (index, message) in (0u32..).zip(self.messages.drain(..)) {
            while let Some(&(_, piece)) = self.pieces.get(at).filter(|(of, _)| *of == index) {
                pieces.push(piece);
                at += 1;
            }
            messages.push(Message { until: pieces.len() as u32, ..message });
        }
        self.pieces.clear();
        self.by_peer.clear();
    }
}

/// Writes the program of one rank.
struct Writer<'a, 'p> {
    network: &'a Network,
    program: &'a mut Program,
    rank: u32,
    conflicts: Conflicts<'p>,
    window: Window,
    puts: Window,
    level: u32,
    /// The first reduction since the last segment.
    first_work: Option<u32>,
    /// Whether something was moved or combined since the last segment.
    is_open: bool,
}

impl<'p> Writer<'_, 'p> {
    fn write(&mut self, plan: &'p Plan) -> Result<(), SimulateError> {
        let is_work = |step: &Step| !matches!(step, Step::Wait { .. });
        let tail = plan.steps.iter().rposition(is_work).map_or(0, |last| last + 1);
        for (index, step) in plan.steps.iter().enumerate() {
            let at = index as u32;
            if index == tail && self.is_open {
                self.close(at.saturating_sub(1));
            }
            // Waits at the end guard the buffers of the rank: nothing is done upon them. Level 1
            // says that a peer has come at all, which is what a barrier waits for.
            let hears = |level: u32| index < tail || level <= 1;
            match step {
                Step::Wait { peers: Peers::One(peer), level } => {
                    self.check(*peer)?;
                    self.flush();
                    let tier = self.network.tier(self.rank, *peer);
                    let (peer, level) = (*peer, *level);
                    self.program.ops.push(Op::Wait { peer, level, tier, hears: hears(level) });
                }
                Step::Wait { peers: Peers::All, level } => {
                    self.flush();
                    if self.program.meetings.last() != Some(level) {
                        self.program.meetings.push(*level);
                    }
                    self.program.ops.push(Op::Meet { meeting: *level, hears: hears(*level) });
                }
                Step::Signal { level } => {
                    self.level = self.level.max(*level);
                    self.close(at);
                }
                Step::Copy { .. } | Step::Reduce { .. } => {
                    if self.conflicts.clashes(step) {
                        self.close(at.saturating_sub(1));
                        self.conflicts.clashes(step);
                    }
                    self.is_open = true;
                    self.work(at, step)?;
                }
            }
        }
        if self.is_open {
            self.close(plan.steps.len() as u32 - 1);
        }
        Ok(())
    }

    fn check(&self, peer: u32) -> Result<(), SimulateError> {
        if peer < self.network.ranks {
            return Ok(());
        }
        Err(SimulateError::Plan { rank: self.rank as usize, why: "it names a rank that is none" })
    }

    /// A step that moves or combines something.
    fn work(&mut self, at: u32, step: &Step) -> Result<(), SimulateError> {
        let ((sources, targets), Some(span)) = (places(step), span(step)) else {
            return Ok(());
        };
        for place in sources.iter().chain(targets) {
            self.check(place.rank)?;
        }
        let me = self.rank;
        let is_own = |place: &Place| place.rank == me;
        for place in sources.iter().filter(|place| !is_own(place)) {
            let message = self.message(at, place.rank, false);
            self.window.add(span, message);
        }
        let is_moved = sources.len() == 1;
        let is_local = sources.iter().all(is_own);
        for place in targets {
            if !is_own(place) {
                let message = self.message(at, place.rank, true);
                // What is not computed first goes out at once.
                if is_moved && is_local {
                    self.window.add(span, message);
                } else {
                    self.puts.add(span, message);
                }
            } else if is_moved && is_local {
                let message = self.message(at, me, true);
                self.window.add(span, message);
            }
        }
        if sources.len() > 1 {
            let times = sources.len() as u32 - 1;
            self.first_work.get_or_insert(at);
            self.program.works.push(Piece { span, times });
        }
        let too_large = self.program.entries() > ENTRIES_MAX;
        if too_large { Err(SimulateError::TooLarge) } else { Ok(()) }
    }

    fn message(&mut self, step: u32, peer: u32, is_put: bool) -> Message {
        let mut message = Message { peer, pair: 0, until: 0, step, tier: LOCAL, is_put };
        if peer == self.rank {
            return message;
        }
        message.tier = self.network.tier(self.rank, peer);
        if self.network.link(message.tier).ports == Ports::Pair {
            let pair = if is_put { (self.rank, peer) } else { (peer, self.rank) };
            let tiers = &mut self.program.pair_tiers;
            message.pair = *self.program.pairs.entry(pair).or_insert_with(|| {
                tiers.push(message.tier);
                tiers.len() as u32 - 1
            });
        }
        message
    }

    /// Starts what has gathered.
    fn flush(&mut self) {
        if !self.window.messages.is_empty() {
            self.window.flush(&mut self.program.messages, &mut self.program.pieces);
            let until = self.program.messages.len() as u32;
            self.program.ops.push(Op::Start { until });
        }
    }

    fn close(&mut self, step: u32) {
        self.flush();
        self.puts.flush(&mut self.program.messages, &mut self.program.pieces);
        self.program.segments.push(Segment {
            works: self.program.works.len() as u32,
            puts: self.program.messages.len() as u32,
            level: self.level,
            step: self.first_work.take().unwrap_or(step),
        });
        self.program.ops.push(Op::Close);
        self.conflicts.clear();
        self.is_open = false;
    }
}
