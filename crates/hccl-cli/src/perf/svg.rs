//! Results as a chart.

use crate::chart::{Chart, Point, draw};

use super::report::Report;

/// Medians and 99th percentiles of one result.
pub(super) fn one(report: &Report) -> String {
    let mut chart = Chart::new(report.title());
    for row in &report.rows {
        let scale = row.bus_gb_s * row.median_us;
        for (name, time_us) in [("median", row.median_us), ("99th percentile", row.p99_us)] {
            let bandwidth = scale / time_us;
            chart.add(name, Point { bytes: row.bytes as f64, time_us, bandwidth });
        }
    }
    draw(&[chart])
}

/// Medians of several results in one chart, each by its name.
pub(super) fn side_by_side(reports: &[(&str, &Report)]) -> String {
    let mut chart = Chart::new(reports.first().map_or_else(String::new, |(_, one)| one.title()));
    for (name, report) in reports {
        for row in &report.rows {
            let (bytes, time_us) = (row.bytes as f64, row.median_us);
            chart.add(name, Point { bytes, time_us, bandwidth: row.bus_gb_s });
        }
    }
    draw(&[chart])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::report::Row;
    use crate::perf::tests::case;

    #[test]
    fn each_result_has_a_line_of_its_own() {
        let report = |time: f64| {
            let row = |bytes| Row::new(&case(), bytes, bytes, vec![time, 2.0 * time]);
            Report::new(case(), "threads", (8..12).map(|power| row(1 << power)).collect())
        };
        let (slow, fast) = (report(2e-6), report(1e-6));
        assert_eq!(one(&slow).matches("<polyline").count(), 2 * 3);
        let both = side_by_side(&[("a.json", &slow), ("b.json", &fast)]);
        assert_eq!(both.matches("<polyline").count(), 2 * 3);
        assert!(both.contains("a.json, 256:") && both.contains("AllReduce"), "{both}");
    }
}
