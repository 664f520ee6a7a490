//! Runs of one case under callgrind.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// A run takes about a second.
const LIMIT: Duration = Duration::from_secs(120);

/// The function in which `hot-paths` runs what is to be counted.
const FUNCTION: &str = "hccl_hot_path";

/// Instructions of a case in each of two runs, which are side by side.
pub(super) fn count_twice(program: &Path, case: &str) -> Result<[u64; 2]> {
    let valgrind = process::find("valgrind").context("valgrind is missing")?;
    let folder = workspace::target().join("count");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let (results, logs) = (files(&folder, "callgrind"), files(&folder, "valgrind"));
    let mut commands = Vec::new();
    for (result, log) in results.iter().zip(&logs) {
        let _ = std::fs::remove_file(result);
        commands.push(command(&valgrind, result, log, program, case)?);
    }
    if let Err(error) = process::run_all(&mut commands, LIMIT) {
        for log in logs {
            eprint!("{}", std::fs::read_to_string(log).unwrap_or_default());
        }
        return Err(error);
    }
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path);
        total(&text.with_context(|| format!("reading {}", path.display()))?)
    };
    Ok([read(&results[0])?, read(&results[1])?])
}

fn files(folder: &Path, name: &str) -> [PathBuf; 2] {
    ["1", "2"].map(|run| folder.join(format!("{name}.{run}")))
}

/// The environment has nothing but what makes the software NPU small: a variable of the library
/// would change what runs.
fn command(
    valgrind: &Path,
    result: &Path,
    log: &Path,
    program: &Path,
    case: &str,
) -> Result<Command> {
    let mut command = Command::new(valgrind);
    command
        .env_clear()
        .envs([("SOFTNPU_DEVICES", "1"), ("SOFTNPU_MEMORY", "64M")])
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={FUNCTION}"))
        .arg(format!("--callgrind-out-file={}", result.display()))
        // Older ones complain of system calls that they do not know, and go on.
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .arg(case);
    process::talk(&mut command)?;
    Ok(command)
}

/// The total of a file of callgrind.
fn total(text: &str) -> Result<u64> {
    let mut totals = text.lines().filter_map(|line| line.strip_prefix("totals:"));
    let total = totals.next().context("callgrind gave no total")?.trim();
    match total.parse().with_context(|| format!("callgrind gave a total of {total:?}"))? {
        0 => bail!("callgrind did not see {FUNCTION}"),
        total => Ok(total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read() {
        let file = "# callgrind format\nevents: Ir\nsummary: 42\n\nfn=(1) a\n3 42\n\ntotals: 42\n";
        assert_eq!(total(file).unwrap(), 42);
    }

    #[test]
    fn a_file_without_a_total_or_with_nothing_in_it_is_refused() {
        assert!(total("").is_err());
        assert!(total("events: Ir Dr\ntotals: 1 2\n").is_err());
        let error = total("totals: 0\n").unwrap_err();
        assert!(error.to_string().contains(FUNCTION), "{error}");
    }
}
