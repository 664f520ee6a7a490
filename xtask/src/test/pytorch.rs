//! Steps in Python: the pytest suite, scripts that must end with 0, and the demo.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{demo, install, process, workspace};

/// Numbers of devices that the demo is tried with.
pub(super) const DEMO_DEVICES: &[u32] = &[2, 3, 8, 16];

const SUITE_LIMIT: Duration = Duration::from_secs(1800);
const SCRIPT_LIMIT: Duration = Duration::from_secs(900);
/// Sixteen processes that import torch, on two cores that others use as well: minutes.
const DEMO_LIMIT: Duration = Duration::from_secs(1800);

/// A program of `python/tests` that is run by itself.
pub(super) struct Script {
    pub(super) name: String,
    path: PathBuf,
}

fn folder() -> PathBuf {
    workspace::root().join("python").join("tests")
}

/// Scripts that say by a line `# xtask: run` that they are to be run by themselves.
pub(super) fn scripts() -> Result<Vec<Script>> {
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(folder()).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let python = path.extension().is_some_and(|extension| extension == "py");
        if python && !name.starts_with("test_") {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            if text.lines().any(|line| line.trim() == "# xtask: run") {
                scripts.push(Script { name, path });
            }
        }
    }
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scripts)
}

/// Layout and lints of all that is Python, as `ruff.toml` says.
pub(super) fn style(python: &Path) -> Result<()> {
    for arguments in [&["format", "--check"][..], &["check"]] {
        let mut command = Command::new(python);
        command.args(["-m", "ruff"]).args(arguments).args(["--no-cache", "--quiet"]);
        command.current_dir(workspace::root()).args(["python", "examples"]);
        process::run(process::talk(&mut command)?, SCRIPT_LIMIT)?;
    }
    Ok(())
}

/// pytest over the tests beside the package, against the installed tree.
pub(super) fn suite(python: &Path) -> Result<()> {
    if !folder().is_dir() {
        bail!("there is no folder {}", folder().display());
    }
    let mut command = in_tree(python, "pytest")?;
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        // Many tests wait for processes of their own.
        .args(["--numprocesses", "auto", "--maxprocesses", "4", "--dist", "worksteal"])
        .arg(folder())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    process::run(process::talk(&mut command)?, SUITE_LIMIT)
}

pub(super) fn script(python: &Path, script: &Script) -> Result<()> {
    let mut command = in_tree(python, &script.name)?;
    command.arg(&script.path).env("MASTER_PORT", demo::free_port()?.to_string());
    process::run(process::talk(&mut command)?, SCRIPT_LIMIT)
}

/// The demo must end with 0 and print one line before and one line after for each device.
pub(super) fn demo(python: &Path, devices: u32) -> Result<()> {
    let name = format!("demo-{devices}");
    let mut command = demo::command(&workspace::prefix(), python, devices)?;
    let folder = scratch(&name)?;
    let file = folder.join("output");
    let output = File::create(&file).context("cannot keep the output")?;
    command.env("ASCEND_PROCESS_LOG_PATH", folder.join("log")).stdout(output);
    let result = process::run(&mut command, DEMO_LIMIT);
    let found = std::fs::read_to_string(&file).context("cannot read the output")?;
    if let Err(error) = result {
        eprint!("{found}");
        return Err(error);
    }
    for word in ["Input:", "Output:"] {
        for rank in 0..devices {
            let place = format!("device='npu:{rank}'");
            let count = printed(&found, word, &place);
            if count != 1 {
                eprint!("{found}");
                bail!("{count} lines with {word} and {place}, expected 1");
            }
        }
    }
    Ok(())
}

/// Tensors of the given kind on the given device; a long one is printed on several lines.
fn printed(text: &str, word: &str, place: &str) -> usize {
    text.split(word)
        .skip(1)
        .filter(|rest| {
            let tensor = rest.split("[Rank").next().unwrap_or(rest);
            tensor.contains(place)
        })
        .count()
}

pub(super) fn in_tree(python: &Path, name: &str) -> Result<Command> {
    let mut command = install::in_environment(&workspace::prefix(), python);
    command
        .env("ASCEND_PROCESS_LOG_PATH", scratch(name)?.join("log"))
        .env_remove("ASCEND_RT_VISIBLE_DEVICES")
        .env_remove("SOFTNPU_DEVICES");
    Ok(command)
}

fn scratch(name: &str) -> Result<PathBuf> {
    let path = workspace::target().join("python-tests").join(name);
    std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_over_several_lines_are_found() {
        let text = "[Rank 0] Input: tensor([0.,\n 1.], device='npu:0')\n\
            [Rank 1] Input: tensor([0.], device='npu:1')\n";
        assert_eq!(printed(text, "Input:", "device='npu:0'"), 1);
        assert_eq!(printed(text, "Input:", "device='npu:1'"), 1);
        assert_eq!(printed(text, "Output:", "device='npu:1'"), 0);
    }
}
