//! The operators: arguments are checked in the documented order, then the operation is queued.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hccl::{DataType, Error, Memory, Operator, Piece, Request};

use crate::border::{check_rank, hccl_call, present};
use crate::communicators::{Comm, operable};
use crate::environment::environment;
use crate::errors::{Failure, record_of, status_of};
use crate::forms::{On, operator};
use crate::group::{self, Collective};
use crate::runtime::{log_line, place, stream_state};
use crate::support::{movable, reducible};
use crate::task::enqueue;

/// Most elements that a call may have.
const COUNT_MAX: u64 = 0x7_FFFF_FFFF;

/// A call on its way to the engine.
pub(crate) struct Issue<'a> {
    pub(crate) call: &'static str,
    pub(crate) comm: &'a Arc<Comm>,
    pub(crate) stream: *mut c_void,
    pub(crate) request: Request,
    pub(crate) input: (&'static str, *const c_void),
    pub(crate) output: (&'static str, *const c_void),
}

/// Refuses an element count that no buffer can have.
pub(crate) fn check_count(call: &str, name: &str, count: u64) -> Result<(), Failure> {
    if count > COUNT_MAX {
        let expect = format!("at most {COUNT_MAX}");
        return Err(Failure::argument(call, name, &count.to_string(), &expect));
    }
    Ok(())
}

/// Whether there is nothing to do; then nothing is issued, on no rank.
pub(crate) fn is_nothing(call: &str, count: u64) -> bool {
    if count == 0 {
        log_line!(Warning, call, "the count is 0: nothing is issued");
    }
    count == 0
}

/// Refuses a stream of another device; tells whether it is at rest.
pub(crate) fn check_stream(call: &str, comm: &Comm, stream: *mut c_void) -> Result<bool, Failure> {
    let Some((device, at_rest)) = stream_state(stream)? else {
        let value = format!("{stream:p}");
        return Err(Failure::argument(call, "stream", &value, "a live stream of this process"));
    };
    if device != comm.device {
        let value = format!("a stream of device {device}");
        let expect = format!("a stream of device {}, the communicator's", comm.device);
        return Err(Failure::argument(call, "stream", &value, &expect));
    }
    Ok(at_rest)
}

/// Finds a buffer of so many elements in the memory of the communicator's device.
pub(crate) fn piece(
    call: &str,
    comm: &Comm,
    name: &str,
    pointer: *const c_void,
    elements: u64,
    data_type: DataType,
    aligned: bool,
) -> Result<Piece, Failure> {
    present(call, name, pointer)?;
    let size = data_type.size() as u64;
    let needed = elements.saturating_mul(size);
    let bad = |value: String, expect: String| Err(Failure::argument(call, name, &value, &expect));
    let device = comm.device;
    let Some(found) = place(pointer)? else {
        return bad(format!("{pointer:p}"), format!("memory of device {device}"));
    };
    if found.device != device {
        let value = format!("{pointer:p} on device {}", found.device);
        return bad(value, format!("memory of device {device}, the communicator's"));
    }
    if found.left < needed {
        let value = format!("{pointer:p} with {} bytes of memory in one piece there", found.left);
        return bad(value, format!("at least {needed} bytes for {elements} of {data_type}"));
    }
    if aligned && !(pointer as u64).is_multiple_of(size) {
        let expect = format!("aligned to {size} bytes, the size of {data_type}");
        return bad(format!("{pointer:p}"), expect);
    }
    Ok(Piece { offset: found.offset, len: found.left })
}

/// Finds so many bytes in the memory of the communicator's device.
pub(crate) fn device_memory(
    call: &str,
    comm: &Comm,
    name: &str,
    pointer: *const c_void,
    bytes: u64,
) -> Result<Piece, Failure> {
    piece(call, comm, name, pointer, bytes, DataType::U8, false)
}

impl Issue<'_> {
    /// Finds a buffer of so many elements.
    fn piece(&self, name: &str, pointer: *const c_void, elements: u64) -> Result<Memory, Failure> {
        if elements == 0 {
            return Ok(Memory::NONE);
        }
        let Request { operator, data_type, .. } = self.request;
        let aligned = operator.reduces();
        piece(self.call, self.comm, name, pointer, elements, data_type, aligned).map(Memory::from)
    }

    pub(crate) fn go(mut self) -> Result<(), Failure> {
        let Self { call, comm, stream, .. } = self;
        let operator = self.request.operator;
        let at_rest = check_stream(call, comm, stream)?;
        let (input, output) = self.request.elements(comm.engine.ranks(), comm.engine.rank());
        self.request.input = self.piece(self.input.0, self.input.1, input)?;
        self.request.output = self.piece(self.output.0, self.output.1, output)?;
        if environment()?.entry_log {
            let Request { count, data_type, reduce_op, .. } = self.request;
            let op = reduce_op.map_or("none", |op| op.name());
            let rank = comm.engine.rank();
            log_line!(
                Event,
                call,
                "Entry-{call}: tag[{operator}_{}], sendBuf[{:p}], recvBuf[{:p}], count[{count}], \
                 dataType[{data_type}], op[{op}], localRank[{rank}], stream[{stream:p}], \
                 deviceLogicId[{}]",
                comm.engine.name(),
                self.input.1,
                self.output.1,
                comm.device
            );
        }
        if group::is_open() {
            let Self { request, .. } = self;
            return group::keep_collective(Collective {
                call,
                comm: comm.clone(),
                stream,
                request,
            });
        }
        issue(comm, self.request, call, (stream, at_rest))
    }
}

