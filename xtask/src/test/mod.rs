//! `cargo xtask test`: the steps, their order, and the table at the end.
//!
//! A step that fails does not stop the others; a step whose needs failed is not run and counts as
//! failed. Every program that a step starts has a time limit, so the whole comes to an end.

mod c;
mod conditions;
mod pytorch;
mod rust;
mod symbols;
mod tidy;
mod torch;

use std::cell::OnceCell;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{install, process, python, workspace};
use conditions::Condition;

/// What steps in Python need.
const PYTHON_NEEDS: &[&str] = &["install", "venv", "native"];

/// What steps hand on to later ones.
#[derive(Default)]
struct Shared {
    python: OnceCell<PathBuf>,
}

impl Shared {
    /// Interpreter of the virtual environment; there once the step `venv` has passed.
    fn python(&self) -> Result<&PathBuf> {
        self.python.get().context("the virtual environment is not ready")
    }
}

type Action = Box<dyn Fn(&Shared) -> Result<Outcome>>;

struct Step {
    name: String,
    needs: &'static [&'static str],
    action: Action,
}

impl Step {
    fn new<O: Into<Outcome>>(
        name: impl Into<String>,
        needs: &'static [&'static str],
        action: impl Fn(&Shared) -> Result<O> + 'static,
    ) -> Self {
        let action = move |shared: &Shared| action(shared).map(Into::into);
        Self { name: name.into(), needs, action: Box::new(action) }
    }

    /// `demo` asks for all of `demo:2`, `demo:3`, ...
    fn answers_to(&self, wanted: &str) -> bool {
        self.name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// The machine lacks what it needs, and it is only a report.
    Skipped,
    /// Something that it needs failed.
    NotRun,
}

/// What comes to its end without an error has passed.
impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Passed
    }
}

struct Row {
    name: String,
    outcome: Outcome,
    time: Duration,
}

/// Installs, and writes `docs/support.md` from calls of what was installed.
pub(crate) fn write_support_page() -> Result<()> {
    install::run(&workspace::prefix(), install::Profile::Release)?;
    rust::write_support_page()
}

/// All steps in the order in which they run: what is quick and what others need comes first.
fn steps() -> Result<Vec<Step>> {
    let mut steps = vec![
        Step::new("fmt", &[], |_| rust::format()),
        Step::new("tidy", &[], |_| tidy::check()),
        Step::new("clippy", &[], |_| rust::lints()),
        Step::new("install", &[], |_| {
            install::run(&workspace::prefix(), install::Profile::Release)
        }),
        Step::new("headers", &["install"], |_| c::headers()),
        Step::new("symbols", &["install"], |_| symbols::check()),
    ];
    for program in c::programs()? {
        let name = format!("c:{}", program.name);
        steps.push(Step::new(name, &["install"], move |_| {
            c::build_and_run(&program, c::Under::Nothing)
        }));
    }
    steps.push(Step::new("memory:address", &["install"], |_| c::address_sanitizer()));
    steps.push(Step::new("memory:valgrind", &["install"], |_| {
        Ok(if c::valgrind()? { Outcome::Passed } else { Outcome::Skipped })
    }));
    steps.push(Step::new("c:example", &["install"], |_| c::examples()));
    steps.push(Step::new("c:plugins", &["install"], |_| c::plugins()));
    steps.push(Step::new("c:mpi", &["install"], |_| c::performance()));
    steps.push(Step::new("rust", &[], |_| rust::tests()));
    steps.push(Step::new("examples", &[], |_| rust::examples()));
    steps.push(Step::new("count", &[], |_| rust::count()));
    for subcommand in rust::CONFORMANCE {
        let name = format!("conformance:{subcommand}");
        steps.push(Step::new(name, &["install"], |_| rust::conformance(subcommand)));
    }
    for condition in Condition::ALL {
        let name = format!("conditions:{}", condition.name());
        steps.push(Step::new(name, &["install"], move |_| condition.run()));
    }
    steps.push(Step::new("venv", &[], |shared| {
        let python = python::environment()?;
        let _ = shared.python.set(python);
        Ok(())
    }));
    // Once more with what is compiled for the torch of the environment, which the first may have lacked.
    steps.push(Step::new("native", &["install", "venv"], |_| {
        install::run(&workspace::prefix(), install::Profile::Release)
    }));
    steps.push(Step::new("ruff", &["venv"], |shared| pytorch::style(shared.python()?)));
    steps.push(Step::new("pytest", PYTHON_NEEDS, |shared| pytorch::suite(shared.python()?)));
    for script in pytorch::scripts()? {
        let name = format!("python:{}", script.name);
        steps.push(Step::new(name, PYTHON_NEEDS, move |shared| {
            pytorch::script(shared.python()?, &script)
        }));
    }
    for suite in torch::SUITES {
        steps.push(Step::new(format!("torch:{}", suite.name), PYTHON_NEEDS, move |shared| {
            torch::suite(shared.python()?, suite)
        }));
    }
    steps.push(Step::new("torch:matrix", PYTHON_NEEDS, |shared| torch::matrix(shared.python()?)));
    steps.push(Step::new("torch:newest", PYTHON_NEEDS, |_| torch::newest()));
    steps.push(Step::new("wheel", PYTHON_NEEDS, |shared| torch::wheel(shared.python()?)));
    for devices in pytorch::DEMO_DEVICES {
        steps.push(Step::new(format!("demo:{devices}"), PYTHON_NEEDS, move |shared| {
            pytorch::demo(shared.python()?, *devices)
        }));
    }
    Ok(steps)
}

