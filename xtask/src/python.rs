//! Virtual environments: `.venv` with the packages that the demo and the Python tests need, and others
//! of whoever asks.
//!
//! One is kept between runs. A stamp file, written last, tells what is in it; anything else than the
//! wanted stamp means that the environment is completed or made anew.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// Installed one after the other. `torch_npu` comes without dependencies, since what it asks for
/// would replace torch. 2.9.1 is the newest pair that works from the package index alone.
const PACKAGES: &[&[&str]] = &[
    &["torch==2.9.1"],
    &["--no-deps", "torch_npu==2.9.1"],
    &["numpy", "pyyaml", "pytest", "pytest-xdist", "expecttest", "wheel", "ruff"],
];

/// The newest torch of the package index, for which the backend for CPU tensors is compiled too.
const NEWEST: &[&[&str]] = &[&["torch==2.15.0"], &["numpy", "pytest", "expecttest"]];

/// Debian's packages for the interpreter and for virtual environments.
const SYSTEM_PACKAGES: &[&str] = &["python3.11", "python3.11-venv"];

/// Debian's packages for compiling an extension module of that interpreter.
const COMPILER_PACKAGES: &[&str] = &["g++", "python3.11-dev"];

/// The download is about 3 GB.
const INSTALL_LIMIT: Duration = Duration::from_secs(5400);

/// Prints version and whether virtual environments can be made.
const PROBE: &str = "import sys\n\
    print('%d.%d.%d' % sys.version_info[:3])\n\
    import venv, ensurepip\n\
    print('venv')";

/// Ends with 0 where an extension module can be compiled.
const COMPILER_PROBE: &str = "import os, shutil, sys, sysconfig\n\
    header = os.path.join(sysconfig.get_paths()['include'], 'Python.h')\n\
    compiler = os.environ.get('CXX') or shutil.which('c++') or shutil.which('g++')\n\
    sys.exit(not (compiler and os.path.exists(header)))";

/// An interpreter that is good enough to begin with.
struct Interpreter {
    program: String,
    version: String,
}

/// Makes the environment ready; returns its interpreter.
pub(crate) fn environment() -> Result<PathBuf> {
    let _lock = workspace::Lock::take("venv")?;
    let python = prepare(&folder(), PACKAGES)?;
    compiler(&python)?;
    Ok(python)
}

/// The same for the newest torch, which `torch_npu` does not work with; returns its interpreter.
pub(crate) fn newest() -> Result<PathBuf> {
    let _lock = workspace::Lock::take("venv-newest")?;
    let python = prepare(&workspace::target().join("venv-newest"), NEWEST)?;
    compiler(&python)?;
    Ok(python)
}

/// The interpreter of that environment, if all of it is there.
pub(crate) fn ready() -> Option<PathBuf> {
    let python = interpreter_of(&folder());
    is_complete(&folder(), &wanted_stamp(PACKAGES)).then_some(python)
}

/// Where the interpreter of that environment is, or would be.
pub(crate) fn expected() -> PathBuf {
    interpreter_of(&folder())
}

/// Makes an environment with these packages, installed one group after the other; returns its
/// interpreter. Nothing is done where it is there already.
pub(crate) fn prepare(folder: &Path, packages: &[&[&str]]) -> Result<PathBuf> {
    let python = interpreter_of(folder);
    let stamp = stamp_of(folder);
    let wanted = wanted_stamp(packages);
    if is_complete(folder, &wanted) {
        return Ok(python);
    }
    let interpreter = interpreter()?;
    let _ = std::fs::remove_file(&stamp);
    if !works(&python) {
        if folder.exists() {
            eprintln!("xtask: {} is not usable, making it anew", folder.display());
            std::fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        eprintln!(
            "xtask: virtual environment {} with Python {}",
            folder.display(),
            interpreter.version
        );
        let mut command = Command::new(&interpreter.program);
        command.args(["-m", "venv"]).arg(folder);
        process::run(process::talk(&mut command)?, Duration::from_secs(300))?;
    }
    for (index, group) in packages.iter().enumerate() {
        eprintln!("xtask: packages {}/{}: {}", index + 1, packages.len(), group.join(" "));
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(*group);
        // Nothing of ours may run inside pip.
        command.env_remove("PYTHONPATH");
        process::run(process::talk(&mut command)?, INSTALL_LIMIT)?;
    }
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(python)
}

fn folder() -> PathBuf {
    workspace::root().join(".venv")
}

fn interpreter_of(folder: &Path) -> PathBuf {
    folder.join("bin").join("python")
}

fn stamp_of(folder: &Path) -> PathBuf {
    folder.join("xtask-stamp")
}

fn is_complete(folder: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(stamp_of(folder)).is_ok_and(|found| found == wanted)
        && works(&interpreter_of(folder))
}

fn wanted_stamp(packages: &[&[&str]]) -> String {
    let mut stamp = String::from("python 3.11\n");
    for group in packages {
        stamp.push_str(&group.join(" "));
        stamp.push('\n');
    }
    stamp
}

/// Is this an environment of Python 3.11 with pip?
fn works(python: &PathBuf) -> bool {
    let probe = "import sys, pip; sys.exit(sys.version_info[:2] != (3, 11))";
    python.is_file()
        && Command::new(python)
            .args(["-I", "-c", probe])
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

/// Sees to it that extension modules can be compiled: the package has some in C++.
fn compiler(python: &Path) -> Result<()> {
    let there = || {
        Command::new(python)
            .args(["-I", "-c", COMPILER_PROBE])
            .status()
            .is_ok_and(|status| status.success())
    };
    if there() {
        return Ok(());
    }
    let packages = COMPILER_PACKAGES.join(" ");
    if rustix::process::geteuid().is_root() && process::exists("apt-get") {
        eprintln!("xtask: installing {packages}");
        apt_get(&["update"])?;
        apt_get(&[&["install", "--yes", "--no-install-recommends"], COMPILER_PACKAGES].concat())?;
        if there() {
            return Ok(());
        }
    }
    bail!(
        "a C++ compiler and the headers of {} are needed; on Debian 12: apt-get install {packages}",
        python.display()
    )
}

/// Finds Python 3.11, or installs it where that is ours to do.
fn interpreter() -> Result<Interpreter> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let packages = SYSTEM_PACKAGES.join(" ");
    if rustix::process::geteuid().is_root() && process::exists("apt-get") {
        eprintln!("xtask: installing {packages}");
        apt_get(&["update"])?;
        apt_get(&[&["install", "--yes", "--no-install-recommends"], SYSTEM_PACKAGES].concat())?;
        if let Some(found) = find() {
            return Ok(found);
        }
    }
    bail!(
        "CPython 3.11 with the module venv is needed, neither `python3.11` nor `python3` is one; \
         on Debian 12: apt-get install {packages}"
    )
}

fn find() -> Option<Interpreter> {
    ["python3.11", "python3"].into_iter().find_map(|program| {
        let output = Command::new(program)
            .args(["-I", "-c", PROBE])
            .stderr(std::process::Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (version, venv) = text.split_once('\n')?;
        let fits = version.starts_with("3.11.") && venv.trim() == "venv";
        fits.then(|| Interpreter { program: program.to_owned(), version: version.to_owned() })
    })
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    process::run(process::talk(&mut command)?, Duration::from_secs(900))
}
