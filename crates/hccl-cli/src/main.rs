//! The program `hccl`.
//!
//! Results go to stdout, talk to stderr. Exit code 0: done; 1: something failed; 2: the command line
//! was wrong.

#![forbid(unsafe_code)]

mod chart;
mod output;
mod perf;
mod plan;
mod simulate;
mod units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Collective communication: look at algorithms, price them, measure them.
#[derive(Parser)]
#[command(name = "hccl", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Perf(Box<perf::Args>),
    Plan(Box<plan::Args>),
    Simulate(Box<simulate::Args>),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Perf(args) => perf::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Simulate(args) => simulate::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_gone(&error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(usage) => usage.exit(),
            Err(error) => {
                eprintln!("hccl: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}
