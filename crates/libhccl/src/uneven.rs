//! Operators whose ranks differ in their counts. All arrays are read during the call.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hccl::{DataType, Extent, Lengths, Memory, Operator, ReduceOp, Request};

use crate::border::present;
use crate::communicators::{Comm, operable};
use crate::errors::Failure;
use crate::forms::{On, operator};
use crate::operators::{Issue, check_count};
use crate::support::{movable, reducible};

/// An array with a number for each rank.
fn list<'a>(call: &str, name: &str, numbers: *const u64, len: usize) -> Result<&'a [u64], Failure> {
    present(call, name, numbers)?;
    // SAFETY: not NULL; readable for so many numbers by the contract of the calling function.
    Ok(unsafe { std::slice::from_raw_parts(numbers, len) })
}

/// Runs of elements from counts and displacements.
fn extents(call: &str, counts: &[u64], displacements: &[u64]) -> Result<Vec<Extent>, Failure> {
    let extent = |(&len, &start): (&u64, &u64)| {
        check_count(call, "counts", len)?;
        check_count(call, "displacements", start)?;
        Ok(Extent { start, len })
    };
    counts.iter().zip(displacements).map(extent).collect()
}

/// Refuses equal buffers, which none of these operators takes.
fn apart(call: &str, send: *const c_void, receive: *const c_void) -> Result<(), Failure> {
    if !send.is_null() && send == receive {
        let value = format!("{receive:p}");
        return Err(Failure::argument(call, "recvBuf", &value, "another buffer than sendBuf"));
    }
    Ok(())
}

fn same_types(call: &str, send: c_int, receive: c_int) -> Result<DataType, Failure> {
    let (send, receive) = (movable(call, send)?, movable(call, receive)?);
    if send != receive {
        let expect = format!("as sendType, {send}");
        return Err(Failure::argument(call, "recvType", &receive.to_string(), &expect));
    }
    Ok(send)
}

/// A call on its way.
struct Uneven<'a> {
    call: &'static str,
    comm: &'a Arc<Comm>,
    operator: Operator,
    data_type: DataType,
    reduce_op: Option<ReduceOp>,
    lengths: Lengths,
    send: *const c_void,
    receive: *const c_void,
    stream: *mut c_void,
}

impl Uneven<'_> {
    /// Also calls that move nothing on this rank are issued: others may count on it, and counts
    /// that do not fit are found out.
    fn go(self) -> Result<(), Failure> {
        let Self { call, comm, stream, operator, data_type, reduce_op, .. } = self;
        let request = Request {
            operator,
            data_type,
            reduce_op,
            root: 0,
            count: 0,
            lengths: Some(Arc::new(self.lengths)),
            input: Memory::NONE,
            output: Memory::NONE,
        };
        let (input, output) = (("sendBuf", self.send), ("recvBuf", self.receive));
        Issue { call, comm, stream, request, input, output }.go()
    }
}

pub(crate) fn all_to_all_v(
    on: On,
    send: *const c_void,
    send_counts: *const u64,
    send_displacements: *const u64,
    send_type: c_int,
    receive: *const c_void,
    receive_counts: *const u64,
    receive_displacements: *const u64,
    receive_type: c_int,
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    let ranks = comm.engine.ranks() as usize;
    let send_counts = list(call, "sendCounts", send_counts, ranks)?;
    let send_displacements = list(call, "sdispls", send_displacements, ranks)?;
    let receive_counts = list(call, "recvCounts", receive_counts, ranks)?;
    let receive_displacements = list(call, "rdispls", receive_displacements, ranks)?;
    apart(call, send, receive)?;
    let data_type = same_types(call, send_type, receive_type)?;
    let lengths = Lengths::Pairs {
        sends: extents(call, send_counts, send_displacements)?,
        receives: extents(call, receive_counts, receive_displacements)?,
    };
    let operator = Operator::AlltoAllV;
    let reduce_op = None;
    Uneven { call, comm: &comm, operator, data_type, reduce_op, lengths, send, receive, stream }
        .go()
}

pub(crate) fn all_to_all_vc(
    on: On,
    send: *const c_void,
    matrix: *const u64,
    send_type: c_int,
    receive: *const c_void,
    receive_type: c_int,
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    let ranks = comm.engine.ranks() as usize;
    let matrix = list(call, "sendCountMatrix", matrix, ranks * ranks)?;
    apart(call, send, receive)?;
    let data_type = same_types(call, send_type, receive_type)?;
    for count in matrix {
        check_count(call, "counts", *count)?;
    }
    let lengths = Lengths::Matrix(matrix.chunks(ranks).map(<[u64]>::to_vec).collect());
    let operator = Operator::AlltoAllVC;
    let reduce_op = None;
    Uneven { call, comm: &comm, operator, data_type, reduce_op, lengths, send, receive, stream }
        .go()
}

