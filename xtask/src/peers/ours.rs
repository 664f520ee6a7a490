//! Our own side: `hccl perf`, once for each point, and an installation for the driver on a stream.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::drivers::clean;
use super::packages::folder;
use super::point::{Memory, Point};
use super::sample::{Finding, of_ours};
use crate::{install, process};

/// A point has at most a thousand calls.
const POINT_LIMIT: Duration = Duration::from_secs(60);

/// An installation: a given one, or a fresh one of this tree.
pub(super) fn prefix(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_path_buf());
    }
    let prefix = folder().join("ours");
    install::run(&prefix, install::Profile::Release)?;
    Ok(prefix)
}

/// Measures a point; the report goes through a file of the scratch folder.
pub(super) fn measure(
    prefix: &Path,
    memory: Memory,
    point: &Point,
    scratch: &Path,
) -> Result<Vec<Finding>> {
    let report = scratch.join("ours.json");
    let _ = std::fs::remove_file(&report);
    let bytes = point.bytes.max(1).to_string();
    let kind = if memory == Memory::Private { "private" } else { "shared" };
    let mut command = Command::new(prefix.join("bin").join(install::PROGRAM.1));
    clean(&mut command);
    command
        .args(["perf", point.operator.name(), "--ranks", &point.ranks.to_string()])
        .args(["--min-bytes", &bytes, "--max-bytes", &bytes, "--dtype", point.dtype.name()])
        .args(["--memory", kind, "--format", "json", "--output"])
        .arg(&report);
    if memory == Memory::MappedInPlace {
        command.arg("--in-place");
    }
    process::run(process::talk(&mut command)?, POINT_LIMIT)?;
    let text = std::fs::read_to_string(&report)?;
    of_ours(&text).map_err(|error| anyhow!("its report: {error}"))
}
