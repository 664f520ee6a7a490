//! What plans cost on a model of a network.
//!
//! The plans of all ranks run against each other in simulated time. The result is when each rank
//! is through, how much went over which tier, and the critical path. All ranks are run, nothing is
//! inferred from symmetry; the result is the same every time.
//!
//! # The model
//!
//! A step of k bytes that are reduced costs α + kβ + kγ: a latency, a time for each byte that is
//! moved, a time for each byte that is reduced. These are the terms of the closed forms by which
//! HCCL documents its algorithms, and on a uniform network the simulator agrees with those forms.
//!
//! - **Messages.** What a rank reads from one peer (or writes to one) between two of its waits is
//!   one message. Its first byte flows α after the rank asked for it, α being the latency of the
//!   tier between the two; then its bytes flow. All messages that a rank may start, it starts: a wait
//!   holds up the steps behind it, not those before it. A signal is given when all steps before it
//!   are done. (Plans allow that: nobody can know that a step is done before the next signal, and
//!   steps that touch the same bytes keep their order.)
//! - **Bandwidth.** Where a tier has a link for each pair ([`Ports::Pair`]), a message has that link,
//!   shared with other messages of the same pair in the same direction. Where each rank has a port
//!   ([`Ports::Rank`]), all that a rank sends over the tier at a time shares the port, all that it
//!   receives shares another one, and a message gets the smaller of its equal shares at both ends.
//!   Tiers do not share ports.
//! - **Reductions** of k sources of n bytes count (k-1)·n bytes. A rank reduces what came between
//!   two signals when all of it has come: a round does not overlap its transfers with its
//!   reductions, and the closed forms do not either. Results that go to peers go out after that.
//! - **Copies** of a rank within its own memory share its copy bandwidth, and run beside messages.
//! - **Signals** are seen at once by whoever waits in order to move data: α is the whole price of
//!   a step, of being told and of the first byte. Whoever acts upon a signal otherwise (combines or
//!   copies what it has, or signals in its turn) does so α after the signal. So a round of a barrier
//!   costs α too. A wait for all is heard with the latency of the widest tier.
//! - **The end.** Before a rank ends it waits until nobody is in its buffers any more. That wait
//!   costs no latency of its own; the rank ends when its last visitor has left.
//! - **The start.** All ranks begin at 0, and each knows at once that the others have come. Waiting
//!   for that alone, as in a barrier, costs α.
//!
//! What the model leaves out: the time a host or a device takes to begin a step that is not in α,
//! congestion inside of switches, unequal paths, the limit of a rank's memory, retransmission,
//! chunking of data larger than a communicator's buffer, ranks that come late. Input and output
//! are taken to be different memory.

mod agenda;
mod conflict;
mod flows;
mod moves;
mod network;
mod path;
mod program;
mod run;
mod waits;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generate::{Algorithm, Task, Unsupported, expand};
use crate::operator::Operator;
use crate::plan::Plan;
#[cfg(doc)]
use crate::topology::Ports;
use crate::topology::{InvalidTopology, Topology};

use network::Network;
use program::Program;

pub use path::{Hop, Path, Work};

/// Longest time that is simulated, picoseconds: half a year.
const TIME_MAX: u64 = 1 << 54;
/// Most bytes of a message or a reduction.
const BYTES_MAX: u64 = 1 << 56;
/// Most ranks.
const RANKS_MAX: u32 = 1 << 17;
/// Inner borders of parts are multiples of this, so that ranks do not share lines of a cache.
const GRANULE_BYTES: u64 = 128;

/// A network and the devices on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The ranks, with the links of every tier.
    pub topology: Topology,
    /// Bytes a second that a rank combines, counted once for each source but the first. Nothing
    /// means that it takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_bytes_per_s: Option<u64>,
    /// Bytes a second that a rank copies within its own memory. Nothing means that it takes no
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_s: Option<u64>,
}

/// How much data a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Elements of a block; of no meaning for plans of given lengths.
    pub count: u64,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Inner borders of parts of a block are multiples of so many elements.
    pub granule: u64,
}

/// What went over a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Bytes.
    pub bytes: u64,
    /// Messages; empty ones are not sent.
    pub messages: u64,
}

