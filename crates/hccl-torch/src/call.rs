//! From what C++ says to what the engine is asked for.

use std::sync::Arc;
use std::time::Duration;

use hccl::{DataType, Direction, Extent, Lengths, Operator, ReduceOp};

use crate::abi::{self, Call, Status};
use crate::side::Side;
use crate::ticket::Failure;

/// A collective, before it has memory.
pub(crate) struct Collective {
    pub(crate) operator: Operator,
    pub(crate) data_type: DataType,
    pub(crate) reduce_op: Option<ReduceOp>,
    pub(crate) root: u32,
    pub(crate) count: u64,
    pub(crate) lengths: Option<Arc<Lengths>>,
    pub(crate) input: Side,
    /// `None` where the output is the input.
    pub(crate) output: Option<Side>,
    pub(crate) timeout: Option<Duration>,
}

/// A message, before it has memory.
pub(crate) struct Message {
    pub(crate) direction: Direction,
    /// `None` for a message from whichever rank.
    pub(crate) peer: Option<u32>,
    pub(crate) tag: u32,
    pub(crate) data_type: DataType,
    pub(crate) count: u64,
    pub(crate) side: Side,
    pub(crate) timeout: Option<Duration>,
}

pub(crate) enum Asked {
    Collective(Collective),
    Message(Message),
}

fn invalid(text: String) -> Failure {
    Failure::new(Status::Invalid, text)
}

/// What a call asks for.
///
/// # Safety
/// 1. Lists of the call can be read: views, and lengths for each of `ranks` ranks where there are
///    any.
pub(crate) unsafe fn read(call: &Call, ranks: u32, rank: u32) -> Result<Asked, Failure> {
    let byte = |what: &str, code: u32| {
        u8::try_from(code).map_err(|_| invalid(format!("{what} {code} is not known")))
    };
    let data_type = DataType::from_byte(byte("data type", call.data_type)?)
        .ok_or_else(|| invalid(format!("data type {} is not known", call.data_type)))?;
    let size = data_type.size();
    // SAFETY: (1).
    let mut input = unsafe { Side::new(call.inputs, call.inputs_len, size) }?;
    // SAFETY: (1).
    let output = unsafe { Side::new(call.outputs, call.outputs_len, size) }?;
    let timeout = (call.timeout_ms > 0).then(|| Duration::from_millis(call.timeout_ms));
    if let abi::SEND | abi::RECEIVE = call.operator {
        let sends = call.operator == abi::SEND;
        let peer = (call.root != abi::ANY).then_some(call.root);
        match peer {
            Some(peer) if peer >= ranks || peer == rank => {
                return Err(invalid(format!(
                    "rank {rank} has no messages with rank {peer}; allowed are other ranks below \
                     {ranks}"
                )));
            }
            None if sends => return Err(invalid("a message goes to one rank".to_owned())),
            _ => {}
        }
        let (direction, side) =
            if sends { (Direction::Send, input) } else { (Direction::Receive, output) };
        let count = side.bytes() / size as u64;
        let tag = call.tag;
        return Ok(Asked::Message(Message {
            direction,
            peer,
            tag,
            data_type,
            count,
            side,
            timeout,
        }));
    }
    let operator = Operator::from_code(byte("operator", call.operator)?)
        .ok_or_else(|| invalid(format!("operator {} is not known", call.operator)))?;
    let reduce_op = operator.reduces().then(|| {
        let known = byte("reduce operator", call.reduce_op)?;
        ReduceOp::from_byte(known)
            .ok_or_else(|| invalid(format!("reduce operator {} is not known", call.reduce_op)))
    });
    let reduce_op = reduce_op.transpose()?;
    let is_root = call.root == rank;
    let in_place = matches!(operator, Operator::AllReduce | Operator::Reduce | Operator::Broadcast)
        && call.outputs_len == 0;
    let elements = |side: &Side| side.bytes() / size as u64;
    let (has, writes) = (elements(&input), if in_place { None } else { Some(elements(&output)) });
    // SAFETY: (1).
    let lengths = unsafe { lengths(call, operator, ranks) };
    let count = match operator {
        _ if lengths.is_some() => 0,
        Operator::ReduceScatter | Operator::AlltoAll => has / u64::from(ranks),
        Operator::Scatter => writes.unwrap_or(0),
        Operator::Broadcast if !in_place && !is_root => writes.unwrap_or(0),
        _ => has,
    };
    if !in_place && input.overlaps(&output) && !is_own_place(operator, rank, &input, &output) {
        // What is written must not be what others, or this rank, have yet to read.
        input.set_apart();
    }
    Ok(Asked::Collective(Collective {
        operator,
        data_type,
        reduce_op,
        root: call.root,
        count,
        lengths,
        input,
        output: (!in_place).then_some(output),
        timeout,
    }))
}

/// Whether input and output lie where the engine's algorithms work in place: the one is this
/// rank's block of the other.
fn is_own_place(operator: Operator, rank: u32, input: &Side, output: &Side) -> bool {
    let (block, whole) = match operator {
        Operator::AllGather => (input, output),
        Operator::ReduceScatter => (output, input),
        Operator::AllReduce | Operator::Reduce | Operator::Broadcast => {
            return input.in_place() == output.in_place() && input.bytes() == output.bytes();
        }
        _ => return false,
    };
    let offset = u64::from(rank).saturating_mul(block.bytes());
    let place = whole.in_place().map(|whole| (whole as u64).saturating_add(offset));
    place == block.in_place().map(|block| block as u64)
}

/// Runs that lie behind each other.
fn rows(lengths: &[u64]) -> Vec<Extent> {
    let mut start = 0u64;
    let mut next = |&len: &u64| {
        let row = Extent { start, len };
        start = start.saturating_add(len);
        row
    };
    lengths.iter().map(&mut next).collect()
}

/// # Safety
/// 1. Each list of lengths is null, or has one for each rank.
unsafe fn lengths(call: &Call, operator: Operator, ranks: u32) -> Option<Arc<Lengths>> {
    let list = |from: *const u64| {
        // SAFETY: (1).
        (!from.is_null()).then(|| rows(unsafe { std::slice::from_raw_parts(from, ranks as usize) }))
    };
    let (sends, receives) = (list(call.send_lengths), list(call.receive_lengths));
    let lengths = match operator {
        Operator::AllGatherV => Lengths::Rows(receives?),
        Operator::ReduceScatterV => Lengths::Rows(sends?),
        Operator::AlltoAllV => Lengths::Pairs { sends: sends?, receives: receives? },
        _ => return None,
    };
    Some(Arc::new(lengths))
}
