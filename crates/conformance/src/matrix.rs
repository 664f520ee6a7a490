//! Every case on every layout of ranks, against the oracle.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::libraries::{Libraries, ROOT_INFO_BYTES};
use crate::oracle::{Digest, Op, Type};
use crate::worker::{
    Operator, Started, Suite, absolute, digest, elements, layouts, pair_count, root_of, seed, start,
};

/// Longest time of one job; then it is ended and its output shown.
const JOB_MAX: Duration = Duration::from_secs(300);

/// What every rank must have said: (case, rank) to digest.
pub(crate) type Expected = HashMap<(u64, u32), Digest>;

pub(crate) fn all_reduce(folder: &Path, rank_counts: &[u32]) -> anyhow::Result<()> {
    for &ranks in rank_counts {
        let expected = expected_all_reduce(Suite::AllReduce, ranks);
        run_layouts(folder, Suite::AllReduce, ranks, &expected)?;
    }
    Ok(())
}

pub(crate) fn expected_all_reduce(suite: Suite, ranks: u32) -> Expected {
    let mut expected = HashMap::new();
    let mut case = 0;
    for data_type in Type::ALL {
        for op in Op::ALL {
            for &count in suite.counts() {
                for _in_place in [false, true] {
                    case += 1;
                    if !data_type.supports(op) {
                        continue;
                    }
                    let mut digest = Digest::EMPTY;
                    for index in 0..count {
                        let values =
                            (0..ranks).map(|rank| data_type.value(seed(case), rank, index));
                        digest.push(data_type.canonical(data_type.reduce(op, values)));
                    }
                    expected.extend((0..ranks).map(|rank| ((case, rank), digest)));
                }
            }
        }
    }
    expected
}

pub(crate) fn operators(folder: &Path, rank_counts: &[u32]) -> anyhow::Result<()> {
    for &ranks in rank_counts {
        let expected = expected_operators(Suite::Operators, ranks);
        run_layouts(folder, Suite::Operators, ranks, &expected)?;
    }
    Ok(())
}

pub(crate) fn expected_operators(suite: Suite, ranks: u32) -> Expected {
    let mut expected = HashMap::new();
    for (case, (data_type, operator, count)) in (1..).zip(suite.operator_cases()) {
        for rank in 0..ranks {
            let bytes = expected_output(case, data_type, operator, count, rank, ranks);
            expected.insert((case, rank), digest(data_type, &bytes));
        }
    }
    expected
}

/// What a rank's output must hold, by the definition of the operator.
fn expected_output(
    case: u64,
    data_type: Type,
    operator: Operator,
    count: u64,
    rank: u32,
    ranks: u32,
) -> Vec<u8> {
    use Operator as O;
    let root = root_of(case, ranks);
    let input = |from: u32, block: u32| {
        elements(data_type, seed(case), from, u64::from(block) * count, count)
    };
    let reduced = |block: u32| {
        let mut bytes = Vec::new();
        for index in u64::from(block) * count..u64::from(block + 1) * count {
            let values = (0..ranks).map(|from| data_type.value(seed(case), from, index));
            let bits = data_type.reduce(Op::Sum, values);
            bytes.extend_from_slice(&bits.to_le_bytes()[..data_type.size()]);
        }
        bytes
    };
    match operator {
        O::AllReduce => reduced(0),
        O::Reduce if rank == root => reduced(0),
        // Nobody writes there.
        O::Reduce => vec![0xcd; count as usize * data_type.size()],
        // Nothing is issued for nothing.
        O::ReduceScatter | O::ReduceScatterInPlace => reduced(rank),
        O::Broadcast => input(root, 0),
        O::AllGather | O::AllGatherInPlace => (0..ranks).flat_map(|from| input(from, 0)).collect(),
        O::Scatter => input(root, rank),
        O::AlltoAll => (0..ranks).flat_map(|from| input(from, rank)).collect(),
        O::AllGatherV => {
            let mut bytes = Vec::new();
            for from in 0..ranks {
                bytes.extend(elements(data_type, seed(case), from, 0, pair_count(count, from, 0)));
                bytes.extend(vec![0xcd; data_type.size()]);
            }
            bytes
        }
        O::ReduceScatterV => {
            // Each block has a gap of an element behind it.
            let at: u64 = (0..rank).map(|to| pair_count(count, 0, to) + 1).sum();
            let mut bytes = Vec::new();
            for index in at..at + pair_count(count, 0, rank) {
                let values = (0..ranks).map(|from| data_type.value(seed(case), from, index));
                let bits = data_type.reduce(Op::Sum, values);
                bytes.extend_from_slice(&bits.to_le_bytes()[..data_type.size()]);
            }
            bytes
        }
        O::AlltoAllV | O::AlltoAllVC => {
            let gap = u64::from(operator == O::AlltoAllV);
            let mut bytes = Vec::new();
            for from in 0..ranks {
                let at: u64 = (0..rank).map(|to| pair_count(count, from, to) + gap).sum();
                let block = pair_count(count, from, rank);
                bytes.extend(elements(data_type, seed(case), from, at, block));
                bytes.extend(vec![0xcd; gap as usize * data_type.size()]);
            }
            bytes
        }
        O::SendReceive if ranks == 1 => vec![0xcd; 2 * count as usize * data_type.size()],
        O::SendReceive => elements(data_type, seed(case), (rank + ranks - 1) % ranks, 0, 2 * count),
        // Alone, all four items are with the own rank: the first send meets the first receive.
        O::Batch if ranks == 1 => [input(0, 1), input(0, 0)].concat(),
        O::Batch => {
            let mut bytes = input((rank + ranks - 1) % ranks, 0);
            bytes.extend(input(rank, 1));
            bytes
        }
    }
}

