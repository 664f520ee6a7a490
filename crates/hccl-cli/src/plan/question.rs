//! What is asked: the command line and the environment, checked against each other.

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use hccl_kernels::DataType;
use hccl_plan::select::{Case, Forced, HcclAlgo, Product, Reach};
use hccl_plan::{Algorithm, Extents, Operator, Task, Topology, Transfer};

use super::Args;
use super::words::Lengths;

/// A call, where it runs, and what the user wishes of it.
pub(super) struct Question {
    pub(super) topology: Topology,
    pub(super) task: Task,
    pub(super) data_type: DataType,
    /// Elements of a block.
    pub(super) count: u64,
    /// As [`Case::block_bytes`].
    pub(super) block_bytes: u64,
    pub(super) reach: Reach,
    pub(super) product: Product,
    pub(super) forced: Option<Forced>,
    /// Where the wish comes from and what it is, in words.
    pub(super) wish: Option<String>,
    /// Ranks whose steps are to be shown.
    pub(super) shown: Vec<u32>,
}

/// Where nothing is said.
const BYTES_DEFAULT: u64 = 1 << 20;

/// Plans have steps in proportion to the ranks.
const RANKS_MAX: u32 = 1 << 16;

/// Pairs of ranks that have a length each.
const PAIRS_MAX: u64 = 1 << 22;

/// An error of the command line.
fn wrong(message: String) -> anyhow::Error {
    anyhow!(clap::Error::raw(ErrorKind::ValueValidation, message + "\n"))
}

impl Question {
    /// # Errors
    /// What does not go together, as an error of the command line; or a variable of the environment
    /// that cannot be read.
    pub(super) fn new(args: &Args) -> Result<Self> {
        let topology = topology(args)?;
        let ranks = topology.ranks();
        let operator = args.operator;
        if ranks > RANKS_MAX {
            return Err(wrong(format!(
                "--ranks: {ranks} ranks; plans are shown of at most {RANKS_MAX}"
            )));
        }
        let root = root(args, ranks)?;
        let count = count(args)?;
        let extents = extents(args, ranks, count)?;
        let task = Task { operator, ranks, root, extents };
        let size = args.dtype.size() as u64;
        let elements = match &task.extents {
            Some(extents) => total(extents),
            None if operator == Operator::Barrier => 0,
            None => count,
        };
        let reach = args.reach.map_or_else(|| usual_reach(&topology), Reach::from);
        let (forced, wish) = wish(args)?;
        Ok(Self {
            shown: shown(args, ranks)?,
            task,
            data_type: args.dtype,
            count,
            block_bytes: elements.saturating_mul(size),
            reach,
            product: args.product,
            forced,
            wish,
            topology,
        })
    }

    pub(super) fn case(&self) -> Case<'_> {
        Case {
            operator: self.task.operator,
            ranks: self.task.ranks,
            block_bytes: self.block_bytes,
            topology: &self.topology,
            reach: self.reach,
            forced: self.forced.as_ref(),
            product: self.product,
        }
    }
}

fn topology(args: &Args) -> Result<Topology> {
    let topology = match (&args.cluster, &args.ranks) {
        (Some(cluster), _) => cluster.model().topology,
        (None, Some(topology)) => topology.clone().with_links(args.links.clone()),
        (None, None) => return Err(wrong("--ranks or --cluster says where the ranks are".into())),
    };
    topology.check().map_err(|error| wrong(format!("--ranks, --links: {error}")))?;
    Ok(topology)
}

/// One host maps all of its memory; several are a network.
fn usual_reach(topology: &Topology) -> Reach {
    let one_host = topology.groups.first().is_none_or(|servers| servers.len() <= 1);
    if one_host { Reach::Mapped } else { Reach::Network }
}

fn root(args: &Args, ranks: u32) -> Result<u32> {
    match args.root {
        None => Ok(0),
        Some(_) if !args.operator.is_rooted() => Err(wrong(format!(
            "--root: {} has no root; Broadcast, Reduce, Scatter and Gather have one",
            args.operator
        ))),
        Some(root) if root >= ranks => {
            Err(wrong(format!("--root {root}: allowed are 0 to {}", ranks - 1)))
        }
        Some(root) => Ok(root),
    }
}

fn count(args: &Args) -> Result<u64> {
    let size = args.dtype.size() as u64;
    if let Some(count) = args.count {
        let fits = count.checked_mul(size).is_some_and(|bytes| bytes < 1 << 63);
        let allowed = (1u64 << 63) / size - 1;
        return fits
            .then_some(count)
            .ok_or_else(|| wrong(format!("--count {count}: at most {allowed} of {}", args.dtype)));
    }
    let bytes = args.bytes.unwrap_or(BYTES_DEFAULT);
    if !bytes.is_multiple_of(size) {
        return Err(wrong(format!(
            "--bytes {bytes}: no multiple of the {size} bytes of {}; --dtype int8 takes any",
            args.dtype
        )));
    }
    Ok(bytes / size)
}

