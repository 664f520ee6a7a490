//! The answer as a picture: ranks are lanes, rounds go to the right, an arrow is what one rank reads
//! from another or writes to it, in the colour of the tier that connects them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::amount::Amount;
use super::answer::{Answer, bytes, span};
use super::question::Question;
use super::rounds::{Transfer, transfers};
use super::steps::words;
use super::text::{call, tier_name};

/// More lanes are not legible.
pub(super) const LANES_MAX: u32 = 32;

/// Pixels.
const LEFT: u32 = 76;
const TOP: u32 = 124;
const LANE: u32 = 30;
/// Between servers.
const GAP: u32 = 12;
/// The legend wants so much.
const WIDTH_MIN: u32 = 860;
/// From where arrows begin to where they end, and to the next round.
const RUN: u32 = 84;
const COLUMN: u32 = 144;

/// Colours for a light and for a dark ground; those of tiers last.
const STYLE: &str = "
  svg { --paper: #ffffff; --ink: #1f2328; --pale: #d0d7de;
        --t0: #2563eb; --t1: #c2410c; --t2: #15803d; --t3: #7e22ce; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #e6edf3; --pale: #3d444d;
          --t0: #79a8ff; --t1: #ffa566; --t2: #6fd08c; --t3: #cf9fff; }
  }
  .paper { fill: var(--paper); }
  text { fill: var(--ink); font: 12px system-ui, sans-serif; }
  .head { font-size: 15px; font-weight: 600; }
  .share { font-size: 11px; }
  .lane { stroke: var(--pale); stroke-width: 1; }
  .round { text-anchor: middle; }
  .arrow { stroke-width: 1.3; fill: none; }
  .key { stroke-width: 2; }
  text.key { stroke: none; }
  .write { stroke-dasharray: 5 3; }
  .t0 { stroke: var(--t0); } .t1 { stroke: var(--t1); }
  .t2 { stroke: var(--t2); } .t3 { stroke: var(--t3); }
  .h0 { fill: var(--t0); } .h1 { fill: var(--t1); } .h2 { fill: var(--t2); } .h3 { fill: var(--t3); }
";

/// Where lanes and rounds are.
struct Layout {
    /// Height of the lane of each rank that is drawn.
    lanes: BTreeMap<u32, u32>,
    /// Left edge of the reads and of the writes of each round.
    columns: BTreeMap<(u32, bool), u32>,
    width: u32,
    height: u32,
}

