//! Running all programs, one after the other, round after round.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::drivers::Driver;
use super::leftovers::Before;
use super::ours;
use super::packages::folder;
use super::plan::Extent;
use super::point::{Memory, Point, Program};
use super::report::Missing;
use super::sample::{Finding, of_driver};
use super::statistics::Round;
use crate::process;

/// Longest reason that is kept, characters.
const REASON_MAX: usize = 200;

/// Programs that take part, and what they turned out not to do.
pub(super) struct Rounds {
    extent: Extent,
    prefix: PathBuf,
    scratch: PathBuf,
    programs: Vec<(Program, usize)>,
    drivers: Vec<Driver>,
    /// Points that a program is not asked for any more.
    dropped: BTreeMap<Program, BTreeSet<Point>>,
    pub(super) missing: BTreeSet<Missing>,
}

impl Rounds {
    /// Only ours takes part until others are added.
    pub(super) fn new(extent: Extent, prefix: PathBuf) -> Result<Self> {
        let scratch = folder().join("output");
        std::fs::create_dir_all(&scratch)
            .with_context(|| format!("cannot make {}", scratch.display()))?;
        let of_perf = Memory::ALL.into_iter().filter(|memory| *memory != Memory::Stream);
        let programs = of_perf.map(|memory| (Program::Ours(memory), 0)).collect();
        Ok(Self {
            extent,
            prefix,
            scratch,
            programs,
            drivers: Vec::new(),
            dropped: BTreeMap::new(),
            missing: BTreeSet::new(),
        })
    }

    pub(super) fn add(&mut self, driver: Driver) {
        let index = self.drivers.len();
        match &driver {
            Driver::Bare(_) => {
                self.programs.extend(Memory::BARE.map(|memory| (Program::Bare(memory), index)));
            }
            Driver::Ours(..) => self.programs.push((Program::Ours(Memory::Stream), index)),
            Driver::Peer(installed, _) => {
                self.programs.push((Program::Peer(installed.peer), index));
            }
        }
        self.drivers.push(driver);
    }

    /// Each program once; backwards in every second round, so that drift hits all alike.
    pub(super) fn run(&mut self, index: u32, count: u32) -> Round {
        let points = self.extent.points();
        let mut order = self.programs.clone();
        if index % 2 == 1 {
            order.reverse();
        }
        let mut round = Round::new();
        for ranks in [2, 4] {
            for &(program, driver) in &order {
                let dropped = self.dropped.get(&program);
                let wanted: Vec<Point> = points
                    .iter()
                    .filter(|point| point.ranks == ranks && program.measures(point))
                    .filter(|point| dropped.is_none_or(|dropped| !dropped.contains(point)))
                    .copied()
                    .collect();
                if wanted.is_empty() {
                    continue;
                }
                let begun = Instant::now();
                let found = self.measure(program, driver, ranks, &wanted);
                let right = found.iter().filter(|(_, found)| found.is_ok()).count();
                eprintln!(
                    "xtask: round {} of {count}: {program}, {ranks} ranks: {right} of {} points in \
                     {:.1} s",
                    index + 1,
                    wanted.len(),
                    begun.elapsed().as_secs_f64()
                );
                for (point, found) in found {
                    match found {
                        Ok(sample) => {
                            round.insert((program, point), sample);
                        }
                        Err(reason) => self.give_up(program, point, &reason),
                    }
                }
            }
        }
        round
    }

    /// What a program finds at some points of as many ranks.
    fn measure(
        &mut self,
        program: Program,
        driver: usize,
        ranks: u32,
        wanted: &[Point],
    ) -> Vec<Finding> {
        match (program, self.drivers.get(driver)) {
            (Program::Ours(Memory::Stream), Some(driver)) => {
                self.drive(driver.command(ranks, Memory::Stream), ranks, wanted)
            }
            (Program::Ours(memory), _) => self.measure_ours(memory, wanted),
            (Program::Peer(_), Some(driver)) => {
                self.drive(driver.command(ranks, Memory::Private), ranks, wanted)
            }
            (Program::Bare(memory), Some(driver)) => {
                self.drive(driver.command(ranks, memory), ranks, wanted)
            }
            (_, None) => Vec::new(),
        }
    }

