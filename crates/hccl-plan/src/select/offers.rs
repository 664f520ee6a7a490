//! What somebody else says about costs: a tuner is shown what can run, and its costs decide.
//!
//! Both halves are functions of their arguments: [`offers`] makes the list, [`reprice`] reads what
//! came back. Whoever stands between them must answer alike on all ranks.

use super::table::View;
use super::{ASKED, Case, Choice, Rejected, obstacle};
use crate::generate::Algorithm;

/// An algorithm that can run a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Which.
    pub algorithm: Algorithm,
    /// What it is estimated to take, microseconds.
    pub cost_us: f32,
}

/// The row of choices that a tuner made.
const TUNED: &str = "tuned";

/// What can run a case, the choice first. Empty where there is nothing to choose: one algorithm,
/// or one that the user asked for.
pub fn offers(case: &Case<'_>, choice: &Choice) -> Vec<Offer> {
    if choice.row == ASKED {
        return Vec::new();
    }
    let view = View::new(case);
    let offer = |algorithm: &Algorithm| Offer {
        algorithm: algorithm.clone(),
        cost_us: (view.cost(algorithm).total_ns() as f64 / 1000.0) as f32,
    };
    let rest = choice.rejected.iter().map(|rejected| &rejected.algorithm);
    let rest = rest.filter(|algorithm| obstacle(&view, algorithm).is_none());
    let all: Vec<Offer> = std::iter::once(&choice.algorithm).chain(rest).map(offer).collect();
    if all.len() > 1 { all } else { Vec::new() }
}

