//! What a run says: a head with the record, the targets with verdicts, all points, and JSON.

use serde_json::{Value, json};

use super::machine::Record;
use super::point::{Memory, Peer, Point, Program};
use super::statistics::{Ratio, Round, TIE, against_bare, against_peers, time, usual_best};
use super::table::{Form, Table};
use super::targets::{Against, TARGETS, Target};

/// What is not there, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Missing {
    pub(super) program: String,
    /// Points, in words.
    pub(super) what: String,
    pub(super) reason: String,
}

/// A run that is over.
pub(super) struct Report {
    pub(super) record: Record,
    pub(super) versions: Vec<(Peer, String)>,
    pub(super) quick: bool,
    pub(super) seconds: u64,
    pub(super) points: Vec<Point>,
    pub(super) rounds: Vec<Round>,
    pub(super) missing: Vec<Missing>,
}

impl Report {
    /// The whole text.
    pub(super) fn text(&self, form: Form) -> String {
        let mut text = self.head();
        text.push_str("\nTargets:\n\n");
        text.push_str(&self.targets(form));
        text.push_str("\nRatios, median over the rounds (least to most):\n\n");
        text.push_str(&self.ratios(form));
        text.push_str("\nMedian times, microseconds:\n\n");
        text.push_str(&self.times(form));
        if !self.missing.is_empty() {
            text.push_str("\nMissing:\n\n");
            for Missing { program, what, reason } in &self.missing {
                text.push_str(&format!("- {program}: {what}: {reason}\n"));
            }
        }
        text
    }

    fn head(&self) -> String {
        let Record { date, processor, cores, kernel, load, commit } = &self.record;
        let versions: Vec<String> =
            self.versions.iter().map(|(peer, text)| format!("{} ({text})", peer.name())).collect();
        format!(
            "{date}, commit {commit}, {cores} x {processor}, Linux {kernel}, load {load} at the \
             begin, {} {} rounds in {} s.\nPeers: {}.\nA gap below {:.0} % is a tie.\n",
            self.rounds.len(),
            if self.quick { "quick" } else { "full" },
            self.seconds,
            versions.join(", "),
            TIE * 100.0
        )
    }

    fn targets(&self, form: Form) -> String {
        let head = ["case", "against", "limit", "met/tie/missed", "worst point", "mean", "verdict"];
        let mut table = Table::new(&head);
        for target in TARGETS {
            let judged = target.judge(&self.rounds, &self.points);
            let [met, tie, missed] = judged.counts;
            let worst =
                judged.worst.map(|(point, ratio)| format!("{point}: {}", shown(Some(ratio))));
            table.push(vec![
                target.case.to_owned(),
                against(target).to_owned(),
                limits(target),
                format!("{met}/{tie}/{missed}"),
                worst.unwrap_or_else(|| "-".into()),
                judged.mean.map_or_else(|| "-".into(), |mean| format!("{mean:.2}")),
                judged.verdict.map_or("not measured", |verdict| verdict.word()).to_owned(),
            ]);
        }
        table.show(form)
    }

    fn ratios(&self, form: Form) -> String {
        let head = [
            "point",
            "best peer",
            "stream / peer",
            "mapped / peer",
            "private / peer",
            "stream / bare",
            "mapped / bare",
            "in place / bare",
            "private / bare",
        ];
        let mut table = Table::new(&head);
        for point in &self.points {
            let peer = |memory| shown(against_peers(&self.rounds, memory, point));
            let bare =
                |memory: Memory| shown(against_bare(&self.rounds, memory, memory.bare(), point));
            table.push(vec![
                point.to_string(),
                usual_best(&self.rounds, point).map_or_else(|| "-".into(), |p| p.to_string()),
                peer(Memory::Stream),
                peer(Memory::Mapped),
                peer(Memory::Private),
                bare(Memory::Stream),
                bare(Memory::Mapped),
                bare(Memory::MappedInPlace),
                bare(Memory::Private),
            ]);
        }
        table.show(form)
    }

    fn times(&self, form: Form) -> String {
        let programs = programs();
        let names: Vec<String> = programs.iter().map(Program::to_string).collect();
        let mut head = vec!["point"];
        head.extend(names.iter().map(String::as_str));
        let mut table = Table::new(&head);
        for point in &self.points {
            let mut row = vec![point.to_string()];
            row.extend(programs.iter().map(|program| {
                time(&self.rounds, *program, point).map_or_else(|| "-".into(), microseconds)
            }));
            table.push(row);
        }
        table.show(form)
    }

