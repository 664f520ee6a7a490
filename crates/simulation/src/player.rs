//! One rank of a simulation: a program that starts the calls of the scenario in order, several at
//! a time on its streams, and polls them.
//!
//! As soon as a call has ended, the program looks at its output and writes other bytes over its
//! buffers, as a program may: a peer that still reads there, or writes there, spoils the results.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use hccl::{
    Communicator, Direction, Error, Memory, Operation, Piece, Polled, Request, Transfer, Transfers,
};
use hccl_fabric::simulated::{Dice, Network, mix, mix_all};

use crate::call::Call;
use crate::failure::Failure;
use crate::layout::Layout;
use crate::oracle::Oracle;
use crate::private::Private;
use crate::scenario::Scenario;

/// A call under way.
enum Task {
    Operation(Box<Operation>),
    Transfers(Transfers),
}

/// What became of a rank.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It has calls to make.
    Playing,
    /// All its calls ended well.
    Done,
    /// A call failed.
    Failed(Error),
    /// It was lost: dead, or left before its end.
    Lost,
}

/// How long a rank without calls under way would sleep.
const IDLE: Duration = Duration::from_secs(1);

/// What a turn brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A call got on.
    GotOn,
    /// All wait, for so long at most.
    Waits { sleep: Duration },
    /// There is nothing more to do.
    Over,
}

pub(crate) struct Player {
    pub(crate) rank: u32,
    pub(crate) fate: Fate,
    scenario: Rc<Scenario>,
    dice: Dice,
    communicator: Option<Communicator>,
    layout: Layout,
    /// Calls under way, by stream; the first of each stream is polled.
    streams: Vec<VecDeque<(usize, Task, Option<Private>)>>,
    started: usize,
    under_way: usize,
    /// What the rank's memory must hold, except for outputs of calls under way.
    mirror: Vec<u8>,
}

impl Player {
    pub(crate) fn new(
        scenario: Rc<Scenario>,
        layout: Layout,
        rank: u32,
        communicator: Communicator,
        network: &Network,
    ) -> Self {
        let mut mirror = vec![0; layout.bytes as usize];
        scribble(&mut mirror, mix_all([scenario.seed, rank.into(), 1]));
        network.write(rank, 0, &mirror);
        let streams = (0..scenario.streams).map(|_| VecDeque::new()).collect();
        Self {
            rank,
            fate: Fate::Playing,
            dice: Dice::new(mix_all([scenario.seed, rank.into(), 4])),
            scenario,
            communicator: Some(communicator),
            layout,
            streams,
            started: 0,
            under_way: 0,
            mirror,
        }
    }

    /// Lets the rank go on: starts what it may start, polls the first call of each stream. With
    /// `arm` it will sleep if all of them wait.
    ///
    /// # Errors
    /// When an output is wrong.
    pub(crate) fn turn(
        &mut self,
        arm: bool,
        oracles: &[Oracle],
        network: &Network,
    ) -> Result<Turn, Failure> {
        let mut got_on = self.start_some(oracles, network);
        let mut sleep = IDLE;
        let mut order: Vec<usize> = (0..self.streams.len()).collect();
        self.dice.shuffle(&mut order);
        for stream in order {
            // A rank that died in a call does nothing after it.
            if !matches!(self.fate, Fate::Playing) || network.died_ns(self.rank).is_some() {
                break;
            }
            let Some((call, task, _)) = self.streams[stream].front_mut() else { continue };
            let polled = match task {
                Task::Operation(operation) => operation.poll(arm),
                Task::Transfers(transfers) => transfers.poll(arm),
            };
            let call = *call;
            match polled {
                Polled::Pending { sleep: of_call, .. } => sleep = sleep.min(of_call),
                Polled::Progress => got_on = true,
                Polled::Done => {
                    let private = self.streams[stream].pop_front().and_then(|(_, _, it)| it);
                    self.under_way -= 1;
                    got_on = true;
                    if network.died_ns(self.rank).is_none() {
                        self.judge(call, &oracles[call], network, private)?;
                    }
                }
                Polled::Failed(error) => self.fate = Fate::Failed(error),
            }
        }
        let all_done = self.started == self.scenario.calls.len() && self.under_way == 0;
        if all_done && matches!(self.fate, Fate::Playing) {
            self.fate = Fate::Done;
        }
        Ok(match self.fate {
            Fate::Playing if got_on => Turn::GotOn,
            Fate::Playing => Turn::Waits { sleep },
            _ => Turn::Over,
        })
    }

    /// Gives the communicator back, as a program does at its end; calls under way are thrown away.
    pub(crate) fn retire(&mut self) {
        self.streams.clear();
        self.communicator = None;
    }

    /// The rank is lost: leaves its communicator, if it can, in the middle of everything.
    pub(crate) fn lose(&mut self) {
        self.fate = Fate::Lost;
        if let Some(communicator) = &self.communicator {
            communicator.leave();
        }
        self.retire();
    }

    /// What the rank is in.
    pub(crate) fn describe(&self) -> String {
        let calls = &self.scenario.calls;
        match &self.fate {
            Fate::Done => "done".to_owned(),
            Fate::Lost => "lost".to_owned(),
            Fate::Failed(error) => format!("failed: {error}"),
            Fate::Playing => {
                let first = self.streams.iter().filter_map(|stream| stream.front());
                let first =
                    first.map(|(call, _, _)| format!("call {call} ({})", calls[*call].operator));
                let first = first.collect::<Vec<_>>().join(", ");
                format!("started {} of {}, waits in {first}", self.started, calls.len())
            }
        }
    }

