//! What is supported, called and not claimed: operator by data type by reduction by place, with ranks
//! as threads and as processes. Once all of them do what is documented, the page `docs/support.md` is written, or compared.

pub(crate) mod cases;
mod page;
mod run;

use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use crate::libraries::Libraries;
use crate::matrix::run_job;
use crate::worker::{Suite, absolute};
use cases::{Case, Verdict};

/// Ranks of the jobs; three is the least that is no special case.
const RANKS: u32 = 3;

/// Makes all calls; compares with the documents, and with the page or writes it.
pub(crate) fn run(folder: &Path, page: &Path, write: bool) -> anyhow::Result<()> {
    let folder = absolute(folder)?;
    let libraries = Libraries::load(&folder)?;
    let cases = Case::all();
    let all: Vec<u32> = (0..RANKS).collect();
    let apart: Vec<Vec<u32>> = all.iter().map(|&rank| vec![rank]).collect();
    let judged = |processes: &[Vec<u32>]| {
        let environments = vec![&[][..]; processes.len()];
        let output = run_job(&folder, &libraries, Suite::Support, processes, &environments)?;
        judge(&output, cases.len())
    };
    let threads = judged(&[all]).context("ranks as threads")?;
    let processes = judged(&apart).context("ranks as processes")?;
    let mut wrong = 0;
    for (found, how) in [(threads, "threads"), (processes, "processes")] {
        for (case, verdict) in cases.iter().zip(found) {
            let documented = case.documented();
            if verdict != documented {
                eprintln!("{case:?} as {how}: found {verdict:?}, documented is {documented:?}");
                wrong += 1;
            }
        }
    }
    ensure!(wrong == 0, "{wrong} cells are not as documented");
    let text = page::page();
    if write {
        std::fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))?;
        println!("{} cells, written to {}", cases.len(), page.display());
        return Ok(());
    }
    let kept =
        std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    if kept != text {
        bail!("{} is not what the libraries do; `cargo xtask support` writes it", page.display());
    }
    println!("{} cells as documented, and as {} says", cases.len(), page.display());
    Ok(())
}

/// Verdicts of all cells from what the ranks said: right if all ranks say so.
fn judge(output: &str, cells: usize) -> anyhow::Result<Vec<Verdict>> {
    let mut said: Vec<Vec<Verdict>> = vec![Vec::new(); cells];
    for line in output.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [number, _rank, word] = words[..] else { bail!("a result line, not {line:?}") };
        let number: usize = number.parse()?;
        let verdict = match word {
            "right" => Verdict::Right,
            "wrong" => Verdict::Wrong,
            code => Verdict::Refused(code.parse()?),
        };
        said.get_mut(number.wrapping_sub(1)).context("a cell that is none")?.push(verdict);
    }
    let cell = |(index, said): (usize, Vec<Verdict>)| {
        ensure!(said.len() == RANKS as usize, "{} ranks judged cell {}", said.len(), index + 1);
        // Anything that is not right comes after it.
        said.into_iter().max().context("at least one rank")
    };
    said.into_iter().enumerate().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_rank_makes_a_cell_wrong() {
        let output = "1 0 right\n1 1 wrong\n1 2 right\n2 0 5\n2 1 5\n2 2 5\n";
        assert_eq!(judge(output, 2).unwrap(), [Verdict::Wrong, Verdict::Refused(5)]);
        assert!(judge("1 0 right\n", 1).is_err());
    }
}
