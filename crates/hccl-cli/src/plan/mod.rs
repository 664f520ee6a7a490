//! `hccl plan`: which algorithm would run and why, and what it does step by step.

mod amount;
mod answer;
mod file;
mod picture;
mod question;
mod rounds;
mod steps;
mod text;
mod words;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args as ClapArgs, ValueEnum};
use hccl_kernels::DataType;
use hccl_plan::select::{Product, Reach};
use hccl_plan::{Cluster, Link, Operator, Topology};

use crate::{output, units};
use answer::Answer;
use question::Question;

/// Shows which algorithm would run and why, and the steps of its plan
///
/// Without --algo and --hccl-algo, HCCL_ALGO of the environment is followed, as the library does.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// allreduce, reducescatter, allgather, broadcast, reduce, scatter, gather, alltoall,
    /// alltoallv, alltoallvc, allgatherv, reducescatterv, send (or recv), batchsendrecv, barrier
    #[arg(value_parser = words::operator)]
    operator: Operator,
    /// Where the ranks are: 8 (one server), 8x4 (four servers of eight), 8x4x2 (two superpods of
    /// such), 2+3+5 (three servers)
    #[arg(long, value_name = "TOPOLOGY", required_unless_present = "cluster")]
    ranks: Option<Topology>,
    /// Links of the tiers, innermost first, by which estimates go, as in 5us:28GB/s,60us:200Gb/s
    #[arg(long, value_name = "LINKS", value_delimiter = ',', requires = "ranks")]
    links: Vec<Link>,
    /// A ready-made cluster in place of --ranks and --links: a2-server, cluster-1024, superpod-384,
    /// cluster-16384
    #[arg(long, value_name = "NAME", value_parser = Cluster::named, conflicts_with = "ranks")]
    cluster: Option<Cluster>,
    /// Bytes of a block: of the buffer of allreduce, reduce and broadcast, of one rank's share of the
    /// others; with K, M, G, T [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = units::size, conflicts_with = "count")]
    bytes: Option<u64>,
    /// Elements of a block
    #[arg(long)]
    count: Option<u64>,
    /// Data type of an element
    #[arg(long, default_value = "float32", value_parser = words::data_type)]
    dtype: DataType,
    /// Elements by rank for allgatherv and reducescatterv (3,0,5), by sender and receiver for
    /// alltoallv, alltoallvc, send and batchsendrecv (1,2/3,4) [default: count for each]
    #[arg(long)]
    lengths: Option<words::Lengths>,
    /// The root of broadcast, reduce, scatter and gather [default: 0]
    #[arg(long)]
    root: Option<u32>,
    /// Ask for one algorithm, as in nhr or hierarchy:8*mesh,4*ring; auto asks for none
    #[arg(long, value_name = "ALGORITHM", conflicts_with = "hccl_algo")]
    algo: Option<String>,
    /// Ask with the words of HCCL_ALGO, as in 'level0:NA;level1:ring'
    #[arg(long, value_name = "WORDS")]
    hccl_algo: Option<String>,
    /// The product whose lists say what the words of HCCL_ALGO act on: 910, 310p, a2, a3, 950
    #[arg(long, default_value = "a2")]
    product: Product,
    /// How ranks reach each other's memory [default: mapped for one server, else network]
    #[arg(long)]
    reach: Option<ReachWord>,
    /// Ranks whose steps are shown: numbers, runs (0,3,5-7), or all [default: all if few]
    #[arg(long, value_name = "RANKS")]
    rank: Option<words::Ranks>,
    /// What to write
    #[arg(long, default_value = "text")]
    format: Format,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReachWord {
    /// Every rank reads and writes the memory of every other
    Mapped,
    /// Ranks read over the links of the topology
    Network,
}

impl From<ReachWord> for Reach {
    fn from(word: ReachWord) -> Self {
        match word {
            ReachWord::Mapped => Self::Mapped,
            ReachWord::Network => Self::Network,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// The choice and the plans, for programs
    Json,
    /// A picture: ranks as lanes, rounds to the right
    Svg,
}

impl Format {
    /// So many ranks are all shown without being asked for.
    fn all_up_to(self) -> u32 {
        match self {
            Self::Text => 8,
            Self::Json => 64,
            Self::Svg => picture::LANES_MAX,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let question = Question::new(args)?;
    let answer = Answer::new(&question, args.format)?;
    let text = match args.format {
        Format::Text => text::text(&question, &answer),
        Format::Json => file::json(&question, &answer)?,
        Format::Svg => picture::svg(&question, &answer),
    };
    output::deliver(&text, args.output.as_deref())
}
