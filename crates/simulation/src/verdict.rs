//! Looks at a simulation whose ranks have all ended: whether what is left is as it should be.

use std::cell::Ref;
use std::time::Duration;

use hccl::Error;
use hccl_fabric::simulated::Network;

use crate::failure::{Failure, Report};
use crate::player::{Fate, Player};
use crate::scenario::{Faults, Scenario};
use crate::simulation::Each;

/// The longest that a survivor may take to find out who was lost.
const FIND_OUT_MAX: Duration = Duration::from_secs(1);

pub(crate) fn conclude(
    scenario: &Scenario,
    network: &Network,
    players: &[Ref<'_, Player>],
    each: &[Each],
    report: &Report,
) -> Result<Report, Failure> {
    let mut report = report.clone();
    let breaches = network.breaches();
    if !breaches.is_empty() {
        return Err(Failure::Breach(breaches));
    }
    // A rank that dies may do half of a signal: others see it, and nobody is woken.
    let half_done = scenario.faults == Faults::Death && report.lost.is_some();
    if let Some(rank) = report.first_rescued.filter(|_| !half_done) {
        return Err(Failure::LostWake { times: report.rescued, rank });
    }
    match report.lost {
        Some(lost) => blame(scenario, players, each, lost, &mut report)?,
        None => players.iter().try_for_each(|player| player.inspect(network))?,
    }
    Ok(report)
}

/// Looks whether the errors of the survivors name the rank that was lost, and came soon.
fn blame(
    scenario: &Scenario,
    players: &[Ref<'_, Player>],
    each: &[Each],
    lost: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    for player in players {
        let Fate::Failed(error) = &player.fate else { continue };
        let rank = player.rank;
        match error {
            Error::Peer { fault, .. } if fault.rank() == lost => report.named += 1,
            error => return Err(Failure::Unnamed { lost, rank, error: error.to_string() }),
        }
        // From the loss on, or from when the rank came to need the lost one; it may have waited for
        // one that stood still.
        let Each { got_on_ns, ended_ns, .. } = each[rank as usize];
        let since = each[lost as usize].ended_ns.max(got_on_ns) + scenario.stalls_ns();
        let took = Duration::from_nanos(ended_ns.saturating_sub(since));
        if took > FIND_OUT_MAX {
            return Err(Failure::Slow { lost, rank, took });
        }
    }
    Ok(())
}
