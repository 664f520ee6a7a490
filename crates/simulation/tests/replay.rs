//! A seed is run again exactly, in the library and from the command line.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use hccl_fabric::simulated::{Record, Trace, Visibility};
use simulation::{Faults, Report, Scenario, plain, run};

/// Runs a scenario; gives its report with the number and a hash of its records.
fn traced(seed: u64, faults: Faults, visibility: Visibility) -> (Report, u64, u64) {
    let seen = Arc::new(Mutex::new((0, DefaultHasher::new())));
    let sink = seen.clone();
    let trace: Trace = Box::new(move |record: &Record| {
        let mut seen = sink.lock().unwrap();
        seen.0 += 1;
        record.hash(&mut seen.1);
    });
    let scenario = Scenario::draw(seed, 7, faults, visibility, None, None);
    let report = run(&scenario, plain, Some(trace), None).unwrap();
    let seen = seen.lock().unwrap();
    (report, seen.0, seen.1.finish())
}

#[test]
fn the_same_seed_goes_the_same_way() {
    for faults in Faults::ALL {
        for seed in 0..4 {
            let once = traced(seed, faults, Visibility::Early);
            // A rank that is lost at once ends it all soon.
            let least = if faults < Faults::Leave { 50 } else { 7 };
            assert!(once.1 > least, "the trace has {} records", once.1);
            assert_eq!(once, traced(seed, faults, Visibility::Early));
            // What is seen of memory changes nothing in who does what when.
            assert_eq!(once, traced(seed, faults, Visibility::Late));
            assert_ne!(once.2, traced(seed + 1, faults, Visibility::Early).2);
        }
    }
}

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_simulation")).args(arguments).output().unwrap()
}

#[test]
fn a_seed_is_run_from_the_command_line_and_traced() {
    let arguments = ["--ranks", "4", "--seed", "6", "--faults", "stall", "--trace"];
    let (once, again) = (program(&arguments), program(&arguments));
    assert!(once.status.success());
    let text = String::from_utf8(once.stdout).unwrap();
    let traced = |text: &str| text.lines().filter(|line| line.contains(" us  rank ")).count();
    assert!(traced(&text) > 100, "{text}");
    assert!(text.contains(" publishes call 1") && text.contains(" leaves"), "{text}");
    // All but the last line, which has the time that it took.
    let deeds = |text: &str| text.rsplit_once("\n1 seeds").unwrap().0.to_owned();
    assert_eq!(deeds(&text), deeds(&String::from_utf8(again.stdout).unwrap()));
}

#[test]
fn arguments_that_cannot_be_are_refused() {
    let bad = [
        (vec!["--ranks", "0"], "0 is not in 1..=2000"),
        (vec!["--ranks", "2001"], "2001 is not in 1..=2000"),
        (vec!["--seeds", "7..7"], "holds no seed"),
        (vec!["--seeds", "x..7"], "x..7 is no range of seeds"),
        (vec!["--seeds", "7"], "7 is no range of seeds"),
        (vec!["--operator", "Sort"], "Sort is not one of Broadcast"),
        (vec!["--faults", "fire"], "fire is not one of none, delay, stall, leave, death"),
        (vec!["--visibility", "never"], "never is not one of early, late"),
        (vec!["--ranks", "41", "--visibility", "late"], "at most 40"),
    ];
    for (arguments, expected) in bad {
        let output = program(&arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(expected), "{arguments:?}: {text}");
    }
    let one = program(&["--ranks", "2", "--seeds", "0..2", "--operator", "allreduce"]);
    assert!(one.status.success());
}
