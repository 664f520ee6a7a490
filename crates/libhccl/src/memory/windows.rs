//! Symmetric windows: memory of all ranks of a communicator, each of which can be reached by each.

use std::ffi::c_void;
use std::sync::Arc;

use hccl::{DataType, Memory, Operator, Piece, Request};
use hccl_abi::Table;

use crate::border::{check_rank, hccl_call, present};
use crate::communicators::{Comm, Origin, check_process, operable};
use crate::errors::{Failure, Record, Status};
use crate::operators::{device_memory, refused};
use crate::runtime::c_pointer;

/// A window, seen from one rank.
struct Window {
    comm: Arc<Comm>,
    base: usize,
    size: u64,
    /// Where it begins on each rank, in that rank's memory.
    offsets: Vec<u64>,
}

static WINDOWS: Table<Window> = Table::new(0x22);

/// Ends the windows of a communicator.
pub(super) fn forget(origin: &Arc<Origin>) {
    WINDOWS.retain(|window| !Arc::ptr_eq(&window.comm.origin, origin));
}

/// The only flag that there is.
const FLAG: u32 = 1;
/// Largest window where the configuration says nothing, gigabytes.
const GIGABYTES: u64 = 16;
/// What a rank says whose memory cannot be a window; others then fail too, instead of waiting.
const NONE: u64 = u64::MAX;
/// Words that each rank says: where its memory begins, and how much there is.
const WORDS: usize = 2;

/// What all ranks say, by rank.
fn exchange(call: &str, comm: &Comm, mut own: [u64; WORDS]) -> Result<Vec<[u64; WORDS]>, Failure> {
    let ranks = comm.engine.ranks() as usize;
    let mut all = vec![[0u64; WORDS]; ranks];
    let bytes = size_of_val(&own) as u64;
    let request = Request {
        operator: Operator::AllGather,
        data_type: DataType::U64,
        reduce_op: None,
        root: 0,
        count: WORDS as u64,
        lengths: None,
        // SAFETY: both outlive the operation, which is waited for below or ends with it.
        input: unsafe { Memory::private(own.as_mut_ptr().cast(), bytes) },
        // SAFETY: as above.
        output: unsafe { Memory::private(all.as_mut_ptr().cast(), bytes * ranks as u64) },
    };
    let started = {
        let _in_order = comm.in_order(call)?;
        comm.engine.start(request)
    };
    let mut operation = started.map_err(|error| refused(call, &error))?;
    operation.wait().map_err(|error| refused(call, &error))?;
    drop(operation);
    Ok(all)
}

/// Checks what all ranks said, alike on all of them.
fn agree(call: &str, all: &[[u64; WORDS]]) -> Result<(), Failure> {
    for (rank, [offset, size]) in all.iter().enumerate() {
        if *offset == NONE {
            let value = format!("no device memory of an allowed size on rank {rank}");
            let expect = "device memory in one piece on every rank";
            return Err(Failure::argument(call, "addr", &value, expect));
        }
        if *size != all[0][1] {
            let value = format!("{} on rank 0 and {size} on rank {rank}", all[0][1]);
            return Err(Failure::argument(call, "size", &value, "the same size on all ranks"));
        }
    }
    Ok(())
}

