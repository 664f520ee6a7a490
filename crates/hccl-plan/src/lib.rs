//! Collective algorithms as data.
//!
//! An algorithm is a function from a [`Task`] and a rank to a [`Plan`]: the list of steps of that
//! rank over named buffers of all ranks. [`expand`] makes it; [`check::check`] proves of the plans
//! of all ranks that they do what the operator promises. What executes, prices or draws a plan
//! stands elsewhere; nothing here does input or output, reads a clock, or holds memory.

#![forbid(unsafe_code)]

pub mod check;
mod extents;
mod generate;
mod operator;
mod plan;
mod topology;

pub use extents::{Extent, Extents, Transfer};
pub use generate::{Algorithm, Flat, Mesh, Task, Unsupported, Volume, expand, mesh, volume};
pub use operator::Operator;
pub use plan::{Access, Buffer, Peers, Place, Plan, Span, Step, VERSION};
pub use topology::{Link, ParseError, Tier, Topology};
