//! Priced operators as a chart: a line for each algorithm.

use crate::chart::{Chart, Point};

use super::measure::Table;

pub(super) fn chart(table: &Table<'_>) -> Chart {
    let ranks = table.place.model.topology.ranks();
    let mut chart = Chart::new(format!(
        "{} of {} on {}, {ranks} ranks",
        table.operator, table.data_type, table.place.name
    ));
    for row in &table.rows {
        let Some(bandwidth) = row.bus_bandwidth(table.operator, ranks) else {
            continue;
        };
        let point = Point { bytes: row.bytes as f64, time_us: row.time_us(), bandwidth };
        chart.add(&row.algorithm.name(), point);
    }
    chart
}
