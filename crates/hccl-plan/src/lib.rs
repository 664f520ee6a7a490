//! Collective algorithms as data.
//!
//! An algorithm is a function from a [`Task`] and a rank to a [`Plan`]: the list of steps of that
//! rank over named buffers of all ranks. [`expand`] makes it; [`check::check`] proves of the plans
//! of all ranks that they do what the operator promises. What executes, prices or draws a plan
//! stands elsewhere; nothing here does input or output, reads a clock, or holds memory.
//!
//! ```
//! use hccl_plan::{Algorithm, Operator, Task, Topology, check, expand};
//!
//! let task = Task::new(Operator::AllReduce, 10, 0);
//! let plan = expand(&Algorithm::Nhr, &task, 3)?;
//! assert_eq!(plan.rank, 3);
//!
//! let hosts: Topology = "2+3+5".parse().expect("three hosts");
//! let report = check::prove(&hosts.algorithm(&[hccl_plan::Flat::Nb]), &task)?;
//! assert_eq!(report.levels, 1 + 2 * (3 + 2));
//! # Ok::<(), check::Fault>(())
//! ```
//!
//! | module | what it is |
//! | --- | --- |
//! | `plan`, `operator`, `extents` | the representation |
//! | `algorithm_text`, `link_text` | how people write algorithms and links |
//! | `topology` | where ranks are, and how a text says it |
//! | `generate` | algorithms: [`Algorithm`] names them, a file each |
//! | [`check`] | the proof |
//! | [`simulate`] | the price on a network |
//! | `clusters` | networks ready-made |
//! | [`mod@select`] | which algorithm runs, and why |

#![forbid(unsafe_code)]

mod algorithm_text;
pub mod check;
mod clusters;
mod extents;
mod generate;
mod link_text;
mod operator;
mod plan;
pub mod select;
pub mod simulate;
mod topology;

pub use algorithm_text::{UnknownAlgorithm, UnknownFlat};
pub use clusters::{CLUSTERS, Cluster, UnknownCluster};
pub use extents::{Extent, Extents, Transfer};
pub use generate::{
    Algorithm, Flat, Mesh, Task, Unsupported, Volume, expand, mesh, supports, volume,
};
pub use link_text::UnknownLink;
pub use operator::{Operator, UnknownOperator};
pub use plan::{Access, Buffer, Peers, Place, Plan, Span, Step, VERSION};
pub use topology::{InvalidTopology, Link, ParseError, Ports, Tier, Topology};
