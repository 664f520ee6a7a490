//! Operators that are messages between pairs of ranks: send, receive, batches of both, and
//! all-to-all with counts of its own for each pair.

use std::ffi::{c_int, c_void};

use hccl::{DataType, Direction, Piece, Transfer};

use crate::border::{hccl_call, present};
use crate::communicators::{Comm, comm};
use crate::errors::Failure;
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

fn issue(
    call: &str,
    comm: &Comm,
    transfers: &[Transfer],
    stream: *mut c_void,
) -> Result<(), Failure> {
    check_stream(call, comm, stream)?;
    let _in_order = comm.issue.lock();
    let started = comm.engine.start_transfers(transfers).map_err(|error| refused(call, &error))?;
    enqueue(call, started, stream)
}

/// A send or a receive alone.
fn single(
    call: &str,
    direction: Direction,
    peer_name: &str,
    peer: u32,
    (buffer, count, code): (*const c_void, u64, c_int),
    (handle, stream): (*mut c_void, *mut c_void),
) -> Result<(), Failure> {
    let comm = comm(call, handle)?;
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
    issue(call, &comm, &[Transfer { direction, peer, data_type, count, piece }], stream)
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
        let comm = comm(CALL, handle)?;
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
            transfers.push(Transfer { direction, peer, data_type, count, piece });
        }
        issue(CALL, &comm, &transfers, stream)
    }
}

/// One side of an all-to-all: what goes to, or comes from, each rank.
struct Side<'a> {
    name: &'static str,
    buffer: *const c_void,
    data_type: DataType,
    counts: &'a [u64],
    displacements: &'a [u64],
}

impl Side<'_> {
    fn transfers(
        &self,
        call: &str,
        comm: &Comm,
        direction: Direction,
    ) -> Result<Vec<Transfer>, Failure> {
        let mut extent = 0u64;
        for (&count, &displacement) in self.counts.iter().zip(self.displacements) {
            check_count(call, "counts", count)?;
            check_count(call, "displacements", displacement)?;
            if count > 0 {
                extent = extent.max(displacement + count);
            }
        }
        // A buffer may be missing where nothing goes in or out.
        let whole = if extent == 0 {
            Piece::default()
        } else {
            piece(call, comm, self.name, self.buffer, extent, self.data_type, false)?
        };
        let size = self.data_type.size() as u64;
        let pairs = self.counts.iter().zip(self.displacements).zip(0u32..);
        Ok(pairs
            .map(|((&count, &displacement), peer)| {
                let skipped = if count == 0 { 0 } else { displacement * size };
                let piece = Piece { offset: whole.offset + skipped, len: count * size };
                Transfer { direction, peer, data_type: self.data_type, count, piece }
            })
            .collect())
    }
}

/// Every pair of ranks exchanges a message, also of nothing, so that counts that do not fit are
/// found out.
fn exchange(
    call: &str,
    comm: &Comm,
    send: &Side<'_>,
    receive: &Side<'_>,
    stream: *mut c_void,
) -> Result<(), Failure> {
    if send.data_type != receive.data_type {
        let (value, expect) = (receive.data_type.to_string(), send.data_type.to_string());
        return Err(Failure::argument(call, "recvType", &value, &format!("as sendType, {expect}")));
    }
    if !send.buffer.is_null() && send.buffer == receive.buffer {
        let value = format!("{:p}", receive.buffer);
        return Err(Failure::argument(call, "recvBuf", &value, "another buffer than sendBuf"));
    }
    let mut transfers = send.transfers(call, comm, Direction::Send)?;
    transfers.extend(receive.transfers(call, comm, Direction::Receive)?);
    issue(call, comm, &transfers, stream)
}

