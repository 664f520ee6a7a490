//! A rank that makes the calls of all cells and judges its own results.

use std::ffi::c_void;

use super::cases::{Case, Operator, Places, Verdict};
use crate::libraries::Item;
use crate::oracle::mix;
use crate::worker::{Rank, digest, say};

/// Elements of a block, where all are as long.
const COUNT: u64 = 13;

/// The root of operators that have one.
fn root(ranks: u32) -> u32 {
    ranks - 1
}

/// Elements of the block that belongs to a rank, where they differ.
fn own_count(rank: u32) -> u64 {
    5 + 3 * u64::from(rank)
}

/// Elements that one rank gives to another, where they differ.
fn pair_count(from: u32, to: u32) -> u64 {
    1 + u64::from(from * 2 + to * 3) % 7
}

/// Where blocks begin that follow each other.
fn places(counts: &[u64]) -> Vec<u64> {
    counts
        .iter()
        .scan(0, |next, count| {
            let at = *next;
            *next += count;
            Some(at)
        })
        .collect()
}

/// The cells as seen from one rank.
struct Cell<'a> {
    case: &'a Case,
    number: u64,
    rank: u32,
    ranks: u32,
}

impl Cell<'_> {
    /// Elements of what a rank gives, as bytes.
    fn given(&self, rank: u32, first: u64, count: u64) -> Vec<u8> {
        let size = self.case.code.size;
        let seed = mix(self.number.wrapping_add(77));
        let mut bytes = Vec::new();
        for index in first..first + count {
            if let Some(data_type) = self.case.code.reducible() {
                bytes.extend_from_slice(&data_type.value(seed, rank, index).to_le_bytes()[..size]);
            } else {
                let bits = u128::from(mix(seed ^ u64::from(rank) << 40 ^ index));
                bytes.extend_from_slice(&(bits << 61 | bits).to_le_bytes()[..size]);
            }
        }
        bytes
    }

    /// The reduction of elements over all ranks.
    fn reduced(&self, first: u64, count: u64) -> Vec<u8> {
        let (Some(data_type), Some(op)) = (self.case.code.reducible(), self.case.op) else {
            return Vec::new();
        };
        let seed = mix(self.number.wrapping_add(77));
        let mut bytes = Vec::new();
        for index in first..first + count {
            let values = (0..self.ranks).map(|rank| data_type.value(seed, rank, index));
            let bits = data_type.reduce(op, values);
            bytes.extend_from_slice(&bits.to_le_bytes()[..self.case.code.size]);
        }
        bytes
    }

    fn own_counts(&self) -> Vec<u64> {
        (0..self.ranks).map(own_count).collect()
    }

    /// Elements that the rank gives.
    fn input_count(&self) -> u64 {
        use Operator as O;
        let ranks = u64::from(self.ranks);
        match self.case.operator {
            O::AllReduce | O::Reduce | O::Broadcast | O::AllGather => COUNT,
            O::ReduceScatter | O::Scatter | O::AlltoAll => ranks * COUNT,
            O::ReduceScatterV => self.own_counts().iter().sum(),
            O::AllGatherV => own_count(self.rank),
            O::AlltoAllV | O::AlltoAllVC => {
                (0..self.ranks).map(|to| pair_count(self.rank, to)).sum()
            }
            O::SendReceive | O::Batch => COUNT,
        }
    }

    /// What the rank must have afterwards; `None` where nothing is said of its output.
    fn expected(&self) -> Option<Vec<u8>> {
        use Operator as O;
        let (rank, ranks) = (self.rank, self.ranks);
        let all = |of: &dyn Fn(u32) -> Vec<u8>| (0..ranks).flat_map(of).collect();
        Some(match self.case.operator {
            O::AllReduce => self.reduced(0, COUNT),
            O::Reduce if rank == root(ranks) => self.reduced(0, COUNT),
            O::Reduce => return None,
            O::ReduceScatter => self.reduced(u64::from(rank) * COUNT, COUNT),
            O::ReduceScatterV => {
                self.reduced(places(&self.own_counts())[rank as usize], own_count(rank))
            }
            O::Broadcast => self.given(root(ranks), 0, COUNT),
            O::AllGather => all(&|from| self.given(from, 0, COUNT)),
            O::AllGatherV => all(&|from| self.given(from, 0, own_count(from))),
            O::Scatter => self.given(root(ranks), u64::from(rank) * COUNT, COUNT),
            O::AlltoAll => all(&|from| self.given(from, u64::from(rank) * COUNT, COUNT)),
            O::AlltoAllV | O::AlltoAllVC => all(&|from| {
                let before = (0..rank).map(|to| pair_count(from, to)).sum();
                self.given(from, before, pair_count(from, rank))
            }),
            O::SendReceive | O::Batch => self.given((rank + ranks - 1) % ranks, 0, COUNT),
        })
    }
}

impl Rank {
    /// Makes the calls of all cells; says of each what came of it.
    pub(crate) fn support_cases(&self) -> anyhow::Result<()> {
        for (number, case) in (1..).zip(&Case::all()) {
            let cell = Cell { case, number, rank: self.rank, ranks: self.total };
            let word = match self.support_case(&cell)? {
                Verdict::Right => "right".to_owned(),
                Verdict::Wrong => "wrong".to_owned(),
                Verdict::Refused(code) => code.to_string(),
            };
            say(&format!("{number} {} {word}", self.rank));
        }
        // SAFETY: a live communicator.
        let code = unsafe { (self.libraries.destroy)(self.comm) };
        self.libraries.check("HcclCommDestroy", code)
    }

