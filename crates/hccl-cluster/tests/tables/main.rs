//! Rank tables from text: good ones, faults one by one, and damage at random.

mod faults;
mod good;
mod invariants;
mod mutations;
mod texts;
