//! Who may change what algorithms cost, and what was chosen for the calls so far.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hccl_kernels::DataType;
use hccl_plan::Operator;
use hccl_plan::select::{Choice, Offer};
use lru::LruCache;
use parking_lot::Mutex;

use crate::communicator::Chosen;

/// A kind of call that an algorithm is to be chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuned {
    /// The operator.
    pub operator: Operator,
    /// Elements of a block by the size of an element; for operators with rows of different lengths
    /// the sum of the rows; 0 for all-to-alls of lengths, whose ranks know different ones.
    pub bytes: u64,
    /// What the elements are.
    pub data_type: DataType,
}

/// Is asked what algorithms cost, once for each kind of call. All ranks must have one that answers
/// alike: where ranks choose differently, the call fails on all of them and says so.
pub trait Tuner: Send + Sync {
    /// Costs to put in the place of those of the offers, in their order, as
    /// [`hccl_plan::select::reprice`] reads them; `None` to leave all as it is.
    ///
    /// It is called while the call is being started, so it must not start one.
    fn costs(&self, call: &Tuned, offers: &[Offer]) -> Option<Vec<f32>>;

    /// Told what runs after it gave costs.
    fn chosen(&self, call: &Tuned, choice: &Choice);
}

/// Kinds of calls whose algorithm is kept.
const KINDS: NonZeroUsize = NonZeroUsize::new(4096).expect("not 0");

/// What a tuner's answers led to.
pub(crate) struct Answers(Mutex<LruCache<Tuned, Arc<Chosen>>>);

impl Answers {
    pub(crate) fn new() -> Self {
        // Memory is taken when there are answers.
        Self(Mutex::new(LruCache::unbounded()))
    }

    pub(crate) fn get(&self, call: &Tuned) -> Option<Arc<Chosen>> {
        self.0.lock().get(call).cloned()
    }

    /// Keeps an answer; the first one stands where two threads asked at once.
    pub(crate) fn keep(&self, call: Tuned, chosen: Arc<Chosen>) -> Arc<Chosen> {
        let mut kept = self.0.lock();
        if let Some(known) = kept.get(&call) {
            return known.clone();
        }
        if kept.len() >= KINDS.get() {
            kept.pop_lru();
        }
        kept.put(call, chosen.clone());
        chosen
    }
}
