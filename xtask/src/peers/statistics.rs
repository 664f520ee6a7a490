//! Ratios between programs that ran in the same round, and what they say about a limit.
//!
//! Machines are shared and drift, so times of different rounds are never divided by each other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::point::{Memory, Point, Program};
use super::sample::Sample;

/// Gaps below this share are noise.
pub(super) const TIE: f64 = 0.10;

/// What was found in one round.
pub(super) type Round = BTreeMap<(Program, Point), Sample>;

/// A ratio of two programs: median, least and most of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Ratio {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) rounds: usize,
}

/// What a ratio says about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Met,
    /// Above the limit by less than noise.
    Tie,
    Missed,
}

impl Verdict {
    pub(super) fn of(ratio: f64, limit: f64) -> Self {
        if ratio <= limit {
            Self::Met
        } else if ratio < limit * (1.0 + TIE) {
            Self::Tie
        } else {
            Self::Missed
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Tie => "tie",
            Self::Missed => "missed",
        }
    }
}

/// The middle of some numbers; the mean of both where two are in the middle.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// The mean of ratios: a half and a double cancel out.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

fn ratio_of(values: Vec<f64>) -> Option<Ratio> {
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    Some(Ratio { rounds: values.len(), median: median(values)?, min, max })
}

/// The fastest peer of a round at a point.
fn best_peer(round: &Round, point: &Point) -> Option<(Program, f64)> {
    round
        .iter()
        .filter(|((program, at), _)| matches!(program, Program::Peer(_)) && at == point)
        .map(|((program, _), sample)| (*program, sample.median_us))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Ours over the best peer of the same round.
pub(super) fn against_peers(rounds: &[Round], ours: Memory, point: &Point) -> Option<Ratio> {
    let values = rounds.iter().filter_map(|round| {
        let ours = round.get(&(Program::Ours(ours), *point))?.median_us;
        Some(ours / best_peer(round, point)?.1)
    });
    ratio_of(values.collect())
}

/// Ours over the bare loop of the same round.
pub(super) fn against_bare(
    rounds: &[Round],
    ours: Memory,
    bare: Memory,
    point: &Point,
) -> Option<Ratio> {
    let values = rounds.iter().filter_map(|round| {
        let ours = round.get(&(Program::Ours(ours), *point))?.median_us;
        Some(ours / round.get(&(Program::Bare(bare), *point))?.median_us)
    });
    ratio_of(values.collect())
}

/// The median over the rounds of what a program needs at a point.
pub(super) fn time(rounds: &[Round], program: Program, point: &Point) -> Option<f64> {
    let times = rounds.iter().filter_map(|round| Some(round.get(&(program, *point))?.median_us));
    median(times.collect())
}

/// The peer that was best in most rounds, the first by name where several were.
pub(super) fn usual_best(rounds: &[Round], point: &Point) -> Option<Program> {
    let mut wins: BTreeMap<Program, usize> = BTreeMap::new();
    for (program, _) in rounds.iter().filter_map(|round| best_peer(round, point)) {
        *wins.entry(program).or_default() += 1;
    }
    let most = wins.values().copied().max()?;
    wins.into_iter().find(|(_, won)| *won == most).map(|(program, _)| program)
}

#[cfg(test)]
mod tests {
    use super::super::point::{Dtype, Operator, Peer};
    use super::*;

    const POINT: Point =
        Point { ranks: 2, operator: Operator::AllReduce, dtype: Dtype::Fp32, bytes: 4 };
    const OURS: Program = Program::Ours(Memory::Private);
    const MPICH: Program = Program::Peer(Peer::Mpich);
    const INTEL: Program = Program::Peer(Peer::IntelMpi);
    const BARE: Program = Program::Bare(Memory::Private);

    fn round(times: &[(Program, f64)]) -> Round {
        let entry = |&(program, us)| ((program, POINT), Sample { median_us: us, p99_us: us });
        times.iter().map(entry).collect()
    }

    #[test]
    fn ratios_are_of_one_round_each() {
        // The second round is twice as slow for all; the third has no peer and does not count.
        let rounds = [
            round(&[(OURS, 1.0), (MPICH, 4.0), (INTEL, 2.0), (BARE, 0.5)]),
            round(&[(OURS, 2.0), (MPICH, 2.0), (INTEL, 4.0), (BARE, 1.0)]),
            round(&[(OURS, 9.0)]),
        ];
        let ratio = against_peers(&rounds, Memory::Private, &POINT).unwrap();
        assert_eq!(ratio, Ratio { median: 0.75, min: 0.5, max: 1.0, rounds: 2 });
        let ratio = against_bare(&rounds, Memory::Private, Memory::Private, &POINT).unwrap();
        assert_eq!(ratio, Ratio { median: 2.0, min: 2.0, max: 2.0, rounds: 2 });
        assert_eq!(against_peers(&rounds, Memory::Mapped, &POINT), None);
        assert_eq!(time(&rounds, OURS, &POINT), Some(2.0));
        assert_eq!(time(&rounds, Program::Bare(Memory::Mapped), &POINT), None);
    }

    #[test]
    fn the_usual_best_is_who_won_most_rounds() {
        let rounds = [
            round(&[(MPICH, 1.0), (INTEL, 2.0)]),
            round(&[(MPICH, 3.0), (INTEL, 2.0)]),
            round(&[(MPICH, 3.0), (INTEL, 2.0)]),
        ];
        assert_eq!(usual_best(&rounds, &POINT), Some(INTEL));
        assert_eq!(usual_best(&rounds[..2], &POINT), Some(MPICH));
        assert_eq!(usual_best(&[], &POINT), None);
    }

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn a_half_and_a_double_cancel_out() {
        assert!((geometric_mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn a_limit_holds_up_to_itself_and_ties_up_to_a_tenth_more() {
        assert_eq!(Verdict::of(0.8, 0.8), Verdict::Met);
        assert_eq!(Verdict::of(0.801, 0.8), Verdict::Tie);
        assert_eq!(Verdict::of(0.879, 0.8), Verdict::Tie);
        assert_eq!(Verdict::of(0.881, 0.8), Verdict::Missed);
        assert_eq!(Verdict::of(f64::NAN, 0.8), Verdict::Missed);
    }
}
