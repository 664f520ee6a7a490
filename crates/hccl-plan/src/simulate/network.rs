//! The topology in the form in which the simulator asks for it: which tier is between two ranks,
//! what its links can do, and which ports a transfer shares with others.

use crate::topology::{Ports, Topology};

use super::{Model, SimulateError};

/// Picoseconds of a second.
const SECOND_PS: f64 = 1e12;

/// The links of a tier.
pub(super) struct TierLink {
    pub(super) latency_ps: u64,
    /// Bytes a picosecond.
    pub(super) rate: f64,
    pub(super) ports: Ports,
}

pub(super) struct Network {
    pub(super) ranks: u32,
    /// Innermost first.
    pub(super) tiers: Vec<TierLink>,
    /// Bytes a picosecond that a rank reduces; nothing if it takes no time.
    pub(super) reduce: Option<f64>,
    /// Bytes a picosecond that a rank copies; nothing if it takes no time.
    pub(super) copy: Option<f64>,
    /// For each tier the group of each rank.
    groups: Vec<Vec<u32>>,
    /// The outermost tier that connects anything.
    widest: u8,
}

impl Network {
    pub(super) fn new(model: &Model) -> Result<Self, SimulateError> {
        let topology = &model.topology;
        topology.check()?;
        if topology.ranks() > super::RANKS_MAX {
            return Err(SimulateError::TooLarge);
        }
        if topology.links.is_empty() {
            return Err(SimulateError::NoLinks);
        }
        if topology.groups.len() > usize::from(u8::MAX) {
            return Err(SimulateError::Tiers { tiers: topology.groups.len() });
        }
        for (what, rate) in [
            ("reduces", model.reduce_bytes_per_s),
            ("copies within its own memory", model.copy_bytes_per_s),
        ] {
            if rate == Some(0) {
                return Err(SimulateError::NoRate { what });
            }
        }
        let rate = |bytes_per_s: u64| bytes_per_s as f64 / SECOND_PS;
        let tier = |(tier, link): (usize, &crate::topology::Link)| {
            let latency_ps = link.latency_ns.checked_mul(1000).filter(|ps| *ps <= super::TIME_MAX);
            Ok::<_, SimulateError>(TierLink {
                latency_ps: latency_ps.ok_or(SimulateError::TooLong)?,
                rate: rate(link.bytes_per_s),
                ports: topology.ports(tier),
            })
        };
        let widest = topology.groups.iter().rposition(|sizes| sizes.iter().any(|&size| size > 1));
        Ok(Self {
            ranks: topology.ranks(),
            tiers: topology.links.iter().enumerate().map(tier).collect::<Result<_, _>>()?,
            reduce: model.reduce_bytes_per_s.map(rate),
            copy: model.copy_bytes_per_s.map(rate),
            groups: groups(topology),
            widest: widest.unwrap_or(0) as u8,
        })
    }

    /// The innermost tier that connects two ranks.
    pub(super) fn tier(&self, a: u32, b: u32) -> u8 {
        let meets = |groups: &Vec<u32>| groups[a as usize] == groups[b as usize];
        self.groups.iter().position(meets).unwrap_or(0) as u8
    }

    pub(super) fn link(&self, tier: u8) -> &TierLink {
        &self.tiers[usize::from(tier)]
    }

    /// How long it takes until a rank hears of something over a tier.
    pub(super) fn latency(&self, tier: u8) -> u64 {
        self.link(tier).latency_ps
    }

    /// How long it takes until all have heard of something.
    pub(super) fn meeting_latency(&self) -> u64 {
        if self.ranks > 1 { self.latency(self.widest) } else { 0 }
    }

    /// The tier whose latency a meeting of all has.
    pub(super) fn meeting_tier(&self) -> u8 {
        self.widest
    }
}

/// For each tier the group of each rank. A rank may be asked for often, and a topology answers by
/// counting.
fn groups(topology: &Topology) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = Vec::with_capacity(topology.groups.len());
    for sizes in &topology.groups {
        let of_member: Vec<u32> = (0u32..)
            .zip(sizes)
            .flat_map(|(group, &size)| std::iter::repeat_n(group, size as usize))
            .collect();
        all.push(match all.last() {
            None => of_member,
            Some(inner) => inner.iter().map(|&member| of_member[member as usize]).collect(),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Link;

    #[test]
    fn tiers_between_ranks_are_those_of_the_topology() {
        for text in ["8", "4x3x2", "2+3+5", "2x2+2x3", "1x3"] {
            let topology: Topology = text.parse().unwrap();
            let link = Link { latency_ns: 3, bytes_per_s: 5, ports: None };
            let links = vec![link; topology.groups.len()];
            let model = Model::new(topology.clone().with_links(links));
            let network = Network::new(&model).unwrap();
            for a in 0..topology.ranks() {
                for b in 0..topology.ranks() {
                    let expected = topology.tier_between(a, b).unwrap() as u8;
                    assert_eq!(network.tier(a, b), expected, "{text} {a} {b}");
                }
            }
        }
    }
}