    fn support_case(&self, cell: &Cell<'_>) -> anyhow::Result<Verdict> {
        use Operator as O;
        let (case, size) = (cell.case, cell.case.code.size);
        let bytes = cell.given(self.rank, 0, cell.input_count());
        let expected = cell.expected();
        let own = self.rank as usize * COUNT as usize * size;
        let in_place = case.places == Places::InPlace;
        // In place, the small buffer of these is the own block of the large one.
        let (input, output) = match case.operator {
            O::ReduceScatter if in_place => (self.input, self.input.wrapping_byte_add(own)),
            // Only the root has the larger buffer.
            O::Scatter if in_place && self.rank == root(self.total) => {
                (self.input, self.input.wrapping_byte_add(own))
            }
            O::Scatter => (self.input, self.output),
            O::AllGather if in_place => (self.output.wrapping_byte_add(own), self.output),
            _ if in_place => (self.input, self.input),
            _ => (self.input, self.output),
        };
        let len = expected.as_ref().map_or(0, Vec::len);
        self.upload(self.output, &vec![0xcd; len.max(bytes.len())])?;
        self.upload(input, &bytes)?;
        let code = self.call(cell, input, output)?;
        if code != 0 {
            return Ok(Verdict::Refused(code));
        }
        self.synchronize()?;
        let Some(expected) = expected else { return Ok(Verdict::Right) };
        let found = self.download(output, expected.len())?;
        let same = match case.code.reducible() {
            Some(data_type) => digest(data_type, &found) == digest(data_type, &expected),
            None => found == expected,
        };
        Ok(if same { Verdict::Right } else { Verdict::Wrong })
    }

    /// The code of the call.
    fn call(
        &self,
        cell: &Cell<'_>,
        input: *mut c_void,
        output: *mut c_void,
    ) -> anyhow::Result<i32> {
        use Operator as O;
        let (rank, ranks, libs) = (self.rank, self.total, &self.libraries);
        let (ty, op) = (cell.case.code.code, cell.case.op.map_or(0, |op| op.code()));
        let (comm, stream, root) = (self.comm, self.stream, root(ranks));
        let own = cell.own_counts();
        let own_at = places(&own);
        let sent: Vec<u64> = (0..ranks).map(|to| pair_count(rank, to)).collect();
        let received: Vec<u64> = (0..ranks).map(|from| pair_count(from, rank)).collect();
        let (sent_at, received_at) = (places(&sent), places(&received));
        let matrix: Vec<u64> =
            (0..ranks).flat_map(|from| (0..ranks).map(move |to| pair_count(from, to))).collect();
        let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let item = |kind, buffer, remote_rank| Item {
            kind,
            buffer,
            count: COUNT,
            data_type: ty,
            remote_rank,
        };
        let items = [item(0, input, next), item(1, output, previous)];
        let (from, to) = (input.cast_const(), output.cast_const());
        // SAFETY: buffers, communicator and stream are live; arrays have an entry a rank or pair.
        Ok(unsafe {
            match cell.case.operator {
                O::AllReduce => (libs.all_reduce)(input, output, COUNT, ty, op, comm, stream),
                O::Reduce => (libs.reduce)(input, output, COUNT, ty, op, root, comm, stream),
                O::ReduceScatter => {
                    (libs.reduce_scatter)(input, output, COUNT, ty, op, comm, stream)
                }
                O::ReduceScatterV => {
                    let (counts, at, own) = (own.as_ptr(), own_at.as_ptr(), own_count(rank));
                    (libs.reduce_scatter_v)(input, counts, at, output, own, ty, op, comm, stream)
                }
                O::Broadcast => (libs.broadcast)(input, COUNT, ty, root, comm, stream),
                O::AllGather => (libs.all_gather)(input, output, COUNT, ty, comm, stream),
                O::AllGatherV => {
                    let (counts, at, own) = (own.as_ptr(), own_at.as_ptr(), own_count(rank));
                    (libs.all_gather_v)(input, own, output, counts, at, ty, comm, stream)
                }
                O::Scatter => {
                    let input = if rank == root { input } else { std::ptr::null_mut() };
                    (libs.scatter)(input, output, COUNT, ty, root, comm, stream)
                }
                O::AlltoAll => (libs.all_to_all)(from, COUNT, ty, to, COUNT, ty, comm, stream),
                O::AlltoAllV => {
                    let (give, give_at) = (sent.as_ptr(), sent_at.as_ptr());
                    let (take, take_at) = (received.as_ptr(), received_at.as_ptr());
                    (libs.all_to_all_v)(
                        from, give, give_at, ty, to, take, take_at, ty, comm, stream,
                    )
                }
                O::AlltoAllVC => {
                    (libs.all_to_all_vc)(from, matrix.as_ptr(), ty, to, ty, comm, stream)
                }
                // The first rank receives first, or the ring would not turn.
                O::SendReceive if rank == 0 => {
                    match (libs.receive)(output, COUNT, ty, previous, comm, stream) {
                        0 => (libs.send)(input, COUNT, ty, next, comm, stream),
                        code => code,
                    }
                }
                O::SendReceive => match (libs.send)(input, COUNT, ty, next, comm, stream) {
                    0 => (libs.receive)(output, COUNT, ty, previous, comm, stream),
                    code => code,
                },
                O::Batch => (libs.batch)(items.as_ptr(), items.len() as u32, comm, stream),
            }
        })
    }
}
