//! What the headers declare, the libraries export, and the other way round; a C test calls each of
//! it; and what the torch_npu wheel binds when it is loaded is there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::c;
use crate::{process, workspace};

const LIBRARIES: &[&str] = &["libascendcl.so", "libhccl.so"];

/// Functions that begin so are ours to declare.
const DECLARED_PREFIXES: &[&str] = &["acl", "Hccl", "Hcom", "softnpu"];

/// Glue between our own C and Rust files, which the linker cannot hide; no business of programs.
const PRIVATE_PREFIX: &str = "softnpu_";

/// Nothing else may be exported; the last two families have no header here, only the wheel's need.
const EXPORTED_PREFIXES: &[&str] = &["acl", "Hccl", "Hcom", "softnpu", "Msprof", "rt"];

pub(super) fn check() -> Result<()> {
    let prefix = workspace::prefix();
    let declared = declared(&prefix.join("include"))?;
    let exported = exported(&prefix.join("lib64"))?;
    let list = workspace::root().join("tests").join("wheel-symbols.txt");
    let wheel = std::fs::read_to_string(&list)
        .with_context(|| format!("cannot read {}", list.display()))?;
    let wheel: BTreeSet<String> = wheel
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();

    let begins = |name: &str, prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    let mut wrong = 0;
    let mut complain = |what: &str, names: Vec<&String>| {
        for name in &names {
            eprintln!("{what}: {name}");
        }
        wrong += names.len();
    };
    complain("declared, not exported", declared.difference(&exported).collect());
    complain(
        "exported, not declared",
        exported
            .difference(&declared)
            .filter(|name| begins(name, DECLARED_PREFIXES) && !name.starts_with(PRIVATE_PREFIX))
            .collect(),
    );
    let called = called(&workspace::root().join("tests").join("c"))?;
    complain("declared, called by no program of tests/c", declared.difference(&called).collect());
    complain("needed by the wheel, not exported", wheel.difference(&exported).collect());
    complain(
        "exported under a foreign name",
        exported.iter().filter(|name| !begins(name, EXPORTED_PREFIXES)).collect(),
    );
    if wrong > 0 {
        bail!("{wrong} names do not fit");
    }
    Ok(())
}

/// Names that the programs and headers of a folder use.
fn called(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let context = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            names.extend(names_used(&std::fs::read_to_string(&path).with_context(context)?));
        }
    }
    Ok(names)
}

/// Names that C text calls, or looks at; what stands in comments and strings does not count.
fn names_used(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = |rest: &str, from: usize, end: &str| {
            rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len())
        };
        let len = if rest.starts_with("/*") {
            skip(rest, 2, "*/")
        } else if rest.starts_with("//") {
            skip(rest, 2, "\n")
        } else if first == '"' {
            let quoted = rest[1..].char_indices().scan(false, |escaped, (at, character)| {
                let ends = character == '"' && !*escaped;
                *escaped = character == '\\' && !*escaped;
                Some((at, ends))
            });
            quoted.into_iter().find(|(_, ends)| *ends).map_or(rest.len(), |(at, _)| at + 2)
        } else if first.is_alphabetic() || first == '_' {
            let name = |character: char| character.is_alphanumeric() || character == '_';
            let len = rest.find(|character| !name(character)).unwrap_or(rest.len());
            names.insert(rest[..len].to_owned());
            len
        } else {
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    names
}

/// Names that the libraries define for others.
fn exported(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for library in LIBRARIES {
        let mut command = Command::new("nm");
        command.args(["--dynamic", "--defined-only", "--format=posix"]).arg(folder.join(library));
        for line in process::output(&mut command)?.lines() {
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    Ok(names)
}

/// Names that the headers declare with external linkage.
fn declared(include: &Path) -> Result<BTreeSet<String>> {
    let source = workspace::target().join("c-tests").join("all-headers.c");
    std::fs::create_dir_all(source.parent().unwrap_or(include)).context("cannot make a folder")?;
    let text: String = c::public_headers(include)?
        .iter()
        .map(|header| format!("#include \"{header}\"\n"))
        .collect();
    std::fs::write(&source, text).with_context(|| format!("cannot write {}", source.display()))?;
    let mut command = Command::new("gcc");
    command.args(["-std=c11", "-E", "-I"]).arg(include).arg(&source);
    let text = process::output(&mut command)?;
    Ok(names_in(&own_text(&text, &include.to_string_lossy())))
}

/// The part of preprocessed text that comes from files below `folder`, without line markers.
fn own_text(preprocessed: &str, folder: &str) -> String {
    let mut own = false;
    let mut text = String::new();
    for line in preprocessed.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            own = marker.split('"').nth(1).is_some_and(|file| file.starts_with(folder));
        } else if own {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Names of functions and variables that C text declares at its outermost level.
fn names_in(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut depth = 0_usize;
    let mut statement = String::new();
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                // The body of a function ends its statement; that of a structure does not.
                if depth == 0 && statement.contains('(') {
                    statement.clear();
                }
            }
            ';' if depth == 0 => {
                names.extend(name_of(statement.trim()));
                statement.clear();
            }
            _ if depth == 0 => statement.push(character),
            _ => {}
        }
    }
    names
}

/// What one declaration declares; nothing for types and for what has no external linkage.
fn name_of(statement: &str) -> Option<String> {
    let first = statement.split_whitespace().next()?;
    if matches!(first, "typedef" | "static" | "struct" | "union" | "enum") {
        return None;
    }
    let head = match statement.split_once('(') {
        Some((head, _)) => head,
        None if first == "extern" => statement,
        None => return None,
    };
    let name: String = head
        .trim_end()
        .chars()
        .rev()
        .take_while(|character| character.is_alphanumeric() || *character == '_')
        .collect();
    (!name.is_empty()).then(|| name.chars().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_and_definitions_are_not() {
        let text = "typedef int aclError;\n\
            typedef struct T { int (*poll)(void *data); } T;\n\
            typedef void (*Callback)(void *data);\n\
            static inline void Init(T *t) { if (t) { return; } }\n\
            extern const unsigned long Pending;\n\
            const char *\nName(void);\n\
            aclError Do(int (*f)(int), int n) __attribute__((format(printf, 1, 2)));\n";
        let found: Vec<String> = names_in(text).into_iter().collect();
        assert_eq!(found, ["Do", "Name", "Pending"]);
    }

    #[test]
    fn names_in_comments_and_strings_are_not_used() {
        let text = "/* One(); */ OK(Two(\"Three(\\\")\", 4)); // Five()\nSix = &Seven;";
        let found: Vec<String> = names_used(text).into_iter().collect();
        assert_eq!(found, ["OK", "Seven", "Six", "Two"]);
    }

    #[test]
    fn text_of_other_files_does_not_count() {
        let text = "# 1 \"/usr/include/string.h\" 1\nvoid theirs(void);\n\
            # 3 \"/p/include/acl/acl.h\" 2\nvoid ours(void);\n";
        assert_eq!(own_text(text, "/p/include"), "void ours(void);\n");
    }
}
