//! Tuner plugins: shared objects of the user's that say what algorithms cost (`hccl/hccl_tuner.h`).
//!
//! A plugin is foreign code in our process. What it says is checked where it comes in; what it does
//! with memory is its own affair. Without `HCCL_TUNER_PLUGIN` nothing of this runs.

mod abi;
mod contexts;
mod host;
mod load;
mod names;
mod patience;
mod session;

use std::cell::Cell;
use std::sync::Arc;

use hccl::Topology;

pub(crate) use session::Session;

thread_local! {
    /// Whether this thread is in a function of a plugin.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is in a function of a plugin.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Runs what calls into a plugin.
fn inside<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let result = call();
    INSIDE.set(before);
    result
}

/// Runs what a thread does for another one, which may have been in a function of a plugin.
pub(crate) fn inherit<T>(was_inside: bool, work: impl FnOnce() -> T) -> T {
    if was_inside { inside(work) } else { work() }
}

/// What a plugin is told of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    ranks: u32,
    npus_per_server: u32,
    servers: u32,
    super_pods: u32,
    buffer_bytes: u64,
}

impl Shape {
    pub(crate) fn new(ranks: u32, topology: Option<&Topology>, buffer_bytes: u64) -> Self {
        let alone = Self { ranks, npus_per_server: ranks, servers: 1, super_pods: 1, buffer_bytes };
        let Some(topology) = topology else { return alone };
        let count = |tier: usize| topology.groups.get(tier).map(|groups| groups.len() as u32);
        Self {
            npus_per_server: topology.groups[0].iter().copied().max().unwrap_or(ranks),
            servers: count(0).unwrap_or(1),
            super_pods: count(1).unwrap_or(1),
            ..alone
        }
    }
}

/// What the plugin at this path has to do with a new communicator; `None` where there is none, and
/// for communicators that a plugin makes itself.
pub(crate) fn session(path: Option<&str>, name: &str, shape: Shape) -> Option<Arc<Session>> {
    if is_inside() {
        return None;
    }
    let plugin = load::plugin(path?)?;
    Some(Arc::new(Session::new(plugin, name, shape)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_told_where_ranks_are() {
        let of = |topology: Option<&str>, ranks| {
            let topology = topology.map(|text| text.parse().unwrap());
            let shape = Shape::new(ranks, topology.as_ref(), 1 << 20);
            (shape.npus_per_server, shape.servers, shape.super_pods)
        };
        assert_eq!(of(None, 8), (8, 1, 1));
        assert_eq!(of(Some("4x2"), 8), (4, 2, 1));
        assert_eq!(of(Some("2x2x2"), 8), (2, 4, 2));
        assert_eq!(of(Some("3+5"), 8), (5, 2, 1));
    }
}