fn shown(args: &Args, ranks: u32) -> Result<Vec<u32>> {
    match &args.rank {
        None if ranks <= args.format.all_up_to() => Ok((0..ranks).collect()),
        None => Ok(Vec::new()),
        Some(asked) => asked.of(ranks).map_err(|rank| {
            wrong(format!("--rank: {rank} is none; allowed are 0 to {}", ranks - 1))
        }),
    }
}

fn wish(args: &Args) -> Result<(Option<Forced>, Option<String>)> {
    let words = |source: &str, variable: &str, text: &str| {
        let words = HcclAlgo::parse(variable, text)?;
        let wish = format!("{source}: {}", words.text());
        Ok::<_, hccl_plan::select::HcclAlgoError>((Some(Forced::HcclAlgo(words)), Some(wish)))
    };
    if let Some(text) = &args.algo {
        if text.trim().eq_ignore_ascii_case("auto") {
            return Ok((None, None));
        }
        let algorithm: Algorithm = text
            .parse()
            .map_err(|error| wrong(format!("--algo: {error}, or auto for the automatic choice")))?;
        let wish = format!("--algo: {algorithm}");
        return Ok((Some(Forced::Algorithm(algorithm)), Some(wish)));
    }
    if let Some(text) = &args.hccl_algo {
        return words("--hccl-algo", "--hccl-algo", text).map_err(|error| wrong(error.to_string()));
    }
    match std::env::var("HCCL_ALGO") {
        // As the library reads its variables: these two mean that it is not set.
        Ok(text) if text.is_empty() || text == "EmptyString" => Ok((None, None)),
        Ok(text) => Ok(words("HCCL_ALGO of the environment", "HCCL_ALGO", &text)?),
        Err(std::env::VarError::NotPresent) => Ok((None, None)),
        Err(std::env::VarError::NotUnicode(text)) => {
            Err(anyhow!("HCCL_ALGO is {text:?}, which is no text"))
        }
    }
}

/// Lengths of operators that have them: those that are given, or `count` for each.
fn extents(args: &Args, ranks: u32, count: u64) -> Result<Option<Extents>> {
    let operator = args.operator;
    if !operator.has_extents() {
        return match &args.lengths {
            Some(_) => Err(wrong(format!("--lengths: the lengths of {operator} are all the same"))),
            None => Ok(None),
        };
    }
    let is_row = matches!(operator, Operator::AllGatherV | Operator::ReduceScatterV);
    if !is_row && u64::from(ranks) * u64::from(ranks) > PAIRS_MAX {
        return Err(wrong(format!(
            "--ranks: {operator} has a length for each pair, and {ranks} ranks have more than \
             {PAIRS_MAX} pairs"
        )));
    }
    let lengths = args.lengths.as_ref().map(|Lengths(rows)| rows);
    let (rows, columns) = (if is_row { 1 } else { ranks as usize }, ranks as usize);
    if let Some(given) = lengths
        && (given.len() != rows || given.iter().any(|row| row.len() != columns))
    {
        let form = if is_row { "one for each" } else { "a row for each, of one for each" };
        return Err(wrong(format!("--lengths: {operator} of {ranks} ranks takes {form} rank")));
    }
    let lens = lengths.cloned().unwrap_or_else(|| usual_lengths(operator, ranks, count));
    let total = lens.iter().flatten().try_fold(0u64, |sum, len| sum.checked_add(*len));
    let size = args.dtype.size() as u64;
    if total.and_then(|total| total.checked_mul(size)).is_none_or(|bytes| bytes >= 1 << 63) {
        return Err(wrong("--lengths: together they are 2^63 bytes or more".into()));
    }
    Ok(Some(match operator {
        Operator::AllGatherV | Operator::ReduceScatterV => Extents::packed(&lens[0]),
        Operator::AlltoAllV | Operator::AlltoAllVC => Extents::matrix(&lens),
        // A message of nothing would be a meeting.
        _ => match Extents::matrix(&lens) {
            Extents::Transfers(rows) => {
                let all = rows.into_iter().flatten().filter(|one: &Transfer| one.len > 0);
                Extents::transfers(ranks, all)
            }
            rows => rows,
        },
    }))
}

fn usual_lengths(operator: Operator, ranks: u32, count: u64) -> Vec<Vec<u64>> {
    let row = |from: u32| {
        let len = |to: u32| match operator {
            Operator::Send if from != 0 => 0,
            Operator::Send | Operator::BatchSendRecv if to != (from + 1) % ranks => 0,
            _ => count,
        };
        (0..ranks).map(len).collect()
    };
    match operator {
        Operator::AllGatherV | Operator::ReduceScatterV => vec![vec![count; ranks as usize]],
        _ => (0..ranks).map(row).collect(),
    }
}

fn total(extents: &Extents) -> u64 {
    match extents {
        Extents::Rows(rows) => rows.iter().map(|row| row.len).sum(),
        Extents::Transfers(rows) => rows.iter().flatten().map(|one| one.len).sum(),
    }
}
