//! `hccl simulate`: what operators would cost on a cluster.

mod choice;
mod csv;
mod file;
mod job;
mod measure;
mod sizes;
mod svg;
mod table;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, ValueEnum};
use hccl_plan::simulate::Model;
use hccl_plan::{CLUSTERS, Cluster};

use crate::output::Output;

use choice::Choice;
use job::{Job, Place};

/// Prices operators on models of clusters.
///
/// What is asked for stands in a file, or in the options. Examples:
///
///   hccl simulate --cluster cluster-1024 -o allreduce -b 8:1G:4
///
///   hccl simulate --ranks 8x4 --links 5us:28GB/s,60us:200Gb/s -a hierarchy:mesh+nhr,nhr
///
///   hccl simulate examples/simulate/clusters.toml --format svg --output clusters.svg
///
/// docs/simulate.md has the model, its limits, and the sources of the ready-made clusters.
#[derive(ClapArgs)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A file with topologies, operators, sizes and algorithms.
    #[arg(conflicts_with_all = [
        "cluster", "ranks", "links", "reduce", "copy", "operator", "bytes", "end", "factor",
        "algorithm", "data_type", "root",
    ])]
    file: Option<PathBuf>,

    /// Ready-made clusters, with commas between them.
    #[arg(short, long, value_delimiter = ',', ignore_case = true, conflicts_with = "ranks",
          value_parser = PossibleValuesParser::new(CLUSTERS.map(|one| one.name)))]
    cluster: Vec<String>,

    /// Groups of ranks, innermost first: 8, 8x4, 8x16x128, 2+3+5.
    #[arg(short, long)]
    ranks: Option<String>,

    /// A link for each tier, innermost first: LATENCY:BANDWIDTH or LATENCY:BANDWIDTH:PORTS, as in
    /// 5us:28GB/s,60us:200Gb/s; without it those of cluster-1024.
    #[arg(short, long, value_delimiter = ',', requires = "ranks")]
    links: Vec<String>,

    /// How fast a rank reduces, as in 500GB/s; without it, as the cluster says, or in no time.
    #[arg(long)]
    reduce: Option<String>,

    /// How fast a rank copies within its own memory; without it, as the cluster says, or in no time.
    #[arg(long)]
    copy: Option<String>,

    /// Operators, with commas between them.
    #[arg(short, long, default_value = "allreduce")]
    operator: String,

    /// Amounts of data, with commas between them, or a range FIRST:LAST:FACTOR: 1K,64M or 8:256M:4.
    /// For operators with a block for each rank, all blocks together. Without it 1K:1G:4.
    #[arg(short, long)]
    bytes: Option<String>,

    /// Last amount, where -b is the first (8 if it is left out): -b 8 -e 256M -f 4 is -b 8:256M:4.
    #[arg(short, long)]
    end: Option<String>,

    /// Factor between amounts from -b to -e.
    #[arg(short, long, requires = "end", default_value_t = 2)]
    factor: u64,

    /// Algorithms, with commas between them, as in nhr,ring,mesh:two-shot,hierarchy:mesh+nhr;
    /// without it the usual ones for the topology.
    #[arg(short, long)]
    algorithm: Option<String>,

    /// Type of the data.
    #[arg(short, long, default_value = "fp32")]
    data_type: String,

    /// Root of operators that have one.
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// Form of the result.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// File for the result, instead of the standard output.
    #[arg(long)]
    output: Option<PathBuf>,

    /// Also prints what each time is made of: the chain of steps that each waited for the one
    /// before.
    #[arg(long)]
    critical_path: bool,
}

/// Form of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people.
    Table,
    /// Comma-separated values.
    Csv,
    /// A chart of time and bandwidth over size.
    Svg,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.critical_path && args.format != Format::Table {
        bail!("--critical-path goes with --format table only");
    }
    let job = match &args.file {
        Some(path) => file::read(path)?,
        None => asked(args)?,
    };
    job.check()?;
    let tiers = job.places.iter().map(|place| place.model.topology.groups.len()).max();
    let tiers = tiers.unwrap_or(0);
    let mut output = Output::new(args.output.as_deref())?;
    let mut charts = Vec::new();
    let mut is_first = true;
    measure::measure(&job, |table| {
        for note in &table.notes {
            // Nobody may be left to read it; the results do not depend on that.
            let _ = writeln!(std::io::stderr(), "hccl: {note}");
        }
        if table.rows.is_empty() {
            return Ok(true);
        }
        let text = match args.format {
            Format::Table if is_first => table::text(table, args.critical_path),
            Format::Table => format!("\n{}", table::text(table, args.critical_path)),
            Format::Csv if is_first => csv::header(tiers) + &csv::lines(table, tiers),
            Format::Csv => csv::lines(table, tiers),
            Format::Svg => {
                charts.push(svg::chart(table));
                String::new()
            }
        };
        is_first = false;
        output.write(&text)
    })?;
    if is_first {
        bail!("nothing could be priced: none of the algorithms applies");
    }
    if args.format == Format::Svg {
        output.write(&crate::chart::draw(&charts))?;
    }
    output.finish()
}

/// The job of the options.
fn asked(args: &Args) -> Result<Job> {
    let mut models: Vec<(String, Model)> = Vec::new();
    for name in &args.cluster {
        let cluster = Cluster::named(name)?;
        models.push((cluster.name.to_owned(), cluster.model()));
    }
    if let Some(ranks) = &args.ranks {
        let topology = job::topology(ranks, job::links(&args.links)?)?;
        models.push((ranks.clone(), Model::new(topology)));
    }
    if models.is_empty() {
        bail!("nothing says where: give a file, --cluster NAME or --ranks GROUPS; see --help");
    }
    let choices = args.algorithm.as_deref().map(Choice::list).transpose()?;
    let mut places = Vec::new();
    for (name, mut model) in models {
        if let Some(text) = &args.reduce {
            model.reduce_bytes_per_s = Some(job::rate(text)?);
        }
        if let Some(text) = &args.copy {
            model.copy_bytes_per_s = Some(job::rate(text)?);
        }
        places.push(Place { name, model, choices: choices.clone() });
    }
    let bytes = match (args.bytes.as_deref(), args.end.as_deref()) {
        (bytes, None) => sizes::list(bytes.unwrap_or("1K:1G:4"))?,
        (first, Some(last)) => {
            let first = sizes::bytes(first.unwrap_or("8"))?;
            sizes::range(first, sizes::bytes(last)?, args.factor)?
        }
    };
    Ok(Job {
        places,
        operators: job::operators(&args.operator)?,
        bytes,
        data_type: args.data_type.clone(),
        root: args.root,
    })
}
