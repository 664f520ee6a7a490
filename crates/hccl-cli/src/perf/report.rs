//! What came out, and how it is shown.

use serde::{Deserialize, Serialize};

use super::case::{Case, Measured};

/// A size, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) operator: Measured,
    /// Bytes of the larger buffer of a rank.
    pub(super) bytes: u64,
    /// Elements of a block.
    pub(super) count: u64,
    pub(super) ranks: u32,
    pub(super) iterations: usize,
    /// Of the slowest rank of each call, microseconds.
    pub(super) median_us: f64,
    pub(super) p99_us: f64,
    pub(super) min_us: f64,
    /// Bytes over the median, GB/s.
    pub(super) algorithm_gb_s: f64,
    /// The same by the usual factor of the operator.
    pub(super) bus_gb_s: f64,
    /// Whether the result was compared with what it must be.
    pub(super) checked: bool,
}

impl Row {
    pub(super) fn new(case: &Case, bytes: u64, count: u64, mut times: Vec<f64>) -> Self {
        let ranks = case.ranks;
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = times.len().saturating_sub(1);
            times.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
        };
        let (median, p99, min) = (at(0.5), at(0.99), at(0.0));
        let algorithm = if median > 0.0 { bytes as f64 / median / 1e9 } else { 0.0 };
        Self {
            operator: case.operator,
            bytes,
            count,
            ranks,
            iterations: times.len(),
            median_us: median * 1e6,
            p99_us: p99 * 1e6,
            min_us: min * 1e6,
            algorithm_gb_s: algorithm,
            bus_gb_s: algorithm * case.operator.bus_factor(ranks),
            checked: case.check,
        }
    }
}

/// A whole run, as the JSON form has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// What was measured.
    pub(super) case: Case,
    /// Ranks as threads or processes.
    pub(super) ranks_as: String,
    /// Processors of the machine by their own name, and how many this process may use.
    pub(super) machine: String,
    pub(super) version: String,
    pub(super) rows: Vec<Row>,
}

impl Report {
    /// A report of this machine and version.
    pub(super) fn new(case: Case, ranks_as: &str, rows: Vec<Row>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { case, ranks_as: ranks_as.to_owned(), machine: machine(), version, rows }
    }

    /// What was measured, in a line.
    pub(super) fn title(&self) -> String {
        let Case { operator, dtype, memory, ranks, .. } = &self.case;
        let op = if operator.reduces() { format!(" {:?}", self.case.op) } else { String::new() };
        let place = if self.case.in_place { "in place" } else { "out of place" };
        let Self { ranks_as, machine, .. } = self;
        format!(
            "{operator:?} {dtype:?}{op}, {ranks} ranks as {ranks_as}, {memory:?} memory, {place}, \
             on {machine}"
        )
    }
}

/// The processor's own name, and how many of them this process may use.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or("a processor without a name", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cores} x {name}")
}

pub(super) const HEADER: &str =
    "       bytes        count   median us      p99 us      min us   alg GB/s   bus GB/s  right";

pub(super) fn line(row: &Row) -> String {
    let Row { bytes, count, median_us, p99_us, min_us, algorithm_gb_s, bus_gb_s, .. } = row;
    let right = if row.checked { "yes" } else { "-" };
    format!(
        "{bytes:>12} {count:>12} {median_us:>11.2} {p99_us:>11.2} {min_us:>11.2} \
         {algorithm_gb_s:>10.2} {bus_gb_s:>10.2}  {right:>5}"
    )
}

pub(super) fn csv(rows: &[Row]) -> String {
    let header = "operator,ranks,bytes,count,iterations,median_us,p99_us,min_us,algorithm_gb_s,bus_gb_s,checked";
    let line = |row: &Row| {
        let Row { ranks, bytes, count, iterations, median_us, p99_us, min_us, .. } = row;
        let operator = format!("{:?}", row.operator).to_lowercase();
        let (algorithm, bus, checked) = (row.algorithm_gb_s, row.bus_gb_s, row.checked);
        format!(
            "{operator},{ranks},{bytes},{count},{iterations},{median_us:.3},{p99_us:.3},\
             {min_us:.3},{algorithm:.4},{bus:.4},{checked}\n"
        )
    };
    rows.iter().fold(header.to_owned() + "\n", |text, row| text + &line(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::tests::case;

    #[test]
    fn medians_and_bandwidths_are_those_of_the_slowest_rank() {
        let times: Vec<f64> = (1..=101).rev().map(|i| f64::from(i) * 1e-6).collect();
        let row = Row::new(&Case { ranks: 4, ..case() }, 51_000, 12_750, times);
        assert_eq!(row.iterations, 101);
        let near =
            |one: f64, other: f64| assert!((one - other).abs() < 1e-9 * other, "{one} {other}");
        near(row.median_us, 51.0);
        near(row.p99_us, 100.0);
        near(row.min_us, 1.0);
        near(row.algorithm_gb_s, 1.0);
        near(row.bus_gb_s, 1.5);
    }
}