    /// Everything, for programs.
    pub(super) fn json(&self) -> Value {
        let points: Vec<Value> = self.points.iter().map(|point| self.point_json(point)).collect();
        let targets: Vec<Value> = TARGETS
            .iter()
            .map(|target| {
                let judged = target.judge(&self.rounds, &self.points);
                json!({
                    "case": target.case, "against": against(target), "each": target.each,
                    "mean_limit": target.mean, "met": judged.counts[0], "tie": judged.counts[1],
                    "missed": judged.counts[2], "mean": judged.mean, "verdict": judged.verdict,
                    "worst": judged.worst.map(|(point, ratio)| json!({"point": point, "ratio": ratio})),
                })
            })
            .collect();
        let missing: Vec<Value> = self
            .missing
            .iter()
            .map(|m| json!({"program": m.program, "what": m.what, "reason": m.reason}))
            .collect();
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(peer, text)| json!({"peer": peer.name(), "packages": text}))
            .collect();
        json!({
            "record": self.record, "peers": versions, "quick": self.quick, "seconds": self.seconds,
            "rounds": self.rounds.len(), "targets": targets, "points": points, "missing": missing,
        })
    }

    fn point_json(&self, point: &Point) -> Value {
        let samples: Vec<Value> = programs()
            .into_iter()
            .map(|program| {
                let found: Vec<Value> =
                    self.rounds.iter().map(|round| json!(round.get(&(program, *point)))).collect();
                json!({"program": program.to_string(), "rounds": found})
            })
            .collect();
        let ratios: Vec<Value> = Memory::ALL
            .into_iter()
            .map(|memory| {
                json!({
                    "memory": memory.name(),
                    "best_peer": against_peers(&self.rounds, memory, point),
                    "bare_loop": against_bare(&self.rounds, memory, memory.bare(), point),
                })
            })
            .collect();
        json!({"point": point, "samples": samples, "ratios": ratios})
    }
}

/// Everybody, in the order of the columns.
fn programs() -> Vec<Program> {
    let ours = Memory::ALL.map(Program::Ours);
    let bare = Memory::BARE.map(Program::Bare);
    ours.into_iter().chain(Peer::ALL.map(Program::Peer)).chain(bare).collect()
}

fn against(target: &Target) -> &'static str {
    match target.against {
        Against::BestPeer => "best peer",
        Against::BareLoop => "bare loop",
    }
}

fn limits(target: &Target) -> String {
    let each = target.each.map(|limit| format!("{limit:.2}"));
    let mean = target.mean.map(|limit| format!("mean {limit:.2}"));
    each.into_iter().chain(mean).collect::<Vec<_>>().join(", ")
}

fn shown(ratio: Option<Ratio>) -> String {
    ratio.map_or_else(
        || "-".into(),
        |ratio| format!("{:.2} ({:.2} to {:.2})", ratio.median, ratio.min, ratio.max),
    )
}

/// Three digits that matter.
fn microseconds(us: f64) -> String {
    match us {
        0.0..10.0 => format!("{us:.2}"),
        10.0..100.0 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Extent;
    use super::*;

    #[test]
    fn a_run_without_any_result_is_shown_too() {
        let report = Report {
            record: Record {
                date: "then".into(),
                processor: "Some".into(),
                cores: 2,
                kernel: "6.1".into(),
                load: "0.1".into(),
                commit: "abc".into(),
            },
            versions: vec![],
            quick: true,
            seconds: 1,
            points: Extent::Quick.points(),
            rounds: vec![Round::new()],
            missing: vec![Missing {
                program: "Gloo".into(),
                what: "all".into(),
                reason: "cannot be installed".into(),
            }],
        };
        let text = report.text(Form::Markdown);
        assert!(text.contains("not measured") && text.contains("- Gloo: all: cannot be installed"));
        let json = report.json();
        assert_eq!(json["targets"].as_array().unwrap().len(), TARGETS.len());
        assert!(json["targets"][0]["verdict"].is_null());
    }

    #[test]
    fn times_have_three_digits_that_matter() {
        assert_eq!(
            [0.456, 45.67, 4567.8].map(microseconds),
            ["0.46", "45.7", "4568"].map(String::from)
        );
    }
}
