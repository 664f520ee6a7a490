//! Ranks as threads of this process, or as processes that this program starts of itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use hccl::{Communicator, Forced, JoinOptions, Options, ROOT_INFO_BYTES, Root, RootInfo};

use super::case::Case;
use super::report::Row;

type Take<'a> = &'a mut dyn FnMut(Row) -> Result<()>;

fn options(case: &Case) -> Result<JoinOptions> {
    let forced = match &case.algorithm {
        Some(text) => Some(Forced::Algorithm(text.parse()?)),
        None => None,
    };
    let &Case { inline, copy_from_processes, .. } = case;
    let communicator = Options { forced, inline, copy_from_processes, ..Options::default() };
    Ok(JoinOptions { timeout: None, communicator })
}

fn join(info: &RootInfo, rank: u32, case: &Case) -> Result<Communicator> {
    let communicator = Communicator::join(info, rank, case.ranks, options(case)?)?;
    // Afterwards: how ranks wait depends on the cores that they may use when they join. Where it is
    // refused, figures vary more.
    if case.pin && case.ranks as usize <= hccl_os::cpu::allowance() {
        hccl_os::cpu::pin(rank as usize);
    }
    Ok(communicator)
}

pub(super) fn threads(case: &Case, take: Take<'_>) -> Result<()> {
    let root = Root::open()?;
    let info = root.info();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let start = |rank: u32| {
            let sender = sender.clone();
            scope.spawn(move || {
                let communicator = join(info, rank, case)?;
                super::rank::run(&communicator, case, &mut |row| Ok(sender.send(row)?))
            })
        };
        let threads: Vec<_> = (0..case.ranks).map(start).collect();
        drop(sender);
        for row in receiver {
            take(row)?;
        }
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a rank panicked"))??;
        }
        Ok(())
    })
}

/// Processes that are ended when the measurement ends early.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            if let Ok(None) = child.try_wait() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

pub(super) fn processes(case: &Case, take: Take<'_>) -> Result<()> {
    let root = Root::open()?;
    let program = std::env::current_exe().context("the path of this program")?;
    let mut children = Children(Vec::new());
    let mut rows = None;
    for rank in 0..case.ranks {
        let mut child = Command::new(&program)
            .args(["perf", "rank"])
            .stdin(Stdio::piped())
            .stdout(if rank == 0 { Stdio::piped() } else { Stdio::null() })
            .spawn()
            .with_context(|| format!("starting rank {rank}"))?;
        let mut input = child.stdin.take().context("a piped standard input")?;
        if rank == 0 {
            rows = child.stdout.take();
        }
        children.0.push(child);
        let job = serde_json::to_string(&(rank, case))?;
        input.write_all(&root.info().to_bytes())?;
        input.write_all(job.as_bytes())?;
    }
    for line in BufReader::new(rows.context("a piped standard output")?).lines() {
        take(serde_json::from_str(&line?).context("a row of rank 0")?)?;
    }
    for (rank, child) in children.0.iter_mut().enumerate() {
        let status = child.wait()?;
        if !status.success() {
            bail!("rank {rank} ended with {status}");
        }
    }
    Ok(())
}

/// The started process's own side.
pub(super) fn be_a_rank() -> Result<()> {
    let mut input = std::io::stdin().lock();
    let mut block = [0; ROOT_INFO_BYTES];
    input.read_exact(&mut block).context("the root info on standard input")?;
    let info = RootInfo::from_bytes(&block)?;
    let mut job = String::new();
    input.read_to_string(&mut job)?;
    let (rank, case): (u32, Case) =
        serde_json::from_str(&job).context("the job on standard input")?;
    let communicator = join(&info, rank, &case)?;
    super::rank::run(&communicator, &case, &mut |row| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&row)?)?;
        Ok(out.flush()?)
    })
}
