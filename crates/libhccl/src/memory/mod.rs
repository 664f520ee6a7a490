//! Memory that programs make known to communicators, or have made for them.

mod allocate;
mod ranges;
mod registered;
mod windows;
