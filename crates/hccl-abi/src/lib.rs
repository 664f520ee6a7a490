//! What the C interfaces share: handles that can be stale without harm, the border that no panic
//! crosses, and the layouts by which the two libraries talk.
//!
//! Knows nothing of what the handles stand for.

mod border;
pub mod extension;
mod table;

pub use border::{Panicked, c_text, contain};
pub use table::Table;
