//! Where the ranks of a communicator are and how they reach each other, as people write it down:
//! rank tables, and the variables of HCCL's environment.
//!
//! Text goes in, a checked table or an error comes out. This crate reads no files and no
//! environment, asks no device and knows no operator; who calls it brings the text, and compares
//! what it says with what is there.
#![forbid(unsafe_code)]

pub mod environment;
mod error;
mod json;
mod node;
mod table;

pub use error::RankTableError;
pub use table::{
    Address, AddressKind, Level, NetType, RANKS_MAX, Rank, RankTable, Server, TEXT_MAX, Version,
};