/// Refuses two words for the length of the own rank's part that differ.
fn own_count(call: &str, listed: (&str, u64), said: (&str, u64)) -> Result<(), Failure> {
    if listed.1 == said.1 {
        return Ok(());
    }
    let (field, expect) =
        (format!("{} of the own rank", listed.0), format!("as {}, {}", said.0, said.1));
    Err(Failure::argument(call, &field, &listed.1.to_string(), &expect))
}

pub(crate) fn all_gather_v(
    on: On,
    send: *mut c_void,
    send_count: u64,
    receive: *mut c_void,
    receive_counts: *const u64,
    receive_displacements: *const u64,
    data_type: c_int,
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    let (ranks, rank) = (comm.engine.ranks() as usize, comm.engine.rank() as usize);
    let counts = list(call, "recvCounts", receive_counts, ranks)?;
    let displacements = list(call, "recvDispls", receive_displacements, ranks)?;
    own_count(call, ("recvCounts", counts[rank]), ("sendCount", send_count))?;
    apart(call, send, receive)?;
    let data_type = movable(call, data_type)?;
    let lengths = Lengths::Rows(extents(call, counts, displacements)?);
    let (operator, reduce_op) = (Operator::AllGatherV, None);
    let (send, receive) = (send.cast_const(), receive.cast_const());
    Uneven { call, comm: &comm, operator, data_type, reduce_op, lengths, send, receive, stream }
        .go()
}

pub(crate) fn reduce_scatter_v(
    on: On,
    send: *mut c_void,
    send_counts: *const u64,
    send_displacements: *const u64,
    receive: *mut c_void,
    receive_count: u64,
    data_type: c_int,
    op: c_int,
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    let (ranks, rank) = (comm.engine.ranks() as usize, comm.engine.rank() as usize);
    let counts = list(call, "sendCounts", send_counts, ranks)?;
    let displacements = list(call, "sendDispls", send_displacements, ranks)?;
    own_count(call, ("sendCounts", counts[rank]), ("recvCount", receive_count))?;
    apart(call, send, receive)?;
    let (data_type, op) = reducible(call, data_type, op)?;
    let lengths = Lengths::Rows(extents(call, counts, displacements)?);
    let (operator, reduce_op) = (Operator::ReduceScatterV, Some(op));
    let (send, receive) = (send.cast_const(), receive.cast_const());
    Uneven { call, comm: &comm, operator, data_type, reduce_op, lengths, send, receive, stream }
        .go()
}

operator! {
    /// Rank i gives `sendCounts_i[j]` elements to rank j, which takes as many.
    HcclAlltoAllV, HcclAlltoAllVInner, HcclAlltoAllVGraphMode: all_to_all_v(
        send: *const c_void,
        send_counts: *const u64,
        send_displacements: *const u64,
        send_type: c_int,
        receive: *const c_void,
        receive_counts: *const u64,
        receive_displacements: *const u64,
        receive_type: c_int,
    )
}

operator! {
    /// As `HcclAlltoAllV`, with the counts of all pairs in one matrix and data without gaps.
    HcclAlltoAllVC, HcclAlltoAllVCInner, HcclAlltoAllVCGraphMode: all_to_all_vc(
        send: *const c_void,
        matrix: *const u64,
        send_type: c_int,
        receive: *const c_void,
        receive_type: c_int,
    )
}

operator! {
    /// Every rank gets the data of all ranks, which may differ in length: that of rank i is
    /// `recvCounts[i]` elements at element `recvDispls[i]`. The counts are equal on all ranks.
    HcclAllGatherV, HcclAllGatherVInner, HcclAllGatherVGraphMode: all_gather_v(
        send: *mut c_void,
        send_count: u64,
        receive: *mut c_void,
        receive_counts: *const u64,
        receive_displacements: *const u64,
        data_type: c_int,
    )
}

operator! {
    /// Rank r gets block r of the reduction over all ranks, which is `sendCounts[r]` elements at
    /// element `sendDispls[r]` of `send`. The counts are equal on all ranks.
    HcclReduceScatterV, HcclReduceScatterVInner, HcclReduceScatterVGraphMode: reduce_scatter_v(
        send: *mut c_void,
        send_counts: *const u64,
        send_displacements: *const u64,
        receive: *mut c_void,
        receive_count: u64,
        data_type: c_int,
        op: c_int,
    )
}
