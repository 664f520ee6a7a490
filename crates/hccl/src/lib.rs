//! Collective communication between the ranks of a communicator: operators, and the engine that
//! runs their plans.
//!
//! A [`Communicator`] stands on a [`Fabric`](hccl_fabric::Fabric), which gives it the signals and
//! the memory of all ranks. Starting an operator gives an [`Operation`], a state machine that
//! never blocks: whoever wants it to finish polls it. Knows nothing of C, Python or devices.

mod call;
mod communicator;
mod error;
mod operation;
mod runnable;
mod transfer;

pub use call::{Piece, Request};
pub use communicator::{Communicator, Options};
pub use error::{Context, Error, Lag};
pub use hccl_kernels::{DataType, ReduceOp};
pub use hccl_plan::Operator;
pub use operation::{Operation, Polled};
pub use transfer::{Direction, Transfer, Transfers};
