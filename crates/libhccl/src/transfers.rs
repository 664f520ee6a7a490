//! Operators that are messages between pairs of ranks: send, receive, and batches of both.

use std::ffi::{c_int, c_void};

use hccl::{Direction, Transfer};

use crate::border::{hccl_call, present};
use crate::communicators::{Comm, operable};
use crate::errors::Failure;
use crate::group::{self, Message};
use crate::operators::{check_count, check_stream, is_nothing, piece, refused};
use crate::support::movable;
use crate::task::enqueue;

/// `HcclSendRecvItem`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SendRecvItem {
    kind: c_int,
    buffer: *mut c_void,
    count: u64,
    data_type: c_int,
    remote_rank: u32,
}
const _: () = assert!(size_of::<SendRecvItem>() == 32);

const SEND: c_int = 0;
const RECEIVE: c_int = 1;

pub(crate) fn issue(
    call: &str,
    comm: &Comm,
    transfers: &[Transfer],
    stream: *mut c_void,
) -> Result<(), Failure> {
    check_stream(call, comm, stream)?;
    let _in_order = comm.in_order(call)?;
    let started = comm.engine.start_transfers(transfers).map_err(|error| refused(call, &error))?;
    enqueue(call, started, stream)
}

/// A send or a receive alone.
fn single(
    call: &'static str,
    direction: Direction,
    peer_name: &str,
    peer: u32,
    (buffer, count, code): (*const c_void, u64, c_int),
    (handle, stream): (*mut c_void, *mut c_void),
) -> Result<(), Failure> {
    let comm = operable(call, handle)?;
    if count > 0 {
        present(call, "buf", buffer)?;
    }
    check_count(call, "count", count)?;
    let data_type = movable(call, code)?;
    let ranks = comm.engine.ranks();
    if peer >= ranks {
        let expect = format!("[0, {}]", ranks - 1);
        return Err(Failure::argument(call, peer_name, &peer.to_string(), &expect));
    }
    if peer == comm.engine.rank() {
        let expect = "another rank than the own (HcclBatchSendRecv takes both ends)";
        return Err(Failure::unsupported(call, peer_name, &peer.to_string(), expect));
    }
    present(call, "stream", stream)?;
    if is_nothing(call, count) {
        return Ok(());
    }
    let piece = piece(call, &comm, "buf", buffer, count, data_type, false)?;
    let transfer = Transfer { direction, peer, data_type, count, memory: piece.into() };
    if group::is_open() {
        check_stream(call, &comm, stream)?;
        return group::keep_message(Message { call, comm, stream, transfer });
    }
    issue(call, &comm, &[transfer], stream)
}

hccl_call! {
    /// Gives `count` elements to a rank that receives them.
    fn HcclSend(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        peer: u32,
        comm: *mut c_void,
        stream: *mut c_void,
    ) {
        let data = (buffer.cast_const(), count, data_type);
        single("HcclSend", Direction::Send, "destRank", peer, data, (comm, stream))
    }
}

hccl_call! {
    /// Takes `count` elements from a rank that sends them.
    fn HcclRecv(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        peer: u32,
        comm: *mut c_void,
        stream: *mut c_void,
    ) {
        let data = (buffer.cast_const(), count, data_type);
        single("HcclRecv", Direction::Receive, "srcRank", peer, data, (comm, stream))
    }
}

hccl_call! {
    /// Sends and receives side by side. Between two ranks the k-th send meets the k-th receive.
    fn HcclBatchSendRecv(
        items: *const SendRecvItem,
        count: u32,
        handle: *mut c_void,
        stream: *mut c_void,
    ) {
        const CALL: &str = "HcclBatchSendRecv";
        present(CALL, "stream", stream)?;
        let comm = operable(CALL, handle)?;
        if group::is_open() {
            return Err(group::misplaced(CALL, "a batch is a group by itself"));
        }
        if count == 0 {
            return Ok(());
        }
        present(CALL, "sendRecvInfo", items)?;
        // SAFETY: not NULL; readable for `count` items by the contract of this function.
        let items = unsafe { std::slice::from_raw_parts(items, count as usize) };
        let mut transfers = Vec::with_capacity(items.len());
        // Items without a buffer are passed over, as the interface has it.
        for item in items.iter().filter(|item| !item.buffer.is_null()) {
            let direction = match item.kind {
                SEND => Direction::Send,
                RECEIVE => Direction::Receive,
                other => {
                    let expect = "send (0) or receive (1)";
                    return Err(Failure::argument(CALL, "sendRecvType", &other.to_string(), expect));
                }
            };
            check_count(CALL, "count", item.count)?;
            let data_type = movable(CALL, item.data_type)?;
            let ranks = comm.engine.ranks();
            if item.remote_rank >= ranks {
                let expect = format!("[0, {}]", ranks - 1);
                let value = item.remote_rank.to_string();
                return Err(Failure::argument(CALL, "remoteRank", &value, &expect));
            }
            let piece =
                piece(CALL, &comm, "buf", item.buffer, item.count, data_type, false)?;
            let (peer, count) = (item.remote_rank, item.count);
            transfers.push(Transfer { direction, peer, data_type, count, memory: piece.into() });
        }
        issue(CALL, &comm, &transfers, stream)
    }
}
