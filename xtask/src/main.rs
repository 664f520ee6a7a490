//! The project's own commands: `cargo xtask demo`, `test`, `install`, `venv`, `wheel`,
//! `coverage`, `count`, `peers`.
//!
//! Results go to stdout, talk to stderr. Exit code 0: done; 1: something failed; 2: the command line
//! was wrong. `demo` passes on the exit code of the script that it runs.

mod count;
mod coverage;
mod demo;
mod install;
mod peers;
mod process;
mod python;
mod test;
mod wheel;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Commands of this project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// All-reduce over software NPUs through the real torch_npu wheel
    Demo {
        /// Number of software NPUs, and of processes
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
        devices: u32,
    },
    /// Everything that must be right before a change is: formatting, lints, and tests in Rust, C and Python
    Test {
        /// Only this step, with what it needs; `demo` stands for all of `demo:2`, `demo:3`, ... (may be repeated)
        #[arg(long, value_name = "NAME")]
        only: Vec<String>,
        /// Print the names of the steps and stop
        #[arg(long)]
        list: bool,
    },
    /// Lay out an installation: include, lib64, python, bin, set_env.sh
    Install {
        /// Root of the installation; made when missing
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
        /// Libraries without optimisation
        #[arg(long)]
        debug: bool,
    },
    /// Make the virtual environment ready that demo and tests use
    Venv {
        /// Another one too, with the newest torch of the package index
        #[arg(long)]
        newest: bool,
    },
    /// One Python wheel with libraries, headers, package and program
    Wheel {
        /// Folder for it; made when missing
        #[arg(long, value_name = "DIR", default_value = "target/wheels")]
        out: PathBuf,
        /// Also modules for the newest torch of the package index, which is fetched for that
        #[arg(long)]
        newest: bool,
    },
    /// Write docs/support.md: what each operator does with each data type, reduction and place
    Support,
    /// How many lines of a crate its own tests run; needs `cargo install cargo-tarpaulin`
    Coverage {
        /// The crate
        #[arg(long, value_name = "NAME", default_value = "hccl-plan")]
        package: String,
        /// Fail below so many percent
        #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u32).range(0..=100))]
        least: u32,
    },
    /// How many instructions the hot paths take, beside those that were recorded; needs valgrind
    Count(count::Args),
    /// Our library beside MPICH, Open MPI, Intel MPI, oneCCL and Gloo, measured in one run by one protocol
    Peers(peers::Args),
}

fn main() -> ExitCode {
    // Processes that outlive their parent come to us, so that a time-out reaches all of them.
    if let Err(error) = process::adopt_orphans() {
        eprintln!("xtask: cannot adopt orphans: {error}");
    }
    let result = match Cli::parse().command {
        Command::Demo { devices } => demo::run(devices),
        Command::Test { only, list } => test::run(&only, list),
        Command::Venv { newest } => environments(newest),
        Command::Wheel { out, newest } => wheel::run(&out, newest).map(|made| {
            println!("{}", made.display());
            ExitCode::SUCCESS
        }),
        Command::Support => test::write_support_page().map(|()| ExitCode::SUCCESS),
        Command::Coverage { package, least } => coverage::run(&package, least),
        Command::Count(args) => count::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Install { prefix, debug } => {
            let profile = if debug { install::Profile::Debug } else { install::Profile::Release };
            install::run(&prefix, profile).map(|()| {
                println!("{}", prefix.display());
                ExitCode::SUCCESS
            })
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

/// Prints the interpreters of the environments.
fn environments(newest: bool) -> anyhow::Result<ExitCode> {
    println!("{}", python::environment()?.display());
    if newest {
        println!("{}", python::newest()?.display());
    }
    Ok(ExitCode::SUCCESS)
}
