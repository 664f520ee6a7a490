//! Runs the installed libraries as programs do, with ranks as threads and as processes, and
//! compares with a plain oracle that shares no code with the engine.
//!
//! Loads `libascendcl.so` and `libhccl.so` from a folder by the C interface only. `cargo xtask
//! test` runs it on what it has installed.

mod brief;
mod death;
mod forced;
mod forked;
mod fuzz;
mod libraries;
mod many;
mod matrix;
mod oracle;
mod progress;
mod support;
mod worker;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Conformance of the installed libraries")]
struct Arguments {
    /// Folder with libascendcl.so and libhccl.so.
    #[arg(long)]
    libraries: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// AllReduce of every data type and reduction against the oracle.
    Matrix {
        /// Rank counts.
        #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 4, 8])]
        ranks: Vec<u32>,
    },
    /// The operators beside AllReduce against their definitions.
    Operators {
        /// Rank counts.
        #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 5, 8])]
        ranks: Vec<u32>,
    },
    /// A small part of all that, for conditions under which everything would take long.
    Brief,
    /// The operators by each algorithm that the environment can ask for.
    Forced,
    /// Every operator with every data type, reduction and place, against the documents and the page
    /// that lists them.
    Support {
        /// The page.
        #[arg(long, default_value = "docs/support.md")]
        page: PathBuf,
        /// Writes the page instead of comparing with it.
        #[arg(long)]
        write: bool,
    },
    /// Communicators made and destroyed one after the other, and alive at the same time: what they
    /// take is given back.
    Many {
        /// How many one after the other.
        #[arg(long, default_value_t = 2000)]
        cycles: u32,
        /// How many at a time.
        #[arg(long, default_value_t = 1000)]
        live: u32,
    },
    /// Kills ranks at random moments, and looks at what the others say and what is left behind.
    Death {
        /// How often all ranks are killed.
        #[arg(long, default_value_t = 50)]
        times: u32,
    },
    /// Forks from a process with a communicator: the child is refused, the parent goes on.
    Fork,
    /// One thread drives eight devices, waiting for them or only looking.
    Progress,
    /// Random calls with random arguments: nothing may crash or hang.
    Fuzz {
        /// How long.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// The first seed; each process has its own.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Calls of each thread of a process.
        #[arg(long, default_value_t = 3000)]
        calls: u64,
    },
    /// A process that makes random calls; started by `fuzz`.
    #[command(hide = true)]
    FuzzWorker {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        calls: u64,
        #[arg(long)]
        trace: PathBuf,
    },
    /// One process of a job; started by the other commands.
    #[command(hide = true)]
    Worker,
}

fn main() -> anyhow::Result<()> {
    let Arguments { libraries, command } = Arguments::parse();
    match command {
        Command::Matrix { ranks } => matrix::all_reduce(&libraries, &ranks),
        Command::Operators { ranks } => matrix::operators(&libraries, &ranks),
        Command::Brief => brief::run(&libraries),
        Command::Forced => forced::run(&libraries),
        Command::Support { page, write } => support::run(&libraries, &page, write),
        Command::Many { cycles, live } => many::run(&libraries, cycles, live),
        Command::Death { times } => death::run(&libraries, times),
        Command::Fork => forked::run(&libraries),
        Command::Progress => progress::run(&libraries),
        Command::Fuzz { seconds, seed, calls } => fuzz::run(&libraries, seconds, seed, calls),
        Command::FuzzWorker { seed, calls, trace } => {
            fuzz::run_worker(&libraries, seed, calls, &trace)
        }
        Command::Worker => worker::run(&libraries),
    }
}
