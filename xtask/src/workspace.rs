//! Where things are: the root of the workspace, the build folder, and a lock for what runs share.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The root of the workspace.
///
/// Cargo tells it; the compile-time value is for a program that is started without cargo.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    let manifest = PathBuf::from(manifest);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// The folder for everything that is built.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) if !folder.is_empty() => root().join(folder),
        _ => root().join("target"),
    }
}

/// The installation that `demo` and `test` use.
pub(crate) fn prefix() -> PathBuf {
    target().join("prefix")
}

/// Cargo, in the workspace.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Held while something is changed that two runs share; released when dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock `name` in the build folder.
    pub(crate) fn take(name: &str) -> Result<Self> {
        let folder = target();
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(format!(".xtask-{name}.lock"));
        let file =
            File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                eprintln!("xtask: waiting for another run that holds {}", path.display());
                file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        Ok(Self { _file: file })
    }
}
