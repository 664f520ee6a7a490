//! `hccl perf`: how fast the operators are on this machine, every result checked.

mod case;
mod compare;
mod launch;
mod rank;
mod report;
mod sample;
mod svg;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args as ClapArgs, Subcommand};

use case::{Case, Dtype, Measured, MemoryKind, Reduction};
use report::{HEADER, Report, Row, csv, line};

use crate::output::Output;
use crate::units::size;

/// Measures operators between ranks of this machine.
///
/// A time is that of the slowest rank in a call; the median of all calls counts. Sizes are bytes of
/// the larger buffer of a rank (all-gather: what is gathered; reduce-scatter: the input). Each
/// size is checked against expected values before it is measured.
#[derive(ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    measure: Measure,
}

#[derive(Subcommand)]
enum Command {
    /// Compares two results that were written with `--format json`.
    Compare(compare::Args),
    /// One process of a measurement; started by the others.
    #[command(hide = true)]
    Rank,
}

#[derive(ClapArgs)]
struct Measure {
    /// What to measure.
    #[arg(value_enum, default_value = "allreduce")]
    operator: Measured,
    /// How many ranks.
    #[arg(short = 'p', long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// Ranks as processes or as threads of one.
    #[arg(long = "as", value_enum, default_value = "processes")]
    ranks_as: RanksAs,
    /// Smallest size: bytes, with K, M or G behind.
    #[arg(short = 'b', long, default_value = "8", value_parser = size)]
    min_bytes: u64,
    /// Largest size.
    #[arg(short = 'e', long, default_value = "64M", value_parser = size)]
    max_bytes: u64,
    /// From a size to the next.
    #[arg(short = 'f', long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..))]
    step_factor: u64,
    /// Type of the elements.
    #[arg(short = 'd', long, value_enum, default_value = "fp32")]
    dtype: Dtype,
    /// How values are combined.
    #[arg(short = 'o', long, value_enum, default_value = "sum")]
    op: Reduction,
    /// The root, for operators that have one.
    #[arg(short = 'r', long, default_value_t = 0)]
    root: u32,
    /// Where buffers are.
    #[arg(short = 'm', long, value_enum, default_value = "private")]
    memory: MemoryKind,
    /// Input and output are one buffer.
    #[arg(short = 'i', long)]
    in_place: bool,
    /// Measured calls of a size; without it more of small ones and fewer of large ones.
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..))]
    iters: Option<u32>,
    /// Calls of a size before the measured ones.
    #[arg(short = 'w', long)]
    warmup: Option<u32>,
    /// Whether results are compared with what they must be.
    #[arg(short = 'c', long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    check: u8,
    /// An algorithm, as `hccl plan` takes it.
    #[arg(long)]
    algo: Option<String>,
    /// Lets ranks move between cores. Without it each keeps to one, where there are as many.
    #[arg(long)]
    no_pin: bool,
    /// Ranks meet for small data too, instead of sending it beside the call.
    #[arg(long)]
    no_inline: bool,
    /// The kernel copies from private memory, instead of ranks passing it through shared room.
    #[arg(long)]
    copy_from_processes: bool,
    /// Form of the result.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// File for it; standard output without.
    #[arg(long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RanksAs {
    Processes,
    Threads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
    /// A chart of time and bus bandwidth.
    Svg,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Some(Command::Compare(args)) => compare::run(args),
        Some(Command::Rank) => launch::be_a_rank(),
        None => args.measure.run(),
    }
}

