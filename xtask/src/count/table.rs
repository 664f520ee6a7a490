//! Counts beside the recorded ones.

use std::fmt::Write as _;

use super::Counts;
use super::baseline::Baseline;

/// A line a case; with `all`, recorded cases that were not counted are named at the end.
pub(super) fn table(counts: &Counts, recorded: Option<&Baseline>, all: bool) -> String {
    let before = |case: &str| recorded.and_then(|recorded| find(&recorded.counts, case));
    let width = counts.iter().map(|(case, _)| case.len()).max().unwrap_or(0).max("case".len());
    let mut text = format!("{:width$}  instructions   recorded    change\n", "case");
    // Writing to a string cannot fail.
    for &(ref case, count) in counts {
        let _ = match before(case) {
            Some(before) => {
                let change = change(before, count);
                writeln!(text, "{case:width$}  {count:>12} {before:>10}  {change:>8}")
            }
            None => writeln!(text, "{case:width$}  {count:>12} {:>10}  {:>8}", "-", "new"),
        };
    }
    let Some(recorded) = recorded else {
        text.push_str("nothing is recorded\n");
        return text;
    };
    if all {
        for (case, _) in recorded.counts.iter().filter(|(case, _)| find(counts, case).is_none()) {
            let _ = writeln!(text, "{case:width$}  recorded, but not counted here");
        }
    }
    let _ = writeln!(text, "recorded: {}", recorded.origin);
    text
}

fn find(counts: &Counts, wanted: &str) -> Option<u64> {
    counts.iter().find(|(case, _)| case == wanted).map(|&(_, count)| count)
}

/// The change in percent.
fn change(before: u64, now: u64) -> String {
    if before == now {
        return "=".to_owned();
    }
    format!("{:+.1} %", 100.0 * (now as f64 / before as f64 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: &[(&str, u64)]) -> Counts {
        rows.iter().map(|&(case, count)| (case.to_owned(), count)).collect()
    }

    #[test]
    fn each_case_stands_beside_what_was_recorded() {
        let recorded = Baseline {
            origin: "then".to_owned(),
            counts: counts(&[("a", 100), ("gone", 5), ("same", 7)]),
        };
        let found = counts(&[("a", 90), ("fresh", 3), ("same", 7)]);
        let text = table(&found, Some(&recorded), true);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["a", "90", "100", "-10.0", "%"]);
        assert_eq!(rows[2], ["fresh", "3", "-", "new"]);
        assert_eq!(rows[3], ["same", "7", "7", "="]);
        assert_eq!(rows[4].join(" "), "gone recorded, but not counted here");
        assert_eq!(rows[5], ["recorded:", "then"]);
        assert!(!table(&found, Some(&recorded), false).contains("gone"));
        assert!(table(&found, None, true).contains("nothing is recorded"));
    }
}
