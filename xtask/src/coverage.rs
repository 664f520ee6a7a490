//! `cargo xtask coverage`: how much of a crate's lines its own tests run.
//!
//! Needs `cargo install cargo-tarpaulin`, which reads the compiler's own instrumentation by itself; a
//! toolchain's LLVM tools are not needed. Everything is built once more, below the build folder.

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, workspace};

const LIMIT: Duration = Duration::from_secs(3600);

/// Lines of a file.
#[derive(Debug, PartialEq, Eq)]
struct File {
    name: String,
    covered: u64,
    coverable: u64,
}

impl File {
    fn missed(&self) -> u64 {
        self.coverable.saturating_sub(self.covered)
    }
}

/// Measures, prints the files with most lines missed first, and fails below `least` percent.
pub(crate) fn run(package: &str, least: u32) -> Result<ExitCode> {
    let sources = Path::new("crates").join(package).join("src");
    if !workspace::root().join(&sources).is_dir() {
        bail!("{package} is no crate below crates/");
    }
    let mut version = workspace::cargo();
    version.args(["tarpaulin", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        bail!("cargo-tarpaulin is missing; `cargo install cargo-tarpaulin` brings it");
    }
    let folder = workspace::target().join("coverage");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut command = workspace::cargo();
    command
        .args(["tarpaulin", "--engine", "llvm", "--skip-clean", "--package", package])
        .arg("--include-files")
        .arg(sources.join("*"))
        .arg("--target-dir")
        .arg(&folder)
        .args(["--timeout", &LIMIT.as_secs().to_string(), "--out", "Json", "--output-dir"])
        .arg(&folder);
    process::run(process::talk(&mut command)?, LIMIT)?;
    let report = folder.join("tarpaulin-report.json");
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("reading {}", report.display()))?;
    let files = files(&text, &sources).context("the report of cargo-tarpaulin")?;
    let (covered, coverable) =
        files.iter().fold((0, 0), |(a, b), file| (a + file.covered, b + file.coverable));
    if coverable == 0 {
        bail!("the report has no line of {package}");
    }
    for file in &files {
        println!("{:>5} of {:>5} missed  {}", file.missed(), file.coverable, file.name);
    }
    let percent = 100.0 * covered as f64 / coverable as f64;
    println!("{percent:.1} % of {coverable} lines of {package}");
    let enough = covered * 100 >= u64::from(least) * coverable;
    if !enough {
        eprintln!("xtask: less than {least} %");
    }
    Ok(if enough { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The files of a report that lie below a folder, most lines missed first.
fn files(report: &str, below: &Path) -> Result<Vec<File>> {
    let report: Value = serde_json::from_str(report)?;
    let all = report["files"].as_array().context("it lists no files")?;
    let mut files = Vec::new();
    for file in all {
        let parts = file["path"].as_array().context("a file has no path")?;
        let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
        let path = parts.iter().collect::<std::path::PathBuf>();
        let folder = workspace::root().join(below);
        let Ok(name) = path.strip_prefix(&folder) else { continue };
        let lines = |key: &str| file[key].as_u64().with_context(|| format!("a file has no {key}"));
        files.push(File {
            name: name.display().to_string(),
            covered: lines("covered")?,
            coverable: lines("coverable")?,
        });
    }
    files.sort_by_key(|file| (std::cmp::Reverse(file.missed()), file.name.clone()));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_crate_are_listed_with_most_missed_first() {
        let root = workspace::root();
        let file = |name: &str, covered: u32, coverable: u32| {
            let path = root.join("crates").join(name);
            let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_str()).collect();
            serde_json::json!({ "path": parts, "covered": covered, "coverable": coverable })
        };
        let report = serde_json::json!({ "files": [
            file("a/src/one.rs", 9, 10), file("a/src/two.rs", 1, 5), file("b/src/three.rs", 0, 99),
        ]});
        let found = files(&report.to_string(), Path::new("crates/a/src")).unwrap();
        let missed: Vec<_> = found.iter().map(|file| (&*file.name, file.missed())).collect();
        assert_eq!(missed, [("two.rs", 4), ("one.rs", 1)]);
        assert!(files("{}", Path::new("x")).is_err());
    }
}
