//! What the C interfaces share: handles that can be stale without harm, and the border that no
//! panic crosses.
//!
//! Knows nothing of what the handles stand for.

mod border;
mod table;

pub use border::{Panicked, c_text, contain};
pub use table::Table;