/// Starts a collective of a group that ends.
pub(crate) fn start(collective: Collective) -> Result<(), Failure> {
    let Collective { call, comm, stream, request } = collective;
    comm.still_there(call)?;
    let at_rest = check_stream(call, &comm, stream)?;
    issue(&comm, request, call, (stream, at_rest))
}

fn issue(
    comm: &Comm,
    request: Request,
    call: &str,
    (stream, at_rest): (*mut c_void, bool),
) -> Result<(), Failure> {
    let operator = request.operator;
    let _in_order = comm.in_order(call)?;
    let started = if at_rest {
        comm.engine.start_or_finish(request)
    } else {
        comm.engine.start(request).map(Some)
    };
    match started.map_err(|error| refused(call, &error))? {
        Some(operation) => enqueue(operator.name(), operation, stream),
        None => Ok(()),
    }
}

pub(crate) fn refused(call: &str, error: &Error) -> Failure {
    match error {
        Error::Invalid { what, given, allowed } => Failure::argument(call, what, given, allowed),
        error => Failure::new(status_of(error), record_of(error)),
    }
}

/// What all operators with two buffers and a reduction check first.
fn reduction(
    on: On,
    buffers: [(&'static str, *const c_void); 2],
    (count_name, count): (&str, u64),
    codes: (c_int, c_int),
    operator: Operator,
    root: u32,
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    let [input, output] = buffers;
    if count > 0 {
        // Buffers of nothing need not exist: frameworks pass empty tensors as NULL.
        present(call, input.0, input.1)?;
        if operator != Operator::Reduce || comm.engine.rank() == root {
            present(call, output.0, output.1)?;
        }
    }
    check_count(call, count_name, count)?;
    let (data_type, op) = reducible(call, codes.0, codes.1)?;
    if operator.is_rooted() {
        check_rank(call, "root", root, comm.engine.ranks())?;
    }
    if is_nothing(call, count) {
        return Ok(());
    }
    let request = Request {
        operator,
        data_type,
        reduce_op: Some(op),
        root,
        count,
        lengths: None,
        input: Memory::NONE,
        output: Memory::NONE,
    };
    Issue { call, comm: &comm, stream, request, input, output }.go()
}

/// What all operators with two buffers that move data check first.
fn movement(
    on: On,
    buffers: [(&'static str, *const c_void); 2],
    (count_name, count): (&str, u64),
    code: c_int,
    operator: Operator,
    root: u32,
) -> Result<(), Failure> {
    let On { call, comm: handle, stream } = on;
    present(call, "stream", stream)?;
    let comm = operable(call, handle)?;
    let [input, output] = buffers;
    if count > 0 {
        if operator != Operator::Scatter || comm.engine.rank() == root {
            present(call, input.0, input.1)?;
        }
        present(call, output.0, output.1)?;
    }
    check_count(call, count_name, count)?;
    let data_type = movable(call, code)?;
    if operator.is_rooted() {
        check_rank(call, "root", root, comm.engine.ranks())?;
    }
    if is_nothing(call, count) {
        return Ok(());
    }
    let request = Request {
        operator,
        data_type,
        reduce_op: None,
        root,
        count,
        lengths: None,
        input: Memory::NONE,
        output: Memory::NONE,
    };
    Issue { call, comm: &comm, stream, request, input, output }.go()
}

pub(crate) fn all_reduce(
    on: On,
    send: *mut c_void,
    receive: *mut c_void,
    count: u64,
    data_type: c_int,
    op: c_int,
) -> Result<(), Failure> {
    let codes = (data_type, op);
    reduction(on, buffers(send, receive), ("count", count), codes, Operator::AllReduce, 0)
}

pub(crate) fn reduce(
    on: On,
    send: *mut c_void,
    receive: *mut c_void,
    count: u64,
    data_type: c_int,
    op: c_int,
    root: u32,
) -> Result<(), Failure> {
    let codes = (data_type, op);
    reduction(on, buffers(send, receive), ("count", count), codes, Operator::Reduce, root)
}

pub(crate) fn reduce_scatter(
    on: On,
    send: *mut c_void,
    receive: *mut c_void,
    count: u64,
    data_type: c_int,
    op: c_int,
) -> Result<(), Failure> {
    let (count, codes) = (("recvCount", count), (data_type, op));
    reduction(on, buffers(send, receive), count, codes, Operator::ReduceScatter, 0)
}

pub(crate) fn broadcast(
    on: On,
    buffer: *mut c_void,
    count: u64,
    data_type: c_int,
    root: u32,
) -> Result<(), Failure> {
    let buffers = [("buf", buffer.cast_const()); 2];
    movement(on, buffers, ("count", count), data_type, Operator::Broadcast, root)
}

pub(crate) fn all_gather(
    on: On,
    send: *mut c_void,
    receive: *mut c_void,
    count: u64,
    data_type: c_int,
) -> Result<(), Failure> {
    let count = ("sendCount", count);
    movement(on, buffers(send, receive), count, data_type, Operator::AllGather, 0)
}

fn scatter(
    on: On,
    send: *mut c_void,
    receive: *mut c_void,
    count: u64,
    data_type: c_int,
    root: u32,
) -> Result<(), Failure> {
    let count = ("recvCount", count);
    movement(on, buffers(send, receive), count, data_type, Operator::Scatter, root)
}

pub(crate) fn all_to_all(
    on: On,
    send: *const c_void,
    send_count: u64,
    send_type: c_int,
    receive: *const c_void,
    receive_count: u64,
    receive_type: c_int,
) -> Result<(), Failure> {
    let call = on.call;
    present(call, "stream", on.stream)?;
    operable(call, on.comm)?;
    if send_count != receive_count || send_type != receive_type {
        let value = format!("{receive_count} of type {receive_type}");
        let expect = format!("as sendCount and sendType, {send_count} of type {send_type}");
        return Err(Failure::argument(call, "recvCount and recvType", &value, &expect));
    }
    if !send.is_null() && send == receive {
        let expect = "another buffer than sendBuf";
        return Err(Failure::argument(call, "recvBuf", &format!("{receive:p}"), expect));
    }
    if is_nothing(call, send_count) {
        return Ok(());
    }
    let buffers = [("sendBuf", send), ("recvBuf", receive)];
    movement(on, buffers, ("sendCount", send_count), send_type, Operator::AlltoAll, 0)
}

/// The two buffers of most operators, with their names.
fn buffers(send: *mut c_void, receive: *mut c_void) -> [(&'static str, *const c_void); 2] {
    [("sendBuf", send.cast_const()), ("recvBuf", receive.cast_const())]
}

operator! {
    /// Every rank gets the reduction over all ranks of `send`.
    HcclAllReduce, HcclAllReduceInner, HcclAllReduceGraphMode: all_reduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        op: c_int,
    )
}

operator! {
    /// The root gets the reduction over all ranks of `send`.
    HcclReduce, HcclReduceInner, HcclReduceGraphMode: reduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        op: c_int,
        root: u32,
    )
}

operator! {
    /// Rank r gets block r of the reduction over all ranks; `send` holds a block for each rank.
    HcclReduceScatter, HcclReduceScatterInner, HcclReduceScatterGraphMode: reduce_scatter(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        op: c_int,
    )
}

operator! {
    /// Every rank gets the root's buffer.
    HcclBroadcast, HcclBroadcastInner, HcclBroadcastGraphMode: broadcast(
        buffer: *mut c_void,
        count: u64,
        data_type: c_int,
        root: u32,
    )
}

operator! {
    /// Every rank gets the blocks of all ranks, in rank order.
    HcclAllGather, HcclAllGatherInner, HcclAllGatherGraphMode: all_gather(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
    )
}

operator! {
    /// Rank r gets block r of the root's `send`, which other ranks need not have.
    HcclScatter, HcclScatterInner: scatter(
        send: *mut c_void,
        receive: *mut c_void,
        count: u64,
        data_type: c_int,
        root: u32,
    )
}

operator! {
    /// Rank j gets from each rank i the block that i holds for j. Counts are per peer.
    HcclAlltoAll, HcclAlltoAllInner, HcclAlltoAllGraphMode: all_to_all(
        send: *const c_void,
        send_count: u64,
        send_type: c_int,
        receive: *const c_void,
        receive_count: u64,
        receive_type: c_int,
    )
}

hccl_call! {
    /// The stream waits until all ranks have issued the barrier.
    fn HcclBarrier(handle: *mut c_void, stream: *mut c_void) {
        const CALL: &str = "HcclBarrier";
        present(CALL, "stream", stream)?;
        let comm = operable(CALL, handle)?;
        let request = Request {
            operator: Operator::Barrier,
            data_type: DataType::U8,
            reduce_op: None,
            root: 0,
            count: 0,
            lengths: None,
            input: Memory::NONE,
            output: Memory::NONE,
        };
        let none = ("", std::ptr::null());
        Issue { call: CALL, comm: &comm, stream, request, input: none, output: none }.go()
    }
}
