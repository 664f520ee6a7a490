//! What a rank asks for, and the signature by which ranks see whether they ask for the same.

use hccl_fabric::{Call, SIGNATURE_BYTES, Span};
use hccl_kernels::{DataType, ReduceOp, Reducer};
use hccl_plan::Operator;

use crate::error::Error;

/// A buffer: a piece of the memory that the rank shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in that memory.
    pub offset: u64,
    /// Bytes that the operator may use there.
    pub len: u64,
}

/// An operator with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The operator.
    pub operator: Operator,
    /// Type of the elements.
    pub data_type: DataType,
    /// How values are combined, for operators that do.
    pub reduce_op: Option<ReduceOp>,
    /// The root, for operators that have one.
    pub root: u32,
    /// Elements of a block.
    pub count: u64,
    /// What is read; unused where the operator reads nothing on this rank.
    pub input: Piece,
    /// What is written; unused where the operator writes nothing on this rank.
    pub output: Piece,
}

/// Longest buffer, bytes: offsets and lengths stay far from the end of 64 bits.
const BYTES_MAX: u64 = 1 << 48;

/// Where the parts of a signature stand.
const VERSION: u8 = 1;

impl Request {
    /// Bytes of a block.
    pub(crate) fn block_bytes(&self) -> u64 {
        // `check` refused counts for which this overflows.
        self.count.saturating_mul(self.data_type.size() as u64)
    }

    /// Refuses what cannot be, before anybody else hears of it.
    pub(crate) fn check(&self, ranks: u32, rank: u32) -> Result<(), Error> {
        let invalid =
            |what, given: String, allowed: String| Err(Error::Invalid { what, given, allowed });
        let size = self.data_type.size() as u64;
        let most = BYTES_MAX / size / u64::from(ranks);
        if self.count > most {
            let allowed = format!("at most {most} elements of {}", self.data_type);
            return invalid("count", self.count.to_string(), allowed);
        }
        if self.operator.is_rooted() && self.root >= ranks {
            return invalid(
                "root",
                self.root.to_string(),
                format!("a rank from 0 to {}", ranks - 1),
            );
        }
        let reducible = |op: ReduceOp| Reducer::new(self.data_type, op).is_some();
        match self.reduce_op {
            Some(op) if self.operator.reduces() && !reducible(op) => {
                let given = format!("{op} on {}", self.data_type);
                return invalid("reduction", given, "a type that can be reduced".into());
            }
            None if self.operator.reduces() => {
                return invalid("reduce operator", "none".into(), "sum, prod, max or min".into());
            }
            _ => {}
        }
        let is_root = rank == self.root;
        let needs = [
            ("input buffer", self.operator.input_blocks(ranks, is_root), self.input),
            ("output buffer", self.operator.output_blocks(ranks, is_root), self.output),
        ];
        for (what, blocks, piece) in needs {
            let needed = self.block_bytes() * u64::from(blocks);
            if piece.len < needed {
                let allowed = format!("at least {needed} bytes for this operator");
                return invalid(what, format!("{} bytes long", piece.len), allowed);
            }
            if blocks > 0 && self.operator.reduces() && !piece.offset.is_multiple_of(size) {
                let allowed = format!("a multiple of {size}, the size of {}", self.data_type);
                return invalid(what, format!("at offset {}", piece.offset), allowed);
            }
        }
        Ok(())
    }

    /// The call as the other ranks read it.
    pub(crate) fn to_call(self, ranks: u32, rank: u32) -> Call {
        let is_root = rank == self.root;
        let span = |blocks: u32, piece: Piece| Span {
            offset: if blocks == 0 { 0 } else { piece.offset },
            len: self.block_bytes() * u64::from(blocks),
        };
        Call {
            signature: self.signature(),
            input: span(self.operator.input_blocks(ranks, is_root), self.input),
            output: span(self.operator.output_blocks(ranks, is_root), self.output),
            scratch: Span::default(),
        }
    }

    pub(crate) fn signature(&self) -> [u8; SIGNATURE_BYTES] {
        let mut bytes = [0u8; SIGNATURE_BYTES];
        let op = self.reduce_op.filter(|_| self.operator.reduces());
        let root = if self.operator.is_rooted() { self.root } else { 0 };
        bytes[0] = VERSION;
        bytes[1] = self.operator as u8;
        bytes[2] = self.data_type.code();
        bytes[3] = op.map_or(u8::MAX, |op| op as u8);
        bytes[4..8].copy_from_slice(&root.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }
}

/// A signature in words, whatever stands in it.
pub(crate) fn describe(signature: &[u8; SIGNATURE_BYTES]) -> String {
    let [version, operator, data_type, op, ..] = *signature;
    let number = |at: usize| {
        let bytes: [u8; 8] = std::array::from_fn(|i| signature[at + i]);
        u64::from_le_bytes(bytes)
    };
    let Some(operator) = Operator::from_code(operator).filter(|_| version == VERSION) else {
        return format!("an operator that this version does not know ({version}, {operator})");
    };
    if operator == Operator::Barrier {
        return operator.to_string();
    }
    let data_type = DataType::from_code(i32::from(data_type))
        .map_or_else(|| format!("data type {data_type}"), |data_type| data_type.to_string());
    let mut text = format!("{operator} of {} {data_type}", number(8));
    if operator.reduces() {
        let op = ReduceOp::from_code(i32::from(op));
        text += &op.map_or_else(|| " unknown reduction".into(), |op| format!(" {op}"));
    }
    if operator.is_rooted() {
        text += &format!(" root {}", number(0) >> 32);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            operator: Operator::AllReduce,
            data_type: DataType::F32,
            reduce_op: Some(ReduceOp::Max),
            root: 0,
            count: 1000,
            input: Piece { offset: 0, len: 4000 },
            output: Piece { offset: 4096, len: 4000 },
        }
    }

    #[test]
    fn signatures_read_as_what_was_called() {
        assert_eq!(describe(&request().signature()), "AllReduce of 1000 float32 max");
        let rooted = Request { operator: Operator::Reduce, root: 3, ..request() };
        assert_eq!(describe(&rooted.signature()), "Reduce of 1000 float32 max root 3");
        assert!(describe(&[0xee; 32]).contains("does not know"));
    }

    #[test]
    fn impossible_requests_are_refused() {
        assert_eq!(request().check(4, 0), Ok(()));
        let bad = [
            Request { count: 1001, ..request() },
            Request { count: u64::MAX, ..request() },
            Request { reduce_op: None, ..request() },
            Request { data_type: DataType::F8e4m3, ..request() },
            Request { input: Piece { offset: 2, len: 4000 }, ..request() },
            Request { operator: Operator::Broadcast, root: 4, ..request() },
            Request { operator: Operator::AllGather, ..request() },
        ];
        for request in bad {
            assert!(matches!(request.check(4, 0), Err(Error::Invalid { .. })), "{request:?}");
        }
    }
}
