//! The buffer of a communicator: device memory for operators that a program brings itself. Ours need
//! none of it, so it is there from the first time that somebody asks.

use std::ffi::c_void;

use parking_lot::Mutex;

use crate::border::{hccl_call, present};
use crate::communicators::{Comm, comm};
use crate::environment::environment;
use crate::errors::Failure;
use crate::runtime::{DeviceBuffer, c_pointer};

#[derive(Default)]
pub(super) struct Buffer(Mutex<Option<DeviceBuffer>>);

/// First byte of each half of the buffer, the one for what is sent before the one for what is
/// received, and the bytes of a half.
pub(crate) fn halves(call: &str, comm: &Comm) -> Result<([*mut u8; 2], u64), Failure> {
    let half = comm.origin.config.buffer_bytes.unwrap_or(environment()?.buffer_bytes);
    let mut kept = comm.origin.resources.buffer.0.lock();
    let buffer = match kept.as_ref() {
        Some(buffer) => buffer,
        None => {
            let bytes = half.saturating_mul(2);
            let made = DeviceBuffer::new(comm.device, bytes)?;
            kept.insert(made.ok_or_else(|| Failure::no_room(call, comm.device, bytes))?)
        }
    };
    let first = buffer.address();
    Ok(([first, first.wrapping_add(half as usize)], half))
}

hccl_call! {
    /// The buffer of a communicator, which goes with it: twice the size that its configuration, or
    /// `HCCL_BUFFSIZE`, says.
    fn HcclGetHcclBuffer(handle: *mut c_void, buffer: *mut *mut c_void, size: *mut u64) {
        const CALL: &str = "HcclGetHcclBuffer";
        let comm = comm(CALL, handle)?;
        present(CALL, "buffer", buffer)?;
        present(CALL, "size", size)?;
        let ([first, _], half) = halves(CALL, &comm)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe {
            buffer.write(c_pointer(first));
            size.write(half * 2);
        }
        Ok(())
    }
}