/// The choice by costs that a tuner put in the place of those of the offers: the smallest runs, of
/// equals the first. A cost below 0 forbids an algorithm; one that is no number, or is missing,
/// leaves the estimate. The choice stays as it is where no cost was changed, and where all are
/// forbidden, which leaves a note.
pub fn reprice(choice: Choice, offers: &[Offer], costs: &[f32]) -> Choice {
    let cost = |index: usize| {
        let given = costs.get(index).copied().filter(|cost| !cost.is_nan());
        given.unwrap_or(offers[index].cost_us)
    };
    let is_changed = |index: usize| cost(index).to_bits() != offers[index].cost_us.to_bits();
    if !(0..offers.len()).any(is_changed) {
        return choice;
    }
    let allowed = (0..offers.len()).filter(|&index| cost(index) >= 0.0);
    // The first of those with the smallest cost; total order is that of numbers, but for -0.
    let best = allowed.min_by(|&a, &b| cost(a).abs().total_cmp(&cost(b).abs()));
    let Some(best) = best else {
        let note = format!(
            "the tuner plugin forbids everything that could run; {} runs all the same",
            choice.algorithm
        );
        let notes = choice.notes.iter().cloned().chain([note]).collect();
        return Choice { notes, ..choice };
    };
    let others = offers.iter().enumerate().filter(|(index, _)| *index != best);
    let rejected = others.map(|(index, offer)| Rejected {
        algorithm: offer.algorithm.clone(),
        reason: match cost(index) {
            cost if cost < 0.0 => "the tuner plugin forbids it".to_owned(),
            cost => format!("the tuner plugin leaves it at {cost} us"),
        },
    });
    let impossible = choice
        .rejected
        .iter()
        .filter(|rejected| offers.iter().all(|offer| offer.algorithm != rejected.algorithm));
    Choice {
        algorithm: offers[best].algorithm.clone(),
        row: TUNED.to_owned(),
        reason: format!("the tuner plugin leaves it at {} us, and none at less", cost(best)),
        rejected: rejected.chain(impossible.cloned()).collect(),
        notes: choice.notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Mesh;
    use crate::operator::Operator;
    use crate::select::{Forced, Product, Reach, select};
    use crate::topology::Topology;

    const DIRECT: Algorithm = Algorithm::Mesh(Mesh::Direct);

    fn case<'a>(topology: &'a Topology, forced: Option<&'static Forced>) -> Case<'a> {
        Case {
            operator: Operator::AllReduce,
            ranks: topology.ranks(),
            block_bytes: 1 << 16,
            topology,
            reach: Reach::Mapped,
            forced,
            product: Product::A2,
        }
    }

    /// The choice by costs that a function makes of an algorithm and its estimate.
    fn by(cost: impl Fn(&Algorithm, f32) -> f32) -> Choice {
        let topology = Topology::uniform(&[4]);
        let case = case(&topology, None);
        let choice = select(&case);
        let offers = offers(&case, &choice);
        assert!(offers.len() > 4 && offers.iter().all(|offer| offer.cost_us > 0.0));
        assert_eq!(offers[0].algorithm, DIRECT);
        let costs: Vec<f32> =
            offers.iter().map(|offer| cost(&offer.algorithm, offer.cost_us)).collect();
        let tuned = reprice(choice.clone(), &offers, &costs);
        // Whatever happens, each algorithm is listed once.
        let mut all: Vec<String> = std::iter::once(&tuned.algorithm)
            .chain(tuned.rejected.iter().map(|rejected| &rejected.algorithm))
            .map(ToString::to_string)
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), count), (choice.rejected.len() + 1, choice.rejected.len() + 1));
        tuned
    }

    #[test]
    fn the_smallest_cost_runs_and_of_equals_the_first() {
        let ring = |cost: f32| by(move |one, old| if *one == Algorithm::Ring { cost } else { old });
        for cost in [0.0, -0.0, f32::MIN_POSITIVE, 0.001] {
            let choice = ring(cost);
            assert_eq!((choice.algorithm, &*choice.row), (Algorithm::Ring, TUNED), "{cost}");
        }
        for cost in [1e30, f32::INFINITY, -1.0, f32::NEG_INFINITY] {
            assert_ne!(ring(cost).algorithm, Algorithm::Ring, "{cost}");
        }
        assert_eq!(by(|_, _| 7.0).algorithm, DIRECT);
        assert_eq!(by(|one, _| if *one == DIRECT { 0.0 } else { -0.0 }).algorithm, DIRECT);
        assert_eq!(by(|_, _| f32::INFINITY).algorithm, DIRECT);
        let without = by(|one, old| if *one == DIRECT { -1.0 } else { old });
        assert_ne!(without.algorithm, DIRECT);
        let why = without.rejected.iter().find(|rejected| rejected.algorithm == DIRECT).unwrap();
        assert_eq!(why.reason, "the tuner plugin forbids it");
    }

    #[test]
    fn nothing_changes_where_no_number_was_given() {
        let choice = by(|_, old| old);
        assert_eq!((&choice.algorithm, &*choice.row), (&DIRECT, "mapped"));
        assert_eq!(by(|_, _| f32::NAN), choice);
        let topology = Topology::uniform(&[4]);
        let case = case(&topology, None);
        let offers = offers(&case, &choice);
        assert_eq!(reprice(choice.clone(), &offers, &[]), choice);
        assert_eq!(reprice(choice.clone(), &[], &[0.0; 9]), choice);
    }

    #[test]
    fn all_forbidden_leaves_the_choice_and_a_note() {
        let choice = by(|_, _| -1.0);
        assert_eq!((&choice.algorithm, &*choice.row), (&DIRECT, "mapped"));
        assert!(choice.notes[0].contains("forbids everything"), "{:?}", choice.notes);
    }

    #[test]
    fn nothing_is_offered_where_nothing_is_to_be_chosen() {
        static RING: Forced = Forced::Algorithm(Algorithm::Ring);
        let (one, four) = (Topology::uniform(&[1]), Topology::uniform(&[4]));
        for case in [case(&one, None), case(&four, Some(&RING))] {
            assert_eq!(offers(&case, &select(&case)), []);
        }
    }
}
