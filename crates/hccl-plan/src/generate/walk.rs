//! Walks: how slices travel between the members of a group.
//!
//! There are as many slices as members. In the direction "reduce" the parts of slice j run
//! together, along a tree, in its owner, member j; every member hands each slice on exactly once.
//! A walk says to whom and in which round. Read backwards in time the same walk spreads each slice
//! from its owner to all; cut down to the path of one member it scatters or gathers. So ring, NHR,
//! NB, halving-doubling and mesh are five answers to one question, and the phases
//! ([`super::phase`]) are written once.
//!
//! Sources, as the catalogue of HCCL's algorithms describes them: ring; NHR (nonuniform
//! hierarchical ring: log p rounds, nearest first, largest first); NB (nonuniform Bruck);
//! recursive halving (Thakur, Rabenseifner and Gropp, "Optimization of collective communication
//! operations in MPICH", 2005).

/// A walk over a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Walk {
    /// All hand their parts to the owners at once.
    Mesh,
    /// Each slice goes round, ending in its owner.
    Ring,
    /// Distance doubles; slices go to predecessors.
    Nhr,
    /// Distance doubles; slices go to successors.
    Nb,
    /// Distance halves, by exchange with a partner. Only for powers of two.
    Halving,
}

/// Slices that one member hands to another in one round.
pub(super) type Hand = (u32, Vec<u32>);

impl Walk {
    /// Rounds among `m` members.
    pub(super) fn rounds(self, m: u32) -> u32 {
        match self {
            Self::Mesh => u32::from(m > 1),
            Self::Ring => m - 1,
            Self::Nhr | Self::Nb | Self::Halving => log_ceil(m),
        }
    }

    /// To whom member `i` hands slices in round `t`.
    pub(super) fn takers(self, m: u32, t: u32, i: u32) -> Vec<u32> {
        match self {
            Self::Mesh => (1..m).map(|k| (i + k) % m).collect(),
            Self::Ring => vec![(i + 1) % m],
            Self::Nb => vec![(i + (1 << t)) % m],
            Self::Nhr => vec![(i + m - (1 << t)) % m],
            Self::Halving => vec![i ^ (m >> (t + 1))],
        }
    }

    /// From whom member `i` gets slices in round `t`: of all of them the same slices.
    pub(super) fn givers(self, m: u32, t: u32, i: u32) -> Vec<u32> {
        match self {
            Self::Mesh => (1..m).map(|k| (i + k) % m).collect(),
            Self::Ring => vec![(i + m - 1) % m],
            Self::Nb => vec![(i + m - (1 << t)) % m],
            Self::Nhr => vec![(i + (1 << t)) % m],
            Self::Halving => vec![i ^ (m >> (t + 1))],
        }
    }

    /// What goes in round `t` from one member to another, which is one of its takers.
    pub(super) fn slices(self, m: u32, t: u32, from: u32, to: u32) -> Vec<u32> {
        match self {
            Self::Mesh => vec![to],
            Self::Ring => vec![(from + 2 * m - t - 1) % m],
            // Slices whose way to their owner is an odd multiple of the distance.
            Self::Nb => {
                let d = 1 << t;
                (d..m).step_by(2 * d as usize).map(|o| (from + o) % m).collect()
            }
            Self::Nhr => {
                let d = 1 << t;
                (d..m).step_by(2 * d as usize).map(|o| (from + m - o) % m).collect()
            }
            Self::Halving => {
                let d = m >> (t + 1);
                let first = to / d * d;
                (first..first + d).collect()
            }
        }
    }

    /// What member `i` hands on in round `t`, and to whom.
    pub(super) fn sends(self, m: u32, t: u32, i: u32) -> Vec<Hand> {
        let hand = |to| (to, self.slices(m, t, i, to));
        self.takers(m, t, i).into_iter().map(hand).collect()
    }

    /// In which round, and to whom, member `h` hands slice `j`, which is not its own.
    pub(super) fn next(self, m: u32, h: u32, j: u32) -> (u32, u32) {
        match self {
            Self::Mesh => (0, j),
            Self::Ring => ((h + m - j - 1) % m, (h + 1) % m),
            Self::Nb => {
                let t = ((j + m - h) % m).trailing_zeros();
                (t, (h + (1 << t)) % m)
            }
            Self::Nhr => {
                let t = ((h + m - j) % m).trailing_zeros();
                (t, (h + m - (1 << t)) % m)
            }
            Self::Halving => {
                let d = 1 << (h ^ j).ilog2();
                ((m / d).trailing_zeros() - 1, h ^ d)
            }
        }
    }

    /// Whether member `q` gets nothing for slice `j`, so that it hands on its own part alone.
    pub(super) fn is_leaf(self, m: u32, q: u32, j: u32) -> bool {
        match self {
            Self::Mesh => q != j,
            Self::Ring => q == (j + 1) % m,
            Self::Nb => leaf_at((j + m - q) % m, m),
            Self::Nhr => leaf_at((q + m - j) % m, m),
            Self::Halving => (q ^ j) & (m >> 1) != 0,
        }
    }

    /// The way of slice `j` from member `h` to its owner: round, from, to.
    pub(super) fn path(self, m: u32, h: u32, j: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        let mut at = h;
        std::iter::from_fn(move || {
            (at != j).then(|| {
                let (round, to) = self.next(m, at, j);
                (round, std::mem::replace(&mut at, to), to)
            })
        })
    }
}

/// Whether nobody is `2^k` further from the owner for a `k` that the own distance `o` has clear.
fn leaf_at(o: u32, m: u32) -> bool {
    o % 2 == 1 || o + 1 >= m
}

/// A number of so many bits, read backwards.
pub(super) fn reversed(number: u32, bits: u32) -> u32 {
    if bits == 0 { number } else { number.reverse_bits() >> (32 - bits) }
}

/// The smallest k with 2^k at least `m`.
pub(super) fn log_ceil(m: u32) -> u32 {
    m.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_is_handed_on_once_by_each_and_after_all_that_comes_in() {
        for walk in [Walk::Mesh, Walk::Ring, Walk::Nhr, Walk::Nb, Walk::Halving] {
            for m in (1u32..20).filter(|m| walk != Walk::Halving || m.is_power_of_two()) {
                let rounds = walk.rounds(m);
                let mut handed = vec![vec![None; m as usize]; m as usize];
                let mut last_in = vec![vec![None; m as usize]; m as usize];
                for t in 0..rounds {
                    for i in 0..m {
                        for (to, slices) in walk.sends(m, t, i) {
                            assert!(walk.givers(m, t, to).contains(&i), "{walk:?} {m} {t} {i}");
                            for j in slices {
                                let handed = &mut handed[i as usize][j as usize];
                                assert_eq!(handed.replace(t), None, "{walk:?} {m} {t} {i} {j}");
                                assert_eq!(walk.next(m, i, j), (t, to), "{walk:?} {m}");
                                last_in[to as usize][j as usize] = Some(t);
                            }
                        }
                    }
                }
                for i in 0..m {
                    for j in 0..m {
                        let (out, last) =
                            (handed[i as usize][j as usize], last_in[i as usize][j as usize]);
                        assert_eq!(out.is_some(), i != j);
                        assert!(i == j || last < out, "{walk:?} {m} {i} {j}");
                        let leaf = walk.is_leaf(m, i, j);
                        assert!(m == 1 || leaf == last.is_none(), "{walk:?} {m} {i} {j}");
                        assert_eq!(walk.path(m, i, j).last().map_or(i, |(_, _, to)| to), j);
                    }
                }
            }
        }
    }
}
