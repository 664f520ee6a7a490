//! Collective communication between the ranks of a communicator, for threads and processes of one
//! host.
//!
//! # Ranks and communicators
//!
//! A **communicator** is a group of ranks, numbered from 0; each rank has a [`Communicator`] of its
//! own, on a thread or in a process of its own. [`run_threads`] runs ranks as threads:
//!
//! ```
//! use hccl::{Error, ReduceOp, run_threads};
//!
//! let sums = run_threads(4, |communicator| {
//!     let mut sum = [0u64];
//!     communicator.all_reduce(&[u64::from(communicator.rank())], &mut sum, ReduceOp::Sum)?;
//!     Ok::<_, Error>(sum[0])
//! })?;
//! assert_eq!(sums, [Ok(6), Ok(6), Ok(6), Ok(6)]);
//! # Ok::<(), Error>(())
//! ```
//!
//! Processes meet at a [`Root`]: one opens it, all get its [`RootInfo`] by a means of their own and
//! [join](Communicator::join). `examples/rust/processes.rs` starts processes so.
//!
//! # Calls
//!
//! A **collective** call ([`all_reduce`](Communicator::all_reduce), [`all_gather`], [`broadcast`],
//! [`all_to_all`] ...) is made by all ranks, in the same order, with the same lengths and types.
//! Different calls are found out and told to every rank, with a table of who called what. Messages
//! ([`send`](Communicator::send), [`receive`](Communicator::receive)) are between two ranks: the
//! k-th message on a way meets the k-th receive.
//!
//! Each call has a second form that ends in `_async` and gives a [`Pending`]: a future of no
//! particular runtime, which can also be waited for. A [`Group`] is several of them side by side.
//!
//! [`all_gather`]: Communicator::all_gather
//! [`broadcast`]: Communicator::broadcast
//! [`all_to_all`]: Communicator::all_to_all
//!
//! # Memory
//!
//! Slices are private to their rank: they pass through room that the communicator takes from memory
//! that ranks share. A [`Buffer`] lies in that memory, so that nothing is copied. Calls take both,
//! and ranks may differ in what they bring.
//!
//! # Numbers
//!
//! Integers wrap. Where an algorithm reduces at once, as the direct mesh does, contributions are
//! combined in rank order, and 8-bit and 16-bit floats in single precision, rounded once. Algorithms
//! of several steps round in each. All ranks get the same bits of an all-reduce in any case. Maxima and minima
//! are NaN if any contribution is. [`ReduceOp::Avg`] divides the sum by the number of ranks. [`ReduceOp::And`], [`ReduceOp::Or`] and
//! [`ReduceOp::Xor`] combine the single bits of integers, and truth values.
//!
//! # Algorithms
//!
//! An algorithm is a plan ([`hccl_plan`]), a list of steps for each rank; one engine runs them all.
//! [`Communicator::choice`] tells which runs for an operator and a size, and why;
//! [`Options::forced`] asks for another.
//!
//! # When something goes wrong
//!
//! A call that fails ends the communicator: the first [`Error`] stands, on every rank, and names the
//! rank, the call and the cause. A rank that dies is found out in a fraction of a second.
//! [`Communicator::abort`] ends everything at once, from any thread. No call waits longer than
//! [`Options::timeout`].
//!
//! # Below the typed calls
//!
//! [`Communicator::start`] takes a [`Request`] on memory of any kind, and gives an [`Operation`]: a
//! state machine that never blocks, for runtimes that have queues of their own. A communicator
//! stands on a [`Fabric`](hccl_fabric::Fabric), which gives it signals and memory of all ranks.
//! Nothing here knows of C, Python or devices.

mod average;
mod buffer;
mod call;
mod calls;
mod communicator;
mod element;
mod error;
mod exchange;
mod faults;
mod heap;
mod join;
mod lengths;
mod meeting;
mod memory;
mod operation;
mod parts;
mod path;
mod pending;
mod plans;
mod prepare;
mod reactor;
mod recent;
mod room;
mod rooms;
mod route;
pub mod shared;
mod split;
mod steps;
mod transfer;
mod tuner;
mod views;
mod waiting;

pub use buffer::Buffer;
pub use call::Request;
pub use communicator::{BUFFER_BYTES, Communicator, Notice, Options};
pub use element::{Bool, Element};
pub use error::{Context, Error, Lag};
pub use hccl_fabric::{JoinError, ROOT_INFO_BYTES, RootInfo, RootInfoError};
pub use hccl_kernels::{DataType, ReduceOp};
pub use hccl_plan::select::{Choice, Forced, HcclAlgo, HcclAlgoError, Offer, Product, Rejected};
pub use hccl_plan::{Algorithm, Extent, Flat, Mesh, Operator, Topology};
pub use join::{JoinOptions, Root, run_threads};
pub use lengths::Lengths;
pub use memory::{Memory, Piece, Private, Workspace};
pub use operation::{Operation, Polled};
pub use parts::{Source, Target};
pub use path::{Path, path};
pub use pending::{Group, Pending};
pub use plans::PlanStatistics;
pub use transfer::{Arrival, Direction, Transfer, Transfers};
pub use tuner::{Tuned, Tuner};