/// What a run has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the last rank was through, picoseconds from the start.
    pub time_ps: u64,
    /// When each rank was through.
    pub ends_ps: Vec<u64>,
    /// What went over each tier, innermost first.
    pub traffic: Vec<Traffic>,
    /// Bytes that ranks copied within their own memory.
    pub copied: u64,
    /// What the last rank, the first of them if there are several, had to wait for.
    pub path: Path,
}

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// The topology contradicts itself.
    #[error("the topology cannot be: {0}")]
    Topology(#[from] InvalidTopology),
    /// The topology has groups, but no links.
    #[error("the topology says nothing about its links; give one for each tier")]
    NoLinks,
    /// More tiers than can be told apart.
    #[error("the topology has {tiers} tiers; at most 255 are allowed")]
    Tiers {
        /// How many.
        tiers: usize,
    },
    /// A device that does something at no speed.
    #[error("a rank {what} at 0 bytes a second; give at least 1, or nothing for no time")]
    NoRate {
        /// What it does.
        what: &'static str,
    },
    /// The algorithm does not apply.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// Plans of other ranks than the topology has.
    #[error("there are plans of {plans} ranks, and the topology has {topology}")]
    Ranks {
        /// Ranks of the plans.
        plans: usize,
        /// Ranks of the topology.
        topology: u32,
    },
    /// A plan that cannot be.
    #[error("the plan of rank {rank}: {why}")]
    Plan {
        /// Whose.
        rank: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// More than a few gigabytes hold.
    #[error(
        "there are more than {RANKS_MAX} ranks, or more than {} million waits, messages and \
         reductions; use fewer ranks or an algorithm of fewer rounds",
        program::ENTRIES_MAX >> 20
    )]
    TooLarge,
    /// More time or data than are counted.
    #[error(
        "it takes more than half a year, or a rank moves more than 2^56 bytes at once; use less \
         data or faster links"
    )]
    TooLong,
    /// Ranks wait for each other.
    #[error("rank {rank} waits for ever, as do {others} others")]
    Stuck {
        /// One of them.
        rank: u32,
        /// How many more.
        others: usize,
    },
}

/// Plans on a network, ready to be run for any size.
///
/// ```
/// use hccl_plan::simulate::{Model, Simulator, Size};
/// use hccl_plan::{Algorithm, Link, Operator, Task, Topology};
///
/// let links = vec!["5us:56GB/s".parse::<Link>()?, "20us:200Gb/s".parse()?];
/// let model = Model::new("8x4".parse::<Topology>()?.with_links(links));
/// let task = Task::new(Operator::AllReduce, 32, 0);
/// let simulator = Simulator::new(&model, &Algorithm::Nhr, &task)?;
/// let outcome = simulator.run(Size::new(Operator::AllReduce, 32, 64 << 20, 4))?;
/// assert!(outcome.time_ps > 0);
/// println!("{}", outcome.path);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulator {
    network: Network,
    program: Program,
}

impl Simulator {
    /// Expands the plans of all ranks.
    ///
    /// # Errors
    /// When the model contradicts itself, or the algorithm does not apply.
    pub fn new(model: &Model, algorithm: &Algorithm, task: &Task) -> Result<Self, SimulateError> {
        let network = Network::new(model)?;
        let plans = (0..task.ranks).map(|rank| Ok(expand(algorithm, task, rank)?));
        let program = Program::new(&network, plans)?;
        Ok(Self { network, program })
    }

    /// Takes the plans of all ranks, one a rank in order. They should have been proved: a plan
    /// that moves the wrong data is priced like any other.
    ///
    /// # Errors
    /// When the model contradicts itself, or the plans do not belong together.
    pub fn with_plans(
        model: &Model,
        plans: impl IntoIterator<Item = Plan>,
    ) -> Result<Self, SimulateError> {
        let network = Network::new(model)?;
        let program = Program::new(&network, plans.into_iter().map(Ok))?;
        Ok(Self { network, program })
    }

    /// Runs them.
    ///
    /// # Errors
    /// When they wait for each other, or more time passes than is counted.
    pub fn run(&self, size: Size) -> Result<Outcome, SimulateError> {
        run::run(&self.network, &self.program, size)
    }
}

impl Model {
    /// A network whose devices combine and copy in no time, as in the closed forms.
    pub fn new(topology: Topology) -> Self {
        Self { topology, reduce_bytes_per_s: None, copy_bytes_per_s: None }
    }
}

impl Size {
    /// The size at which the operator works on so many bytes in all: the buffer of a rank, and
    /// where it has a block for each rank, all of them. Bytes are rounded up to whole elements.
    pub fn new(operator: Operator, ranks: u32, bytes: u64, element_bytes: u32) -> Self {
        let element = u64::from(element_bytes.max(1));
        Self {
            count: bytes.div_ceil(element).div_ceil(blocks(operator, ranks)),
            element_bytes: element_bytes.max(1),
            granule: (GRANULE_BYTES / element).max(1),
        }
    }

    /// On how many bytes in all the operator works: what was asked for, rounded up.
    pub fn total_bytes(self, operator: Operator, ranks: u32) -> u64 {
        let elements = self.count.saturating_mul(blocks(operator, ranks));
        elements.saturating_mul(u64::from(self.element_bytes))
    }
}

/// Blocks of the larger buffer of an operator.
fn blocks(operator: Operator, ranks: u32) -> u64 {
    match operator {
        Operator::AllReduce | Operator::Reduce | Operator::Broadcast => 1,
        _ => u64::from(ranks.max(1)),
    }
}
