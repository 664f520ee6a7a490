//! Lengths and places of operators whose ranks differ in them, as a rank gives them.

use hccl_plan::{Extent, Extents, Operator, Transfer};

use crate::error::Error;

/// What a rank says about lengths; in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lengths {
    /// A run for each rank: in the output of `AllGatherV`, in the input of `ReduceScatterV`. The
    /// lengths are equal on all ranks, the places need not be.
    Rows(Vec<Extent>),
    /// `AlltoAllV`: a run for each peer in the own input, and one in the own output.
    Pairs {
        /// What goes to each rank.
        sends: Vec<Extent>,
        /// What comes from each rank.
        receives: Vec<Extent>,
    },
    /// `AlltoAllVC`: elements from rank i to rank j, equal on all ranks. Buffers have no gaps.
    Matrix(Vec<Vec<u64>>),
}

/// A run of elements that passes between a buffer and the room of the communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// First element in the buffer.
    pub(crate) user: u64,
    /// First element in the room.
    pub(crate) room: u64,
    /// How many.
    pub(crate) len: u64,
}

/// Most elements of all ranks together.
const ELEMENTS_MAX: u64 = 1 << 48;

fn end(extents: &[Extent]) -> u64 {
    let end = |extent: &Extent| match extent.len {
        0 => 0,
        len => extent.start.saturating_add(len),
    };
    extents.iter().map(end).max().unwrap_or(0)
}

/// The same runs without gaps.
pub(crate) fn packed(extents: &[Extent]) -> Vec<Extent> {
    let mut start = 0u64;
    let mut next = |extent: &Extent| {
        let packed = Extent { start, len: extent.len };
        start = start.saturating_add(extent.len);
        packed
    };
    extents.iter().map(&mut next).collect()
}

fn has_gaps(extents: &[Extent]) -> bool {
    let moved = |(one, other): (&Extent, Extent)| one.len > 0 && one.start != other.start;
    extents.iter().zip(packed(extents)).any(moved)
}

fn runs(extents: &[Extent]) -> Vec<Run> {
    let run = |(one, packed): (&Extent, Extent)| Run {
        user: one.start,
        room: packed.start,
        len: one.len,
    };
    extents.iter().zip(packed(extents)).map(run).filter(|run| run.len > 0).collect()
}

fn whole(len: u64) -> Vec<Run> {
    if len == 0 { Vec::new() } else { vec![Run { user: 0, room: 0, len }] }
}

