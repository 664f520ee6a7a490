//! All ranks of a communicator in one process, on simulated links, driven by one thread.
//!
//! A [`Scenario`] says who calls what and what goes wrong; it follows from a seed. [`run`] lets the
//! engine of `hccl` carry it out, call by call in a drawn order under virtual time, and compares
//! whatever the ranks end up with with a plain oracle. The same scenario runs the same way every
//! time. Knows nothing of how the engine works: it starts operations and polls them.

#![deny(unsafe_code)]

mod agenda;
mod call;
mod failure;
mod interrupt;
mod layout;
mod oracle;
mod player;
mod private;
mod room;
mod scenario;
mod simulation;
mod uneven;
mod values;
mod verdict;
mod watchdog;

pub use call::{Call, OPERATORS};
pub use failure::{Failure, Report, Standing};
pub use scenario::{Faults, Scenario};
pub use simulation::{plain, run};
pub use watchdog::Watchdog;
