//! The program `hccl`.

#![forbid(unsafe_code)]

mod plan;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Collective communication on this machine: look at algorithms, price them.
#[derive(Parser)]
#[command(name = "hccl", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Plan(plan::Args),
    Simulate(Box<simulate::Args>),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Plan(args) => plan::run(&args),
        Command::Simulate(args) => simulate::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hccl: {error:#}");
            ExitCode::FAILURE
        }
    }
}
