//! What happens in one simulation: who calls what, how links are, what goes wrong. All of it
//! follows from a seed and a few choices.

use hccl::{Algorithm, Flat, Mesh, Operator};
use hccl_fabric::simulated::{Delays, Dice, Visibility, mix_all};

use crate::call::{Call, OPERATORS};
use crate::room::ROOM_BYTES;

/// What goes wrong. Each kind brings what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Faults {
    /// Nothing: signals are seen at once. Only the order in which ranks go on is drawn.
    None,
    /// Signals are under way for a while, some of them and some links long.
    Delay,
    /// Some ranks stand still for a long time.
    Stall,
    /// A rank leaves in the middle of everything.
    Leave,
    /// A rank dies at any step.
    Death,
}

impl Faults {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::None, Self::Delay, Self::Stall, Self::Leave, Self::Death];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Delay => "delay",
            Self::Stall => "stall",
            Self::Leave => "leave",
            Self::Death => "death",
        }
    }
}

/// What happens to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// It stands still for so many nanoseconds when it is let on for the n-th time.
    Stall { rank: u32, turn: u64, ns: u64 },
    /// It leaves instead of going on for the n-th time.
    Leave { rank: u32, turn: u64 },
    /// It dies in its n-th call of the fabric.
    Die { rank: u32, call: u64 },
}

/// A simulation that can be run, as often as one likes.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What everything follows from.
    pub seed: u64,
    /// How many ranks there are.
    pub ranks: u32,
    /// What goes wrong.
    pub faults: Faults,
    /// When writes to memory are visible.
    pub visibility: Visibility,
    /// What all ranks call, in order.
    pub calls: Vec<Call>,
    /// Calls that a rank may have under way at a time.
    pub ahead: usize,
    /// Whether ranks that are through leave while others are not.
    pub(crate) leaves_early: bool,
    /// The algorithm that the ranks ask for.
    pub algorithm: Option<Algorithm>,
    /// Bytes of room before a call goes in rounds.
    pub(crate) buffer_bytes: u64,
    /// Whether ranks bring memory of their own now and then.
    pub(crate) private: bool,
    pub(crate) streams: usize,
    pub(crate) mishaps: Vec<Mishap>,
}

/// The longest that a rank stands still, nanoseconds of virtual time.
pub(crate) const STALL_MAX_NS: u64 = 3_000_000_000;
/// Calls of a scenario that is about one operator.
const CALLS_OF_ONE: usize = 3;

impl Scenario {
    /// Draws a scenario: every operator once in any order, or one of them several times.
    ///
    /// # Panics
    /// Without ranks.
    pub fn draw(
        seed: u64,
        ranks: u32,
        faults: Faults,
        visibility: Visibility,
        operator: Option<Operator>,
        algorithm: Option<Algorithm>,
    ) -> Self {
        assert!(ranks > 0, "a scenario needs ranks");
        let mut dice = Dice::new(mix_all([seed, ranks.into()]));
        let streams = 1 + dice.below(3) as usize;
        let mut operators = match operator {
            Some(one) => vec![one; CALLS_OF_ONE],
            None => OPERATORS.to_vec(),
        };
        dice.shuffle(&mut operators);
        let draw = |operator| Call::draw(operator, ranks, streams, &mut dice);
        let calls: Vec<Call> = operators.into_iter().map(draw).collect();
        let ahead = 1 + dice.below(4) as usize;
        let leaves_early = dice.once_in(3);
        let mishaps = mishaps(faults, ranks, &calls, &mut dice);
        // Half of the seeds leave the choice to the engine.
        let drawn = if dice.once_in(2) { None } else { Some(draw_algorithm(ranks, &mut dice)) };
        let algorithm = algorithm.or(drawn);
        let buffer_bytes = ROOM_BYTES >> dice.below(6);
        let private = dice.once_in(2);
        Self {
            seed,
            ranks,
            faults,
            visibility,
            calls,
            ahead,
            leaves_early,
            algorithm,
            buffer_bytes,
            private,
            streams,
            mishaps,
        }
    }

    pub(crate) fn delays(&self) -> Delays {
        match self.faults {
            Faults::None => Delays::NONE,
            _ => Delays::USUAL,
        }
    }

