//! Collective algorithms as data.
//!
//! An algorithm is a function from an operator and a number of ranks to a [`Plan`]: for each rank
//! a list of steps over named buffers. What executes, checks, prices or draws a plan stands
//! elsewhere; nothing here does input or output, reads a clock, or holds memory.

#![forbid(unsafe_code)]

mod mesh;
mod plan;

pub use mesh::mesh;
pub use plan::{Block, Buffer, Operator, Part, Peers, Plan, Step, VERSION};
