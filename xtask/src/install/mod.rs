//! `cargo xtask install`: a tree like that of a CANN installation.
//!
//! Everything is laid out in a staging folder first, then moved file by file; see `tree`.

mod libraries;
mod native;
mod tree;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;
pub(crate) use libraries::PROGRAM;
use tree::Tree;
pub(crate) use tree::files_below;

/// How the libraries are compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

/// Folders of a full installation that torch_npu wants to see when it is imported; it takes nothing
/// from them.
const EXPECTED_FOLDERS: &[&str] = &["compiler", "opp", "runtime"];

/// Builds the libraries and installs everything under `prefix`.
pub(crate) fn run(prefix: &Path, profile: Profile) -> Result<()> {
    let _lock = workspace::Lock::take("install")?;
    let built = libraries::build(profile)?;
    std::fs::create_dir_all(prefix).with_context(|| format!("cannot make {}", prefix.display()))?;
    let prefix =
        prefix.canonicalize().with_context(|| format!("cannot resolve {}", prefix.display()))?;
    let mut tree = Tree::stage(&prefix)?;
    let root = workspace::root();

    libraries::lay_out(&built, &tree.folder("lib64")?)?;
    tree.copy_folder(&root.join("include"), "include", |name| name.ends_with(".h"))?;
    let python = root.join("python");
    tree.copy_folder(&python.join("hccl"), "python/hccl", |name| !name.ends_with(".pyc"))?;
    for entry in
        std::fs::read_dir(&python).with_context(|| format!("cannot read {}", python.display()))?
    {
        let path = entry.context("cannot read the folder python")?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == "py") {
            tree.copy_file(&path, &format!("python/{}", file_name(&path)))?;
        }
    }
    native::lay_out(&mut tree)?;
    let information = format!("python/hccl_rs-{}.dist-info", env!("CARGO_PKG_VERSION"));
    tree.copy_folder(&python.join("dist-info"), &information, |_| true)?;
    tree.replace(&format!("{information}/METADATA"), "@VERSION@", env!("CARGO_PKG_VERSION"))?;
    let program = PROGRAM.1;
    tree.copy_file(&built.join(program), &format!("bin/{program}"))?;
    for folder in EXPECTED_FOLDERS {
        tree.folder(folder)?;
    }
    let set_env = include_str!("set_env.sh").replace("@PREFIX@", &shell_quoted(&prefix));
    tree.write("set_env.sh", &set_env)?;
    tree.commit()
}

/// A command that runs `program` after `set_env.sh` of the installation, as a user would.
pub(crate) fn in_environment(prefix: &Path, program: &Path) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-c", ". \"$1\" && shift && exec \"$@\"", "bash"])
        .arg(prefix.join("set_env.sh"))
        .arg(program);
    command
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A path as one word of a shell, for use between single quotes.
fn shell_quoted(path: &Path) -> String {
    path.to_string_lossy().replace('\'', "'\\''")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_the_prefix_stays_one_word() {
        assert_eq!(shell_quoted(Path::new("/a'b c")), "/a'\\''b c");
    }
}
