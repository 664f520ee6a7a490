//! What the fate of other ranks means for an operation that waits for them.

use std::ops::Range;

use hccl_fabric::Fault::{Dead, Failed, Left};
use hccl_fabric::{Fabric, Fault, reason};

use crate::error::{Context, Error, Lag};

/// Fails if one of the ranks is late and gone.
///
/// A death explains the failures and departures that follow from it: whoever failed because of one
/// says so, and the error names the dead rank, also where it is no neighbour of ours.
pub(crate) fn of_late_ranks(
    fabric: &dyn Fabric,
    ranks: Range<u32>,
    late: impl Fn(u32) -> bool,
    context: impl FnOnce() -> Context,
    timed_out: impl FnOnce(Vec<Lag>) -> Error,
) -> Result<(), Error> {
    let faults: Vec<Fault> =
        ranks.clone().filter(|&rank| late(rank)).filter_map(|rank| fabric.fault(rank)).collect();
    let worst = faults
        .iter()
        .find(|fault| matches!(fault, Dead { .. }))
        .or_else(|| faults.iter().find(|fault| fault.cause().is_some()))
        .or_else(|| faults.iter().find(|fault| matches!(fault, Failed { .. })))
        .or_else(|| faults.first());
    // Another rank ran into its time-out, waiting as we do: the cause is whoever keeps both of us
    // waiting, if there is such a rank.
    if let Some(Failed { reason: reason::TIMED_OUT, .. }) = worst {
        let lagging = lagging(fabric, ranks, &late);
        if !lagging.is_empty() {
            return Err(timed_out(lagging));
        }
    }
    match worst {
        // The rank may have finished between our look at its progress and its going.
        Some(fault) if late(fault.rank()) => {
            Err(Error::Peer { context: context(), fault: first_cause(fabric, fault.clone()) })
        }
        _ => Ok(()),
    }
}

/// Nothing can be copied from a rank's private memory: it is gone, or has no such memory.
pub(crate) fn no_copy(fabric: &dyn Fabric, context: Context, peer: u32, why: &str) -> Error {
    fabric.probe();
    match fabric.fault(peer) {
        Some(fault) => Error::Peer { context, fault: first_cause(fabric, fault) },
        None => {
            let what = format!("private memory that cannot be copied from ({why})");
            Error::Broken { context, peer, what }
        }
    }
}

/// The end of the rank with which a chain of failures began, or the failure itself.
pub(crate) fn first_cause(fabric: &dyn Fabric, fault: Fault) -> Fault {
    match fault.cause() {
        Some((rank, _)) if rank >= fabric.ranks() => fault,
        Some((rank, true)) => Dead { rank, pid: fabric.process(rank) },
        Some((rank, false)) => Left { rank, pid: fabric.process(rank) },
        None => fault,
    }
}

/// Ranks that are late and of which nothing is known that would explain it.
pub(crate) fn lagging(
    fabric: &dyn Fabric,
    ranks: Range<u32>,
    late: impl Fn(u32) -> bool,
) -> Vec<Lag> {
    ranks
        .filter(|&peer| late(peer) && fabric.fault(peer).is_none())
        .map(|rank| Lag { rank, process: fabric.process(rank), sequence: fabric.position(rank).0 })
        .collect()
}
