//! `hccl plan`: what would run, step by step.

use anyhow::Result;
use clap::Args as ClapArgs;

/// Shows the plan of an operator.
#[derive(ClapArgs)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<()> {
    anyhow::bail!("not built yet")
}
