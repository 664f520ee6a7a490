//! The oracle tests under conditions that must not show in any result: each instruction set of this
//! CPU, huge pages and none, one core, a fifth of a core. Eight ranks are among them each time.
//!
//! What runs is what other steps run: tests of the engine, and the installed libraries by their C
//! interface. Conditions that a process hands down (variables, affinity, control group) are put
//! around them from outside.

mod quota;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hccl_kernels::Isa;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use super::rust;
use crate::{process, workspace};
use quota::Quota;

/// The programs stop by themselves where ranks stand still, and say what each was doing; this is
/// the net below.
const LIMIT: Duration = Duration::from_secs(900);

/// Tests of the engine, and which of them are left out: those of other numbers of ranks, which take
/// as long again.
const TESTS: &[(&str, &[&str])] =
    &[("numerics", &[]), ("plans", &["one_rank_and_two", "five_ranks_to_eight"])];
/// What is left out besides where the condition is nothing to a computation by itself.
const COMPUTATIONS: &[&str] =
    &["other_algorithms", "every_mesh", "every_type", "every_instruction"];
/// What is left out besides where only a fifth of a core is there.
const TOO_LONG: &[&str] = &[
    "results_past_the_cache",
    "other_algorithms",
    "every_mesh",
    "every_type",
    "every_instruction",
    "little_room",
];

/// A condition, by which a step is called.
#[derive(Clone, Copy)]
pub(super) enum Condition {
    Kernels,
    HugePages,
    OneCore,
    Quota,
}

impl Condition {
    pub(super) const ALL: [Self; 4] = [Self::Kernels, Self::HugePages, Self::OneCore, Self::Quota];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::HugePages => "huge-pages",
            Self::OneCore => "one-core",
            Self::Quota => "quota",
        }
    }

    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::Kernels => kernels(),
            Self::HugePages => huge_pages(),
            Self::OneCore => one_core(),
            Self::Quota => a_fifth_of_a_core(),
        }
    }
}

/// Every instruction set of this CPU.
fn kernels() -> Result<()> {
    for isa in Isa::ALL {
        if isa.available() {
            run_all(&[], &mut |command| {
                process::run(command.env(Isa::VARIABLE, isa.name()), LIMIT)
            })?;
        } else {
            eprintln!("xtask: skipped: this CPU has no {isa}");
        }
    }
    Ok(())
}

/// Shared memory with huge pages and without, and private memory as well: the C library takes that
/// from huge pages where its tunable says so.
fn huge_pages() -> Result<()> {
    let words = |name: &str| {
        let folder = "/sys/kernel/mm/transparent_hugepage";
        let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
        let chosen = text.split_whitespace().find(|word| word.starts_with('['));
        chosen.unwrap_or("nothing").to_owned()
    };
    let (private, shared) = (words("enabled"), words("shmem_enabled"));
    eprintln!(
        "xtask: this host's word on huge pages: {private} for private memory, {shared} for shared"
    );
    if ["[never]", "[deny]", "nothing"].contains(&shared.as_str()) {
        eprintln!("xtask: so shared memory asks for huge pages here and gets none");
    }
    for word in ["0", "1"] {
        let tunable = format!("glibc.malloc.hugetlb={word}");
        run_all(COMPUTATIONS, &mut |command| {
            let command = command.env("HCCL_HUGE_PAGES", word).env("GLIBC_TUNABLES", &tunable);
            process::run(command, LIMIT)
        })?;
    }
    Ok(())
}

/// All ranks on one core.
fn one_core() -> Result<()> {
    run_all(COMPUTATIONS, &mut |command| on_one_core(|| process::run(command, LIMIT)))
}

/// A fifth of a core for all ranks, of which they cannot know when it comes.
fn a_fifth_of_a_core() -> Result<()> {
    let quota = Quota::new();
    eprintln!("xtask: {quota}");
    run_all(TOO_LONG, &mut |command| quota.run(command, LIMIT))?;
    quota.report()
}

/// Runs something whose children may use one core, the first that this process may use.
fn on_one_core<T: Send>(body: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Children have the affinity of the thread that starts them.
    let pinned = || {
        let allowed = sched_getaffinity(None).context("cannot ask for the affinity")?;
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core)).context("no core")?);
        sched_setaffinity(None, &one).context("cannot change the affinity")?;
        body()
    };
    std::thread::scope(|scope| match scope.spawn(pinned).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Starts each program by `start`, which puts the condition around it. Tests of these names are
/// skipped.
fn run_all(skip: &[&str], start: &mut dyn FnMut(&mut Command) -> Result<()>) -> Result<()> {
    for (program, left_out) in test_programs()?.iter().zip(TESTS.iter().map(|(_, out)| out)) {
        let mut command = Command::new(program);
        command.arg("--quiet");
        for name in left_out.iter().chain(skip) {
            command.arg("--skip").arg(name);
        }
        start(process::talk(&mut command)?)?;
    }
    start(process::talk(&mut rust::conformance_command("brief")?)?)
}

/// The tests of the engine as programs, built as the step `rust` builds them.
fn test_programs() -> Result<Vec<PathBuf>> {
    let mut command = workspace::cargo();
    command.args(["test", "--workspace", "--no-run", "--quiet", "--message-format=json"]);
    for (name, _) in TESTS {
        command.arg("--test").arg(name);
    }
    let output = process::output(&mut command)?;
    let built: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).context("cargo wrote no JSON"))
        .collect::<Result<_>>()?;
    let path = |name: &str| {
        let is_it = |message: &&Value| {
            let target = &message["target"];
            target["name"] == name && target["kind"][0] == "test"
        };
        let found: Vec<&str> =
            built.iter().filter(is_it).filter_map(|one| one["executable"].as_str()).collect();
        match found[..] {
            [one] => Ok(PathBuf::from(one)),
            _ => bail!("cargo built {} programs of the test {name}", found.len()),
        }
    };
    TESTS.iter().map(|(name, _)| path(name)).collect()
}
