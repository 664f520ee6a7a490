//! The shared libraries of an installation: three real ones, and thin ones under other names.
//!
//! Programs ask for several libraries of the vendor's. Where ours puts everything into one, the
//! other names become libraries without code that need the real one; each has its own SONAME, since
//! the loader compares SONAMEs and not files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Profile;
use crate::{process, workspace};

/// Package, file that cargo makes, name in the installation.
const REAL: &[(&str, &str, &str)] = &[
    ("ascendcl", "libascendcl.so", "libascendcl.so"),
    ("libhccl", "libhccl_c.so", "libhccl.so"),
    ("hccl-torch", "libhccl_torch.so", "libhccl_torch.so"),
];

/// The program: its package, and its name.
pub(crate) const PROGRAM: (&str, &str) = ("hccl-cli", "hccl");

/// Name, and the library that it stands for. `libopapi.so` and `libnnopbase.so` are missing on
/// purpose: where they exist torch_npu takes its operators from them.
const THIN: &[(&str, &str)] = &[
    ("libacl_op_compiler.so", "libascendcl.so"),
    ("libge_runner.so", "libascendcl.so"),
    ("libgraph.so", "libascendcl.so"),
    ("libacl_tdt_channel.so", "libascendcl.so"),
    ("libacl_rt.so", "libascendcl.so"),
    ("libmsprofiler.so", "libascendcl.so"),
    ("libruntime.so", "libascendcl.so"),
    ("libhcomm.so", "libhccl.so"),
];

const BUILD_LIMIT: Duration = Duration::from_secs(3600);
const LINK_LIMIT: Duration = Duration::from_secs(120);

/// Compiles the real libraries and the program; returns the folder they are in.
pub(crate) fn build(profile: Profile) -> Result<PathBuf> {
    let mut command = workspace::cargo();
    command.arg("build");
    for (package, _, _) in REAL {
        command.args(["--package", package]);
    }
    command.args(["--package", PROGRAM.0]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    process::run(process::talk(&mut command)?, BUILD_LIMIT)?;
    Ok(workspace::target().join(if profile == Profile::Release { "release" } else { "debug" }))
}

/// Puts all libraries into a folder and checks their names.
pub(crate) fn lay_out(built: &Path, folder: &Path) -> Result<()> {
    for (_, made, installed) in REAL {
        let from = built.join(made);
        std::fs::copy(&from, folder.join(installed))
            .with_context(|| format!("cannot copy {}", from.display()))?;
        check(&folder.join(installed), installed)?;
    }
    for (name, real) in THIN {
        link_thin(folder, name, real)?;
        check(&folder.join(name), name)?;
    }
    Ok(())
}

fn link_thin(folder: &Path, name: &str, real: &str) -> Result<()> {
    let mut command = Command::new("cc");
    command
        .args(["-shared", "-nostdlib", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"])
        .arg(format!("-Wl,-soname,{name}"))
        .arg("-o")
        .arg(folder.join(name))
        .arg("-L")
        .arg(folder)
        .arg(format!("-l:{real}"));
    process::run(process::talk(&mut command)?, LINK_LIMIT)
}

/// A library must carry the name that it is looked up by, and find its neighbours.
fn check(library: &Path, name: &str) -> Result<()> {
    let mut command = Command::new("readelf");
    command.args(["--dynamic", "--wide"]).arg(library);
    let text = process::output(&mut command)?;
    let has = |tag: &str, value: &str| {
        text.lines().any(|line| line.contains(tag) && line.contains(&format!("[{value}]")))
    };
    if !has("(SONAME)", name) {
        bail!("{}: its SONAME is not {name}", library.display());
    }
    if !has("(RUNPATH)", "$ORIGIN") && !has("(RPATH)", "$ORIGIN") {
        bail!("{}: it does not look for other libraries beside itself", library.display());
    }
    Ok(())
}
