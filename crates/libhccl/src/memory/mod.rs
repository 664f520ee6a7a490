//! Memory that programs make known to communicators, or have made for them.

mod allocate;
mod ranges;
mod registered;
mod windows;

use std::sync::Arc;

use crate::communicators::Origin;

/// Ends what belongs to a communicator that is destroyed: its windows and registered memory.
pub(crate) fn forget(origin: &Arc<Origin>) {
    windows::forget(origin);
    registered::forget(origin);
}
