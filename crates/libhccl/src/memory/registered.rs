//! Memory that programs register with a communicator, and exchange with its ranks. All device memory
//! reaches all ranks here, so registering only remembers it.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use hccl_abi::Table;

use crate::border::{check_rank, hccl_call, present};
use crate::communicators::{Comm, Origin, comm};
use crate::errors::Failure;
use crate::operators::device_memory;

/// Memory that is registered with a communicator.
struct Registered {
    origin: Weak<Origin>,
}

static REGISTERED: Table<Registered> = Table::new(0x23);

/// Forgets all memory that is registered with a communicator.
pub(super) fn forget(origin: &Arc<Origin>) {
    REGISTERED.retain(|it| !std::ptr::eq(it.origin.as_ptr(), Arc::as_ptr(origin)));
}

/// Most ranks that one call exchanges memory with.
const PEERS_MAX: u32 = 768;

fn find(call: &str, comm: &Comm, handle: *mut c_void) -> Result<(), Failure> {
    let found = REGISTERED.get(handle);
    if found.is_none_or(|it| !std::ptr::eq(it.origin.as_ptr(), Arc::as_ptr(&comm.origin))) {
        let expect = "what HcclCommRegister gave for this communicator";
        return Err(Failure::argument(call, "handle", &format!("{handle:p}"), expect));
    }
    Ok(())
}

hccl_call! {
    /// Registers memory with a communicator.
    fn HcclCommRegister(
        comm_handle: *mut c_void,
        address: *mut c_void,
        size: u64,
        handle: *mut *mut c_void,
        _flag: u32,
    ) {
        const CALL: &str = "HcclCommRegister";
        let comm = comm(CALL, comm_handle)?;
        present(CALL, "addr", address)?;
        present(CALL, "handle", handle)?;
        if size == 0 {
            return Err(Failure::argument(CALL, "size", "0", "greater than 0"));
        }
        device_memory(CALL, &comm, "addr", address, size)?;
        let registered = Arc::new(Registered { origin: Arc::downgrade(&comm.origin) });
        let made = REGISTERED.insert(registered).ok_or_else(|| {
            Failure::argument(CALL, "addr", "one more", "at most 16777216 pieces of memory")
        })?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { handle.write(made) };
        Ok(())
    }
}

hccl_call! {
    /// Forgets registered memory, which stays the caller's.
    fn HcclCommDeregister(comm_handle: *mut c_void, handle: *mut c_void) {
        const CALL: &str = "HcclCommDeregister";
        let comm = comm(CALL, comm_handle)?;
        present(CALL, "handle", handle)?;
        find(CALL, &comm, handle)?;
        REGISTERED.remove(handle);
        Ok(())
    }
}

hccl_call! {
    /// Makes registered memory known to other ranks, which it is already.
    fn HcclCommExchangeMem(
        comm_handle: *mut c_void,
        handle: *mut c_void,
        peers: *const u32,
        count: u32,
    ) {
        const CALL: &str = "HcclCommExchangeMem";
        let comm = comm(CALL, comm_handle)?;
        present(CALL, "windowHandle", handle)?;
        present(CALL, "peerRanks", peers)?;
        if count == 0 || count > PEERS_MAX {
            let expect = format!("[1, {PEERS_MAX}]");
            return Err(Failure::argument(CALL, "peerRankNum", &count.to_string(), &expect));
        }
        let ranks = comm.engine.ranks();
        // SAFETY: not NULL; readable for `count` numbers by the contract of this function.
        for peer in unsafe { std::slice::from_raw_parts(peers, count as usize) } {
            check_rank(CALL, "peerRanks", *peer, ranks)?;
        }
        find(CALL, &comm, handle)
    }
}
