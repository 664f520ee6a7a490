//! Whether plans belong together, and into how many units their parts cut a block.

use crate::generate::Task;
use crate::plan::{Access, Plan, Span, Step, VERSION};

use super::Fault;

pub(super) fn headers(plans: &[Plan], task: &Task) -> Result<(), Fault> {
    if plans.len() != task.ranks as usize {
        return Err(Fault::Header { index: plans.len(), why: "one plan a rank is needed" });
    }
    for (index, plan) in plans.iter().enumerate() {
        let root = !task.operator.is_rooted() || plan.root == task.root;
        let why = match plan {
            _ if plan.version != VERSION => "its version is another",
            _ if plan.operator != task.operator || !root => "it is for another operator or root",
            _ if plan.ranks != task.ranks => "it is for another number of ranks",
            _ if plan.rank as usize != index => "it is for another rank",
            _ => {
                let needed = plan.steps.iter().map(|step| step.access(plan.rank)).max();
                let needed = needed.unwrap_or(Access::Own);
                if needed != plan.access {
                    let declared = plan.access;
                    return Err(Fault::Access { rank: plan.rank, declared, needed });
                }
                continue;
            }
        };
        return Err(Fault::Header { index, why });
    }
    Ok(())
}

/// Units of a block: enough for every part to be a whole number of them.
pub(super) fn unit(plans: &[Plan], task: &Task) -> Result<u64, Fault> {
    let exact = task.extents.is_some();
    let mut unit = 1u64;
    for plan in plans {
        for (step, one) in plan.steps.iter().enumerate() {
            let (Step::Copy { span, .. } | Step::Reduce { span, .. }) = one else {
                continue;
            };
            let fault = |why| Err(Fault::Step { rank: plan.rank, step, why });
            match *span {
                Span::Exact { len } if exact && len > 0 => {}
                Span::Blocks { len } if !exact && len > 0 => {}
                Span::Parts { first, len, of } if !exact && len > 0 => {
                    if first.checked_add(len).is_none_or(|end| end > of) {
                        return fault("parts outside of a block");
                    }
                    let of = u64::from(of);
                    match (unit / gcd(unit, of)).checked_mul(of).filter(|unit| *unit < 1 << 40) {
                        Some(multiple) => unit = multiple,
                        None => return fault("parts that have no common multiple"),
                    }
                }
                _ => return fault("a span that is empty or of the wrong kind"),
            }
        }
    }
    Ok(unit)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