impl Layout {
    fn new(question: &Question, ranks: &[u32], drawn: &[Transfer<'_>]) -> Self {
        let server = |rank| question.topology.place(0, rank).map(|(server, _)| server);
        let mut lanes = BTreeMap::new();
        let (mut y, mut before) = (TOP, None);
        for &rank in ranks {
            if before.is_some_and(|before| server(before) != server(rank)) {
                y += GAP;
            }
            lanes.insert(rank, y);
            before = Some(rank);
            y += LANE;
        }
        let used: BTreeSet<(u32, bool)> =
            drawn.iter().map(|one| (one.round, one.by == one.from)).collect();
        let columns: BTreeMap<_, _> =
            used.into_iter().zip((0..).map(|i| LEFT + 12 + i * COLUMN)).collect();
        let width = LEFT + 12 + columns.len() as u32 * COLUMN;
        Self { lanes, columns, width: width.max(WIDTH_MIN), height: y + 8 }
    }
}

/// The picture.
pub(super) fn svg(question: &Question, answer: &Answer) -> String {
    let plans = &answer.plans[..answer.plans.len().min(LANES_MAX as usize)];
    let ranks: Vec<u32> = plans.iter().map(|plan| plan.rank).collect();
    let all: Vec<Transfer<'_>> = plans.iter().flat_map(transfers).collect();
    let is_shown = |rank: &u32| ranks.binary_search(rank).is_ok();
    let (drawn, left): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| is_shown(&one.from) && is_shown(&one.to));
    let layout = Layout::new(question, &ranks, &drawn);
    let tier =
        |one: &Transfer<'_>| question.topology.tier_between(one.from, one.to).unwrap_or(0).min(3);
    let mut out = String::new();
    let (width, height) = (layout.width, layout.height);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
        escaped(&call(question))
    );
    out.push_str("<defs>\n");
    for number in 0..4 {
        let _ = writeln!(
            out,
            "<marker id=\"head{number}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
             markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
             <path class=\"h{number}\" d=\"M0 0 L8 4 L0 8 z\"/></marker>"
        );
    }
    out.push_str("</defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    label(&mut out, "head", 12, 24, &call(question));
    let said = format!("{} (row: {})", answer.choice.algorithm, answer.choice.row);
    label(&mut out, "what", 12, 44, &said);
    let tiers: BTreeSet<usize> = drawn.iter().map(tier).collect();
    legend(&mut out, &tiers, drawn.iter().any(|one| one.by == one.from));
    if plans.len() < question.task.ranks as usize {
        let missing = format!(
            "{} of {} ranks are drawn, without {} transfers of theirs from or to others",
            plans.len(),
            question.task.ranks,
            left.len()
        );
        label(&mut out, "missing", 12, 84, &missing);
    }
    for (&(round, writes), x) in &layout.columns {
        let what = if writes { "writes" } else { "reads" };
        label(&mut out, "round", x + RUN / 2, TOP - 14, &format!("round {round}, {what}"));
    }
    for (rank, y) in &layout.lanes {
        let _ = writeln!(
            out,
            "<line class=\"lane\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>",
            layout.width - 8
        );
        label(&mut out, "rank", 12, y + 4, &format!("rank {rank}"));
    }
    // What a rank gets in a round has one label, since most of it is alike: so much from each.
    let mut gets: BTreeMap<(u32, bool, u32), BTreeMap<u32, Amount>> = BTreeMap::new();
    for one in &drawn {
        let writes = one.by == one.from;
        let (Some(x), Some(from), Some(to), Some(how_much)) = (
            layout.columns.get(&(one.round, writes)),
            layout.lanes.get(&one.from),
            layout.lanes.get(&one.to),
            span(one.step),
        ) else {
            continue;
        };
        let class = if writes { " write" } else { "" };
        let (tier, end) = (tier(one), x + RUN);
        let plan = &plans[ranks.partition_point(|rank| *rank < one.by)];
        let _ = writeln!(
            out,
            "<line class=\"arrow t{tier}{class}\" x1=\"{x}\" y1=\"{from}\" x2=\"{end}\" \
             y2=\"{to}\" marker-end=\"url(#head{tier})\"><title>{}</title></line>",
            escaped(&format!(
                "rank {} to rank {}, {} bytes; rank {}: {}",
                one.from,
                one.to,
                bytes(question, how_much),
                one.by,
                words(question, plan, one.step)
            ))
        );
        let from = gets.entry((one.round, writes, one.to)).or_default().entry(one.from);
        from.and_modify(|sum| *sum = sum.and(how_much)).or_insert(Amount::of(how_much));
    }
    for ((round, writes, to), from) in gets {
        let (x, y) = (layout.columns[&(round, writes)], layout.lanes[&to]);
        let amounts: Vec<_> = from.values().map(ToString::to_string).collect();
        label(&mut out, "share", x + RUN + 4, y - 4, &joined(&amounts));
    }
    out.push_str("</svg>\n");
    out
}

/// `7 x 1/8`; of many different ones the first two.
fn joined(amounts: &[String]) -> String {
    let mut counted: Vec<(&String, u32)> = Vec::new();
    for amount in amounts {
        match counted.iter_mut().find(|(known, _)| *known == amount) {
            Some((_, times)) => *times += 1,
            None => counted.push((amount, 1)),
        }
    }
    let one = |(text, times): &(&String, u32)| match times {
        1 => (*text).clone(),
        times => format!("{times} x {text}"),
    };
    let mut text = counted.iter().take(2).map(one).collect::<Vec<_>>().join(", ");
    if counted.len() > 2 {
        text.push_str(", ...");
    }
    text
}

fn legend(out: &mut String, tiers: &BTreeSet<usize>, has_writes: bool) {
    let mut x = 12;
    let mut entry = |out: &mut String, class: &str, text: &str| {
        let _ = writeln!(
            out,
            "<line class=\"key {class}\" x1=\"{x}\" y1=\"60\" x2=\"{}\" y2=\"60\"/>",
            x + 28
        );
        label(out, "key", x + 34, 64, text);
        x += 60 + 7 * text.len() as u32;
    };
    for &tier in tiers {
        entry(out, &format!("t{tier}"), tier_name(tier));
    }
    if has_writes {
        let first = tiers.first().copied().unwrap_or(0);
        entry(out, &format!("t{first} write"), "dashed: written by the sender");
    }
    label(out, "key", x, 64, "labels: shares of a block; whole numbers: blocks");
}

fn label(out: &mut String, class: &str, x: u32, y: u32, text: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_safe() {
        let labels =
            |all: &[&str]| joined(&all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(labels(&["1/8", "1/8", "1/8"]), "3 x 1/8");
        assert_eq!(labels(&["1", "2", "2", "3"]), "1, 2 x 2, ...");
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
