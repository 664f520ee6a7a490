//! How the ranks of a communicator find each other, and what they share afterwards.
//!
//! A root makes a [`RootInfo`], everybody joins with it, and each rank ends up with a
//! [`Fabric`]: signals of all ranks, and each rank's memory at an address of its own. Knows
//! nothing of operators: a call is thirty-two opaque bytes with two buffers.

mod board;
mod channel;
mod fabric;
mod host;
mod inline;
mod region;
mod rendezvous;
mod root_info;
pub mod simulated;
mod wire;

pub use board::{Call, SIGNATURE_BYTES, Span};
pub use channel::{BODY_BYTES, Line, MESSAGE_SIGNATURE_BYTES, Message};
pub use fabric::{Fabric, Fault, reason};
pub use host::{HostFabric, Join};
pub use inline::{Data, INLINE_BYTES, Inline};
pub use region::Region;
pub use rendezvous::{Hopeless, JoinError, Server};
pub use root_info::{ROOT_INFO_BYTES, RootInfo, RootInfoError};
