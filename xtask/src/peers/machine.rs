//! What a result is kept with: date, machine, commit.

use std::process::Command;

use serde::Serialize;

use crate::{process, workspace};

/// Where and when a run took place.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    pub(super) date: String,
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) kernel: String,
    /// Processes that were ready to run, a minute's mean, when it began.
    pub(super) load: String,
    pub(super) commit: String,
}

impl Record {
    /// This machine, now. What cannot be found out is said to be unknown.
    pub(super) fn now() -> Self {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            date: said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
            processor: processor(&processors),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            load: load.split_whitespace().next().unwrap_or("unknown").to_owned(),
            commit: said(
                Command::new("git")
                    .current_dir(workspace::root())
                    .args(["describe", "--always", "--dirty"]),
            ),
        }
    }
}

/// Model, family and number: several processors share one name.
fn processor(text: &str) -> String {
    let field = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    };
    let name = field("model name").unwrap_or("unknown");
    match (field("cpu family"), field("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name.to_owned(),
    }
}

/// The only line that a command says.
fn said(command: &mut Command) -> String {
    process::output(command).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_named_with_its_model() {
        let text = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Fast One\n";
        assert_eq!(processor(text), "Fast One (family 6, model 143)");
        assert_eq!(processor(""), "unknown");
    }
}
