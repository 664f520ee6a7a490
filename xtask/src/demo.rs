//! `cargo xtask demo`: from a fresh checkout to an all-reduce over software NPUs.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{install, process, python, workspace};

/// A person may look at it for as long as they like; only a run without end is cut off.
const LIMIT: Duration = Duration::from_secs(3600);

/// Sets everything up and runs the example; its exit code is ours.
pub(crate) fn run(devices: u32) -> Result<ExitCode> {
    let python = python::environment()?;
    let prefix = workspace::prefix();
    install::run(&prefix, install::Profile::Release)?;
    let status = process::status(&mut command(&prefix, &python, devices)?, LIMIT)?;
    // A script that a signal ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// The example as a user would start it, with a port that is free now.
pub(crate) fn command(prefix: &Path, python: &Path, devices: u32) -> Result<Command> {
    let script = workspace::root().join("examples").join("pytorch").join("allreduce.py");
    let mut command = install::in_environment(prefix, python);
    command
        .arg(script)
        .env("SOFTNPU_DEVICES", devices.to_string())
        .env("MASTER_PORT", free_port()?.to_string())
        .env_remove("ASCEND_RT_VISIBLE_DEVICES");
    Ok(command)
}

/// A port that nobody listens on at this moment.
pub(crate) fn free_port() -> Result<u16> {
    let listener =
        std::net::TcpListener::bind(("127.0.0.1", 0)).context("no port on 127.0.0.1 is free")?;
    Ok(listener.local_addr().context("a port without an address")?.port())
}
