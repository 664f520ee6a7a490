//! The answer for people.

use std::fmt::Write;

use hccl_plan::select::{Reach, Rejected};
use hccl_plan::{Operator, Tier};

use super::answer::Answer;
use super::question::Question;
use super::steps;
use crate::units;

/// What connects the members of the groups of a tier.
pub(super) fn tier_name(tier: usize) -> &'static str {
    match Tier::ALL.get(tier) {
        Some(Tier::Mesh) => "inside servers",
        Some(Tier::Host) => "between servers",
        Some(Tier::Superpod) => "between superpods",
        _ => "between clusters",
    }
}

/// The call in one line.
pub(super) fn call(question: &Question) -> String {
    let task = &question.task;
    let ranks = match task.ranks {
        1 => "1 rank".to_owned(),
        ranks => format!("{ranks} ranks ({})", question.topology),
    };
    let root = match task.operator.is_rooted() {
        true => format!(", root {}", task.root),
        false => String::new(),
    };
    let data = match task.operator {
        Operator::Barrier => String::new(),
        operator => {
            let size = units::bytes(question.block_bytes);
            let what = if operator.has_extents() { "in all" } else { "a block" };
            format!(", {size} of {} {what}", question.data_type)
        }
    };
    let reach = match question.reach {
        Reach::Mapped => "mapped memory",
        Reach::Network => "a network",
    };
    format!("{} of {ranks}{root}{data}, over {reach}", task.operator)
}

/// The answer as text.
pub(super) fn text(question: &Question, answer: &Answer) -> String {
    let mut out = call(question) + "\n\n";
    let mut line = |name: &str, text: &str| wrapped(&mut out, name, text);
    let choice = &answer.choice;
    line("runs", &choice.algorithm.to_string());
    line("row", &choice.row);
    line("why", &choice.reason);
    if let Some(wish) = &question.wish {
        line("wish", wish);
    }
    if let Some(path) = &answer.path {
        if path.shared == path.private {
            line("data", &path.shared);
        } else {
            line("shared", &path.shared);
            line("private", &path.private);
        }
    }
    for note in &choice.notes {
        line("note", note);
    }
    line("levels", &answer.levels.to_string());
    line("scratch", &format!("{} a rank at most", units::bytes(answer.scratch_bytes)));
    for (tier, &bytes) in answer.moved.by_tier.iter().enumerate() {
        let who = if answer.moved.of_all { "all ranks together" } else { "rank 0" };
        line("moved", &format!("{} {}, {who}", units::bytes(bytes), tier_name(tier)));
    }
    match &answer.proof {
        Ok(report) => line(
            "proved",
            &format!(
                "the {} steps of all ranks give each output element its right value, for every \
                 count and every order of ranks; nobody races, and nobody waits for ever",
                report.steps
            ),
        ),
        Err(why) => line("proved", &format!("not here: {why}")),
    }
    if !choice.rejected.is_empty() {
        out.push_str("\nnot\n");
        let width = choice.rejected.iter().map(|one| name(one).len()).max().unwrap_or(0);
        for one in &choice.rejected {
            let _ = writeln!(out, "  {:width$}  {}", name(one), one.reason);
        }
    }
    if answer.plans.is_empty() {
        out.push_str("\nSteps: --rank 0 shows those of rank 0.\n");
    }
    for plan in &answer.plans {
        let _ = writeln!(out, "\nrank {}", plan.rank);
        if plan.steps.is_empty() {
            out.push_str("      nothing to do\n");
        }
        for (number, step) in (1..).zip(&plan.steps) {
            let _ = writeln!(out, "  {number:>3} {}", steps::words(question, plan, step));
        }
    }
    out
}

/// The name of an algorithm; of one with very many groups, its beginning.
fn name(rejected: &Rejected) -> String {
    const LETTERS: usize = 36;
    let name = rejected.algorithm.to_string();
    match name.char_indices().nth(LETTERS) {
        Some((at, _)) => format!("{}...", &name[..at]),
        None => name,
    }
}

/// A name and a text, the text in lines of some hundred letters.
fn wrapped(out: &mut String, name: &str, text: &str) {
    const WIDTH: usize = 90;
    let mut line = format!("{name:<9}");
    let mut length = 0;
    for word in text.split(' ') {
        if length > 0 && length + 1 + word.len() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(9);
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word.len();
    }
    out.push_str(&line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        let mut out = String::new();
        let text = ["twelve-chars"; 10].join(" ");
        wrapped(&mut out, "why", &text);
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("why      twelve") && lines[1].starts_with("         twelve"));
        assert_eq!(out.split_whitespace().skip(1).collect::<Vec<_>>().join(" "), text);
    }
}
