//! What a rank asks for, and the signature by which ranks see whether they ask for the same.

use std::sync::Arc;

use hccl_fabric::SIGNATURE_BYTES;
use hccl_kernels::{DataType, ReduceOp, Reducer};
use hccl_plan::Operator;

use crate::error::Error;
use crate::lengths::Lengths;
use crate::memory::Memory;

/// An operator with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The operator.
    pub operator: Operator,
    /// Type of the elements.
    pub data_type: DataType,
    /// How values are combined, for operators that do.
    pub reduce_op: Option<ReduceOp>,
    /// The root, for operators that have one.
    pub root: u32,
    /// Elements of a block; 0 for operators with lengths.
    pub count: u64,
    /// Lengths, for operators whose ranks differ in them.
    pub lengths: Option<Arc<Lengths>>,
    /// What is read; unused where the operator reads nothing on this rank.
    pub input: Memory,
    /// What is written; unused where the operator writes nothing on this rank.
    pub output: Memory,
}

/// Longest buffer, bytes: offsets and lengths stay far from the end of 64 bits.
const BYTES_MAX: u64 = 1 << 48;

/// Where the parts of a signature stand.
const VERSION: u8 = 2;

impl Request {
    /// Refuses what cannot be, before anybody else hears of it.
    pub(crate) fn check(&self, ranks: u32, rank: u32) -> Result<(), Error> {
        let invalid =
            |what, given: String, allowed: String| Err(Error::Invalid { what, given, allowed });
        let size = self.data_type.size() as u64;
        match &self.lengths {
            Some(lengths) if self.operator.has_extents() => {
                lengths.check(self.operator, ranks, rank)?
            }
            None if !self.operator.has_extents() => {}
            Some(_) => {
                let allowed = "an operator whose ranks differ in their lengths".into();
                return invalid("operator", self.operator.to_string(), allowed);
            }
            None => {
                let allowed = format!("those of {}", self.operator);
                return invalid("lengths", "none".into(), allowed);
            }
        }
        let most = BYTES_MAX / size / u64::from(ranks);
        let (input, output) = self.elements(ranks, rank);
        if self.count > most || input.max(output) > BYTES_MAX / size {
            let allowed = format!("at most {most} elements of {}", self.data_type);
            return invalid("count", self.count.max(input).max(output).to_string(), allowed);
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
                let allowed = "sum, prod, max, min, avg, band, bor or bxor".into();
                return invalid("reduce operator", "none".into(), allowed);
            }
            _ => {}
        }
        let needs = [("input buffer", input, self.input), ("output buffer", output, self.output)];
        for (what, elements, memory) in needs {
            let needed = elements * size;
            if memory.len() < needed {
                let allowed = format!("at least {needed} bytes for this operator");
                return invalid(what, format!("{} bytes long", memory.len()), allowed);
            }
            let (place, align) = (memory.place(), self.data_type.align() as u64);
            if elements > 0 && self.operator.reduces() && !place.is_multiple_of(align) {
                let part = self.data_type.parts().0;
                let allowed = format!("a multiple of {align}, the size of {part}");
                return invalid(what, format!("at {place}"), allowed);
            }
        }
        Ok(())
    }

    /// Elements that the input and the output of a rank need.
    ///
    /// # Panics
    /// When there are lengths and the rank is not one of theirs.
    pub fn elements(&self, ranks: u32, rank: u32) -> (u64, u64) {
        if let Some(lengths) = &self.lengths {
            return lengths.needed(self.operator, rank);
        }
        let is_root = rank == self.root;
        let blocks = |blocks: u32| self.count.saturating_mul(u64::from(blocks));
        let input = self.operator.input_blocks(ranks, is_root);
        (blocks(input), blocks(self.operator.output_blocks(ranks, is_root)))
    }

    /// Bytes that stand for the size of the call where an algorithm is chosen.
    pub(crate) fn block_bytes(&self) -> u64 {
        let elements = match self.lengths.as_deref() {
            Some(Lengths::Rows(rows)) => {
                rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.len))
            }
            // A rank knows only its own part of these; the choice must be the same on all.
            Some(_) => 0,
            None => self.count,
        };
        elements.saturating_mul(self.data_type.size() as u64)
    }

    /// What ranks compare; `plan` stands for the algorithm and its rounds.
    pub(crate) fn signature(&self, plan: u64) -> [u8; SIGNATURE_BYTES] {
        let mut bytes = [0u8; SIGNATURE_BYTES];
        let op = self.reduce_op.filter(|_| self.operator.reduces());
        let root = if self.operator.is_rooted() { self.root } else { 0 };
        bytes[0] = VERSION;
        bytes[1] = self.operator as u8;
        bytes[2] = self.data_type.code();
        bytes[3] = op.map_or(u8::MAX, |op| op as u8);
        bytes[4..8].copy_from_slice(&root.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        let lengths = self.lengths.as_ref().map_or(0, |lengths| lengths.digest());
        bytes[16..24].copy_from_slice(&lengths.to_le_bytes());
        bytes[24..32].copy_from_slice(&plan.to_le_bytes());
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
    let data_type = DataType::from_byte(data_type)
        .map_or_else(|| format!("data type {data_type}"), |data_type| data_type.to_string());
    let mut text = match (operator, number(16)) {
        (Operator::AlltoAllV, _) => format!("{operator} of {data_type}"),
        (operator, lengths) if operator.has_extents() => {
            format!("{operator} of {data_type} with lengths #{lengths:016x}")
        }
        _ => format!("{operator} of {} {data_type}", number(8)),
    };
    if operator.reduces() {
        let op = ReduceOp::from_byte(op);
        text += &op.map_or_else(|| " unknown reduction".into(), |op| format!(" {op}"));
    }
    if operator.is_rooted() {
        text += &format!(" root {}", number(0) >> 32);
    }
    text
}

/// As [`describe`], and how it would be run.
pub(crate) fn describe_plan(signature: &[u8; SIGNATURE_BYTES]) -> String {
    let plan: [u8; 8] = std::array::from_fn(|i| signature[24 + i]);
    format!("{} by plan #{:016x}", describe(signature), u64::from_le_bytes(plan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Piece;

    fn request() -> Request {
        Request {
            operator: Operator::AllReduce,
            data_type: DataType::F32,
            reduce_op: Some(ReduceOp::Max),
            root: 0,
            count: 1000,
            lengths: None,
            input: Piece { offset: 0, len: 4000 }.into(),
            output: Piece { offset: 4096, len: 4000 }.into(),
        }
    }

    #[test]
    fn signatures_read_as_what_was_called() {
        assert_eq!(describe(&request().signature(0)), "AllReduce of 1000 float32 max");
        let rooted = Request { operator: Operator::Reduce, root: 3, ..request() };
        assert_eq!(describe(&rooted.signature(0)), "Reduce of 1000 float32 max root 3");
        let bits =
            Request { data_type: DataType::U16, reduce_op: Some(ReduceOp::Xor), ..request() };
        assert_eq!(describe(&bits.signature(0)), "AllReduce of 1000 uint16 bxor");
        let complex =
            Request { data_type: DataType::C128, reduce_op: Some(ReduceOp::Avg), ..request() };
        assert_eq!(describe(&complex.signature(0)), "AllReduce of 1000 complex128 avg");
        assert!(describe(&[0xee; 32]).contains("does not know"));
    }

    /// As in C and in Rust, a complex number lies wherever its parts may.
    #[test]
    fn complex_numbers_are_aligned_by_their_parts() {
        let at = |offset| Request {
            data_type: DataType::C128,
            reduce_op: Some(ReduceOp::Sum),
            count: 10,
            input: Piece { offset, len: 160 }.into(),
            ..request()
        };
        assert_eq!(at(8).check(4, 0), Ok(()));
        let error = at(4).check(4, 0).unwrap_err().to_string();
        assert!(error.contains("a multiple of 8, the size of float64"), "{error}");
    }

    #[test]
    fn impossible_requests_are_refused() {
        assert_eq!(request().check(4, 0), Ok(()));
        let bad = [
            Request { count: 1001, ..request() },
            Request { count: u64::MAX, ..request() },
            Request { reduce_op: None, ..request() },
            Request { data_type: DataType::Hif8, ..request() },
            Request { reduce_op: Some(ReduceOp::And), ..request() },
            Request { data_type: DataType::C32, ..request() },
            Request { input: Piece { offset: 2, len: 4000 }.into(), ..request() },
            Request { operator: Operator::Broadcast, root: 4, ..request() },
            Request { operator: Operator::AllGather, ..request() },
            Request { operator: Operator::AllGatherV, ..request() },
        ];
        for request in bad {
            assert!(matches!(request.check(4, 0), Err(Error::Invalid { .. })), "{request:?}");
        }
    }
}
