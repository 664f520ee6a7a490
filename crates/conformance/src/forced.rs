//! The operators by each algorithm that the environment can ask for, on topologies on which it
//! acts.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use crate::libraries::Libraries;
use crate::matrix::{compare, expected_operators, run_job};
use crate::worker::{Suite, absolute};

/// Topology of the devices, words of `HCCL_ALGO`, and how many ranks.
const WISHES: &[(&str, &str, u32)] = &[
    ("8", "level0:fullmesh", 4),
    ("8", "level0:ring", 5),
    ("1x8", "level0:NA;level1:ring", 8),
    ("1x8", "level0:NA;level1:H-D_R", 8),
    ("1x8", "level0:NA;level1:H-D_R", 6),
    ("1x8", "level0:NA;level1:NHR", 7),
    ("1x8", "level0:NA;level1:NHR_V1", 8),
    ("1x8", "level0:NA;level1:NB", 5),
    ("3+5", "level0:NA;level1:AHC", 8),
    ("4x2", "level0:NA;level1:pipeline", 8),
    ("4x2", "level0:NA;level1:NHR", 8),
    ("1x8", "alltoall=level0:NA;level1:pairwise/allreduce=level0:NA;level1:ring", 8),
    ("2x2x2", "level0:NA;level1:ring;level2:NB", 8),
];

pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let folder = absolute(folder)?;
    let libraries = Libraries::load(&folder)?;
    for &(topology, words, ranks) in WISHES {
        let begun = Instant::now();
        let environment = [
            ("SOFTNPU_TOPOLOGY", topology),
            ("HCCL_ALGO", words),
            // The least there is, so that large cases go in rounds.
            ("HCCL_BUFFSIZE", "1"),
        ];
        let (odd, even) = (0..ranks).partition(|rank| rank % 2 == 1);
        let processes: Vec<Vec<u32>> = match ranks {
            8 => vec![even, odd],
            _ => (0..ranks).map(|rank| vec![rank]).collect(),
        };
        let environments = vec![&environment[..]; processes.len()];
        let what = format!("{words} on {topology} with {ranks} ranks");
        let output = run_job(&folder, &libraries, Suite::Forced, &processes, &environments)
            .with_context(|| what.clone())?;
        let expected = expected_operators(Suite::Forced, ranks);
        compare(&output, &expected).with_context(|| what.clone())?;
        println!("{what}: {} results equal the oracle ({:.1?})", expected.len(), begun.elapsed());
    }
    differing(&folder, &libraries)
}

/// Ranks that were told different algorithms would not agree on plans; they must be told so when they
/// join, with both wishes.
fn differing(folder: &Path, libraries: &Libraries) -> anyhow::Result<()> {
    let topology = ("SOFTNPU_TOPOLOGY", "1x8");
    let ring = [topology, ("HCCL_ALGO", "level0:NA;level1:ring")];
    let nhr = [topology, ("HCCL_ALGO", "level0:NA;level1:NHR")];
    let processes = [vec![0, 1], vec![2, 3]];
    match run_job(folder, libraries, Suite::Forced, &processes, &[&ring, &nhr]) {
        Ok(_) => bail!("ranks with different algorithms went on"),
        Err(error) => {
            let text = format!("{error:#}");
            for word in ["EI0005", ring[1].1, nhr[1].1] {
                ensure!(text.contains(word), "{word} is missing: {text}");
            }
            println!("ranks with different algorithms are told so");
            Ok(())
        }
    }
}
