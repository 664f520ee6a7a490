//! Operators that are messages between pairs of ranks: send, receive, and batches of both.

use std::ffi::{c_int, c_void};

use hccl::{Direction, Transfer};

use crate::border::{check_rank, present};
use crate::communicators::{Comm, operable};
use crate::errors::Failure;
use crate::forms::{On, operator};
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
    on: On,
    direction: Direction,
    (peer_name, peer): (&str, u32),
    tag: u32,
    (buffer, count, code): (*const c_void, u64, c_int),
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    let comm = operable(call, handle)?;
    if count > 0 {
        present(call, "buf", buffer)?;
    }
    check_count(call, "count", count)?;
    let data_type = movable(call, code)?;
    check_rank(call, peer_name, peer, comm.engine.ranks())?;
    if peer == comm.engine.rank() {
        let expect = "another rank than the own (HcclBatchSendRecv takes both ends)";
        return Err(Failure::unsupported(call, peer_name, &peer.to_string(), expect));
    }
    present(call, "stream", stream)?;
    if is_nothing(call, count) {
        return Ok(());
    }
    let piece = piece(call, &comm, "buf", buffer, count, data_type, false)?;
    let transfer = Transfer { direction, peer, data_type, count, tag, memory: piece.into() };
    if group::is_open() {
        check_stream(call, &comm, stream)?;
        return group::keep_message(Message { call, comm, stream, transfer });
    }
    issue(call, &comm, &[transfer], stream)
}

/// The send of a message; `tag` must be that of the receive.
pub(crate) fn tagged_send(
    on: On,
    buffer: *mut c_void,
    count: u64,
    data_type: c_int,
    peer: u32,
    tag: u32,
) -> Result<(), Failure> {
    let data = (buffer.cast_const(), count, data_type);
    single(on, Direction::Send, ("destRank", peer), tag, data)
}

/// The receive of a message; `tag` must be that of the send.
pub(crate) fn tagged_receive(
    on: On,
    buffer: *mut c_void,
    count: u64,
    data_type: c_int,
    peer: u32,
    tag: u32,
) -> Result<(), Failure> {
    let data = (buffer.cast_const(), count, data_type);
    single(on, Direction::Receive, ("srcRank", peer), tag, data)
}

fn send(
    on: On,
    buffer: *mut c_void,
    count: u64,
    data_type: c_int,
    peer: u32,
) -> Result<(), Failure> {
    tagged_send(on, buffer, count, data_type, peer, 0)
}

fn receive(
    on: On,
    buffer: *mut c_void,
    count: u64,
    data_type: c_int,
    peer: u32,
) -> Result<(), Failure> {
    tagged_receive(on, buffer, count, data_type, peer, 0)
}

fn batch(on: On, items: *const SendRecvItem, count: u32) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    if group::is_open() {
        return Err(group::misplaced(call, "a batch is a group by itself"));
    }
    if count == 0 {
        return Ok(());
    }
    present(call, "sendRecvInfo", items)?;
    // SAFETY: not NULL; readable for `count` items by the contract of this function.
    let items = unsafe { std::slice::from_raw_parts(items, count as usize) };
    // Room comes as items are found right: the number may be anything.
    let mut transfers = Vec::new();
    // Items without a buffer are passed over, as the interface has it.
    for item in items.iter().filter(|item| !item.buffer.is_null()) {
        let direction = match item.kind {
            SEND => Direction::Send,
            RECEIVE => Direction::Receive,
            other => {
                let expect = "send (0) or receive (1)";
                return Err(Failure::argument(call, "sendRecvType", &other.to_string(), expect));
            }
        };
        check_count(call, "count", item.count)?;
        let data_type = movable(call, item.data_type)?;
        check_rank(call, "remoteRank", item.remote_rank, comm.engine.ranks())?;
        let piece = piece(call, &comm, "buf", item.buffer, item.count, data_type, false)?;
        let (peer, count) = (item.remote_rank, item.count);
        transfers.push(Transfer {
            direction,
            peer,
            data_type,
            count,
            tag: 0,
            memory: piece.into(),
        });
    }
    issue(call, &comm, &transfers, stream)
}

operator! {
    /// Gives `count` elements to a rank that receives them.
    HcclSend, HcclSendInner, HcclSendGraphMode: send(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        peer: u32,
    )
}

operator! {
    /// Takes `count` elements from a rank that sends them.
    HcclRecv, HcclRecvInner, HcclRecvGraphMode: receive(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        peer: u32,
    )
}

operator! {
    /// Sends and receives side by side. Between two ranks the k-th send meets the k-th receive.
    HcclBatchSendRecv, HcclBatchSendRecvInner: batch(items: *const SendRecvItem, count: u32)
}
