//! `cargo xtask wheel`: one Python wheel with libraries, headers, package and program.
//!
//! It is made of an installation. Inside the wheel everything lies in the package `hccl`, since a wheel
//! may put files nowhere else but beside the interpreter's programs; `hccl.places` knows both layouts.
//! A `.pth` file does what `sitecustomize` does in an installation.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{install, process, python, workspace};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Modules for one more torch take some minutes to compile.
const COMPILE_LIMIT: Duration = Duration::from_secs(1800);
const PACK_LIMIT: Duration = Duration::from_secs(300);

/// What to put where: folders of an installation, and of the wheel.
const FOLDERS: &[(&str, &str)] =
    &[("python/hccl", "hccl"), ("lib64", "hccl/lib"), ("include", "hccl/include")];

/// Makes the wheel in a folder; returns its path.
pub(crate) fn run(out: &Path, newest: bool) -> Result<PathBuf> {
    let python = python::environment()?;
    let scratch = workspace::target().join("wheel");
    let (prefix, stage) = (scratch.join("prefix"), scratch.join("stage"));
    install::run(&prefix, install::Profile::Release)?;
    if stage.exists() {
        std::fs::remove_dir_all(&stage)
            .with_context(|| format!("cannot empty {}", stage.display()))?;
    }
    for (from, to) in FOLDERS {
        copy_folder(&prefix.join(from), &stage.join(to))?;
    }
    if newest {
        modules(&python::newest()?, &stage.join("hccl/native/lib"))?;
    }
    let program = install::PROGRAM.1;
    copy_file(
        &prefix.join("bin").join(program),
        &stage.join(format!("hccl_rs-{VERSION}.data/scripts/{program}")),
    )?;
    write(&stage.join("hccl_rs.pth"), "import hccl.softnpu\n")?;
    let information = format!("hccl_rs-{VERSION}.dist-info");
    copy_folder(&prefix.join("python").join(&information), &stage.join(&information))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy_file(&workspace::root().join(licence), &stage.join(&information).join(licence))?;
    }
    let tag = tag(&stage)?;
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: cargo xtask wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    );
    write(&stage.join(&information).join("WHEEL"), &wheel)?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut command = Command::new(&python);
    command.args(["-m", "wheel", "pack", "--dest-dir"]).arg(out).arg(&stage);
    process::run(process::talk(&mut command)?, PACK_LIMIT)?;
    let made = out.join(format!("hccl_rs-{VERSION}-{tag}.whl"));
    if !made.is_file() {
        bail!("`wheel pack` made something else than {}", made.display());
    }
    Ok(made)
}

/// Modules in C++ for the torch of an interpreter.
pub(crate) fn modules(python: &Path, folder: &Path) -> Result<()> {
    let mut command = Command::new(python);
    command
        .args(["-m", "hccl.native", "--out"])
        .arg(folder)
        .arg("c10d")
        .env("PYTHONPATH", workspace::root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("XDG_CACHE_HOME", workspace::target().join("native"));
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)
}

/// The wheel's tag: modules are for one CPython, libraries for the glibc that they need.
fn tag(stage: &Path) -> Result<String> {
    let mut newest = (2, 17);
    for file in install::files_below(stage)? {
        let path = stage.join(&file);
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if bytes.starts_with(b"\x7fELF") {
            newest = newest.max(glibc(&bytes).unwrap_or(newest));
        }
    }
    let (major, minor) = newest;
    let machine = std::env::consts::ARCH;
    Ok(format!("cp311-cp311-manylinux_{major}_{minor}_{machine}"))
}

/// The newest version of glibc that an object names. Names of versions are whole strings in it.
fn glibc(bytes: &[u8]) -> Option<(u32, u32)> {
    let texts = bytes.split(|byte| *byte == 0);
    let versions = texts.filter_map(|text| {
        let version = std::str::from_utf8(text).ok()?.strip_prefix("GLIBC_")?;
        let (major, minor) = version.split_once('.')?;
        let minor = minor.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max()
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for file in install::files_below(from)? {
        // What Python compiled there is made anew by whoever installs the wheel.
        if file.extension() != Some(&OsString::from("pyc")) {
            copy_file(&from.join(&file), &to.join(&file))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot make {}", parent.display()))?;
    }
    std::fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn write(to: &Path, text: &str) -> Result<()> {
    std::fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts() {
        let bytes = b"\x7fELF\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_2.2.5\0";
        assert_eq!(glibc(bytes), Some((2, 34)));
        assert_eq!(glibc(b"none"), None);
    }
}