impl Lengths {
    /// Refuses what does not belong to the operator.
    pub(crate) fn check(&self, operator: Operator, ranks: u32, rank: u32) -> Result<(), Error> {
        let fits = match (operator, self) {
            (Operator::AllGatherV | Operator::ReduceScatterV, Self::Rows(rows)) => {
                rows.len() == ranks as usize
            }
            (Operator::AlltoAllV, Self::Pairs { sends, receives }) => {
                sends.len() == ranks as usize && receives.len() == ranks as usize
            }
            (Operator::AlltoAllVC, Self::Matrix(rows)) => {
                rows.len() == ranks as usize && rows.iter().all(|row| row.len() == ranks as usize)
            }
            _ => false,
        };
        if let (true, Self::Pairs { sends, receives }) = (fits, self) {
            let (sent, received) = (sends[rank as usize].len, receives[rank as usize].len);
            if sent != received {
                return Err(Error::Invalid {
                    what: "lengths",
                    given: format!(
                        "{sent} elements for the own rank to send, {received} to receive"
                    ),
                    allowed: "the same number of both".into(),
                });
            }
        }
        // Of all ranks, so that all refuse the same lengths.
        let total = match self {
            _ if !fits => 0,
            Self::Rows(rows) => rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.len)),
            Self::Matrix(rows) => {
                rows.iter().flatten().fold(0, |sum: u64, len| sum.saturating_add(*len))
            }
            Self::Pairs { sends, receives } => {
                let lens = sends.iter().chain(receives).map(|extent| extent.len);
                lens.fold(0, u64::saturating_add)
            }
        };
        if total > ELEMENTS_MAX {
            return Err(Error::Invalid {
                what: "lengths",
                given: format!("{total} elements together, or more"),
                allowed: format!("at most {ELEMENTS_MAX}"),
            });
        }
        if fits {
            return Ok(());
        }
        Err(Error::Invalid {
            what: "lengths",
            given: self.shape(),
            allowed: format!("those of {operator} for {ranks} ranks"),
        })
    }

    fn shape(&self) -> String {
        match self {
            Self::Rows(rows) => format!("a row of {}", rows.len()),
            Self::Pairs { sends, receives } => {
                format!("{} sends and {} receives", sends.len(), receives.len())
            }
            Self::Matrix(rows) => format!("a matrix of {} rows", rows.len()),
        }
    }

    /// Elements that the own input and output need.
    pub(crate) fn needed(&self, operator: Operator, rank: u32) -> (u64, u64) {
        let rank = rank as usize;
        match self {
            Self::Rows(rows) if operator == Operator::AllGatherV => (rows[rank].len, end(rows)),
            Self::Rows(rows) => (end(rows), rows[rank].len),
            Self::Pairs { sends, receives } => (end(sends), end(receives)),
            Self::Matrix(rows) => {
                let sum = |numbers: &mut dyn Iterator<Item = u64>| {
                    numbers.fold(0u64, |sum, number| sum.saturating_add(number))
                };
                let column = &mut rows.iter().map(|row| row[rank]);
                (sum(&mut rows[rank].iter().copied()), sum(column))
            }
        }
    }

    /// Whether a plan that all ranks share would not find the data where it expects them, in the
    /// input and in the output. `direct` plans look at the own places only.
    pub(crate) fn has_gaps(&self, operator: Operator, direct: bool) -> (bool, bool) {
        match (operator, self) {
            (Operator::AllGatherV, Self::Rows(rows)) => (false, !direct && has_gaps(rows)),
            (_, Self::Rows(rows)) => (has_gaps(rows), false),
            _ => (false, false),
        }
    }

    /// What a plan is made for; of pairs only those that end at this rank, since ranks pull and a
    /// plan looks at no others. `room` says whether input and output pass through the room of the
    /// communicator, where they lie without gaps.
    pub(crate) fn extents(&self, operator: Operator, rank: u32, room: (bool, bool)) -> Extents {
        let ranks = match self {
            Self::Rows(rows) => rows.len(),
            Self::Pairs { sends, .. } => sends.len(),
            Self::Matrix(rows) => rows.len(),
        } as u32;
        match self {
            Self::Rows(rows) if operator == Operator::AllGatherV && !room.1 => {
                Extents::Rows(rows.clone())
            }
            Self::Rows(rows) => Extents::Rows(packed(rows)),
            Self::Matrix(rows) => {
                let own = rank as usize;
                let mut target = 0;
                let incoming = (0u32..).zip(rows).map(|(from, row)| {
                    let source = row[..own].iter().sum();
                    let transfer = Transfer { from, source, to: rank, target, len: row[own] };
                    target += row[own];
                    transfer
                });
                Extents::transfers(ranks, incoming)
            }
            // Each rank says where it has what it sends; a plan counts from there.
            Self::Pairs { receives, .. } => {
                let targets = if room.1 { packed(receives) } else { receives.clone() };
                let incoming = (0u32..).zip(targets).map(|(from, Extent { start, len })| {
                    Transfer { from, source: 0, to: rank, target: start, len }
                });
                Extents::transfers(ranks, incoming)
            }
        }
    }

    /// What passes from the own input into the room.
    pub(crate) fn incoming(&self, operator: Operator, rank: u32) -> Vec<Run> {
        match (operator, self) {
            (Operator::ReduceScatterV, Self::Rows(rows)) => runs(rows),
            (_, Self::Pairs { sends, .. }) => runs(sends),
            _ => whole(self.needed(operator, rank).0),
        }
    }

    /// What passes from the room into the own output.
    pub(crate) fn outgoing(&self, operator: Operator, rank: u32) -> Vec<Run> {
        match (operator, self) {
            (Operator::AllGatherV, Self::Rows(rows)) => runs(rows),
            (_, Self::Pairs { receives, .. }) => runs(receives),
            _ => whole(self.needed(operator, rank).1),
        }
    }

    /// Where each peer finds what is meant for it: first element and length.
    pub(crate) fn table(&self, in_room: bool) -> Vec<Extent> {
        match self {
            Self::Pairs { sends, .. } if in_room => packed(sends),
            Self::Pairs { sends, .. } => sends.clone(),
            _ => Vec::new(),
        }
    }

    /// What must be the same on all ranks, as one number.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        match self {
            Self::Rows(rows) => rows.iter().for_each(|row| digest.add(row.len)),
            Self::Matrix(rows) => rows.iter().flatten().for_each(|len| digest.add(*len)),
            Self::Pairs { .. } => {}
        }
        digest.0
    }
}

/// FNV-1a and its like by words, which every build of every version computes alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(pub(crate) u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A word at a time, for long lists.
    pub(crate) fn add(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x0100_0000_01b3);
        self.0 = mixed ^ mixed >> 29;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: u64, len: u64) -> Extent {
        Extent { start, len }
    }

    #[test]
    fn gaps_are_packed_and_empty_runs_stand_anywhere() {
        let rows = [extent(4, 3), extent(99, 0), extent(0, 2)];
        assert!(has_gaps(&rows));
        assert_eq!(packed(&rows), [extent(0, 3), extent(3, 0), extent(3, 2)]);
        assert!(!has_gaps(&[extent(0, 3), extent(7, 0), extent(3, 2)]));
        assert_eq!(end(&rows), 7);
        let run = |user, room, len| Run { user, room, len };
        assert_eq!(runs(&rows), [run(4, 0, 3), run(0, 3, 2)]);
    }

    #[test]
    fn only_what_all_ranks_share_is_in_the_digest() {
        let rows = |start| Lengths::Rows(vec![extent(start, 3), extent(8, 2)]);
        assert_eq!(rows(0).digest(), rows(4).digest());
        assert_ne!(rows(0).digest(), Lengths::Rows(vec![extent(0, 2), extent(8, 3)]).digest());
        assert_ne!(
            Lengths::Matrix(vec![vec![1]]).digest(),
            Lengths::Matrix(vec![vec![2]]).digest()
        );
    }
}
