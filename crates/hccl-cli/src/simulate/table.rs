//! Results as text for people.

use std::fmt::Write as _;

use hccl_plan::{Operator, Tier};

use super::measure::Table;

/// Longest name of an algorithm that is written out; groups can be many.
const NAME_MAX: usize = 44;

/// A table, and behind it the critical path of each row, if they are asked for.
pub(super) fn text(table: &Table<'_>, with_paths: bool) -> String {
    let topology = &table.place.model.topology;
    let ranks = topology.ranks();
    let links = topology.links.iter().enumerate();
    let links: Vec<String> =
        links.map(|(tier, link)| format!("{} {link}", Tier::name_of(tier))).collect();
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ =
        writeln!(text, "{}: {ranks} ranks ({topology}), {}", table.place.name, links.join(", "));
    let _ = match table.operator {
        Operator::Barrier => writeln!(text, "{}\n", table.operator),
        _ => writeln!(text, "{} of {}\n", table.operator, table.data_type),
    };
    let names: Vec<String> = table.rows.iter().map(|row| short(&row.algorithm.name())).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0).max("algorithm".len());
    let _ = write!(
        text,
        "{:>8}  {:width$}  {:>12}  {:>10}  {:>10}",
        "bytes", "algorithm", "time us", "algbw GB/s", "busbw GB/s"
    );
    for tier in 0..topology.groups.len() {
        let _ = write!(text, "  {:>9}", Tier::name_of(tier));
    }
    text.push('\n');
    for (row, name) in table.rows.iter().zip(&names) {
        let bandwidth =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        let _ = write!(
            text,
            "{:>8}  {name:width$}  {:>12.3}  {:>10}  {:>10}",
            crate::units::written(row.bytes),
            row.time_us(),
            bandwidth(row.algorithm_bandwidth()),
            bandwidth(row.bus_bandwidth(table.operator, ranks)),
        );
        for traffic in &row.traffic {
            let _ = write!(text, "  {:>9}", rounded(traffic.bytes));
        }
        text.push_str(if row.is_best { "  best\n" } else { "\n" });
    }
    if table.rows.is_empty() {
        text.push_str("nothing to show\n");
    }
    if with_paths {
        for row in &table.rows {
            let bytes = crate::units::written(row.bytes);
            let _ = write!(
                text,
                "\ncritical path of {} {} by {}\n{}",
                bytes, table.operator, row.algorithm, row.path
            );
        }
    }
    text
}

/// The beginning and the end of a long name.
fn short(name: &str) -> String {
    if name.len() <= NAME_MAX {
        return name.to_owned();
    }
    let half = (NAME_MAX - 3) / 2;
    // Names are ASCII.
    format!("{}...{}", &name[..half], &name[name.len() - half..])
}

/// An amount to three digits.
fn rounded(bytes: u64) -> String {
    let units = [(1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(scale, _)| bytes as f64 >= *scale) {
        Some((scale, unit)) => format!("{:.2} {unit}", bytes as f64 / scale),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_names_stay_short() {
        assert_eq!(rounded(0), "0 B");
        assert_eq!(rounded(1_234_567), "1.23 MB");
        assert_eq!(rounded(u64::MAX), "18.45 EB");
        let long = format!("ahc:{}8:nb:nb", "8+".repeat(99));
        assert_eq!(short(&long).len(), NAME_MAX - 1);
        assert!(short(&long).ends_with(":nb:nb") && short(&long).starts_with("ahc:8+8"));
        assert_eq!(short("nhr"), "nhr");
    }
}
