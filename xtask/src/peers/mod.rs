//! `cargo xtask peers`: our library beside others, in one run, by one protocol.
//!
//! Each program measures all points once in a round; the order turns from round to round. Ratios are
//! made within a round. A peer that cannot be installed, dies or hangs is listed with its reason,
//! and the run goes on. The protocol itself is in `xtask/peers/driver.h`.

mod drivers;
mod leftovers;
mod machine;
mod ours;
mod packages;
mod plan;
mod point;
mod report;
mod rounds;
mod sample;
mod statistics;
mod table;
mod targets;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args as ClapArgs, ValueEnum};

use crate::workspace;
use machine::Record;
use plan::Extent;
use point::Peer;
use report::{Missing, Report};
use rounds::Rounds;
use table::Form;

/// Installs the MPI that other commands start programs with; `bin`, `include` and `lib` are below
/// what is returned.
pub(crate) fn mpich() -> Result<PathBuf> {
    Ok(packages::install(Peer::Mpich, None)?.root)
}

/// What its launcher must be told, so that its traffic stays on the loopback interface.
pub(crate) fn mpich_launch(command: &mut Command) -> &'static [&'static str] {
    drivers::clean(command);
    command.env("FI_TCP_IFACE", "lo").env("UCX_NET_DEVICES", "lo");
    drivers::LOCAL_LAUNCH
}

/// How a run is made.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// A few sizes and three rounds: some minutes
    #[arg(long)]
    quick: bool,
    /// Compare with these only (several with commas)
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<Other>,
    /// Number of rounds; five without it, three with --quick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// File for everything that was found, as JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print tables as Markdown
    #[arg(long)]
    markdown: bool,
    /// An installation of ours; without it, one is made
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// An interpreter with torch, for Gloo; without it that of .venv, or torch is installed
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
}

/// What ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Other {
    Mpich,
    OpenMpi,
    IntelMpi,
    OneCcl,
    Gloo,
    /// Loops with nothing around them: the machine's floor
    Bare,
}

impl Other {
    fn peer(self) -> Option<Peer> {
        match self {
            Self::Mpich => Some(Peer::Mpich),
            Self::OpenMpi => Some(Peer::OpenMpi),
            Self::IntelMpi => Some(Peer::IntelMpi),
            Self::OneCcl => Some(Peer::OneCcl),
            Self::Gloo => Some(Peer::Gloo),
            Self::Bare => None,
        }
    }
}

/// Installs, builds, measures, prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // Two runs at once would measure each other.
    let _lock = workspace::Lock::take("peers")?;
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    let prefix = ours::prefix(args.prefix.as_deref())?;
    let on_stream = drivers::of_ours(&prefix)?;
    let mut rounds = Rounds::new(extent, prefix)?;
    rounds.add(on_stream);
    let mut versions = Vec::new();
    let others = Other::value_variants();
    for other in others.iter().filter(|other| args.only.is_empty() || args.only.contains(other)) {
        let driver = match other.peer() {
            None => drivers::bare(),
            Some(peer) => packages::install(peer, args.python.as_deref()).and_then(|installed| {
                versions.push((peer, installed.versions.clone()));
                drivers::of_peer(installed)
            }),
        };
        match driver {
            Ok(driver) => rounds.add(driver),
            Err(error) => {
                eprintln!("xtask: goes on without {other:?}: {error:#}");
                rounds.missing.insert(Missing {
                    program: other.peer().map_or("bare", Peer::name).to_owned(),
                    what: "everything".to_owned(),
                    reason: format!("{error:#}"),
                });
            }
        }
    }
    // The load of building is not the run's.
    let record = Record::now();
    let begun = Instant::now();
    let count = args.rounds.unwrap_or_else(|| extent.rounds());
    let found = (0..count).map(|index| rounds.run(index, count)).collect();
    let report = Report {
        record,
        versions,
        quick: args.quick,
        seconds: begun.elapsed().as_secs(),
        points: extent.points(),
        rounds: found,
        missing: rounds.missing.into_iter().collect(),
    };
    if let Some(path) = &args.output {
        let text = serde_json::to_string_pretty(&report.json()).context("the result")?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    print!("{}", report.text(if args.markdown { Form::Markdown } else { Form::Plain }));
    Ok(ExitCode::SUCCESS)
}