impl Measure {
    fn case(&self) -> Result<Case> {
        if self.min_bytes == 0 || self.min_bytes > self.max_bytes {
            bail!(
                "sizes from {} to {}: allowed are rising ones above 0",
                self.min_bytes,
                self.max_bytes
            );
        }
        if self.root >= self.ranks {
            bail!("the root is {}: allowed is a rank from 0 to {}", self.root, self.ranks - 1);
        }
        if self.in_place && !self.operator.works_in_place() {
            bail!(
                "{:?} does not work in place: allowed are allreduce, allgather, reducescatter",
                self.operator
            );
        }
        if self.operator == Measured::PingPong && self.ranks < 2 {
            bail!("a ping-pong with {} ranks: allowed are 2 or more", self.ranks);
        }
        if let Some(algo) = &self.algo {
            algo.parse::<hccl_plan::Algorithm>()?;
        }
        let larger = |bytes: &u64| bytes.checked_mul(self.step_factor);
        let mut sizes: Vec<u64> = std::iter::successors(Some(self.min_bytes), larger)
            .take_while(|bytes| *bytes <= self.max_bytes)
            .collect();
        if self.operator == Measured::Barrier {
            sizes = vec![0];
        }
        Ok(Case {
            operator: self.operator,
            ranks: self.ranks,
            dtype: self.dtype,
            op: self.op,
            root: self.root,
            memory: self.memory,
            in_place: self.in_place,
            sizes,
            iterations: self.iters,
            warm_up: self.warmup,
            check: self.check == 1,
            pin: !self.no_pin,
            inline: !self.no_inline,
            copy_from_processes: self.copy_from_processes,
            algorithm: self.algo.clone(),
        })
    }

    fn run(&self) -> Result<()> {
        let case = self.case()?;
        let mut out = Output::new(self.output.as_deref())?;
        let ranks_as = if self.ranks_as == RanksAs::Threads { "threads" } else { "processes" };
        let mut report = Report::new(case, ranks_as, Vec::new());
        if self.format == Format::Table {
            out.show(&format!("# {}\n{HEADER}\n", report.title()))?;
        }
        let mut rows: Vec<Row> = Vec::new();
        let watched = self.format != Format::Table || self.output.is_some();
        let progress = watched && std::io::stderr().is_terminal();
        let total = report.case.sizes.len();
        let mut take = |row: Row| {
            if self.format == Format::Table {
                out.show(&(line(&row) + "\n"))?;
            }
            rows.push(row);
            if progress {
                eprint!("\r{} of {total} sizes", rows.len());
            }
            Ok(())
        };
        match self.ranks_as {
            RanksAs::Threads => launch::threads(&report.case, &mut take)?,
            RanksAs::Processes => launch::processes(&report.case, &mut take)?,
        }
        if progress {
            eprintln!();
        }
        report.rows = rows;
        match self.format {
            Format::Table => {}
            Format::Csv => out.show(&csv(&report.rows))?,
            Format::Svg => out.show(&svg::one(&report))?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&report).context("the result")?;
                out.show(&(text + "\n"))?;
            }
        }
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn case() -> Case {
        Case {
            operator: Measured::AllReduce,
            ranks: 2,
            dtype: Dtype::Fp32,
            op: Reduction::Sum,
            root: 0,
            memory: MemoryKind::Private,
            in_place: false,
            sizes: vec![8, 4096, 40_000],
            iterations: Some(3),
            warm_up: Some(1),
            check: true,
            pin: false,
            inline: true,
            copy_from_processes: false,
            algorithm: None,
        }
    }

    #[test]
    fn every_operator_and_type_is_measured_and_checked() {
        use clap::ValueEnum as _;
        for operator in Measured::value_variants() {
            for (memory, in_place) in [
                (MemoryKind::Private, false),
                (MemoryKind::Shared, false),
                (MemoryKind::Shared, operator.works_in_place()),
            ] {
                let (operator, ranks) = (*operator, 3);
                let case = Case { operator, ranks, memory, in_place, root: 1, ..case() };
                let mut rows = Vec::new();
                let mut take = |row| {
                    rows.push(row);
                    Ok(())
                };
                launch::threads(&case, &mut take).unwrap();
                assert_eq!(rows.len(), 3);
                assert!(rows.iter().all(|row| row.iterations == 3 && row.median_us > 0.0));
            }
        }
        for dtype in Dtype::value_variants() {
            for op in Reduction::value_variants() {
                let (dtype, op, ranks) = (*dtype, *op, 3);
                let case = Case { dtype, op, ranks, sizes: vec![800], ..case() };
                launch::threads(&case, &mut |_| Ok(())).unwrap();
            }
        }
    }
}