/// A root info, made by a process that takes no part otherwise.
pub(crate) fn root_info(libraries: &Libraries) -> anyhow::Result<[u8; ROOT_INFO_BYTES]> {
    let mut root = [0u8; ROOT_INFO_BYTES];
    // SAFETY: the device exists; the root info has its size.
    unsafe {
        libraries.check("aclrtSetDevice", (libraries.set_device)(0))?;
        libraries.check("HcclGetRootInfo", (libraries.root_info)(root.as_mut_ptr()))?;
    }
    Ok(root)
}

fn run_layouts(folder: &Path, suite: Suite, ranks: u32, expected: &Expected) -> anyhow::Result<()> {
    let folder = absolute(folder)?;
    let libraries = Libraries::load(&folder)?;
    for (layout, processes) in layouts(ranks) {
        let begun = Instant::now();
        let environments = vec![&[][..]; processes.len()];
        let run = || run_job(&folder, &libraries, suite, &processes, &environments);
        let output = run().with_context(|| format!("{ranks} ranks as {layout}"))?;
        compare(&output, expected).with_context(|| format!("{ranks} ranks as {layout}"))?;
        println!(
            "{suite:?}: {ranks} ranks as {layout}: {} results equal the oracle ({:.1?})",
            expected.len(),
            begun.elapsed()
        );
    }
    Ok(())
}

/// Runs a job whose processes have these ranks and these environments, and gives what they said.
pub(crate) fn run_job(
    folder: &Path,
    libraries: &Libraries,
    suite: Suite,
    processes: &[Vec<u32>],
    environments: &[&[(&str, &str)]],
) -> anyhow::Result<String> {
    let root = root_info(libraries)?;
    let ranks = processes.iter().map(Vec::len).sum::<usize>() as u32;
    let started: Vec<Started> = processes
        .iter()
        .zip(environments)
        .map(|(own, environment)| start(folder, suite, &root, own, ranks, environment))
        .collect::<anyhow::Result<_>>()?;
    finish(started)
}

/// Waits for the processes of a job and gives what they said. All of them are ended in any case.
fn finish(started: Vec<Started>) -> anyhow::Result<String> {
    let deadline = Instant::now() + JOB_MAX;
    let mut readers = Vec::new();
    let mut children = Vec::new();
    for Started { mut child } in started {
        let mut out = child.stdout.take().context("a piped standard output")?;
        let mut err = child.stderr.take().context("a piped standard error")?;
        readers.push((
            std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).map(|_| text)
            }),
            std::thread::spawn(move || {
                let mut text = String::new();
                err.read_to_string(&mut text).map(|_| text)
            }),
        ));
        children.push(child);
    }
    let mut codes = Vec::new();
    let mut late = false;
    for child in &mut children {
        codes.push(loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() >= deadline {
                late = true;
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        });
    }
    let (mut output, mut errors) = (String::new(), String::new());
    for (out, err) in readers {
        output += &out.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
        errors += &err.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
    }
    if late || codes.iter().any(|code| !code.success()) {
        let state = last_cases(&output);
        bail!("exit codes {codes:?}, late: {late}; {state}; errors:\n{errors}");
    }
    Ok(output)
}

/// How far each rank came, by what they said.
fn last_cases(output: &str) -> String {
    let mut last = BTreeMap::new();
    for line in output.lines() {
        if let Some((case, rest)) = line.split_once(' ') {
            last.insert(rest.split(' ').next().unwrap_or_default(), case);
        }
    }
    let each: Vec<String> =
        last.iter().map(|(rank, case)| format!("{case} by rank {rank}")).collect();
    format!("last cases: {}", if each.is_empty() { "none".into() } else { each.join(", ") })
}

pub(crate) fn compare(output: &str, expected: &Expected) -> anyhow::Result<()> {
    let mut seen = 0;
    for line in output.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().with_context(|| format!("a result line, not {line:?}"));
        let (case, rank): (u64, u32) = (word()?.parse()?, word()?.parse()?);
        let found = Digest(u64::from_str_radix(word()?, 16)?);
        let kept = word()? == "true";
        let wanted = expected.get(&(case, rank)).with_context(|| format!("case {case}"))?;
        ensure!(found == *wanted, "case {case}: rank {rank} has a wrong result");
        ensure!(kept, "case {case}: the input of rank {rank} was changed");
        seen += 1;
    }
    ensure!(seen == expected.len(), "{seen} results came, {} were due", expected.len());
    Ok(())
}
