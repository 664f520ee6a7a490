//! Steps in C and C++: the headers alone, the programs of `tests/c`, and the samples.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{peers, process, workspace};

/// Every header must be free of these in both languages.
const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
const COMPILE_LIMIT: Duration = Duration::from_secs(300);
/// The programs have watchdogs of their own, which tell more; this is the net below.
const RUN_LIMIT: Duration = Duration::from_secs(900);
/// The translation unit that includes everything and asserts sizes and offsets.
const LAYOUT: &str = "layout.c";
/// Numbers of devices, as the samples' Makefile takes them.
const ALL_REDUCE_DEVICES: &str = "1 2 5 8";

/// A program of `tests/c`.
pub(super) struct Program {
    pub(super) name: String,
    source: PathBuf,
}

fn folder() -> PathBuf {
    workspace::root().join("tests").join("c")
}

/// Where programs and their logs go.
fn scratch(name: &str) -> Result<PathBuf> {
    let path = workspace::target().join("c-tests").join(name);
    std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path)
}

/// All programs, by name.
pub(super) fn programs() -> Result<Vec<Program>> {
    let folder = folder();
    let mut programs = Vec::new();
    for entry in
        std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let source = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let code =
            source.extension().is_some_and(|extension| extension == "c" || extension == "cc");
        if code && source.file_name().is_none_or(|name| name != LAYOUT) {
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            programs.push(Program { name, source });
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// Compiles the layout assertions, and every header alone, as C11 and as C++14.
pub(super) fn headers() -> Result<()> {
    let include = workspace::prefix().join("include");
    let scratch = scratch("headers")?;
    let mut sources = vec![folder().join(LAYOUT)];
    for (index, header) in public_headers(&include)?.iter().enumerate() {
        let source = scratch.join(format!("alone-{index}.c"));
        let text = format!("#include \"{header}\"\n#include \"{header}\"\nint unused_{index};\n");
        std::fs::write(&source, text)
            .with_context(|| format!("cannot write {}", source.display()))?;
        sources.push(source);
    }
    for source in &sources {
        for (compiler, language) in
            [("gcc", &["-std=c11"][..]), ("g++", &["-std=c++14", "-x", "c++"])]
        {
            let mut command = Command::new(compiler);
            command.args(language).args(WARNINGS).arg("-fsyntax-only").arg("-I").arg(&include);
            command.arg(source);
            process::run(process::talk(&mut command)?, COMPILE_LIMIT)?;
        }
    }
    Ok(())
}

/// Headers below a folder, as a program would include them.
pub(super) fn public_headers(include: &Path) -> Result<Vec<String>> {
    let mut headers = Vec::new();
    for part in ["acl", "hccl", "softnpu"] {
        let folder = include.join(part);
        for entry in std::fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?
        {
            let name =
                entry.with_context(|| format!("cannot read {}", folder.display()))?.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".h") {
                headers.push(format!("{part}/{name}"));
            }
        }
    }
    headers.sort();
    Ok(headers)
}

/// What looks after a program while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Under {
    Nothing,
    /// The accesses of the program itself. The libraries are the ordinary build: of what they do, only
    /// allocations (with what is left at the end) and calls of the C library that the sanitizer
    /// intercepts are looked at, not their own loads and stores.
    AddressSanitizer,
    /// Every access to memory and every use of a value, of the program and of the libraries.
    Valgrind,
}

impl Under {
    /// What the scratch folder's name ends in.
    fn suffix(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::AddressSanitizer => "-address",
            Self::Valgrind => "-valgrind",
        }
    }
}

/// Exit code of a process in which valgrind found something.
const VALGRIND_FOUND: &str = "--error-exitcode=99";
/// Memory of a device under valgrind, which looks after each page.
const VALGRIND_MEMORY: (&str, &str) = ("SOFTNPU_MEMORY", "64M");

pub(super) fn build_and_run(program: &Program, under: Under) -> Result<()> {
    let prefix = workspace::prefix();
    let scratch = scratch(&format!("{}{}", program.name, under.suffix()))?;
    let binary = scratch.join(&program.name);
    let cpp = program.source.extension().is_some_and(|extension| extension == "cc");
    let mut command = Command::new(if cpp { "g++" } else { "gcc" });
    command
        .arg(if cpp { "-std=c++14" } else { "-std=c11" })
        .args(WARNINGS)
        .args(["-D_GNU_SOURCE", "-g", "-O1", "-pthread", "-I"])
        .arg(prefix.join("include"));
    if under == Under::AddressSanitizer {
        command.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
    }
    command
        .arg("-o")
        .arg(&binary)
        .arg(&program.source)
        .arg("-L")
        .arg(prefix.join("lib64"))
        .args(["-lhccl", "-lascendcl"]);
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)?;
    shared_objects(program, &scratch)?;
    let mut command = if under == Under::Valgrind {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", VALGRIND_FOUND]).arg(&binary);
        command
    } else {
        Command::new(&binary)
    };
    in_tree(&mut command, &prefix, &scratch);
    if under == Under::Valgrind {
        command.env(VALGRIND_MEMORY.0, VALGRIND_MEMORY.1);
    }
    process::run(process::talk(&mut command)?, RUN_LIMIT)
}

/// Programs that call HCCL wrongly, or end things while others use them.
fn misuse() -> Result<Vec<Program>> {
    let mut programs = programs()?;
    programs.retain(|it| it.name.starts_with("hccl_") || it.name == "robustness");
    Ok(programs)
}

