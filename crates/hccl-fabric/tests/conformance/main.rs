//! The contract of `Fabric`, asked of every implementation.
//!
//! `suite` holds what is asked; it knows a `World` only. `host` and `simulated` each make worlds of
//! their kind and name the tests.

mod host;
mod simulated;
mod suite;
mod world;