/// Runs all steps, or those in `only` and what they need.
pub(crate) fn run(only: &[String], list: bool) -> Result<ExitCode> {
    let steps = select(steps()?, only)?;
    if list {
        for step in &steps {
            // A reader that has seen enough is no fault.
            if writeln!(std::io::stdout(), "{}", step.name).is_err() {
                break;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let shared = Shared::default();
    let _packages = fetch_packages(&steps)?;
    let mut rows: Vec<Row> = Vec::new();
    for step in &steps {
        let missing = step.needs.iter().find(|need| !has_passed(&rows, need));
        let begin = Instant::now();
        let outcome = match missing {
            Some(need) => {
                eprintln!("xtask: {}: not run, since {need} failed", step.name);
                Outcome::NotRun
            }
            None => {
                eprintln!("xtask: {} ...", step.name);
                match (step.action)(&shared) {
                    Ok(outcome) => outcome,
                    Err(error) => {
                        eprintln!("xtask: {}: failed: {error:#}", step.name);
                        Outcome::Failed
                    }
                }
            }
        };
        rows.push(Row { name: step.name.clone(), outcome, time: begin.elapsed() });
    }
    Ok(summarise(&rows))
}

/// Packages of Python are fetched and unpacked while the first steps compile. The steps that need them
/// wait until that is done, and do it themselves if it failed.
fn fetch_packages(steps: &[Step]) -> Result<Option<process::Beside>> {
    let has = |name| steps.iter().any(|step| step.name == name);
    if !has("venv") {
        return Ok(None);
    }
    let own = std::env::current_exe().context("cannot tell which program this is")?;
    let file = workspace::target().join("venv.log");
    std::fs::create_dir_all(workspace::target()).context("cannot make the build folder")?;
    let log = File::create(&file).with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("xtask: packages of Python come beside, see {}", file.display());
    let mut command = Command::new(own);
    command.arg("venv").args(has("torch:newest").then_some("--newest"));
    let errors = log.try_clone().context("cannot keep what it says")?;
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    process::Beside::start(&mut command).map(Some)
}

fn has_passed(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|row| row.name == name && row.outcome == Outcome::Passed)
}

/// Keeps the steps that `only` names and those that they need, in the given order.
fn select(steps: Vec<Step>, only: &[String]) -> Result<Vec<Step>> {
    if only.is_empty() {
        return Ok(steps);
    }
    for wanted in only {
        if !steps.iter().any(|step| step.answers_to(wanted)) {
            bail!("there is no step {wanted}; `cargo xtask test --list` shows them");
        }
    }
    let asked = |step: &Step| only.iter().any(|wanted| step.answers_to(wanted));
    let needs: Vec<&str> =
        steps.iter().filter(|step| asked(step)).flat_map(|step| step.needs).copied().collect();
    Ok(steps
        .into_iter()
        .filter(|step| asked(step) || needs.contains(&step.name.as_str()))
        .collect())
}

fn summarise(rows: &[Row]) -> ExitCode {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    println!();
    for row in rows {
        let outcome = match row.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "skipped",
            Outcome::NotRun => "NOT RUN",
        };
        println!("{:width$}  {outcome:7}  {:8.1} s", row.name, row.time.as_secs_f64());
    }
    let count = |wanted| rows.iter().filter(|row| row.outcome == wanted).count();
    let (passed, skipped) = (count(Outcome::Passed), count(Outcome::Skipped));
    let failed = rows.len() - passed - skipped;
    println!("\n{passed} passed, {skipped} skipped, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Result<Vec<String>> {
        let steps = vec![
            Step::new("install", &[], |_| Ok(())),
            Step::new("venv", &[], |_| Ok(())),
            Step::new("c:a", &["install"], |_| Ok(())),
            Step::new("c:ab", &["install"], |_| Ok(())),
        ];
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        Ok(select(steps, &only)?.into_iter().map(|step| step.name).collect())
    }

    #[test]
    fn a_step_brings_its_needs_and_nothing_else() {
        assert_eq!(names(&["c:a"]).unwrap(), ["install", "c:a"]);
        assert_eq!(names(&["c"]).unwrap(), ["install", "c:a", "c:ab"]);
        assert_eq!(names(&["venv"]).unwrap(), ["venv"]);
        assert_eq!(names(&[]).unwrap().len(), 4);
    }

    #[test]
    fn an_unknown_step_is_an_error() {
        assert!(names(&["c:"]).is_err());
        assert!(names(&["in"]).is_err());
    }
}
