//! There is always an algorithm, it has plans for every rank, and the plans are right.

#[path = "../common/mod.rs"]
mod common;

mod any;
mod table;
mod words;

use common::task;
use hccl_plan::select::{Case, Choice, Forced, HcclAlgo, Product, Reach, select};
use hccl_plan::{Access, Operator, Topology, expand};

fn topology(text: &str) -> Topology {
    text.parse().unwrap()
}

fn case(operator: Operator, topology: &Topology, block_bytes: u64) -> Case<'_> {
    Case {
        operator,
        ranks: topology.ranks(),
        block_bytes,
        topology,
        reach: Reach::Network,
        forced: None,
        product: Product::A2,
    }
}

fn words(text: &str) -> Forced {
    Forced::HcclAlgo(HcclAlgo::parse("HCCL_ALGO", text).unwrap())
}

/// The choice, which must have plans that a network can run.
fn chosen(case: &Case<'_>) -> Choice {
    let choice = select(case);
    let task = task(case.operator, case.ranks, 3);
    for rank in [0, case.ranks / 2, case.ranks - 1] {
        let plan = expand(&choice.algorithm, &task, rank);
        let plan = plan.unwrap_or_else(|why| panic!("{why}: {case:?} {choice:?}"));
        let mapped = plan.access == Access::Mapped;
        assert!(!mapped || case.reach == Reach::Mapped, "{case:?} {choice:?}");
    }
    assert!(!choice.reason.is_empty() && !choice.row.is_empty());
    for rejected in &choice.rejected {
        assert_ne!(rejected.algorithm, choice.algorithm, "{case:?} {choice:?}");
        assert!(!rejected.reason.is_empty());
        // Only for a cheaper algorithm without a reason of its own, of which there is none.
        let bare = rejected.reason.contains("row does not compare");
        assert!(!bare, "{rejected:?} {} {} {case:?}", choice.algorithm, choice.reason);
    }
    choice
}

fn name(case: &Case<'_>) -> String {
    chosen(case).algorithm.to_string()
}
