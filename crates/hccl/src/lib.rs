//! Collective communication between the ranks of a communicator: operators, and the engine that
//! runs their plans.
//!
//! A [`Communicator`] stands on a [`Fabric`](hccl_fabric::Fabric), which gives it the signals and
//! the memory of all ranks. Starting an operator gives an [`Operation`], a state machine that
//! never blocks: whoever wants it to finish polls it. Knows nothing of C, Python or devices.

mod average;
mod buffer;
mod call;
mod calls;
mod communicator;
mod element;
mod error;
mod faults;
mod heap;
mod join;
mod lengths;
mod meeting;
mod memory;
mod operation;
mod pending;
mod plans;
mod reactor;
mod room;
mod route;
mod split;
mod steps;
mod transfer;
mod views;

pub use buffer::Buffer;
pub use call::Request;
pub use calls::{Source, Target};
pub use communicator::{BUFFER_BYTES, Communicator, Notice, Options};
pub use element::{Bool, Element};
pub use error::{Context, Error, Lag};
pub use hccl_fabric::{JoinError, ROOT_INFO_BYTES, RootInfo, RootInfoError};
pub use hccl_kernels::{DataType, ReduceOp};
pub use hccl_plan::select::{Choice, Forced, HcclAlgo, HcclAlgoError, Product, Rejected};
pub use hccl_plan::{Algorithm, Extent, Flat, Mesh, Operator, Topology};
pub use join::{JoinOptions, Root, run_threads};
pub use lengths::Lengths;
pub use memory::{Memory, Piece, Private, Workspace};
pub use operation::{Operation, Polled};
pub use pending::{Group, Pending};
pub use plans::PlanStatistics;
pub use transfer::{Direction, Transfer, Transfers};
