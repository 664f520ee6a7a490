//! Looks at a simulation whose ranks have all ended: whether what is left is as it should be.

use std::cell::Ref;
use std::time::Duration;

use hccl::Error;
use hccl_fabric::Fault;
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

/// Looks whether the errors of the survivors lead to the rank that was lost, and came soon.
fn blame(
    scenario: &Scenario,
    players: &[Ref<'_, Player>],
    each: &[Each],
    lost: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let faults: Vec<Option<&Fault>> = players.iter().map(|player| fault(player)).collect();
    let names_lost = |fault: &Fault| fault.to_string().contains(&format!("rank {lost} "));
    for player in players {
        let Fate::Failed(error) = &player.fate else { continue };
        let rank = player.rank;
        let mut at = faults[rank as usize];
        let mut steps = 0;
        while let Some(fault) = at.filter(|fault| !names_lost(fault) && steps < scenario.ranks) {
            at = faults.get(fault.rank() as usize).copied().flatten();
            steps += 1;
        }
        match at.filter(|fault| names_lost(fault)) {
            Some(_) if steps == 0 => report.named += 1,
            Some(_) => report.named_by_way += 1,
            None => return Err(Failure::Unnamed { lost, rank, error: error.to_string() }),
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

/// What a rank's error says of another.
fn fault(player: &Player) -> Option<&Fault> {
    match &player.fate {
        Fate::Failed(Error::Peer { fault, .. }) => Some(fault),
        _ => None,
    }
}
