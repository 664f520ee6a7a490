//! The answer for programs: JSON, whose choice and plans are those of `hccl-plan` and read back.

use anyhow::Result;
use hccl_plan::select::{Choice, Product, Reach};
use hccl_plan::{Operator, Plan, Topology};
use serde::Serialize;

use super::answer::Answer;
use super::question::Question;
use super::text::tier_name;

/// Version of this form; that of the plans stands in each of them.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct File<'a> {
    version: u32,
    operator: Operator,
    topology: &'a Topology,
    root: u32,
    data_type: &'a str,
    count: u64,
    block_bytes: u64,
    reach: Reach,
    product: Product,
    wish: Option<&'a str>,
    choice: &'a Choice,
    /// How the data goes where all memory is mapped.
    path: Option<Path<'a>>,
    levels: u32,
    scratch_bytes: u64,
    moved: Vec<Moved>,
    /// Whether the checker was asked; it had nothing against the plans.
    proved: bool,
    plans: &'a [Plan],
}

#[derive(Serialize)]
struct Path<'a> {
    shared: &'a str,
    private: &'a str,
}

#[derive(Serialize)]
struct Moved {
    links: &'static str,
    bytes: u64,
    ranks: &'static str,
}

/// The answer as JSON.
///
/// # Errors
/// Never for these types; serde cannot know.
pub(super) fn json(question: &Question, answer: &Answer) -> Result<String> {
    let ranks = if answer.moved.of_all { "all" } else { "0" };
    let moved = answer.moved.by_tier.iter().enumerate();
    let file = File {
        version: VERSION,
        operator: question.task.operator,
        topology: &question.topology,
        root: question.task.root,
        data_type: question.data_type.name(),
        count: question.count,
        block_bytes: question.block_bytes,
        reach: question.reach,
        product: question.product,
        wish: question.wish.as_deref(),
        choice: &answer.choice,
        path: answer.path.as_ref().map(|hccl::Path { shared, private }| Path { shared, private }),
        levels: answer.levels,
        scratch_bytes: answer.scratch_bytes,
        moved: moved.map(|(tier, &bytes)| Moved { links: tier_name(tier), bytes, ranks }).collect(),
        proved: answer.proof.is_ok(),
        plans: &answer.plans,
    };
    if answer.plans.is_empty() {
        eprintln!(
            "hccl: no plans are in it, since there are many ranks; --rank names some, or all"
        );
    }
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}
