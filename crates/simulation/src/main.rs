//! Runs simulations from the command line: many seeds, or one of them again.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use hccl::{Algorithm, Operator};
use hccl_fabric::simulated::{Trace, Visibility};
use simulation::{Faults, OPERATORS, Report, Scenario, Watchdog, plain, run};

/// More ranks than this need more memory than people mean to spend: a word for each two ranks, and
/// the plans of all.
const RANKS_MAX: u32 = 2000;
/// With views, each rank has all memory twice.
const RANKS_MAX_WITH_VIEWS: u32 = 40;

/// Runs the engine on simulated links, all ranks in this process, and compares with an oracle.
#[derive(Parser)]
#[command(name = "simulation")]
struct Arguments {
    /// How many ranks.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=i64::from(RANKS_MAX)))]
    ranks: u32,
    /// Which seeds, the end not included.
    #[arg(long, default_value = "0..100", value_parser = seeds)]
    seeds: std::ops::Range<u64>,
    /// This seed alone.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Calls of this operator alone; without it, each seed calls every operator.
    #[arg(long, value_parser = operator)]
    operator: Option<Operator>,
    /// The algorithm, as `hccl plan` takes it; without it, the seed chooses.
    #[arg(long)]
    algorithm: Option<Algorithm>,
    /// What goes wrong: none (signals are seen at once), delay, stall (some ranks stand still for
    /// long), leave (a rank leaves in the middle), or death (it dies at any step). Each of the last
    /// three brings delays.
    #[arg(long, default_value = "delay", value_parser = faults)]
    faults: Faults,
    /// When a rank's writes to memory are visible to the others: early (at once) or late (not
    /// before a signal that says so).
    #[arg(long, default_value = "early", value_parser = visibility)]
    visibility: Visibility,
    /// Prints what every rank does.
    #[arg(long)]
    trace: bool,
}

fn seeds(text: &str) -> Result<std::ops::Range<u64>> {
    let allowed = || format!("{text} is no range of seeds, as 0..1000");
    let (first, end) = text.split_once("..").with_context(allowed)?;
    let range = first.parse().with_context(allowed)?..end.parse().with_context(allowed)?;
    if range.is_empty() {
        bail!("{text} holds no seed");
    }
    Ok(range)
}

fn operator(text: &str) -> Result<Operator> {
    named(text, OPERATORS.map(|one| (one.name(), one)))
}

fn faults(text: &str) -> Result<Faults> {
    named(text, Faults::ALL.map(|one| (one.name(), one)))
}

fn visibility(text: &str) -> Result<Visibility> {
    named(text, [Visibility::Early, Visibility::Late].map(|one| (visibility_name(one), one)))
}

fn visibility_name(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Early => "early",
        Visibility::Late => "late",
    }
}

fn named<T: Copy, const N: usize>(text: &str, all: [(&str, T); N]) -> Result<T> {
    let found = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|&(_, one)| one).with_context(|| {
        let names = all.each_ref().map(|(name, _)| *name).join(", ");
        format!("{text} is not one of {names}")
    })
}

fn main() -> ExitCode {
    match sweep(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("simulation: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all seeds, up to the first that fails. True if there is none.
fn sweep(arguments: &Arguments) -> Result<bool> {
    let &Arguments { ranks, faults, operator, visibility, .. } = arguments;
    if visibility == Visibility::Late && ranks > RANKS_MAX_WITH_VIEWS {
        bail!(
            "--ranks is {ranks}; with --visibility late at most {RANKS_MAX_WITH_VIEWS} are \
             allowed, since each rank has a copy of all memory"
        );
    }
    let seeds = arguments.seed.map_or(arguments.seeds.clone(), |seed| seed..seed.saturating_add(1));
    let watchdog = Watchdog::start();
    let begin = Instant::now();
    let mut sum = Sum::default();
    for seed in seeds {
        let replay = replay(arguments, seed);
        watchdog.say(|| replay.clone());
        let scenario =
            Scenario::draw(seed, ranks, faults, visibility, operator, arguments.algorithm.clone());
        let trace = arguments.trace.then(|| -> Trace { Box::new(|record| println!("{record}")) });
        match run(&scenario, plain, trace, Some(&watchdog)) {
            Ok(report) => sum.add(&report),
            Err(failure) => {
                println!("seed {seed}: {failure}\nagain with: {replay}");
                return Ok(false);
            }
        }
    }
    watchdog.stop();
    println!("{} seeds in {:.1} s: {sum}", sum.seeds, begin.elapsed().as_secs_f64());
    Ok(true)
}

/// The command that runs one seed again.
fn replay(arguments: &Arguments, seed: u64) -> String {
    let faults = arguments.faults.name();
    let visibility = visibility_name(arguments.visibility);
    let operator =
        arguments.operator.map_or_else(String::new, |operator| format!(" --operator {operator}"));
    let algorithm = arguments.algorithm.as_ref();
    let algorithm = algorithm.map_or_else(String::new, |it| format!(" --algorithm {it}"));
    format!(
        "cargo run --release -p simulation -- --ranks {} --seed {seed} --faults {faults} \
         --visibility {visibility}{operator}{algorithm} --trace",
        arguments.ranks
    )
}

/// What all seeds came to.
#[derive(Default)]
struct Sum {
    seeds: u64,
    longest: Duration,
    turns: u64,
    sleeps: u64,
    lost: u64,
    named: u64,
}

impl Sum {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.longest = self.longest.max(report.virtual_time);
        self.turns += report.turns;
        self.sleeps += report.sleeps;
        self.lost += u64::from(report.lost.is_some());
        self.named += u64::from(report.named);
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { longest, turns, sleeps, lost, named, .. } = self;
        write!(f, "all as it should be; {turns} turns, {sleeps} sleeps, longest {longest:?}")?;
        if *lost > 0 {
            write!(f, "; a rank was lost {lost} times, and {named} survivors named it")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_run_a_seed_again_means_the_same() {
        let parse = |line: &str| {
            let words = line.split_whitespace().map(str::to_owned);
            Arguments::try_parse_from(std::iter::once("simulation".to_owned()).chain(words))
        };
        let given = "--ranks 9 --seeds 3..8 --operator alltoallv --algorithm mesh:one-shot --faults stall --visibility late";
        let given = parse(given).unwrap();
        let line = replay(&given, 5);
        let again = parse(line.split_once(" -- ").unwrap().1).unwrap();
        assert_eq!((again.seed, again.ranks, again.trace), (Some(5), 9, true));
        assert_eq!((again.operator, &again.algorithm), (given.operator, &given.algorithm));
        assert_eq!(replay(&again, 5), line);
    }
}
