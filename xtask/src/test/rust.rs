//! Steps of cargo: formatting, lints, tests.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;

use super::Outcome;
use crate::{count, process, workspace};

const FORMAT_LIMIT: Duration = Duration::from_secs(300);
/// From nothing, on a small machine.
const BUILD_AND_TEST_LIMIT: Duration = Duration::from_secs(3600);
const CONFORMANCE_LIMIT: Duration = Duration::from_secs(900);

pub(super) fn format() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], FORMAT_LIMIT)
}

pub(super) fn lints() -> Result<()> {
    let arguments =
        ["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"];
    cargo(&arguments, BUILD_AND_TEST_LIMIT)
}

/// nextest where it is installed, since it runs tests in parallel and each in a process of its own;
/// plain `cargo test` does as well.
pub(super) fn tests() -> Result<()> {
    if has_nextest() {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"], BUILD_AND_TEST_LIMIT)?;
        return cargo(&["test", "--workspace", "--doc", "--quiet"], BUILD_AND_TEST_LIMIT);
    }
    cargo(&["test", "--workspace", "--no-fail-fast"], BUILD_AND_TEST_LIMIT)
}

/// The programs of `examples/rust`, each with several numbers of ranks. They check their values.
pub(super) fn examples() -> Result<()> {
    const RUNS: [&[&str]; 9] = [
        &["all_reduce", "1"],
        &["all_reduce", "4"],
        &["processes", "4"],
        &["heat", "1"],
        &["heat", "5"],
        &["grid", "1", "2"],
        &["grid", "3", "2"],
        &["futures", "1"],
        &["futures", "3"],
    ];
    for run in RUNS {
        let mut arguments = vec!["run", "--quiet", "--package", "hccl", "--example"];
        arguments.push(run[0]);
        arguments.push("--");
        arguments.extend(&run[1..]);
        cargo(&arguments, BUILD_AND_TEST_LIMIT)?;
    }
    Ok(())
}

/// A report: a count that does not repeat fails, one that has changed does not.
pub(super) fn count() -> Result<Outcome> {
    if !count::is_possible() {
        eprintln!("xtask: count: skipped, since valgrind is missing");
        return Ok(Outcome::Skipped);
    }
    count::run(&count::Args::default())?;
    Ok(Outcome::Passed)
}

/// Subcommands of the program `conformance` that are steps of their own.
pub(super) const CONFORMANCE: &[&str] =
    &["operators", "forced", "matrix", "progress", "fork", "death", "many", "fuzz", "support"];

/// The built libraries against an oracle, with ranks as threads and processes.
pub(super) fn conformance(subcommand: &str) -> Result<()> {
    let mut command = conformance_command(subcommand)?;
    process::run(process::talk(&mut command)?, CONFORMANCE_LIMIT)
}

/// Calls every operator with every data type, reduction and place, and writes the page of it.
pub(super) fn write_support_page() -> Result<()> {
    let mut command = conformance_command("support")?;
    command.arg("--write");
    process::run(process::talk(&mut command)?, CONFORMANCE_LIMIT)
}

/// The program `conformance`, built, with a subcommand.
pub(super) fn conformance_command(subcommand: &str) -> Result<Command> {
    cargo(&["build", "--release", "--quiet", "--package", "conformance"], BUILD_AND_TEST_LIMIT)?;
    let mut command = Command::new(workspace::target().join("release/conformance"));
    command.current_dir(workspace::root());
    command.arg("--libraries").arg(workspace::prefix().join("lib64")).arg(subcommand);
    Ok(command)
}

fn cargo(arguments: &[&str], limit: Duration) -> Result<()> {
    let mut command = workspace::cargo();
    command.args(arguments);
    process::run(process::talk(&mut command)?, limit)
}

fn has_nextest() -> bool {
    let mut command: Command = workspace::cargo();
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
