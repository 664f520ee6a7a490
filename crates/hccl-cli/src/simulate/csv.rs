//! Results as comma-separated values, for programs.

use std::fmt::Write as _;

use hccl_plan::Tier;

use super::measure::Table;

/// The first line; `tiers` is how many tiers the largest topology has.
pub(super) fn header(tiers: usize) -> String {
    let mut text = String::from(
        "topology,ranks,operator,data_type,algorithm,bytes,time_us,algbw_gb_per_s,busbw_gb_per_s,\
         best",
    );
    for tier in 0..tiers {
        let tier = Tier::name_of(tier);
        let _ = write!(text, ",{tier}_bytes,{tier}_messages");
    }
    text.push('\n');
    text
}

/// The lines of a table.
pub(super) fn lines(table: &Table<'_>, tiers: usize) -> String {
    let ranks = table.place.model.topology.ranks();
    let mut text = String::new();
    for row in &table.rows {
        let bandwidth = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let _ = write!(
            text,
            "{},{ranks},{},{},{},{},{},{},{},{}",
            field(&table.place.name),
            table.operator,
            field(table.data_type),
            field(&row.algorithm.name()),
            row.bytes,
            row.time_us(),
            bandwidth(row.algorithm_bandwidth()),
            bandwidth(row.bus_bandwidth(table.operator, ranks)),
            u8::from(row.is_best),
        );
        for tier in 0..tiers {
            match row.traffic.get(tier) {
                Some(traffic) => {
                    let _ = write!(text, ",{},{}", traffic.bytes, traffic.messages);
                }
                None => text.push_str(",,"),
            }
        }
        text.push('\n');
    }
    text
}

/// A field in quotes where it needs them (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must() {
        assert_eq!(field("nhr"), "nhr");
        assert_eq!(field("hierarchy:8*mesh,4*nhr"), "\"hierarchy:8*mesh,4*nhr\"");
        assert_eq!(field("a \"b\""), "\"a \"\"b\"\"\"");
        assert!(header(2).ends_with(",best,mesh_bytes,mesh_messages,host_bytes,host_messages\n"));
    }
}
