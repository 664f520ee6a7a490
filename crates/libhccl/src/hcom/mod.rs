//! `Hcom*`: communicators by group name, as graph engines call them. A process has one world for each
//! of its devices, and groups of its ranks; where threads have different devices, the device of the
//! calling thread tells which is meant.
//!
//! All of it ends in the functions behind `Hccl*`.

mod collectives;
mod groups;
mod life;
mod resources;
mod table;

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::communicators::is_alive;

/// What was made by name: handles as numbers, by device and name.
static MADE: Mutex<BTreeMap<(i32, String), usize>> = Mutex::new(BTreeMap::new());

/// Remembers what was made.
fn remember(device: i32, name: &str, handle: *mut std::ffi::c_void) {
    MADE.lock().insert((device, name.to_owned()), handle.addr());
}

/// Handles of what was made by name and lives, groups before worlds. `None` stands for all devices.
fn made(device: Option<i32>) -> Vec<((i32, String), *mut std::ffi::c_void)> {
    let mut made = MADE.lock();
    let handle = |number: usize| number as *mut std::ffi::c_void;
    // A program may have destroyed one by its handle.
    made.retain(|_, number| is_alive(handle(*number)));
    let wanted = made.iter().filter(|((of, _), _)| device.is_none_or(|device| device == *of));
    let mut found: Vec<_> = wanted.map(|(key, number)| (key.clone(), handle(*number))).collect();
    found.sort_by_key(|((_, name), _)| name == crate::graph::WORLD);
    found
}

/// Forgets what was destroyed.
fn forget(key: &(i32, String)) {
    MADE.lock().remove(key);
}
