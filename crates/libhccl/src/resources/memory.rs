//! Memory that programs register with a communicator under a tag, for channels to exchange. All
//! device memory reaches all ranks here, so registering only remembers it.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use parking_lot::Mutex;

use super::read_tag;
use crate::border::{hccl_call, present};
use crate::communicators::comm;
use crate::errors::Failure;
use crate::operators::device_memory;

/// Registered memory, by tag.
#[derive(Default)]
pub(super) struct Tagged(Mutex<BTreeMap<String, Entry>>);

struct Entry {
    memory: (c_int, usize, u64),
    handle: Handle,
}

/// A handle that goes with its entry.
struct Handle(*mut c_void);

// SAFETY: a number, which nobody follows.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        HANDLES.remove(self.0);
    }
}

/// Handles have no more behind them than that they are alive.
static HANDLES: Table<()> = Table::new(0x24);

/// `CommMem`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CommMem {
    kind: c_int,
    address: *mut c_void,
    size: u64,
}
const _: () = assert!(size_of::<CommMem>() == 24);

const DEVICE: c_int = 0;
const HOST: c_int = 1;

hccl_call! {
    /// Registers memory under a tag. The same memory again has the same handle.
    fn HcclCommMemReg(
        comm_handle: *mut c_void,
        tag: *const c_char,
        memory: *const CommMem,
        handle: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclCommMemReg";
        let comm = comm(CALL, comm_handle)?;
        present(CALL, "memTag", tag)?;
        present(CALL, "mem", memory)?;
        present(CALL, "memHandle", handle)?;
        // SAFETY: not NULL; a C string by the contract of this function.
        let tag = unsafe { read_tag(CALL, "memTag", tag) }?;
        if tag.is_empty() {
            let expect = "a text of 1 to 255 characters";
            return Err(Failure::argument(CALL, "memTag", "an empty text", expect));
        }
        // SAFETY: not NULL; readable by the contract of this function.
        let CommMem { kind, address, size } = unsafe { *memory };
        present(CALL, "addr", address)?;
        if size == 0 {
            return Err(Failure::argument(CALL, "size", "0", "greater than 0"));
        }
        match kind {
            DEVICE => drop(device_memory(CALL, &comm, "addr", address, size)?),
            HOST => {}
            other => {
                let expect = "COMM_MEM_TYPE_DEVICE (0) or COMM_MEM_TYPE_HOST (1)";
                return Err(Failure::argument(CALL, "type", &other.to_string(), expect));
            }
        }
        let memory = (kind, address.addr(), size);
        let mut entries = comm.origin.resources.memory.0.lock();
        let made = match entries.get(&tag) {
            Some(entry) if entry.memory == memory => entry.handle.0,
            Some(_) => {
                let value = format!("{tag}, which other memory has");
                return Err(Failure::argument(CALL, "memTag", &value, "another tag"));
            }
            None => {
                let made = HANDLES.insert(Arc::new(())).ok_or_else(|| {
                    Failure::argument(CALL, "mem", "one more", "at most 16777216 pieces of memory")
                })?;
                entries.insert(tag, Entry { memory, handle: Handle(made) });
                made
            }
        };
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { handle.write(made) };
        Ok(())
    }
}