    fn measure_ours(&self, memory: Memory, wanted: &[Point]) -> Vec<Finding> {
        let one = |point: &Point| match ours::measure(&self.prefix, memory, point, &self.scratch) {
            Ok(found) => only_wanted(found, std::slice::from_ref(point)),
            Err(error) => vec![(*point, Err(shortened(&format!("{error:#}"))))],
        };
        wanted.iter().flat_map(one).collect()
    }

    /// Runs a driver. Points that it came to are kept whatever became of it.
    fn drive(&self, mut command: Command, ranks: u32, wanted: &[Point]) -> Vec<Finding> {
        command.arg(self.extent.point_seconds().to_string());
        command.args(wanted.iter().map(Point::argument));
        let limit = self.extent.program_limit(ranks);
        let (output, failure) = match captured(&mut command, &self.scratch, limit) {
            Ok(both) => both,
            Err(error) => (String::new(), Some((Failure::NotRun, format!("{error:#}")))),
        };
        let mut found = only_wanted(of_driver(&output), wanted);
        let lacking: Vec<Point> = wanted
            .iter()
            .filter(|point| !found.iter().any(|(at, _)| at == *point))
            .copied()
            .collect();
        let (failure, reason) =
            failure.unwrap_or((Failure::Died, "it ended without a word".to_owned()));
        // Who died is tried again without the point it died at. What is slow stays slow.
        let given_up = if failure == Failure::Died { 1 } else { lacking.len() };
        let reason = shortened(&reason);
        found.extend(lacking.into_iter().take(given_up).map(|point| (point, Err(reason.clone()))));
        found
    }

    fn give_up(&mut self, program: Program, point: Point, reason: &str) {
        let (program_name, what) = (program.to_string(), point.to_string());
        self.missing.insert(Missing { program: program_name, what, reason: reason.to_owned() });
        self.dropped.entry(program).or_default().insert(point);
    }
}

/// Why a program did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    NotRun,
    Died,
    TimeOut,
}

/// The output of a program, and what went wrong. Both go through files, so that nothing that it
/// leaves running can hold us up at the other end of a pipe.
fn captured(
    command: &mut Command,
    scratch: &Path,
    limit: Duration,
) -> Result<(String, Option<(Failure, String)>)> {
    let (output, errors) = (scratch.join("stdout"), scratch.join("stderr"));
    let file = |path: &Path| {
        File::create(path).with_context(|| format!("cannot write {}", path.display()))
    };
    command.stdin(Stdio::null()).stdout(file(&output)?).stderr(file(&errors)?);
    let (begun, before) = (Instant::now(), Before::look());
    let result = process::status(command, limit);
    let left = before.clean();
    if left > 0 {
        eprintln!("xtask: {left} piece(s) of shared memory that it left were removed");
    }
    let text = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let failure = match result {
        Ok(status) if status.success() => None,
        Ok(status) => {
            let errors = text(&errors);
            let last = errors.lines().rev().map(str::trim).find(|line| !line.is_empty());
            Some((Failure::Died, format!("{status}: {}", last.unwrap_or("no word"))))
        }
        Err(_) if begun.elapsed() >= limit => {
            Some((Failure::TimeOut, format!("not finished after {} s", limit.as_secs())))
        }
        Err(error) => bail!(error),
    };
    Ok((text(&output), failure))
}

/// Findings of points that were asked for, one each.
fn only_wanted(found: Vec<Finding>, wanted: &[Point]) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    found.into_iter().filter(|(point, _)| wanted.contains(point) && seen.insert(*point)).collect()
}

fn shortened(text: &str) -> String {
    text.replace('\n', " ").chars().take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::super::point::{Dtype, Operator};
    use super::*;

    #[test]
    fn points_that_nobody_asked_for_do_not_count() {
        let point =
            |bytes| Point { ranks: 2, operator: Operator::Broadcast, dtype: Dtype::Fp32, bytes };
        let no = |bytes| (point(bytes), Err::<super::super::sample::Sample, _>("no".to_owned()));
        let found = only_wanted(vec![no(4), no(8), no(4)], &[point(4)]);
        assert_eq!(found, [no(4)]);
    }

    #[test]
    fn reasons_are_one_short_line() {
        assert_eq!(shortened("a\nb"), "a b");
        assert_eq!(shortened(&"x".repeat(1000)).len(), REASON_MAX);
    }
}
