//! `cargo xtask count`: instructions of the hot paths, beside those that were recorded.
//!
//! The program `hot-paths` runs one case at a time under callgrind, each twice. A count that does
//! not repeat is a failure; one that differs from the recorded one is not, since compilers and C
//! libraries differ.

mod baseline;
mod callgrind;
mod table;

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args as ClapArgs;

use crate::{process, workspace};
use baseline::Baseline;

const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// Names of cases and their instructions, in the order of the program.
type Counts = Vec<(String, u64)>;

/// Which cases, and what becomes of the counts.
#[derive(ClapArgs, Default)]
pub(crate) struct Args {
    /// Make these counts the recorded ones
    #[arg(long, conflicts_with = "words")]
    record: bool,
    /// Only cases whose names contain all of these
    words: Vec<String>,
}

/// Counts and prints; fails when a count does not repeat.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if !is_possible() {
        bail!("valgrind is missing; Debian has it in the package valgrind");
    }
    // Where it is broken, say so before anything is counted.
    let recorded = Baseline::read()?;
    let counts = count(&args.words)?;
    print!("{}", table::table(&counts, recorded.as_ref(), args.words.is_empty()));
    if args.record {
        Baseline::now(counts)?.write()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there is what it needs.
pub(crate) fn is_possible() -> bool {
    process::exists("valgrind")
}

/// Counts all cases that contain all of the words.
fn count(words: &[String]) -> Result<Counts> {
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--quiet", "--package", "hot-paths"]);
    process::run(process::talk(&mut build)?, BUILD_LIMIT)?;
    let program = workspace::target().join("release/hot-paths");
    let names = process::output(Command::new(&program).arg("list"))?;
    let names = names.lines().filter(|name| words.iter().all(|word| name.contains(word.as_str())));
    let (mut counts, mut failures) = (Counts::new(), 0);
    for name in names {
        match callgrind::count_twice(&program, name).and_then(same) {
            Ok(count) => counts.push((name.to_owned(), count)),
            Err(error) => {
                eprintln!("xtask: {name}: {error:#}");
                failures += 1;
            }
        }
    }
    if failures > 0 {
        bail!("{failures} case(s) did not run, or not twice in the same way");
    }
    if counts.is_empty() {
        bail!("no case contains {words:?}");
    }
    Ok(counts)
}

/// The count that two runs agree on.
fn same([one, other]: [u64; 2]) -> Result<u64> {
    if one != other {
        bail!("{one} instructions in one run, {other} in the other");
    }
    Ok(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_to_repeat() {
        assert_eq!(same([7, 7]).unwrap(), 7);
        let error = same([7, 8]).unwrap_err();
        assert_eq!(error.to_string(), "7 instructions in one run, 8 in the other");
    }
}
