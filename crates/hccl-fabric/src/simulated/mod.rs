//! Links under virtual time: all ranks in one process, driven by one thread, with delays, deaths
//! and an order of events that follow from a seed.
//!
//! A [`Network`] has a seat for every rank. Each rank gets a [`SimulatedFabric`] for its seat and
//! has a clock of its own, which moves a little with every call and which the driver sets forward
//! when it lets the rank go on. What a rank does is stamped with its clock and arrives at each
//! other rank after a delay that is drawn for the two: so observers see the same events in
//! different orders, as far as the contract of [`Fabric`](crate::Fabric) allows, and never fewer of
//! them than before.
//!
//! What is here does not know operators, and it does not decide who goes on when: that is the
//! driver's part.

mod delay;
mod dice;
mod fabric;
mod line;
mod mail;
mod memory;
mod network;
mod record;
mod seat;
mod sleepers;
mod slots;
mod views;

pub use delay::Delays;
pub use dice::{Dice, mix, mix_all};
pub use fabric::SimulatedFabric;
pub use memory::Visibility;
pub use network::{Network, Settings};
pub use record::{Deed, Record, Trace};
pub use sleepers::{Cause, Wake};
