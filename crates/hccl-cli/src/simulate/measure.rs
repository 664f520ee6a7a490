//! Prices a job, one table after the other.

use std::collections::BTreeSet;

use anyhow::Result;
use hccl_plan::simulate::{Path, SimulateError, Simulator, Size, Traffic};
use hccl_plan::{Algorithm, Operator, Task, Unsupported};

use super::choice::Choice;
use super::job::{Job, Place};
use super::sizes;

/// All results for one operator on one network.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) place: &'a Place,
    pub(super) operator: Operator,
    pub(super) data_type: &'a str,
    /// By bytes, and then in the order in which algorithms were asked for.
    pub(super) rows: Vec<Row>,
    /// What could not be priced, and why.
    pub(super) notes: Vec<String>,
}

/// One result.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) bytes: u64,
    pub(super) algorithm: Algorithm,
    pub(super) time_ps: u64,
    /// By tier, innermost first.
    pub(super) traffic: Vec<Traffic>,
    pub(super) path: Path,
    /// Whether no other algorithm is faster for so many bytes.
    pub(super) is_best: bool,
}

impl Row {
    /// Bytes of the operator by time, 10^9 bytes a second; nothing if it took no time or has no
    /// data.
    pub(super) fn algorithm_bandwidth(&self) -> Option<f64> {
        let is_some = self.time_ps > 0 && self.bytes > 0;
        is_some.then(|| self.bytes as f64 / (self.time_ps as f64 / 1e3))
    }

    /// What of that a link carries in the best case, as nccl-tests define it: it can be compared
    /// with the bandwidth of a link, however many ranks there are.
    pub(super) fn bus_bandwidth(&self, operator: Operator, ranks: u32) -> Option<f64> {
        self.algorithm_bandwidth().map(|bandwidth| bandwidth * bus_factor(operator, ranks))
    }

    pub(super) fn time_us(&self) -> f64 {
        self.time_ps as f64 / 1e6
    }
}

fn bus_factor(operator: Operator, ranks: u32) -> f64 {
    let rest = f64::from(ranks.saturating_sub(1)) / f64::from(ranks.max(1));
    match operator {
        Operator::AllReduce => 2.0 * rest,
        Operator::Broadcast | Operator::Reduce => 1.0,
        _ => rest,
    }
}

/// Prices everything that a job asks for, and hands over each table as soon as it is there; stops
/// where the taker says so.
pub(super) fn measure(job: &Job, mut take: impl FnMut(&Table<'_>) -> Result<bool>) -> Result<()> {
    for place in &job.places {
        for &operator in &job.operators {
            if !take(&table(job, place, operator)?)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn table<'a>(job: &'a Job, place: &'a Place, operator: Operator) -> Result<Table<'a>> {
    let topology = &place.model.topology;
    let ranks = topology.ranks();
    let usual = place.choices.is_none();
    let choices = place.choices.clone().unwrap_or_else(|| Choice::usual(topology));
    let root = if operator.is_rooted() { job.root } else { 0 };
    let task = Task::new(operator, ranks, root);
    let element_bytes = sizes::element_bytes(&job.data_type)?;
    let size = |bytes| Size::new(operator, ranks, bytes, element_bytes);
    // Few bytes are rounded up to an element a block: what is the same after that stands once.
    let sizes: BTreeSet<u64> = match operator {
        Operator::Barrier => BTreeSet::from([0]),
        _ => job.bytes.iter().map(|&bytes| size(bytes).total_bytes(operator, ranks)).collect(),
    };
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for choice in choices {
        let algorithm = choice.on(topology);
        if !seen.insert(algorithm.to_string()) {
            continue;
        }
        let found = runs(place, &algorithm, &task, sizes.iter().map(|&bytes| size(bytes)));
        match found {
            Ok(found) => rows.extend(found),
            Err(SimulateError::Unsupported(Unsupported::Operator { .. })) if usual => {}
            Err(why) => notes.push(format!("{operator} on {} by {algorithm}: {why}", place.name)),
        }
    }
    rows.sort_by_key(|row| row.bytes);
    for same in rows.chunk_by_mut(|one, other| one.bytes == other.bytes) {
        let best = same.iter().map(|row| row.time_ps).min();
        same.iter_mut().for_each(|row| row.is_best = Some(row.time_ps) == best);
    }
    Ok(Table { place, operator, data_type: &job.data_type, rows, notes })
}

fn runs(
    place: &Place,
    algorithm: &Algorithm,
    task: &Task,
    sizes: impl Iterator<Item = Size>,
) -> Result<Vec<Row>, SimulateError> {
    let simulator = Simulator::new(&place.model, algorithm, task)?;
    let run = |size: Size| {
        let outcome = simulator.run(size)?;
        let bytes = match task.operator {
            Operator::Barrier => 0,
            operator => size.total_bytes(operator, task.ranks),
        };
        Ok(Row {
            bytes,
            algorithm: algorithm.clone(),
            time_ps: outcome.time_ps,
            traffic: outcome.traffic,
            path: outcome.path,
            is_best: false,
        })
    };
    sizes.map(run).collect()
}
