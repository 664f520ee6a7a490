//! Rules of the repository that no compiler knows.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{process, workspace};

/// Past this many lines a file is more than one thing.
const LINES_MAX: usize = 900;

/// Files that may be longer, each with its reason beside it.
const LONG_FILES: &[&str] = &[];

/// Folders of one machine; as `/name/` they have no business in the repository.
const MACHINE_FOLDERS: &[&str] = &["work", "root", "home"];

/// Looks at every file that is, or would be, in the repository.
pub(super) fn check() -> Result<()> {
    let mut command = Command::new("git");
    command.current_dir(workspace::root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let list = process::output(&mut command)?;
    let mut complaints = Vec::new();
    for name in list.split('\0').filter(|name| !name.is_empty()) {
        // A file that is deleted but not yet from the index cannot be read; neither can binary data.
        if let Ok(text) = std::fs::read_to_string(workspace::root().join(name)) {
            complaints.extend(complaints_about(name, &text));
        }
    }
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints", complaints.len());
    }
    Ok(())
}

fn complaints_about(name: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if Path::new(name).extension().is_some_and(|extension| extension == "rs")
        && !text.starts_with("//!")
    {
        complaints.push(format!("{name}:1: does not begin with `//!`: what is the file for?"));
    }
    let lines = text.lines().count();
    let source = [".rs", ".c", ".cc", ".cpp", ".h", ".py"].iter().any(|end| name.ends_with(end));
    if source && lines > LINES_MAX && !LONG_FILES.contains(&name) {
        complaints.push(format!("{name}: {lines} lines, more than {LINES_MAX}"));
    }
    for (number, line) in text.lines().enumerate() {
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(line, folder)) {
            complaints.push(format!("{name}:{}: names a folder below /{folder}", number + 1));
        }
    }
    complaints
}

/// Is there an absolute path that begins with this folder? `a/home/b` and addresses are none.
fn names_folder(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        !line[..at].ends_with(|before: char| {
            before.is_alphanumeric() || matches!(before, '_' | '-' | '.' | '}' | ')' | '/' | '~')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_of_a_machine_count() {
        // Put together here, since this file is looked at as well.
        let path = format!("/{}/me", "home");
        assert!(names_folder(&format!("cd {path}"), "home"));
        assert!(names_folder(&format!("x='{path}'"), "home"));
        assert!(names_folder(&path, "home"));
        assert!(!names_folder(&format!("https://example.org{path}"), "home"));
        assert!(!names_folder("$HOME/ascend/log", "home"));
        assert!(!names_folder("a/homestead/b", "home"));
    }

    #[test]
    fn a_rust_file_says_what_it_is_for() {
        assert_eq!(complaints_about("a.rs", "//! This.\n"), Vec::<String>::new());
        assert_eq!(complaints_about("a.rs", "fn main() {}\n").len(), 1);
        assert_eq!(complaints_about("a.txt", "fn main() {}\n"), Vec::<String>::new());
    }

    #[test]
    fn the_longest_allowed_file_passes_and_one_line_more_does_not() {
        let text = format!("//! x\n{}", "\n".repeat(LINES_MAX - 1));
        assert!(complaints_about("a.rs", &text).is_empty());
        assert_eq!(complaints_about("a.rs", &format!("{text}\n")).len(), 1);
    }
}