    /// Compares the rank's whole memory with what it should hold.
    ///
    /// # Errors
    /// When a byte differs.
    pub(crate) fn inspect(&self, network: &Network) -> Result<(), Failure> {
        let mut memory = vec![0; self.mirror.len()];
        network.read(self.rank, 0, &mut memory);
        let Some(at) = first_difference(&memory, &self.mirror) else { return Ok(()) };
        let inside = |piece: Piece| (piece.offset..piece.offset + piece.len).contains(&(at as u64));
        let place = (0..).zip(&self.layout.calls).find_map(|(call, buffers): (usize, _)| {
            let operator = self.scenario.calls[call].operator;
            let name = match (inside(buffers.input), inside(buffers.output)) {
                (false, false) => return None,
                (true, _) => "input",
                (false, true) => "output",
            };
            Some(format!("in the {name} of call {call} ({operator})"))
        });
        let place = place.unwrap_or_else(|| "between buffers".into());
        Err(Failure::Touched { rank: self.rank, at, place })
    }

    /// Starts calls, or leaves that for the next turn. True if there was, or is, any to start.
    fn start_some(&mut self, oracles: &[Oracle], network: &Network) -> bool {
        let scenario = self.scenario.clone();
        let mut got_on = false;
        while self.started < scenario.calls.len()
            && self.under_way < scenario.ahead
            && network.died_ns(self.rank).is_none()
        {
            got_on = true;
            if self.dice.once_in(4) {
                break;
            }
            let Some(communicator) = &self.communicator else { break };
            let index = self.started;
            let call = &scenario.calls[index];
            let buffers = self.layout.calls[index];
            let place = buffers.input.offset as usize;
            let input = &mut self.mirror[place..place + buffers.input.len as usize];
            oracles[index].fill(self.rank, input);
            network.write(self.rank, buffers.input.offset, input);
            let mut private =
                buffers.private.then(|| Private::new(buffers.input, buffers.output, &self.mirror));
            let mut memory = |piece| match &mut private {
                Some(private) => private.memory(piece),
                None => Memory::Shared(piece),
            };
            let (input, output) = (memory(buffers.input), memory(buffers.output));
            let task = start(communicator, call, input, output);
            match task {
                Ok(Some(task)) => {
                    self.streams[call.stream].push_back((index, task, private));
                    self.under_way += 1;
                }
                Ok(None) => {}
                Err(error) => {
                    self.fate = Fate::Failed(error);
                    break;
                }
            }
            self.started += 1;
        }
        got_on
    }

    /// A call has ended: compares its output, and uses its buffers for something else.
    fn judge(
        &mut self,
        index: usize,
        oracle: &Oracle,
        network: &Network,
        private: Option<Private>,
    ) -> Result<(), Failure> {
        let call = &self.scenario.calls[index];
        let buffers = self.layout.calls[index];
        let range = |piece: Piece| piece.offset as usize..(piece.offset + piece.len) as usize;
        let output = range(buffers.output);
        oracle.apply(self.rank, &mut self.mirror[output.clone()]);
        let mut found = vec![0; output.len()];
        match private {
            Some(mut private) => found = private.read(buffers.output),
            None => {
                network.read(self.rank, buffers.output.offset, &mut found);
            }
        }
        let expected = &self.mirror[output];
        if let Some(at) = first_difference(&found, expected) {
            return Err(Failure::Wrong {
                rank: self.rank,
                call: index,
                operator: call.operator,
                at,
                len: found.len(),
                found: found[at],
                expected: expected[at],
            });
        }
        for (salt, piece) in [(2, buffers.input), (3, buffers.output)] {
            let seed = mix_all([self.scenario.seed, self.rank.into(), salt, index as u64]);
            let bytes = &mut self.mirror[range(piece)];
            scribble(bytes, seed);
            network.write(self.rank, piece.offset, bytes);
        }
        Ok(())
    }
}

/// Starts a call. `None` if there is nothing in it for the rank.
fn start(
    communicator: &Communicator,
    call: &Call,
    input: Memory,
    output: Memory,
) -> Result<Option<Task>, Error> {
    if !call.is_messages() {
        let request = Request {
            operator: call.operator,
            data_type: call.data_type,
            reduce_op: call.reduce_op,
            root: call.root,
            count: call.count,
            lengths: call.uneven.as_ref().map(|uneven| uneven.lengths(communicator.rank())),
            input,
            output,
        };
        return communicator
            .start(request)
            .map(|operation| Some(Task::Operation(Box::new(operation))));
    }
    let (rank, data_type) = (communicator.rank(), call.data_type);
    let size = data_type.size() as u64;
    let transfer = |direction, peer, count, whole: Memory, first: u64| {
        let memory = whole.part(first * size, count * size);
        Transfer { direction, peer, data_type, count, tag: 0, memory }
    };
    let sent = call
        .letters
        .from(rank)
        .map(|letter| transfer(Direction::Send, letter.to, letter.count, input, letter.source));
    let got = call.letters.to(rank).map(|letter| {
        transfer(Direction::Receive, letter.from, letter.count, output, letter.target)
    });
    let transfers: Vec<Transfer> = sent.chain(got).collect();
    if transfers.is_empty() {
        return Ok(None);
    }
    communicator.start_transfers(&transfers).map(|transfers| Some(Task::Transfers(transfers)))
}

/// Fills memory with bytes that stand for nothing.
fn scribble(bytes: &mut [u8], seed: u64) {
    for (chunk, number) in bytes.chunks_mut(8).zip(seed..) {
        chunk.copy_from_slice(&mix(number).to_le_bytes()[..chunk.len()]);
    }
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    // The whole is compared first, since that is fast and they are mostly equal.
    if one == other {
        return None;
    }
    one.iter().zip(other).position(|(a, b)| a != b)
}
