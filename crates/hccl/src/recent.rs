//! How the last calls were run, for calls of the same kind: programs make few kinds, again and
//! again.

use std::sync::Arc;

use hccl_kernels::{DataType, ReduceOp};
use hccl_plan::Operator;

use crate::call::Request;
use crate::exchange::Exchange;
use crate::operation::Route;

/// Kinds that are kept.
const KINDS: usize = 8;

/// What of a request decides how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    operator: Operator,
    data_type: DataType,
    reduce_op: Option<ReduceOp>,
    root: u32,
    count: u64,
    private: (bool, bool),
}

impl Kind {
    /// The kind of a request; `None` where ranks differ in their lengths.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        request.lengths.is_none().then(|| Self {
            operator: request.operator,
            data_type: request.data_type,
            reduce_op: request.reduce_op,
            root: request.root,
            count: request.count,
            private: (request.input.is_private(), request.output.is_private()),
        })
    }
}

#[derive(Default)]
pub(crate) struct Recent {
    kept: Vec<(Kind, Arc<Route>)>,
    /// Which one goes next.
    oldest: usize,
}

impl Recent {
    pub(crate) fn get(&self, kind: Kind) -> Option<&Arc<Route>> {
        self.kept.iter().find(|(known, _)| *known == kind).map(|(_, route)| route)
    }

    /// How a small call of a kind is run.
    pub(crate) fn exchange(&self, kind: Kind) -> Option<Exchange> {
        self.get(kind)?.exchange
    }

    pub(crate) fn keep(&mut self, kind: Kind, route: Arc<Route>) {
        if self.kept.len() < KINDS {
            self.kept.push((kind, route));
        } else {
            self.kept[self.oldest] = (kind, route);
            self.oldest = (self.oldest + 1) % KINDS;
        }
    }
}
