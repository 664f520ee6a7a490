//! What is to be reached, as data, and what a run says about it.

use std::ops::RangeInclusive;

use super::point::{Dtype, Memory, Operator, Point};
use super::statistics::{Ratio, Round, Verdict, against_bare, against_peers, geometric_mean};

/// What ours is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// The fastest peer at each point.
    BestPeer,
    /// The bare loop on memory of the same kind.
    BareLoop,
}

/// A row of the targets: points, and limits for the ratio there.
pub(super) struct Target {
    pub(super) case: &'static str,
    operators: &'static [Operator],
    dtypes: &'static [Dtype],
    ranks: u32,
    bytes: RangeInclusive<u64>,
    ours: Memory,
    pub(super) against: Against,
    /// For each point.
    pub(super) each: Option<f64>,
    /// For the geometric mean over the points.
    pub(super) mean: Option<f64>,
}

/// What came out for a target.
pub(super) struct Judged {
    /// Points that were measured, by verdict: met, tie, missed.
    pub(super) counts: [usize; 3],
    /// The point with the largest ratio.
    pub(super) worst: Option<(Point, Ratio)>,
    pub(super) mean: Option<f64>,
    /// Nothing where no point was measured.
    pub(super) verdict: Option<Verdict>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const FP32: &[Dtype] = &[Dtype::Fp32];
const HALVES: &[Dtype] = &[Dtype::Bf16, Dtype::Fp16];
const ALL_REDUCE: &[Operator] = &[Operator::AllReduce];
const MOVES: &[Operator] =
    &[Operator::AllGather, Operator::ReduceScatter, Operator::AlltoAll, Operator::Broadcast];

/// The most common row; the others say what differs.
const BASE: Target = Target {
    case: "",
    operators: ALL_REDUCE,
    dtypes: FP32,
    ranks: 2,
    bytes: 0..=u64::MAX,
    ours: Memory::Private,
    against: Against::BestPeer,
    each: None,
    mean: None,
};
const MAPPED: Target = Target { ours: Memory::Mapped, ..BASE };
const STREAM: Target = Target { ours: Memory::Stream, ..BASE };

/// All targets.
pub(super) const TARGETS: &[Target] = &[
    Target {
        case: "AllReduce on a stream, 64 KiB to 256 MiB",
        bytes: 64 * KIB..=256 * MIB,
        each: Some(0.35),
        ..STREAM
    },
    Target {
        case: "AllReduce on a stream, 64 KiB to 256 MiB",
        bytes: 64 * KIB..=256 * MIB,
        against: Against::BareLoop,
        each: Some(1.25),
        ..STREAM
    },
    Target {
        case: "AllReduce, mapped, 64 KiB to 256 MiB",
        bytes: 64 * KIB..=256 * MIB,
        each: Some(0.35),
        ..MAPPED
    },
    Target {
        case: "AllReduce, mapped, 64 KiB to 256 MiB",
        bytes: 64 * KIB..=256 * MIB,
        against: Against::BareLoop,
        each: Some(1.25),
        ..MAPPED
    },
    Target {
        case: "AllReduce, mapped in place, 64 KiB to 256 MiB",
        bytes: 64 * KIB..=256 * MIB,
        ours: Memory::MappedInPlace,
        against: Against::BareLoop,
        each: Some(1.25),
        ..BASE
    },
    Target {
        case: "AllReduce on a stream, 4 B to 8 KiB",
        bytes: 4..=8 * KIB,
        each: Some(1.5),
        ..STREAM
    },
    Target {
        case: "AllReduce, mapped, 4 B to 8 KiB",
        bytes: 4..=8 * KIB,
        each: Some(0.9),
        ..MAPPED
    },
    Target {
        case: "AllReduce, mapped, 4 B to 8 KiB",
        bytes: 4..=8 * KIB,
        against: Against::BareLoop,
        each: Some(1.6),
        ..MAPPED
    },
    Target {
        case: "AllReduce, private, 4 B to 256 MiB",
        bytes: 4..=256 * MIB,
        each: Some(1.0),
        mean: Some(0.8),
        ..BASE
    },
    Target {
        case: "AllReduce, private, 4 B to 256 MiB",
        bytes: 4..=256 * MIB,
        against: Against::BareLoop,
        each: Some(1.3),
        ..BASE
    },
    Target {
        case: "AllReduce bf16 and fp16, mapped, 4 KiB to 64 MiB",
        dtypes: HALVES,
        bytes: 4 * KIB..=64 * MIB,
        each: Some(0.35),
        ..MAPPED
    },
    Target {
        case: "AllReduce bf16 and fp16, private, 4 MiB to 64 MiB",
        dtypes: HALVES,
        bytes: 4 * MIB..=64 * MIB,
        each: Some(0.8),
        ..BASE
    },
    Target {
        case: "AllGather, ReduceScatter, AlltoAll, Broadcast, mapped, 64 KiB to 64 MiB",
        operators: MOVES,
        bytes: 64 * KIB..=64 * MIB,
        each: Some(0.5),
        ..MAPPED
    },
    Target {
        case: "AllGather, ReduceScatter, AlltoAll, Broadcast, private, 1 KiB to 64 MiB",
        operators: MOVES,
        bytes: KIB..=64 * MIB,
        each: Some(1.0),
        mean: Some(0.85),
        ..BASE
    },
    Target {
        case: "Ping-pong, mapped, 4 B to 4 MiB",
        operators: &[Operator::PingPong],
        each: Some(1.0),
        ..MAPPED
    },
    Target {
        case: "Ping-pong, private, 4 B to 4 MiB",
        operators: &[Operator::PingPong],
        each: Some(1.0),
        ..BASE
    },
    Target {
        case: "Barrier, 4 ranks",
        operators: &[Operator::Barrier],
        ranks: 4,
        each: Some(1.0),
        ..BASE
    },
    Target {
        case: "AllReduce, mapped, 4 ranks, 4 B and 64 KiB",
        ranks: 4,
        bytes: 4..=64 * KIB,
        each: Some(1.0),
        ..MAPPED
    },
    Target {
        case: "AllReduce, private, 4 ranks, 4 B and 64 KiB",
        ranks: 4,
        bytes: 4..=64 * KIB,
        each: Some(1.0),
        ..BASE
    },
    Target {
        case: "AllReduce, mapped, 4 ranks, 64 MiB",
        ranks: 4,
        bytes: 64 * MIB..=64 * MIB,
        each: Some(0.4),
        ..MAPPED
    },
    Target {
        case: "AllReduce, private, 4 ranks, 64 MiB",
        ranks: 4,
        bytes: 64 * MIB..=64 * MIB,
        each: Some(0.8),
        ..BASE
    },
];

impl Target {
    fn holds_for(&self, point: &Point) -> bool {
        self.operators.contains(&point.operator)
            && self.dtypes.contains(&point.dtype)
            && self.ranks == point.ranks
            && self.bytes.contains(&point.bytes)
    }

