//! `hccl perf compare`: two results side by side.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;

use super::report::Report;

#[derive(ClapArgs)]
pub(super) struct Args {
    /// The result before.
    before: PathBuf,
    /// The result after.
    after: PathBuf,
    /// File for a chart of both.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// Gaps below this are noise: machines drift by as much.
const TIE: f64 = 0.10;

fn read(path: &Path) -> Result<Report> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is no result of hccl perf --format json", path.display()))
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let lines = lines(&before, &after)?;
    if let Some(path) = &args.svg {
        let name = |path: &Path| path.display().to_string();
        let names = (name(&args.before), name(&args.after));
        let both = [(names.0.as_str(), &before), (names.1.as_str(), &after)];
        crate::output::deliver(&super::svg::side_by_side(&both), Some(path))?;
    }
    crate::output::deliver(&(lines.join("\n") + "\n"), None)
}

fn lines(before: &Report, after: &Report) -> Result<Vec<String>> {
    let mut lines = vec!["       bytes   before us    after us  ratio".to_owned()];
    let (mut log_sum, mut pairs) = (0.0, 0u32);
    for one in &before.rows {
        let same = |row: &&super::report::Row| {
            (row.operator, row.bytes, row.ranks) == (one.operator, one.bytes, one.ranks)
        };
        let Some(other) = after.rows.iter().find(same) else { continue };
        if one.median_us <= 0.0 || other.median_us <= 0.0 {
            continue;
        }
        let ratio = other.median_us / one.median_us;
        let verdict = match ratio {
            ratio if ratio < 1.0 - TIE => "faster",
            ratio if ratio > 1.0 + TIE => "slower",
            _ => "even",
        };
        let (was, is) = (one.median_us, other.median_us);
        lines.push(format!("{:>12} {was:>11.2} {is:>11.2} {ratio:>6.2}  {verdict}", one.bytes));
        log_sum += ratio.ln();
        pairs += 1;
    }
    if pairs == 0 {
        bail!("the results have no size of an operator in common");
    }
    lines.push(format!(
        "geometric mean of {pairs} sizes: {:.2}",
        (log_sum / f64::from(pairs)).exp()
    ));
    if before.machine != after.machine {
        lines.push(format!("the machines differ: {} and {}", before.machine, after.machine));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::report::Row;
    use crate::perf::tests::case;

    #[test]
    fn results_are_paired_by_size_and_judged() {
        let row = |(bytes, time): &(u64, f64)| Row::new(&case(), *bytes, *bytes, vec![*time]);
        let report =
            |times: &[(u64, f64)]| Report::new(case(), "threads", times.iter().map(row).collect());
        let before = report(&[(8, 1e-6), (16, 1e-6), (32, 1e-6), (99, 1.0)]);
        let after = report(&[(16, 2e-6), (8, 0.5e-6), (32, 1.05e-6)]);
        let lines = lines(&before, &after).unwrap();
        assert!(lines[1].ends_with("0.50  faster"), "{lines:?}");
        assert!(lines[2].ends_with("2.00  slower") && lines[3].ends_with("even"), "{lines:?}");
        assert_eq!(lines.last().unwrap(), "geometric mean of 3 sizes: 1.02");
        assert!(super::lines(&before, &report(&[(7, 1.0)])).is_err());
    }
}
