//! Which points a run has, and how long each may take.

use std::time::Duration;

use super::point::{Dtype, Operator, Point};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// A few sizes, in minutes.
    Quick,
    Full,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Extent {
    /// Rounds where nobody asks for a number.
    pub(super) fn rounds(self) -> u32 {
        if self == Self::Quick { 3 } else { 5 }
    }

    /// Seconds that the measured calls of a point may take.
    pub(super) fn point_seconds(self) -> f64 {
        if self == Self::Quick { 0.06 } else { 0.3 }
    }

    /// Nothing sane takes longer for the points of one program in one round.
    pub(super) fn program_limit(self, ranks: u32) -> Duration {
        Duration::from_secs(match (self, ranks) {
            (Self::Quick, 2) => 90,
            (Self::Quick, _) => 25,
            (Self::Full, _) => 300,
        })
    }

    /// All points, the costly ones last: what was measured before a time-out is kept.
    pub(super) fn points(self) -> Vec<Point> {
        let full = self == Self::Full;
        let pick = |all: &[u64], few: &[u64]| if full { all.to_vec() } else { few.to_vec() };
        let mut points = Vec::new();
        let mut add = |ranks, operator, dtype, sizes: &[u64]| {
            points.extend(sizes.iter().map(|&bytes| Point { ranks, operator, dtype, bytes }));
        };
        let sizes = pick(
            &[4, 64, KIB, 8 * KIB, 64 * KIB, 512 * KIB, 4 * MIB, 64 * MIB, 256 * MIB],
            &[4, 8 * KIB, 64 * KIB, 4 * MIB, 64 * MIB],
        );
        add(2, Operator::AllReduce, Dtype::Fp32, &sizes);
        let sizes = pick(&[4 * KIB, 64 * KIB, 4 * MIB, 64 * MIB], &[4 * KIB, 4 * MIB]);
        for dtype in [Dtype::Bf16, Dtype::Fp16] {
            add(2, Operator::AllReduce, dtype, &sizes);
        }
        let sizes = pick(&[KIB, 64 * KIB, 4 * MIB, 64 * MIB], &[KIB, 64 * KIB, 4 * MIB]);
        for operator in
            [Operator::AllGather, Operator::ReduceScatter, Operator::AlltoAll, Operator::Broadcast]
        {
            add(2, operator, Dtype::Fp32, &sizes);
        }
        add(2, Operator::PingPong, Dtype::Fp32, &[4, 64 * KIB, 4 * MIB]);
        for ranks in [2, 4] {
            add(ranks, Operator::Barrier, Dtype::Fp32, &[0]);
        }
        add(4, Operator::AllReduce, Dtype::Fp32, &[4, 64 * KIB, 64 * MIB]);
        points.sort_by_key(|point| (point.ranks, point.bytes));
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_points_are_some_of_all_points() {
        let all = Extent::Full.points();
        let few = Extent::Quick.points();
        assert!(few.len() < all.len());
        assert!(few.iter().all(|point| all.contains(point)));
    }
}
