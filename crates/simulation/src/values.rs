//! What the ranks' inputs hold, and what reductions of it must give; element by element, by
//! definition.
//!
//! Values differ by rank and element. Those that are reduced are whole numbers, chosen so that no
//! order of reduction rounds: an algorithm may combine them as it likes and has to come to the
//! same bits.

use half::{bf16, f16};
use hccl::{DataType, ReduceOp};
use hccl_fabric::simulated::{mix, mix_all};

/// The elements of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values {
    /// The seed of this call.
    pub(crate) seed: u64,
    pub(crate) data_type: DataType,
    /// `None` where nothing is reduced: any bits then.
    pub(crate) reduce_op: Option<ReduceOp>,
    pub(crate) ranks: u32,
}

impl Values {
    /// Appends elements of a rank's input.
    pub(crate) fn append(&self, rank: u32, first: u64, count: u64, bytes: &mut Vec<u8>) {
        let base = mix_all([self.seed, rank.into()]);
        let size = self.data_type.size();
        bytes.reserve(count as usize * size);
        for element in first..first + count {
            let drawn = mix(base ^ element);
            match self.reduce_op {
                Some(op) => self.put(self.number(op, drawn), bytes),
                None if size <= 8 => bytes.extend_from_slice(&drawn.to_le_bytes()[..size]),
                None => {
                    bytes.extend_from_slice(&drawn.to_le_bytes());
                    bytes.extend_from_slice(&mix(drawn).to_le_bytes()[..size - 8]);
                }
            }
        }
    }

    /// The reduction of elements over the inputs of all ranks.
    pub(crate) fn reduced(&self, op: ReduceOp, count: u64) -> Vec<u8> {
        let mut results: Vec<Option<i128>> = vec![None; count as usize];
        for rank in 0..self.ranks {
            let base = mix_all([self.seed, rank.into()]);
            for (element, result) in (0u64..).zip(&mut results) {
                let number = self.number(op, mix(base ^ element));
                *result = Some(result.map_or(number, |so_far| self.combine(op, so_far, number)));
            }
        }
        let mut bytes = Vec::with_capacity(results.len() * self.data_type.size());
        for number in results.into_iter().flatten() {
            self.put(number, &mut bytes);
        }
        bytes
    }

    fn combine(&self, op: ReduceOp, a: i128, b: i128) -> i128 {
        self.wrap(match op {
            ReduceOp::Sum => a + b,
            ReduceOp::Prod => a.wrapping_mul(b),
            ReduceOp::Max => a.max(b),
            ReduceOp::Min => a.min(b),
            other => unreachable!("scenarios do not draw {other}"),
        })
    }

    /// A whole number that the type can hold, as can whatever comes out of the reduction.
    fn number(&self, op: ReduceOp, drawn: u64) -> i128 {
        // As many different magnitudes as the sum of all ranks, or each value alone, stays exact.
        let between = |most: u64| i128::from(drawn % (2 * most + 1)) - i128::from(most);
        let is_sum = op == ReduceOp::Sum;
        match self.data_type {
            // Signs, and a two now and then: powers of two are exact as far as the exponent goes.
            DataType::F16 | DataType::Bf16 | DataType::F32 | DataType::F64
                if op == ReduceOp::Prod =>
            {
                let twos = if self.data_type == DataType::F16 { 4 } else { 40 };
                let two =
                    (drawn >> 8) % u64::from(self.ranks) < twos.min(u64::from(self.ranks) / 2);
                let magnitude = if two { 2 } else { 1 };
                if drawn.is_multiple_of(2) { magnitude } else { -magnitude }
            }
            DataType::F16 if is_sum => between((1024 / u64::from(self.ranks)).clamp(1, 100)),
            // Of many ranks only some have anything to add.
            DataType::Bf16 if is_sum && (drawn >> 8) % u64::from(self.ranks) >= 100 => 0,
            DataType::Bf16 if is_sum => between((128 / u64::from(self.ranks)).clamp(1, 20)),
            DataType::F32 if is_sum => between((1 << 23) / u64::from(self.ranks)),
            DataType::F16 => between(2000),
            DataType::Bf16 => between(250),
            DataType::F32 => between(1 << 23),
            DataType::F64 => between(1 << 40),
            _ => self.wrap(drawn.into()),
        }
    }