    /// What the rounds say about this target.
    pub(super) fn judge(&self, rounds: &[Round], points: &[Point]) -> Judged {
        let ratio = |point: &Point| match self.against {
            Against::BestPeer => against_peers(rounds, self.ours, point),
            Against::BareLoop => against_bare(rounds, self.ours, self.ours.bare(), point),
        };
        let measured: Vec<(Point, Ratio)> = points
            .iter()
            .filter(|point| self.holds_for(point))
            .filter_map(|point| Some((*point, ratio(point)?)))
            .collect();
        let medians: Vec<f64> = measured.iter().map(|(_, ratio)| ratio.median).collect();
        let mean = geometric_mean(&medians);
        let mut counts = [0; 3];
        let mut verdicts: Vec<Verdict> = Vec::new();
        if let Some(limit) = self.each {
            verdicts.extend(medians.iter().map(|median| Verdict::of(*median, limit)));
        }
        for verdict in &verdicts {
            counts[*verdict as usize] += 1;
        }
        if let (Some(mean), Some(limit)) = (mean, self.mean) {
            verdicts.push(Verdict::of(mean, limit));
        }
        Judged {
            counts,
            worst: measured.into_iter().max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median)),
            mean,
            verdict: verdicts.into_iter().max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Extent;
    use super::super::point::{Peer, Program};
    use super::super::sample::Sample;
    use super::*;

    const SMALL: Point =
        Point { ranks: 2, operator: Operator::AllReduce, dtype: Dtype::Fp32, bytes: 4 };
    const LARGE: Point = Point { bytes: 4 * MIB, ..SMALL };

    fn round(small: f64, large: f64) -> Round {
        let sample = |us| Sample { median_us: us, p99_us: us };
        Round::from([
            ((Program::Ours(Memory::Private), SMALL), sample(small)),
            ((Program::Ours(Memory::Private), LARGE), sample(large)),
            ((Program::Peer(Peer::Gloo), SMALL), sample(1.0)),
            ((Program::Peer(Peer::Gloo), LARGE), sample(1.0)),
        ])
    }

    #[test]
    fn the_worst_point_and_the_mean_decide() {
        let target = Target { each: Some(1.0), mean: Some(0.8), ..BASE };
        let points = [SMALL, LARGE];
        let judged = target.judge(&[round(0.5, 1.05)], &points);
        assert_eq!(judged.counts, [1, 1, 0]);
        assert_eq!(judged.worst.unwrap().0, LARGE);
        assert_eq!(judged.verdict, Some(Verdict::Tie));
        // Each point is met, and the mean is not.
        let judged = target.judge(&[round(1.0, 1.0)], &points);
        assert_eq!(judged.counts, [2, 0, 0]);
        assert_eq!(judged.verdict, Some(Verdict::Missed));
        let judged = target.judge(&[round(0.5, 0.5)], &points);
        assert_eq!(judged.verdict, Some(Verdict::Met));
    }

    #[test]
    fn what_was_not_measured_has_no_verdict() {
        let judged = MAPPED.judge(&[round(1.0, 1.0)], &[SMALL]);
        assert!(judged.verdict.is_none() && judged.worst.is_none());
    }

    #[test]
    fn each_target_has_a_limit_and_points_in_quick_runs_too() {
        for target in TARGETS {
            assert!(target.each.is_some() || target.mean.is_some(), "{}", target.case);
            for extent in [Extent::Quick, Extent::Full] {
                let points = extent.points();
                assert!(points.iter().any(|point| target.holds_for(point)), "{}", target.case);
            }
        }
    }
}
