//! The engine on simulated links: results as the oracle has them, no rank that nobody wakes, no
//! hang, and errors that lead to the rank that was lost.
//!
//! The program `simulation` runs the same over more seeds; a failure here says with which command
//! one seed is run again.

use hccl_fabric::simulated::{Dice, Visibility};
use simulation::{Faults, Report, Scenario, Watchdog, plain, run};

fn simulate(
    seed: u64,
    ranks: u32,
    faults: Faults,
    visibility: Visibility,
    watchdog: &Watchdog,
) -> Report {
    let again = format!(
        "cargo run --release -p simulation -- --ranks {ranks} --seed {seed} --faults {} \
         --visibility {} --trace",
        faults.name(),
        match visibility {
            Visibility::Early => "early",
            Visibility::Late => "late",
        }
    );
    watchdog.say(|| again.clone());
    let scenario = Scenario::draw(seed, ranks, faults, visibility, None, None);
    run(&scenario, plain, None, Some(watchdog)).unwrap_or_else(|failure| {
        panic!("{failure}\nagain with: {again}");
    })
}

#[test]
fn five_hundred_ranks_run_every_operator() {
    let watchdog = Watchdog::start();
    for (seed, faults) in [(0, Faults::Delay), (1, Faults::Stall), (2, Faults::None)] {
        let report = simulate(seed, 500, faults, Visibility::Early, &watchdog);
        assert_eq!((report.rescued, report.lost), (0, None));
        assert!(report.sleeps > 500, "ranks wait for each other");
    }
    watchdog.stop();
}

#[test]
fn five_hundred_ranks_lose_one() {
    let watchdog = Watchdog::start();
    for faults in [Faults::Death, Faults::Leave] {
        // In some seeds the rank is lost when nobody needs it any more.
        let simulate = |seed| simulate(seed, 500, faults, Visibility::Early, &watchdog);
        let report = (5..20).map(simulate).find(|report| report.named > 0);
        let report = report.expect("most seeds lose a rank that is needed");
        assert!(report.lost.is_some());
        assert_eq!(report.named, 499);
    }
    watchdog.stop();
}

/// Any number of ranks up to forty, over seeds enough to meet rare orders.
fn few_ranks(faults: Faults, visibility: Visibility, ranks_max: u64, seeds: u64) -> Vec<Report> {
    let watchdog = Watchdog::start();
    let mut dice = Dice::new(faults as u64);
    let one = |seed| {
        let ranks = 1 + dice.below(ranks_max) as u32;
        simulate(seed, ranks, faults, visibility, &watchdog)
    };
    let reports = (0..seeds).map(one).collect();
    watchdog.stop();
    reports
}

#[test]
fn few_ranks_with_delays() {
    few_ranks(Faults::Delay, Visibility::Early, 40, 60);
    few_ranks(Faults::Delay, Visibility::Late, 12, 60);
}

#[test]
fn few_ranks_of_which_some_stand_still() {
    let reports = few_ranks(Faults::Stall, Visibility::Early, 40, 60);
    assert!(reports.iter().any(|report| report.virtual_time.as_secs() >= 1));
    few_ranks(Faults::Stall, Visibility::Late, 12, 30);
}

#[test]
fn few_ranks_of_which_one_leaves() {
    let reports = few_ranks(Faults::Leave, Visibility::Early, 40, 100);
    let left = reports.iter().filter(|report| report.lost.is_some()).count();
    assert!(left > 50, "{left}");
    few_ranks(Faults::Leave, Visibility::Late, 12, 30);
}

#[test]
fn few_ranks_of_which_one_dies() {
    let reports = few_ranks(Faults::Death, Visibility::Early, 40, 200);
    let died = reports.iter().filter(|report| report.lost.is_some()).count();
    // By other algorithms than the mesh a rank calls its fabric less often, and may live on.
    assert!(died > 150, "{died}");
    // Sometimes nobody needs the dead rank any more, sometimes all do.
    assert!(reports.iter().any(|report| report.lost.is_some() && report.named == 0));
    assert!(reports.iter().any(|report| report.named > 10));
    few_ranks(Faults::Death, Visibility::Late, 12, 60);
}
