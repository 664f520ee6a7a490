//! Steps for `torch.distributed`: PyTorch's own tests, the matrix of operators, what shows after many
//! times, the newest torch, and the wheel.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::pytorch::in_tree;
use crate::{demo, install, process, python, wheel, workspace};

const LIMIT: Duration = Duration::from_secs(1800);

/// A program of `python/suites`, with its arguments.
pub(super) struct Suite {
    pub(super) name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

/// Fails with every backend but PyTorch's own: DDP's log has names of those only, and reads private
/// fields of Gloo's class behind the name of Gloo.
const NAME_ONLY: &str = "test_ddp_logging_data_cpu";

pub(super) const SUITES: &[Suite] = &[
    // What Gloo itself reaches under another name, on this torch.
    Suite {
        name: "by_name",
        program: "distributed_test.py",
        arguments: &["--ranks", "2", "--expect", "64", "--may-fail", NAME_ONLY],
    },
    // What Gloo reaches, but for that.
    Suite {
        name: "as_gloo",
        program: "distributed_test.py",
        arguments: &[
            "--ranks",
            "2",
            "--expect",
            "91",
            "--may-fail",
            NAME_ONLY,
            "--stand-in-for-gloo",
        ],
    },
    Suite { name: "exits", program: "endurance.py", arguments: &["exits", "--count", "10"] },
    Suite { name: "groups", program: "endurance.py", arguments: &["groups", "--count", "2000"] },
    Suite { name: "fork", program: "endurance.py", arguments: &["fork"] },
    Suite {
        name: "training-npu",
        program: "training.py",
        arguments: &["--device", "npu", "--ranks", "4"],
    },
    Suite {
        name: "training-cpu",
        program: "training.py",
        arguments: &["--device", "cpu", "--ranks", "4"],
    },
];

fn suites() -> PathBuf {
    workspace::root().join("python").join("suites")
}

pub(super) fn suite(python: &Path, suite: &Suite) -> Result<()> {
    let mut command = in_tree(python, &format!("torch-{}", suite.name))?;
    command.arg(suites().join(suite.program)).args(suite.arguments);
    process::run(process::talk(&mut command)?, LIMIT)
}

/// `docs/torch-support.md` must say what is so of the backend for CPU tensors.
pub(super) fn matrix(python: &Path) -> Result<()> {
    let mut command = in_tree(python, "torch-matrix")?;
    command
        .arg(suites().join("support_matrix.py"))
        .args(["--backend", "hccl_cpu"])
        .arg("--check")
        .arg(workspace::root().join("docs").join("torch-support.md"));
    process::run(process::talk(&mut command)?, LIMIT)
}

/// The backend for CPU tensors on the newest torch.
pub(super) fn newest() -> Result<()> {
    let python = python::newest()?;
    // What is compiled for it stays in a cache of the build folder, where the programs below find it.
    wheel::modules(&python, &workspace::target().join("newest"))?;
    let cache = workspace::target().join("native");
    let tests = workspace::root().join("python").join("tests");
    for arguments in [
        vec![tests.join("cpu_ranks.py").into_os_string(), "all".into()],
        vec![
            suites().join("support_matrix.py").into_os_string(),
            "--backend".into(),
            "hccl_cpu".into(),
        ],
    ] {
        let mut command = in_tree(&python, "torch-newest")?;
        command.args(arguments).env("XDG_CACHE_HOME", &cache);
        process::run(process::talk(&mut command)?, LIMIT)?;
    }
    Ok(())
}

/// A wheel, installed by pip beside torch and torch_npu: scripts run without any variable.
pub(super) fn wheel(python: &Path) -> Result<()> {
    let made = wheel::run(&workspace::target().join("wheels"), false)?;
    let folder = workspace::target().join("venv-wheel");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    process::run(Command::new(python).args(["-m", "venv"]).arg(&folder), LIMIT)?;
    let own = folder.join("bin").join("python");
    process::run(
        Command::new(&own)
            .args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-deps"])
            .arg(&made)
            .env_remove("PYTHONPATH"),
        LIMIT,
    )?;
    // Torch is large; its packages are lent by the environment that has them.
    let packages = "lib/python3.11/site-packages";
    let lender = python.ancestors().nth(2).context("the interpreter is in no environment")?;
    let lend = format!("import site; site.addsitedir({:?})\n", lender.join(packages));
    let file = folder.join(packages).join("lent.pth");
    std::fs::write(&file, lend).with_context(|| format!("cannot write {}", file.display()))?;
    let examples = workspace::root().join("examples").join("pytorch");
    let bare = |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    };
    let mut command = bare(&own);
    command
        .arg(examples.join("allreduce.py"))
        .env("SOFTNPU_DEVICES", "2")
        .env("MASTER_PORT", demo::free_port()?.to_string());
    process::run(process::talk(&mut command)?, LIMIT)?;
    let mut command = bare(&own);
    command.arg(workspace::root().join("python/tests/cpu_ranks.py")).args(["collectives", "2"]);
    process::run(process::talk(&mut command)?, LIMIT)?;
    for arguments in [["--cflags"], ["--libs"]] {
        let mut command = bare(&own);
        command.args(["-m", "hccl"]).args(arguments);
        process::run(process::talk(&mut command)?, LIMIT)?;
    }
    let program = folder.join("bin").join(install::PROGRAM.1);
    if !program.is_file() {
        bail!("the wheel brought no {}", program.display());
    }
    process::run(process::talk(bare(&program).arg("--version"))?, LIMIT)
}
