//! `hccl simulate`: what operators would cost on a cluster.

use anyhow::Result;
use clap::Args as ClapArgs;

/// Prices operators on models of clusters.
#[derive(ClapArgs)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<()> {
    anyhow::bail!("not built yet")
}