/// All programs of misuse with their own accesses to memory looked at, and all allocations.
pub(super) fn address_sanitizer() -> Result<()> {
    misuse()?.iter().try_for_each(|program| build_and_run(program, Under::AddressSanitizer))
}

/// Programs of misuse that need much memory, start many processes, or look at the clock. Only
/// [`Under::AddressSanitizer`] looks at these.
const NOT_UNDER_VALGRIND: &[&str] = &["hccl_operators", "hccl_processes", "robustness"];

/// The other programs of misuse with every access to memory looked at, also those of the libraries;
/// `false` where there is no valgrind.
pub(super) fn valgrind() -> Result<bool> {
    if process::find("valgrind").is_none() {
        eprintln!("xtask: valgrind is missing");
        return Ok(false);
    }
    for program in misuse()?.iter().filter(|it| !NOT_UNDER_VALGRIND.contains(&&*it.name)) {
        build_and_run(program, Under::Valgrind)?;
    }
    Ok(true)
}

/// Files in the folder of a program's name become shared objects that it may load.
fn shared_objects(program: &Program, scratch: &Path) -> Result<()> {
    let folder = folder().join(&program.name);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Ok(());
    };
    for entry in entries {
        let source = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut command = Command::new("gcc");
        command.arg("-std=c11").args(WARNINGS).args(["-D_GNU_SOURCE", "-g", "-O1", "-fPIC"]);
        command.args(["-shared", "-I"]).arg(workspace::prefix().join("include"));
        command.arg("-o").arg(scratch.join(format!("{name}.so"))).arg(&source);
        process::run(process::talk(&mut command)?, COMPILE_LIMIT)?;
    }
    Ok(())
}

/// Builds and runs the samples by their own Makefile, away from the sources.
pub(super) fn examples() -> Result<()> {
    let scratch = scratch("samples")?;
    let source = workspace::root().join("examples").join("c");
    // One of them also alone and on an odd number of devices.
    for (target, devices) in [("test", "2 4 8"), ("test-all_reduce", ALL_REDUCE_DEVICES)] {
        let mut command = Command::new("make");
        in_tree(&mut command, &workspace::prefix(), &scratch);
        command.arg("-C").arg(&source).arg("-j2").arg(target);
        command.arg(format!("BUILD={}", scratch.display())).arg(format!("DEVICES={devices}"));
        process::run(process::talk(&mut command)?, RUN_LIMIT)?;
    }
    Ok(())
}

/// Builds the program that measures under an MPI, and lets it check its values.
pub(super) fn performance() -> Result<()> {
    let mpi = peers::mpich()?;
    let scratch = scratch("performance")?;
    let source = workspace::root().join("examples").join("c").join("performance");
    let mut command = Command::new("make");
    in_tree(&mut command, &workspace::prefix(), &scratch);
    let flags = peers::mpich_launch(&mut command).join(" ");
    command.arg("-C").arg(&source).args(["all", "test"]);
    command.arg(format!("BUILD={}", scratch.display())).arg(format!("MPI_HOME={}", mpi.display()));
    // The package's `libmpi.so` is a text in the place of a link; the real name works.
    command.arg("MPI_LIBS=-l:libmpi.so.12").arg(format!("MPI_FLAGS={flags}"));
    process::run(process::talk(&mut command)?, RUN_LIMIT)
}

/// Builds the example plugins, in C and in Rust, and runs samples with them.
pub(super) fn plugins() -> Result<()> {
    let scratch = scratch("plugins")?;
    let prefix = workspace::prefix();
    let examples = workspace::root().join("examples");
    let build = format!("BUILD={}", scratch.display());
    for (folder, targets) in [
        (examples.join("c"), ["all_reduce", "allgather"].map(|name| scratch.join(name)).to_vec()),
        (examples.join("tuner").join("c"), vec!["all".into()]),
    ] {
        let mut command = Command::new("make");
        in_tree(&mut command, &prefix, &scratch);
        command.arg("-C").arg(folder).arg(&build).args(targets);
        process::run(process::talk(&mut command)?, COMPILE_LIMIT)?;
    }
    let mut command = workspace::cargo();
    command.args(["build", "--quiet", "--package", "tuner-example"]);
    process::run(process::talk(&mut command)?, COMPILE_LIMIT)?;
    let tuner = examples.join("tuner");
    for (plugin, rules) in [
        (scratch.join("libhccl_tuner.so"), tuner.join("c").join("tuner.conf")),
        (
            workspace::target().join("debug").join("libhccl_tuner.so"),
            tuner.join("rust").join("hccl_tuner_config.json"),
        ),
    ] {
        let mut command = Command::new("sh");
        in_tree(&mut command, &prefix, &scratch);
        command.arg(tuner.join("try.sh")).arg(plugin).arg(rules).arg(&scratch);
        process::run(process::talk(&mut command)?, RUN_LIMIT)?;
    }
    Ok(())
}

/// Lets a program find our libraries, and keeps what the caller's environment says out of it.
fn in_tree(command: &mut Command, prefix: &Path, scratch: &Path) {
    command
        .env("LD_LIBRARY_PATH", prefix.join("lib64"))
        .env("ASCEND_HOME_PATH", prefix)
        .env("ASCEND_PROCESS_LOG_PATH", scratch.join("log"))
        .current_dir(scratch);
    for (name, _) in std::env::vars_os() {
        let foreign = name.to_str().is_some_and(|name| {
            name.starts_with("SOFTNPU_")
                || name.starts_with("HCCL_")
                || name == "ASCEND_RT_VISIBLE_DEVICES"
        });
        if foreign {
            command.env_remove(name);
        }
    }
}
