//! A small part of the other commands, for conditions under which all of it would take long: one
//! core, a CPU quota, each instruction set. AllReduce of every type and reduction, every operator,
//! and a ring with so little room that calls go in rounds; with 8 ranks and with 3.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;

use crate::libraries::Libraries;
use crate::matrix::{compare, expected_all_reduce, expected_operators, run_job};
use crate::worker::{Suite, absolute};

/// The variable that chooses the instruction set of a process.
const KERNELS: &str = "HCCL_KERNELS";

/// A suite, a number of ranks, and what the environment says.
type Job<'a> = (Suite, u32, &'a [(&'a str, &'a str)]);

pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let folder = absolute(folder)?;
    let libraries = Libraries::load(&folder)?;
    let ring: &[(&str, &str)] = &[
        ("SOFTNPU_TOPOLOGY", "1x8"),
        ("HCCL_ALGO", "level0:NA;level1:ring"),
        ("HCCL_BUFFSIZE", "1"),
    ];
    let jobs: [Job<'_>; 5] = [
        (Suite::AllReduceBrief, 8, &[]),
        (Suite::OperatorsBrief, 8, &[]),
        (Suite::Forced, 8, ring),
        (Suite::AllReduceBrief, 3, &[]),
        (Suite::OperatorsBrief, 3, &[]),
    ];
    // Where nobody chose, the two processes differ, which must not show.
    let differs = std::env::var_os(KERNELS).is_none();
    for (suite, ranks, environment) in jobs {
        let begun = Instant::now();
        let (odd, even) = (0..ranks).partition(|rank| rank % 2 == 1);
        let mut other = environment.to_vec();
        if differs {
            other.push((KERNELS, "portable"));
        }
        let what = format!("{suite:?} with {ranks} ranks in two processes");
        let environments = [environment, &other[..]];
        let output = run_job(&folder, &libraries, suite, &[even, odd], &environments)
            .with_context(|| what.clone())?;
        let expected = match suite {
            Suite::AllReduceBrief => expected_all_reduce(suite, ranks),
            _ => expected_operators(suite, ranks),
        };
        compare(&output, &expected).with_context(|| what.clone())?;
        println!("{what}: {} results equal the oracle ({:.1?})", expected.len(), begun.elapsed());
    }
    Ok(())
}
