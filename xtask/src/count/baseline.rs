//! The recorded counts: a file with a line a case, and above them where they are from.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Counts;
use crate::{process, workspace};

const HEADING: &str = "case,instructions";

/// Counts, and where they are from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Baseline {
    /// Date, compiler, valgrind and C library.
    pub(super) origin: String,
    pub(super) counts: Counts,
}

impl Baseline {
    /// These counts, made here and now.
    pub(super) fn now(counts: Counts) -> Result<Self> {
        let first = |program: &str, arguments: &[&str]| {
            let text = process::output(Command::new(program).args(arguments))?;
            Ok::<_, anyhow::Error>(text.lines().next().unwrap_or_default().to_owned())
        };
        let origin = [
            first("date", &["-u", "+%Y-%m-%d"])?,
            first("rustc", &["--version"])?,
            first("valgrind", &["--version"])?,
            first("getconf", &["GNU_LIBC_VERSION"])?,
            std::env::consts::ARCH.to_owned(),
        ];
        Ok(Self { origin: origin.join(", "), counts })
    }

    /// The recorded ones, if there are.
    pub(super) fn read() -> Result<Option<Self>> {
        let path = path();
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{}", path.display())).map(Some)
    }

    pub(super) fn write(&self) -> Result<()> {
        let path = path();
        std::fs::write(&path, self.text()).with_context(|| format!("writing {}", path.display()))
    }

    fn text(&self) -> String {
        let mut text = format!("# {}\n{HEADING}\n", self.origin);
        for (case, count) in &self.counts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{case},{count}");
        }
        text
    }

    fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let origin = lines.next().and_then(|line| line.strip_prefix("# "));
        let origin = origin.context("the first line does not say where the counts are from")?;
        if lines.next() != Some(HEADING) {
            bail!("the second line is not {HEADING:?}");
        }
        let counts = lines.map(|line| {
            let (case, count) = line.split_once(',').context("there is no comma")?;
            Ok::<_, anyhow::Error>((case.to_owned(), count.parse()?))
        });
        let counts =
            counts.zip(3..).map(|(row, number)| row.with_context(|| format!("line {number}")));
        Ok(Self { origin: origin.to_owned(), counts: counts.collect::<Result<_>>()? })
    }
}

fn path() -> PathBuf {
    workspace::root().join("docs/instructions.csv")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let counts = vec![("b/4B".to_owned(), 12), ("a".to_owned(), 3)];
        let baseline = Baseline { origin: "today, rustc 1".to_owned(), counts };
        assert_eq!(baseline.text(), "# today, rustc 1\ncase,instructions\nb/4B,12\na,3\n");
        assert_eq!(Baseline::parse(&baseline.text()).unwrap(), baseline);
    }

    #[test]
    fn a_file_of_another_form_is_refused_with_its_line() {
        for (text, place) in [
            ("", "first line"),
            ("# x\n", "second line"),
            ("# x\ncase,instructions\na,1\nb 2\n", "line 4"),
            ("# x\ncase,instructions\na,one\n", "line 3"),
        ] {
            let error = Baseline::parse(text).unwrap_err();
            assert!(format!("{error:#}").contains(place), "{error:#}");
        }
    }

    #[test]
    fn the_recorded_file_can_be_read() {
        assert!(Baseline::read().unwrap().is_some_and(|recorded| !recorded.counts.is_empty()));
    }
}
