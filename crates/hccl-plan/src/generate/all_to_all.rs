//! AlltoAll over tiers: each tier corrects one coordinate of the place of every block.

use crate::plan::Span;

use super::builder::{Builder, input, output, scratch};
use super::hierarchy::{Tier, own_block};

/// Before tier l a rank holds the blocks for its places in the tiers before, from all those that
/// have its places from l on; where a block lies tells the places that are not fixed.
pub(super) fn all_to_all(b: &mut Builder<'_>, tiers: &[Tier]) {
    let (rank, ranks) = (b.rank, b.task.ranks);
    let real: Vec<&Tier> = tiers.iter().filter(|tier| tier.size > 1).collect();
    if real.is_empty() {
        own_block(b);
        return;
    }
    let stages = real.len();
    b.scratch(u64::from(ranks) * (stages as u64 - 1));
    for (stage, tier) in real.into_iter().enumerate() {
        let place = |rank, stage: usize, at: u32| match stage {
            0 => input(rank, u64::from(at)),
            n if n == stages => output(rank, u64::from(at)),
            n => scratch(rank, u64::from(at) + u64::from(ranks) * (n as u64 - 1)),
        };
        let level = stage as u32 + 1;
        let outer = tier.width * tier.size;
        for k in 0..tier.size {
            let member = (tier.place + k) % tier.size;
            let peer = rank - tier.place * tier.width + member * tier.width;
            b.wait(peer, level);
            for e in 0..ranks / outer {
                for a in 0..tier.width {
                    let source = place(peer, stage, e * outer + tier.place * tier.width + a);
                    let target = place(rank, stage + 1, e * outer + member * tier.width + a);
                    b.copy(Span::WHOLE, source, target);
                }
            }
            b.visitor(peer, level + 1);
        }
        b.signal(level + 1);
    }
}
