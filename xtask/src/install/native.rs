//! Extension modules in C++ for the torch of `.venv`, ready-made.
//!
//! What is compiled is kept in the build folder under a digest of all that goes into it, so only what
//! changed is compiled again. Without `.venv` there is nothing to compile for: the package then does it
//! by itself for whatever torch it meets, when it is first used.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::tree::Tree;
use crate::{process, python, workspace};

const COMPILE_LIMIT: Duration = Duration::from_secs(1800);

pub(super) fn lay_out(tree: &mut Tree) -> Result<()> {
    let Some(python) = python::ready() else {
        eprintln!(
            "xtask: there is no .venv: torch's part in C++ is compiled when it is first used"
        );
        return Ok(());
    };
    let folder = tree.folder("python/hccl/native/lib")?;
    let mut command = Command::new(python);
    command
        .args(["-m", "hccl.native", "--out"])
        .arg(folder)
        .env("PYTHONPATH", workspace::root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("XDG_CACHE_HOME", workspace::target().join("native"));
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)
}