    /// What an integer of the type makes of a number; floats hold it as it is.
    fn wrap(&self, number: i128) -> i128 {
        match self.data_type {
            DataType::I8 => (number as i8).into(),
            DataType::I16 => (number as i16).into(),
            DataType::I32 => (number as i32).into(),
            DataType::I64 => (number as i64).into(),
            DataType::U8 => (number as u8).into(),
            DataType::U16 => (number as u16).into(),
            DataType::U32 => (number as u32).into(),
            DataType::U64 => (number as u64).into(),
            _ => number,
        }
    }

    fn put(&self, number: i128, bytes: &mut Vec<u8>) {
        match self.data_type {
            DataType::F16 => bytes.extend(f16::from_f64(number as f64).to_bits().to_le_bytes()),
            DataType::Bf16 => bytes.extend(bf16::from_f64(number as f64).to_bits().to_le_bytes()),
            DataType::F32 => bytes.extend((number as f32).to_bits().to_le_bytes()),
            DataType::F64 => bytes.extend((number as f64).to_bits().to_le_bytes()),
            _ => bytes.extend_from_slice(&number.to_le_bytes()[..self.data_type.size()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(data_type: DataType, reduce_op: Option<ReduceOp>, ranks: u32) -> Values {
        Values { seed: 5, data_type, reduce_op, ranks }
    }

    #[test]
    fn sums_and_products_of_a_few_by_hand() {
        let values = values(DataType::I8, Some(ReduceOp::Prod), 3);
        let each = |rank| {
            let mut bytes = Vec::new();
            values.append(rank, 0, 4, &mut bytes);
            bytes
        };
        let inputs = [each(0), each(1), each(2)];
        assert_ne!(inputs[0], inputs[1]);
        let product = |i: usize| {
            let [a, b, c] = [0, 1, 2].map(|rank: usize| inputs[rank][i] as i8);
            a.wrapping_mul(b).wrapping_mul(c) as u8
        };
        assert_eq!(values.reduced(ReduceOp::Prod, 4), [0, 1, 2, 3].map(product));
        let largest =
            |i: usize| (0..3).map(|rank: usize| inputs[rank][i] as i8).max().unwrap() as u8;
        assert_eq!(values.reduced(ReduceOp::Max, 4), [0, 1, 2, 3].map(largest));
    }

    #[test]
    fn no_order_of_a_float_reduction_rounds() {
        for ranks in [2, 500, 1000] {
            for op in [ReduceOp::Sum, ReduceOp::Prod] {
                for (data_type, exact) in
                    [(DataType::F16, 2048), (DataType::Bf16, 256), (DataType::F32, 1 << 24)]
                {
                    let values = values(data_type, Some(op), ranks);
                    for element in 0..200 {
                        let number = |rank: u32| {
                            let base = mix_all([values.seed, rank.into()]);
                            values.number(op, mix(base ^ element))
                        };
                        let all: Vec<i128> = (0..ranks).map(number).collect();
                        if op == ReduceOp::Sum {
                            // The worst order adds all of one sign first.
                            let up: i128 = all.iter().filter(|&&one| one > 0).sum();
                            let down: i128 = all.iter().filter(|&&one| one < 0).sum();
                            assert!(up <= exact && -down <= exact, "{data_type} {up} {down}");
                        } else {
                            let twos = all.iter().filter(|one| one.abs() == 2).count();
                            assert!(twos < if exact == 2048 { 16 } else { 127 }, "{twos}");
                        }
                    }
                }
            }
        }
    }
}
