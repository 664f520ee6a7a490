//! Which algorithm runs.
//!
//! [`select`] answers from a table of rows, the first of which that fits decides, and
//! says why: what the numbers were, what else was considered, and what of a user's wish could not
//! be followed. It is a function of its arguments alone, in whole numbers, so that all ranks of a
//! communicator that ask with the same case get the same answer.
//!
//! ```
//! use hccl_plan::select::{Case, Product, Reach, select};
//! use hccl_plan::{Operator, Topology};
//!
//! let topology: Topology = "8x4".parse().expect("four servers of eight");
//! let choice = select(&Case {
//!     operator: Operator::AllReduce,
//!     ranks: topology.ranks(),
//!     block_bytes: 1 << 10,
//!     topology: &topology,
//!     reach: Reach::Network,
//!     forced: None,
//!     product: Product::A2,
//! });
//! assert_eq!(choice.algorithm.to_string(), "hierarchy:8*mesh,4*nhr");
//! assert_eq!(choice.row, "tiers");
//! ```

mod candidates;
mod cost;
mod forced;
mod hccl_algo;
mod offers;
mod products;
mod shape;
mod table;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generate::{Algorithm, supports};
use crate::operator::Operator;
use crate::topology::Topology;

use candidates::{considered, why_not};
use forced::{Followed, follow};
use table::{DIRECT, ROWS, View};

pub use forced::Forced;
pub use hccl_algo::{HcclAlgo, HcclAlgoError};
pub use offers::{Offer, offers, reprice};
pub use products::{Product, UnknownProduct};

/// How ranks reach each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Every rank reads and writes the memory of every other: they are on one host.
    Mapped,
    /// Ranks read the memory of others over the links of the topology.
    Network,
}

/// What is known when an algorithm is chosen. All ranks must know the same.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The operator.
    pub operator: Operator,
    /// How many ranks take part: those of the topology.
    pub ranks: u32,
    /// Bytes of a block: count of elements by size of an element; for operators with rows of
    /// different lengths, the sum of the rows. Nothing depends on it for all-to-alls of lengths and
    /// for messages, whose ranks know different lengths.
    pub block_bytes: u64,
    /// Where the ranks are.
    pub topology: &'a Topology,
    /// How they reach each other.
    pub reach: Reach,
    /// What the user asked for.
    pub forced: Option<&'a Forced>,
    /// Whose documented lists say what the words of `HCCL_ALGO` act on.
    pub product: Product,
}

/// An algorithm that was considered and does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejected {
    /// Which.
    pub algorithm: Algorithm,
    /// Why not.
    pub reason: String,
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// It has the operator on this topology.
    pub algorithm: Algorithm,
    /// The row of the table that decided; `asked for` where the user did.
    pub row: String,
    /// Why this, in one sentence.
    pub reason: String,
    /// Every other algorithm that was considered.
    pub rejected: Vec<Rejected>,
    /// What of the user's wish could not be followed, and what happens instead.
    pub notes: Vec<String>,
}

/// The row of choices that the user made.
const ASKED: &str = "asked for";

/// Chooses an algorithm. There always is one.
pub fn select(case: &Case<'_>) -> Choice {
    let view = View::new(case);
    let Followed { among, asked, notes, refused } =
        case.forced.map(|forced| follow(forced, &view)).unwrap_or_default();
    let (row, why, mut among) = match runnable(&view, among) {
        among if among.is_empty() => {
            let row = ROWS.iter().find(|row| (row.when)(&view));
            let (name, why) = row.map_or(("", ""), |row| (row.name, row.why));
            let among = row.map_or_else(Vec::new, |row| (row.among)(&view));
            (name, why, runnable(&view, among))
        }
        among => (ASKED, &*asked, among),
    };
    // The cheapest; of equals the first.
    among.sort_by_cached_key(|algorithm| view.cost(algorithm).total_ns());
    let algorithm = among.first().cloned().unwrap_or(DIRECT);
    let reason = reason(&view, why, &among);
    let is_asked = row == ASKED;
    let is_refused = |one: &Algorithm| refused.iter().any(|(refused, _)| refused == one);
    let others = considered(&view, &among).into_iter();
    let others = others.filter(|one| *one != algorithm && !is_refused(one)).map(|one| {
        let reason = why_not(&view, &one, &algorithm, is_asked);
        (one, reason)
    });
    let rejected = refused.iter().cloned().chain(others);
    Choice {
        rejected: rejected.map(|(algorithm, reason)| Rejected { algorithm, reason }).collect(),
        algorithm,
        row: row.to_owned(),
        reason,
        notes,
    }
}

/// Those that can run.
fn runnable(view: &View<'_>, among: Vec<Algorithm>) -> Vec<Algorithm> {
    among.into_iter().filter(|algorithm| obstacle(view, algorithm).is_none()).collect()
}

/// Pieces of blocks that AHC may make of operators on rows, each of them a step.
const AHC_PIECES_MAX: u64 = 1 << 16;

/// Why an algorithm cannot run, if so.
fn obstacle(view: &View<'_>, algorithm: &Algorithm) -> Option<String> {
    let Case { operator, ranks, reach, .. } = *view.case;
    if let Err(unsupported) = supports(algorithm, operator, ranks) {
        return Some(unsupported.to_string());
    }
    let writes = matches!(operator, Operator::AllReduce | Operator::Reduce);
    if reach == Reach::Network && *algorithm == DIRECT && writes && ranks > 1 {
        return Some("it writes into memory of other ranks, which a network does not map".into());
    }
    if let Algorithm::Ahc { groups, .. } = algorithm
        && operator != Operator::AllReduce
    {
        let pieces = u64::from(ranks).saturating_mul(groups.len() as u64);
        if pieces > AHC_PIECES_MAX {
            return Some(format!(
                "it would cut blocks into about {pieces} pieces; at most {AHC_PIECES_MAX} are made"
            ));
        }
    }
    None
}

/// The sentence on why the first of these runs, with the numbers where there are several.
fn reason(view: &View<'_>, why: &str, among: &[Algorithm]) -> String {
    let [first, second, ..] = among else {
        return why.to_owned();
    };
    format!(
        "{why}; {first} is estimated at {}, the next, {second}, at {} ({})",
        view.cost(first),
        view.cost(second),
        view.shape.links()
    )
}