hccl_call! {
    /// Rank i gives `sendCounts_i[j]` elements to rank j, which takes as many.
    fn HcclAlltoAllV(
        send: *const c_void,
        send_counts: *const u64,
        send_displacements: *const u64,
        send_type: c_int,
        receive: *const c_void,
        receive_counts: *const u64,
        receive_displacements: *const u64,
        receive_type: c_int,
        handle: *mut c_void,
        stream: *mut c_void,
    ) {
        const CALL: &str = "HcclAlltoAllV";
        present(CALL, "stream", stream)?;
        let comm = comm(CALL, handle)?;
        let ranks = comm.engine.ranks() as usize;
        let list = |name: &str, numbers: *const u64| -> Result<&[u64], Failure> {
            present(CALL, name, numbers)?;
            // SAFETY: not NULL; readable for a number a rank by the contract of this function.
            Ok(unsafe { std::slice::from_raw_parts(numbers, ranks) })
        };
        let sent = Side {
            name: "sendBuf",
            buffer: send,
            data_type: movable(CALL, send_type)?,
            counts: list("sendCounts", send_counts)?,
            displacements: list("sdispls", send_displacements)?,
        };
        let received = Side {
            name: "recvBuf",
            buffer: receive,
            data_type: movable(CALL, receive_type)?,
            counts: list("recvCounts", receive_counts)?,
            displacements: list("rdispls", receive_displacements)?,
        };
        exchange(CALL, &comm, &sent, &received, stream)
    }
}

hccl_call! {
    /// Every rank gets the data of all ranks, which may differ in length: that of rank i is
    /// `recvCounts[i]` elements at element `recvDispls[i]`. Both arrays are equal on all ranks.
    fn HcclAllGatherV(
        send: *mut c_void,
        send_count: u64,
        receive: *mut c_void,
        receive_counts: *const u64,
        receive_displacements: *const u64,
        data_type: c_int,
        handle: *mut c_void,
        stream: *mut c_void,
    ) {
        const CALL: &str = "HcclAllGatherV";
        present(CALL, "stream", stream)?;
        let comm = comm(CALL, handle)?;
        let (ranks, rank) = (comm.engine.ranks() as usize, comm.engine.rank() as usize);
        present(CALL, "recvCounts", receive_counts)?;
        present(CALL, "recvDispls", receive_displacements)?;
        // SAFETY: not NULL; readable for a number a rank by the contract of this function.
        let (counts, displacements) = unsafe {
            (
                std::slice::from_raw_parts(receive_counts, ranks),
                std::slice::from_raw_parts(receive_displacements, ranks),
            )
        };
        if counts[rank] != send_count {
            let expect = format!("as sendCount, {send_count}");
            let value = counts[rank].to_string();
            return Err(Failure::argument(CALL, "recvCounts of the own rank", &value, &expect));
        }
        let data_type = movable(CALL, data_type)?;
        let sent = Side {
            name: "sendBuf",
            buffer: send,
            data_type,
            counts: &vec![send_count; ranks],
            displacements: &vec![0; ranks],
        };
        let received =
            Side { name: "recvBuf", buffer: receive, data_type, counts, displacements };
        exchange(CALL, &comm, &sent, &received, stream)
    }
}

hccl_call! {
    /// As `HcclAlltoAllV`, with the counts of all pairs in one matrix and data without gaps.
    fn HcclAlltoAllVC(
        send: *const c_void,
        matrix: *const u64,
        send_type: c_int,
        receive: *const c_void,
        receive_type: c_int,
        handle: *mut c_void,
        stream: *mut c_void,
    ) {
        const CALL: &str = "HcclAlltoAllVC";
        present(CALL, "stream", stream)?;
        let comm = comm(CALL, handle)?;
        present(CALL, "sendCountMatrix", matrix)?;
        let (ranks, rank) = (comm.engine.ranks() as usize, comm.engine.rank() as usize);
        // SAFETY: not NULL; readable for a number a pair of ranks by the contract of this function.
        let matrix = unsafe { std::slice::from_raw_parts(matrix, ranks * ranks) };
        let packed = |counts: &[u64]| -> Vec<u64> {
            let before = |sum: &mut u64, &count: &u64| {
                let at = *sum;
                *sum = sum.saturating_add(count);
                Some(at)
            };
            counts.iter().scan(0, before).collect()
        };
        let row = &matrix[rank * ranks..(rank + 1) * ranks];
        let column: Vec<u64> = (0..ranks).map(|from| matrix[from * ranks + rank]).collect();
        let (sent_at, received_at) = (packed(row), packed(&column));
        let sent = Side {
            name: "sendBuf",
            buffer: send,
            data_type: movable(CALL, send_type)?,
            counts: row,
            displacements: &sent_at,
        };
        let received = Side {
            name: "recvBuf",
            buffer: receive,
            data_type: movable(CALL, receive_type)?,
            counts: &column,
            displacements: &received_at,
        };
        exchange(CALL, &comm, &sent, &received, stream)
    }
}
