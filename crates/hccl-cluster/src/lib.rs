//! Where the ranks of a communicator are, as people write it down: rank tables.
//!
//! Text goes in, a checked table or an error comes out. This crate reads no files, asks no device
//! and knows no operator; who calls it brings the text, and compares the table with what is there.
#![forbid(unsafe_code)]

mod error;
mod json;
mod node;
mod table;

pub use error::RankTableError;
pub use table::{
    Address, AddressKind, Level, NetType, RANKS_MAX, Rank, RankTable, Server, TEXT_MAX, Version,
};