hccl_call! {
    /// Makes a window of memory of all ranks. All ranks call it together, with the same size.
    fn HcclCommSymWinRegister(
        handle: *mut c_void,
        address: *mut c_void,
        size: u64,
        window: *mut *mut c_void,
        flag: u32,
    ) {
        const CALL: &str = "HcclCommSymWinRegister";
        let comm = operable(CALL, handle)?;
        present(CALL, "addr", address)?;
        present(CALL, "winHandle", window)?;
        if flag != FLAG {
            return Err(Failure::argument(CALL, "flag", &flag.to_string(), "1"));
        }
        let most = comm.origin.config.window_gigabytes.unwrap_or(GIGABYTES).saturating_mul(1 << 30);
        // Others, who may be allowed more, must not wait for what comes of this.
        let own = if size == 0 || size > most {
            let expect = format!("[1, {most}] bytes (hcclSymWinMaxMemSizePerRank)");
            Err(Failure::argument(CALL, "size", &size.to_string(), &expect))
        } else {
            device_memory(CALL, &comm, "addr", address, size)
        };
        let offset = own.as_ref().map_or(NONE, |piece| piece.offset);
        let all = exchange(CALL, &comm, [offset, size])?;
        own?;
        agree(CALL, &all)?;
        let offsets = all.into_iter().map(|[offset, _]| offset).collect();
        let made = WINDOWS.insert(Arc::new(Window { comm, base: address.addr(), size, offsets }));
        let made = made.ok_or_else(|| {
            Failure::argument(CALL, "winHandle", "one more", "at most 16777216 windows")
        })?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { window.write(made) };
        Ok(())
    }
}

fn unknown(call: &str, window: *mut c_void) -> Failure {
    let expect = "a window that HcclCommSymWinRegister made";
    Failure::argument(call, "winHandle", &format!("{window:p}"), expect)
}

hccl_call! {
    /// Ends a window; the memory stays the caller's. All ranks call it, when none uses it any more.
    fn HcclCommSymWinDeregister(window: *mut c_void) {
        const CALL: &str = "HcclCommSymWinDeregister";
        check_process()?;
        present(CALL, "winHandle", window)?;
        WINDOWS.remove(window).map(drop).ok_or_else(|| unknown(CALL, window))
    }
}

hccl_call! {
    /// The window that a piece of memory is in, and where; no window is NULL.
    fn HcclCommSymWinGet(
        handle: *mut c_void,
        pointer: *mut c_void,
        size: usize,
        window: *mut *mut c_void,
        offset: *mut usize,
    ) {
        const CALL: &str = "HcclCommSymWinGet";
        let comm = operable(CALL, handle)?;
        present(CALL, "ptr", pointer)?;
        present(CALL, "winHandle", window)?;
        present(CALL, "offset", offset)?;
        if size == 0 {
            return Err(Failure::argument(CALL, "size", "0", "greater than 0"));
        }
        let end = pointer.addr().saturating_add(size);
        let holds = |it: &Window| {
            let window_end = it.base.saturating_add(it.size as usize);
            Arc::ptr_eq(&it.comm.origin, &comm.origin) && it.base <= pointer.addr() && end <= window_end
        };
        let found = WINDOWS.find(holds);
        let (found, at) = match found.first() {
            Some((handle, window)) => (*handle, pointer.addr() - window.base),
            None => (std::ptr::null_mut(), 0),
        };
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe {
            window.write(found);
            offset.write(at);
        }
        Ok(())
    }
}

hccl_call! {
    /// Where a byte of a window is on another rank, as an address of this process.
    fn HcclSymWinGetPeerPointer(
        window: *mut c_void,
        offset: usize,
        peer: u32,
        pointer: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclSymWinGetPeerPointer";
        check_process()?;
        present(CALL, "winHandle", window)?;
        present(CALL, "ptr", pointer)?;
        let it = WINDOWS.get(window).ok_or_else(|| unknown(CALL, window))?;
        check_rank(CALL, "peerRank", peer, it.offsets.len() as u32)?;
        let begin = it.offsets[peer as usize];
        if offset as u64 >= it.size {
            let expect = format!("[0, {}]", it.size - 1);
            return Err(Failure::argument(CALL, "offset", &offset.to_string(), &expect));
        }
        let piece = Piece { offset: begin, len: it.size };
        let address = it.comm.engine.address_of(peer, piece).ok_or_else(|| {
            let text = format!("{CALL}: rank {peer} shares no memory where its window is");
            Failure::new(Status::Memory, Record::internal(&text))
        })?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { pointer.write(c_pointer(address.wrapping_add(offset))) };
        Ok(())
    }
}
