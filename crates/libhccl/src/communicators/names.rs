//! Names of communicators.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{COMMS, Comm};
use crate::errors::Failure;
use crate::runtime::current_device;

/// Bytes of a name with its NUL.
pub(super) const NAME_BYTES: usize = 128;

/// Names in use: a process must not use one twice on a device.
static NAMES: Mutex<BTreeSet<(i32, String)>> = Mutex::new(BTreeSet::new());

/// A name in use, given back when its communicator goes.
pub(super) struct Name((i32, String));

impl Name {
    pub(super) fn claim(call: &str, device: i32, name: &str) -> Result<Self, Failure> {
        if name.len() >= NAME_BYTES {
            let expect = format!("a name of at most {} characters", NAME_BYTES - 1);
            return Err(Failure::argument(call, "hcclCommName", name, &expect));
        }
        let key = (device, name.to_owned());
        if !NAMES.lock().insert(key.clone()) {
            let expect = format!("a name that no living communicator of device {device} has");
            return Err(Failure::argument(call, "hcclCommName", name, &expect));
        }
        Ok(Self(key))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        NAMES.lock().remove(&self.0);
    }
}

/// The communicator of a name. Where several devices of this process have one, that of the calling
/// thread's device is meant.
pub(crate) fn by_name(call: &str, name: &str) -> Result<(*mut c_void, Arc<Comm>), Failure> {
    let mut found = COMMS.find(|comm| comm.engine.name() == name);
    if found.len() > 1
        && let Ok(device) = current_device()
        && let Some(own) = found.iter().position(|(_, comm)| comm.device == device)
    {
        return Ok(found.swap_remove(own));
    }
    only(call, "commName", name, found)
}

/// The communicator of a group: that of the calling thread's device, if it uses one. Groups of other
/// devices come and go meanwhile, so it does not matter whether there are several.
pub(crate) fn by_group(call: &str, name: &str) -> Result<(*mut c_void, Arc<Comm>), Failure> {
    let device = current_device().ok();
    let is_meant = |comm: &Comm| device.is_none_or(|device| device == comm.device);
    let found = COMMS.find(|comm| comm.engine.name() == name && is_meant(comm));
    only(call, "group", name, found)
}

fn only(
    call: &str,
    parameter: &str,
    name: &str,
    mut found: Vec<(*mut c_void, Arc<Comm>)>,
) -> Result<(*mut c_void, Arc<Comm>), Failure> {
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let expect = "the name of a communicator of this process that lives";
            Err(Failure::argument(call, parameter, name, expect))
        }
        many => {
            let value = format!("{name}, which {many} devices of this process have");
            let expect = "a call by a thread whose device is one of them (aclrtSetDevice)";
            Err(Failure::argument(call, parameter, &value, expect))
        }
    }
}
