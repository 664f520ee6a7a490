//! Reading what programs wrote: lines of the drivers, and the report of `hccl perf`.
//!
//! A program may die in the middle of a line, and libraries print what they like between lines. So
//! what is no result is passed over, and a time that cannot be is none.

use serde::{Deserialize, Serialize};

use super::point::{Dtype, Operator, Point};

/// What a program found at a point, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Sample {
    pub(super) median_us: f64,
    pub(super) p99_us: f64,
}

/// A point with its sample, or with why there is none.
pub(super) type Finding = (Point, Result<Sample, String>);

/// A line of a driver, or a row of `hccl perf`.
#[derive(Deserialize)]
struct Line {
    operator: Operator,
    dtype: Option<Dtype>,
    bytes: u64,
    ranks: u32,
    median_us: Option<f64>,
    p99_us: Option<f64>,
    #[serde(default)]
    checked: bool,
    error: Option<String>,
}

/// What is used of a report of `hccl perf`.
#[derive(Deserialize)]
struct Report {
    case: Case,
    rows: Vec<Line>,
}

#[derive(Deserialize)]
struct Case {
    dtype: Dtype,
}

impl Line {
    fn finding(self, dtype: Option<Dtype>) -> Option<Finding> {
        let dtype = self.dtype.or(dtype)?;
        let point = Point { ranks: self.ranks, operator: self.operator, dtype, bytes: self.bytes };
        let time = |time: Option<f64>| time.filter(|us| us.is_finite() && *us > 0.0);
        let found = match (time(self.median_us), time(self.p99_us), self.error) {
            (_, _, Some(error)) => Err(error),
            (Some(_), Some(_), None) if !self.checked => Err("its result was not checked".into()),
            (Some(median_us), Some(p99_us), None) => Ok(Sample { median_us, p99_us }),
            _ => Err("a time that cannot be".into()),
        };
        Some((point, found))
    }
}

/// Findings in the output of a driver.
pub(super) fn of_driver(output: &str) -> Vec<Finding> {
    let line = |text: &str| serde_json::from_str::<Line>(text.trim()).ok()?.finding(None);
    output.lines().filter_map(line).collect()
}

/// Findings in a report of `hccl perf`.
pub(super) fn of_ours(report: &str) -> Result<Vec<Finding>, serde_json::Error> {
    let Report { case, rows } = serde_json::from_str(report)?;
    Ok(rows.into_iter().filter_map(|row| row.finding(Some(case.dtype))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(bytes: u64) -> Point {
        Point { ranks: 2, operator: Operator::AllReduce, dtype: Dtype::Fp32, bytes }
    }

    #[test]
    fn lines_of_a_driver_are_found_among_talk_and_a_torn_one_is_passed_over() {
        let output = r#"a warning {
{"operator":"allreduce","dtype":"fp32","bytes":4,"ranks":2,"median_us":0.5,"p99_us":1,"iterations":9,"checked":true}
{"operator":"allreduce","dtype":"fp32","bytes":8,"ranks":2,"error":"no such type"}
{"operator":"allreduce","dtype":"fp32","bytes":16,"ranks":2,"median_us":0.5,"p99_us":1,"checked":false}
{"operator":"allreduce","dtype":"fp32","bytes":32,"ranks":2,"median_us":-1,"p99_us":1,"checked":true}
{"operator":"allfoo","dtype":"fp32","bytes":32,"ranks":2,"median_us":1,"p99_us":1,"checked":true}
[]
{"operator":"allreduce","dtype":"fp32","by"#;
        let found = of_driver(output);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], (point(4), Ok(Sample { median_us: 0.5, p99_us: 1.0 })));
        assert_eq!(found[1], (point(8), Err("no such type".into())));
        assert_eq!(found[2].1, Err("its result was not checked".into()));
        assert_eq!(found[3].1, Err("a time that cannot be".into()));
    }

    #[test]
    fn a_report_of_ours_has_its_type_once() {
        let report = r#"{"case":{"operator":"allreduce","dtype":"fp32","op":"sum"},"rows":[
            {"operator":"allreduce","bytes":4,"count":1,"ranks":2,"iterations":10,"median_us":0.25,
             "p99_us":0.5,"min_us":0.1,"algorithm_gb_s":1,"bus_gb_s":1,"checked":true}]}"#;
        let found = of_ours(report).unwrap();
        assert_eq!(found, [(point(4), Ok(Sample { median_us: 0.25, p99_us: 0.5 }))]);
        assert!(of_ours("").is_err());
        assert!(of_ours("{}").is_err());
    }
}