    /// How long ranks stand still, all together.
    pub(crate) fn stalls_ns(&self) -> u64 {
        let stall = |mishap: &Mishap| match *mishap {
            Mishap::Stall { ns, .. } => ns,
            _ => 0,
        };
        self.mishaps.iter().map(stall).sum()
    }
}

/// Any algorithm that some operator has on so many ranks.
fn draw_algorithm(ranks: u32, dice: &mut Dice) -> Algorithm {
    const FLATS: [Flat; 5] = [Flat::Mesh, Flat::Ring, Flat::DoubleRing, Flat::Nhr, Flat::Nb];
    let flat = |dice: &mut Dice| FLATS[dice.below(FLATS.len() as u64) as usize];
    // A number that divides that of the ranks.
    let divisors: Vec<u32> = (1..=ranks).filter(|size| ranks.is_multiple_of(*size)).collect();
    let group = divisors[dice.below(divisors.len() as u64) as usize];
    match dice.below(13) {
        0 => Algorithm::Mesh(Mesh::Direct),
        1 => Algorithm::Mesh(Mesh::OneShot),
        2 => Algorithm::Mesh(Mesh::TwoShot),
        3 => Algorithm::Mesh(Mesh::Chunked(1 + dice.below(5) as u32)),
        4 => Algorithm::Ring,
        5 => Algorithm::DoubleRing,
        6 => Algorithm::Rhd,
        7 => Algorithm::Nhr,
        8 => Algorithm::Nb,
        9 => Algorithm::Pairwise,
        10 => Algorithm::Star,
        // Two groups, so that operators on rows stay short.
        11 if ranks > 1 => {
            let first = 1 + dice.below(u64::from(ranks) - 1) as u32;
            let (inside, between) = (flat(dice), flat(dice));
            Algorithm::Ahc { groups: vec![first, ranks - first], inside, between }
        }
        _ => Algorithm::Hierarchy(vec![(group, flat(dice)), (ranks / group, flat(dice))]),
    }
}

fn mishaps(faults: Faults, ranks: u32, calls: &[Call], dice: &mut Dice) -> Vec<Mishap> {
    let mut mishaps = Vec::new();
    let any_rank = |dice: &mut Dice| dice.below(ranks.into()) as u32;
    // A rank is let on that often, or more.
    let turns = 6 * calls.len() as u64;
    // The lost rank goes slow too, now and then.
    if faults == Faults::Stall || faults > Faults::Stall && dice.once_in(4) {
        for _ in 0..1 + dice.below(3) {
            let (rank, turn) = (any_rank(dice), 1 + dice.below(turns));
            // From far below to far above the time of a bounded sleep.
            let ns = STALL_MAX_NS >> dice.below(16);
            mishaps.push(Mishap::Stall { rank, turn, ns });
        }
    }
    let rank = any_rank(dice);
    match faults {
        Faults::Leave => mishaps.push(Mishap::Leave { rank, turn: 1 + dice.below(turns) }),
        Faults::Death => {
            let most: u64 = calls.iter().map(|call| fabric_calls(call, ranks)).sum();
            // Other algorithms than the mesh look at fewer ranks: then a rank dies early, or not.
            let shift = dice.below(3);
            let call = 1 + dice.below(most >> shift);
            mishaps.push(Mishap::Die { rank, call });
        }
        _ => {}
    }
    mishaps
}

/// About so often a rank calls its fabric in a call, so that a death falls anywhere in the run.
fn fabric_calls(call: &Call, ranks: u32) -> u64 {
    let ranks = u64::from(ranks);
    match call.operator {
        // Looks at the one partner.
        Operator::Send => 30,
        // Looks at all messages each time that one has come; of many ranks only some have any.
        Operator::BatchSendRecv => {
            if ranks > 64 {
                200
            } else {
                30 + 8 * ranks + ranks * ranks
            }
        }
        // Looks at all the others.
        Operator::Barrier => 30 + 2 * ranks,
        // And once more, and at their calls, and for the memory of two buffers.
        _ => 40 + 5 * ranks,
    }
}
