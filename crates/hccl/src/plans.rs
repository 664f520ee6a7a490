//! Plans that were made, kept for the next call of the same kind.

use std::sync::Arc;

use hccl_os::sync::{AtomicU64, Ordering};
use hccl_plan::{Algorithm, Extents, Operator, Plan, Step};
use lru::LruCache;
use parking_lot::Mutex;

/// Bytes of plans that a communicator keeps. A plan of a thousand ranks takes about 100 KiB.
const BYTES_MAX: usize = 32 << 20;
/// Plans that it keeps.
const PLANS_MAX: usize = 4096;

/// What a plan is made for; ranks are those of the communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) operator: Operator,
    pub(crate) root: u32,
    pub(crate) algorithm: Algorithm,
    pub(crate) extents: Option<Extents>,
}

/// How well the plans of a communicator served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanStatistics {
    /// Calls that found their plan.
    pub hits: u64,
    /// Calls for which a plan was made.
    pub misses: u64,
    /// Plans that are kept.
    pub plans: usize,
    /// Bytes that they take.
    pub bytes: usize,
}

struct Kept {
    plans: LruCache<Key, Arc<Plan>>,
    bytes: usize,
}

pub(crate) struct Plans {
    kept: Mutex<Kept>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Plans {
    pub(crate) fn new() -> Self {
        // Memory is taken when there are plans: most communicators run few.
        let kept = Kept { plans: LruCache::unbounded(), bytes: 0 };
        Self { kept: Mutex::new(kept), hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The plan for a key: the one that is kept, or a new one.
    pub(crate) fn get<E>(
        &self,
        key: Key,
        make: impl FnOnce(&Key) -> Result<Plan, E>,
    ) -> Result<Arc<Plan>, E> {
        if let Some(plan) = self.kept.lock().plans.get(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(plan.clone());
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let plan = Arc::new(make(&key)?);
        let bytes = bytes(&key, &plan);
        let mut kept = self.kept.lock();
        kept.bytes += bytes;
        if let Some((key, old)) = kept.plans.push(key, plan.clone()) {
            kept.bytes -= self::bytes(&key, &old);
        }
        while (kept.bytes > BYTES_MAX || kept.plans.len() > PLANS_MAX)
            && let Some((key, old)) = kept.plans.pop_lru()
        {
            kept.bytes -= self::bytes(&key, &old);
        }
        Ok(plan)
    }

    /// Counts a call that knew its plan already.
    pub(crate) fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn statistics(&self) -> PlanStatistics {
        let kept = self.kept.lock();
        PlanStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            plans: kept.plans.len(),
            bytes: kept.bytes,
        }
    }
}

/// Memory that a plan and its key take.
fn bytes(key: &Key, plan: &Plan) -> usize {
    let places = |step: &Step| match step {
        Step::Reduce { sources, targets, .. } => {
            size_of_val::<[_]>(sources) + size_of_val::<[_]>(targets)
        }
        _ => 0,
    };
    let extents = match &key.extents {
        Some(Extents::Rows(rows)) => size_of_val::<[_]>(rows),
        Some(Extents::Transfers(rows)) => rows.iter().map(|row| size_of_val::<[_]>(row)).sum(),
        None => 0,
    };
    let steps = plan.steps.capacity() * size_of::<Step>();
    size_of::<(Key, Plan)>() + extents + steps + plan.steps.iter().map(places).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_plan::{Task, Unsupported, expand};

    fn get(plans: &Plans, len: u64) -> Arc<Plan> {
        let extents = Extents::packed(&[len; 64]);
        let key = Key {
            operator: Operator::AllGatherV,
            root: 0,
            algorithm: Algorithm::Ring,
            extents: Some(extents.clone()),
        };
        let task = Task::with_extents(Operator::AllGatherV, 64, extents);
        let made: Result<_, Unsupported> = plans.get(key, |key| expand(&key.algorithm, &task, 0));
        made.unwrap()
    }

    #[test]
    fn plans_are_kept_within_a_bound_and_counted() {
        let plans = Plans::new();
        let first = get(&plans, 1);
        assert!(Arc::ptr_eq(&first, &get(&plans, 1)));
        let one = plans.statistics();
        assert_eq!((one.hits, one.misses, one.plans), (1, 1, 1));
        let many = (BYTES_MAX / one.bytes + 10) as u64;
        for len in 2..many {
            get(&plans, len);
        }
        let after = plans.statistics();
        assert_eq!((after.hits, after.misses), (1, many - 1));
        assert!(after.bytes <= BYTES_MAX && after.plans < many as usize - 1, "{after:?}");
        assert!(!Arc::ptr_eq(&first, &get(&plans, 1)), "the oldest went first");
        let kept = plans.kept.lock();
        let sum: usize = kept.plans.iter().map(|(key, plan)| bytes(key, plan)).sum();
        assert_eq!(kept.bytes, sum);
    }
}
