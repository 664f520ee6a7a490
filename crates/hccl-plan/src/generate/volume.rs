//! What each algorithm states about its traffic: the most that any rank pulls from others and
//! writes to others (section 3 of the catalogue, with n written in blocks).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::extents::Extents;
use crate::operator::Operator;

use super::{Algorithm, Mesh, Task};

/// An amount of data: a fraction of a block, or elements where a task has lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Numerator.
    pub num: u64,
    /// Denominator.
    pub den: u64,
}

impl Volume {
    fn new(num: u64, den: u64) -> Self {
        Self { num, den }
    }

    /// Whether an amount, with so many units in a block, is not more.
    pub fn covers(self, amount: u64, unit: u64) -> bool {
        u128::from(amount) * u128::from(self.den) <= u128::from(self.num) * u128::from(unit)
    }
}

impl std::fmt::Display for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

/// The stated volume of a task, where one is stated.
pub fn volume(algorithm: &Algorithm, task: &Task) -> Option<Volume> {
    let p = u64::from(task.ranks);
    let share = |times: u64| Volume::new(times * (p - 1), p);
    let blocks = |blocks: u64| Volume::new(blocks, 1);
    let folded = *algorithm == Algorithm::Rhd && !p.is_power_of_two();
    let q = 1 << p.checked_ilog2()?;
    Some(match (task.operator, algorithm) {
        (Operator::Barrier, _) => blocks(0),
        (Operator::Send | Operator::BatchSendRecv, _)
        | (Operator::AlltoAllV | Operator::AlltoAllVC, _) => blocks(incoming(task)?),
        (Operator::AllGatherV, _) => blocks(task.row()),
        // As many slices as without lengths, none longer than the longest.
        (Operator::ReduceScatterV, _) => {
            let longest = rows(task)?.iter().map(|row| row.len).max()?;
            let fold = if folded { task.row() + q * longest } else { 0 };
            blocks(fold + (p - 1) * longest)
        }
        (Operator::AllReduce, Algorithm::Mesh(Mesh::OneShot)) => blocks(p - 1),
        (Operator::AllReduce, Algorithm::Ahc { groups, .. }) => {
            // The largest group moves most: all but a last share of a share.
            let finest = u64::from(*groups.iter().max()?) * groups.len() as u64;
            Volume::new(2 * (finest - 1), finest)
        }
        (Operator::AllReduce | Operator::Reduce, Algorithm::Rhd) if folded => {
            Volume::new(q + 2 * (q - 1), q)
        }
        (Operator::Reduce, Algorithm::Mesh(Mesh::Direct) | Algorithm::Ring) => blocks(1),
        (Operator::Reduce, Algorithm::Star) => blocks(p - 1),
        (
            Operator::Broadcast,
            Algorithm::Mesh(Mesh::Direct) | Algorithm::Ring | Algorithm::Star | Algorithm::Rhd,
        ) => blocks(1),
        (Operator::AllReduce | Operator::Reduce | Operator::Broadcast, _) => share(2),
        (Operator::ReduceScatter, Algorithm::Ahc { groups, .. }) => {
            let m = u64::from(*groups.iter().max()?);
            Volume::new((p + 1) * (m - 1) + (groups.len() as u64 - 1) * m, m)
        }
        (Operator::ReduceScatter, Algorithm::Rhd) if folded => blocks(p + 2 * (q - 1)),
        (Operator::AlltoAll, Algorithm::Hierarchy(tiers)) => {
            let tier = |size: u32| p / u64::from(size) * u64::from(size - 1);
            blocks(tiers.iter().map(|(size, _)| tier(*size)).sum())
        }
        (Operator::Scatter, Algorithm::Mesh(Mesh::Direct) | Algorithm::Star) => blocks(1),
        _ => blocks(p - 1),
    })
}

fn rows(task: &Task) -> Option<&[crate::extents::Extent]> {
    match &task.extents {
        Some(Extents::Rows(rows)) => Some(rows),
        _ => None,
    }
}

fn incoming(task: &Task) -> Option<u64> {
    match &task.extents {
        Some(Extents::Transfers(rows)) => {
            rows.iter().map(|row| row.iter().map(|one| one.len).sum()).max()
        }
        _ => None,
    }
}
