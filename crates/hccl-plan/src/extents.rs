//! Lengths and places of operators whose ranks differ in them.
//!
//! A plan of such an operator is made for given lengths, in elements. The generator of one rank
//! must know the lengths that its peers gave, since it reads from their buffers: for `AlltoAllV`,
//! where a program tells a rank only its own, the ranks exchange them first.

/// A run of elements of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Its first element.
    pub start: u64,
    /// How many.
    pub len: u64,
}

/// A run of elements that goes from one rank's input to another's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Who has it.
    pub from: u32,
    /// Its first element in the input there.
    pub source: u64,
    /// Who gets it.
    pub to: u32,
    /// Its first element in the output there.
    pub target: u64,
    /// How many elements.
    pub len: u64,
}

/// Lengths of one call, the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extents {
    /// One run for each rank: in the output of `AllGatherV`, in the input of `ReduceScatterV`. There
    /// may be gaps, and runs of an input may overlap.
    Rows(Vec<Extent>),
    /// Who sends what to whom, by receiver: the row of a rank lists what it gets.
    Transfers(Vec<Vec<Transfer>>),
}

impl Extents {
    /// Rows without gaps.
    pub fn packed(lens: &[u64]) -> Self {
        let mut start = 0;
        let row = |&len: &u64| {
            let extent = Extent { start, len };
            start += len;
            extent
        };
        Self::Rows(lens.iter().map(row).collect())
    }

    /// Any transfers, between `ranks` ranks. Those that name other ranks are left out.
    pub fn transfers(ranks: u32, all: impl IntoIterator<Item = Transfer>) -> Self {
        let mut rows = vec![Vec::new(); ranks as usize];
        for transfer in all {
            if let Some(row) = rows.get_mut(transfer.to as usize)
                && transfer.from < ranks
            {
                row.push(transfer);
            }
        }
        Self::Transfers(rows)
    }

    /// All pairs, `lens[i][j]` elements from rank i to rank j, buffers without gaps.
    pub fn matrix(lens: &[Vec<u64>]) -> Self {
        let ranks = lens.len();
        let mut targets = vec![0; ranks];
        let mut all = Vec::with_capacity(ranks * ranks);
        for (from, row) in (0u32..).zip(lens) {
            let mut source = 0;
            for (to, &len) in (0u32..).zip(row.iter().take(ranks)) {
                let target = targets[to as usize];
                all.push(Transfer { from, source, to, target, len });
                source += len;
                targets[to as usize] += len;
            }
        }
        Self::transfers(ranks as u32, all)
    }

    /// Elements of the input and of the output that each rank needs.
    pub fn lens(&self, ranks: u32) -> Vec<(u64, u64)> {
        let mut lens = vec![(0, 0); ranks as usize];
        match self {
            Self::Rows(rows) => {
                let whole =
                    rows.iter().map(|row| row.start.saturating_add(row.len)).max().unwrap_or(0);
                for (lens, row) in lens.iter_mut().zip(rows) {
                    *lens = (whole, row.len);
                }
            }
            Self::Transfers(rows) => {
                for one in rows.iter().flatten() {
                    if let Some((source, _)) = lens.get_mut(one.from as usize) {
                        *source = (*source).max(one.source.saturating_add(one.len));
                    }
                    if let Some((_, target)) = lens.get_mut(one.to as usize) {
                        *target = (*target).max(one.target.saturating_add(one.len));
                    }
                }
            }
        }
        lens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_and_matrices_have_no_gaps() {
        let rows = Extents::packed(&[3, 0, 2]);
        assert_eq!(rows.lens(3)[2], (5, 2));
        let matrix = Extents::matrix(&[vec![1, 2], vec![3, 4]]);
        assert_eq!(matrix.lens(2)[0], (3, 4));
        assert_eq!(matrix.lens(2)[1], (7, 6));
        let stray = Transfer { from: 0, source: 0, to: 9, target: 0, len: 1 };
        assert_eq!(Extents::transfers(1, [stray]), Extents::Transfers(vec![vec![]]));
    }
}
