//! Runs one hot path at a time, so that `cargo xtask count` can count its instructions.
//!
//! `hot-paths list` names the cases, `hot-paths NAME` runs one. A case runs a few times first, so
//! that plans are made and memory is there, and then once inside of a function that the counter
//! looks for ([`meter`]). All that is inside happens on one thread and waits for nobody: the count
//! is the same in each run.

mod kernels;
mod meter;
mod plans;
mod ranks;
mod steady;
mod streams;

use std::process::ExitCode;

use anyhow::{Context, Result};

use meter::Meter;

/// Goes once along a path. What is not to be counted it does outside of the meter.
type Path = Box<dyn FnMut(Meter) -> Result<()>>;

/// A path with its name, not set up yet.
struct Case {
    name: String,
    set_up: Box<dyn FnOnce() -> Result<Path> + Send>,
}

impl Case {
    fn new(
        name: impl Into<String>,
        set_up: impl FnOnce() -> Result<Path> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), set_up: Box::new(set_up) }
    }

    fn run(self) -> Result<()> {
        let mut path = (self.set_up)()?;
        for _ in 0..WARM_UPS {
            path(Meter::Off)?;
        }
        path(Meter::On)
    }
}

/// Runs before the one that counts.
const WARM_UPS: usize = 4;

/// All cases that this CPU can run.
fn cases() -> Vec<Case> {
    let mut cases = kernels::cases();
    cases.extend(ranks::cases());
    cases.extend(plans::cases());
    cases.extend(streams::cases());
    cases
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &*arguments {
        [word] if word == "list" => {
            cases().iter().for_each(|case| println!("{}", case.name));
            Ok(())
        }
        [name] => run(name),
        _ => {
            eprintln!("usage: hot-paths list | hot-paths NAME");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hot-paths: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a case on a thread of its own: where the first thread's stack begins depends on the
/// arguments and the environment.
fn run(name: &str) -> Result<()> {
    let case = cases().into_iter().find(|case| case.name == name);
    let case =
        case.with_context(|| format!("there is no case {name}; `hot-paths list` names them"))?;
    let thread = std::thread::spawn(|| case.run());
    thread.join().ok().context("the case panicked")?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_runs() {
        for case in cases() {
            let name = case.name.clone();
            case.run().with_context(|| name).unwrap();
        }
    }

    #[test]
    fn names_are_unique_and_fit_into_a_table() {
        let mut names: Vec<String> = cases().into_iter().map(|case| case.name).collect();
        assert!(names.iter().all(|name| !name.contains([',', ' ', '\n', '#'])), "{names:?}");
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
