//! A topology as a choice sees it: tiers that have something to do, with the link of each.

use crate::clusters::{HCCS, ROCE_200};
use crate::topology::{Link, Ports, Topology};

use super::text::{speed, time};

/// A tier whose groups have more than one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tier {
    /// Members of a group.
    pub(super) size: u32,
    /// What connects them.
    pub(super) link: Link,
    /// The level of HCCL that speaks of it: 0 inside a server, 1 between servers, 2 between
    /// superpods.
    pub(super) level: usize,
    /// Whether each member has a link of its own to each other; else each has one port for all.
    pub(super) is_mesh: bool,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) ranks: u32,
    /// Innermost first. Empty where a rank is alone.
    pub(super) tiers: Vec<Tier>,
    /// Ranks of each server, where these differ; then there is one tier of all ranks.
    pub(super) uneven: Option<Vec<u32>>,
    /// The link inside the servers and the slowest between them, for uneven servers.
    pub(super) inside_outside: [Link; 2],
    /// Whether the ranks of a server have a link for each pair.
    pub(super) meshed: bool,
    /// Whether links are those of the topology, and not assumed.
    pub(super) links_known: bool,
    /// How many ranks a server has, where all have the same.
    pub(super) server: Option<u32>,
}

/// What is assumed of links where a topology says nothing: those of Atlas A2, in a server and
/// between servers.
const ASSUMED: [Link; 2] = [HCCS, ROCE_200];

impl Shape {
    pub(super) fn of(topology: &Topology, ranks: u32) -> Self {
        let link = |tier: usize| {
            let assumed = ASSUMED[tier.min(1)];
            topology.links.get(tier).copied().unwrap_or(assumed)
        };
        let last = topology.groups.len().saturating_sub(1);
        let between = slowest((1..=last.max(1)).map(link));
        let servers = topology.groups.first().map_or(&[][..], |sizes| sizes);
        let mut shape = Self {
            ranks,
            tiers: Vec::new(),
            uneven: None,
            inside_outside: [link(0), between],
            meshed: topology.ports(0) == Ports::Pair,
            links_known: !topology.links.is_empty(),
            server: even(servers),
        };
        let mut width = 1u64;
        for (level, sizes) in topology.groups.iter().enumerate() {
            let tier = match even(sizes) {
                Some(size) => {
                    let is_mesh = topology.ports(level) == Ports::Pair;
                    Tier { size, link: link(level), level, is_mesh }
                }
                // All further members together are one tier.
                None if level > 0 => {
                    let size = u32::try_from(u64::from(ranks) / width).unwrap_or(0);
                    let link = slowest((level..=last).map(link));
                    Tier { size, link, level, is_mesh: false }
                }
                None => break,
            };
            width = width.saturating_mul(u64::from(tier.size)).max(1);
            if tier.size > 1 {
                shape.tiers.push(tier);
            }
            if even(sizes).is_none() {
                break;
            }
        }
        if shape.server.is_none() || width != u64::from(ranks) {
            let holds = servers.iter().map(|&size| u64::from(size)).sum::<u64>();
            shape.uneven = (holds == u64::from(ranks) && servers.len() > 1).then(|| servers.into());
            let all = slowest([link(0), between].into_iter());
            shape.tiers = vec![Tier { size: ranks, link: all, level: 1, is_mesh: false }];
            shape.server = None;
        }
        shape.tiers.retain(|tier| tier.size > 1);
        shape
    }

    /// All ranks as one tier: over the slowest of the links.
    pub(super) fn over_all(&self) -> Tier {
        let link = slowest(self.tiers.iter().map(|tier| tier.link));
        let level = self.tiers.first().map_or(0, |tier| tier.level);
        Tier { size: self.ranks, link, level, is_mesh: self.is_one_mesh() }
    }

    /// The links that estimates go by, in words.
    pub(super) fn links(&self) -> String {
        let link = |Link { latency_ns, bytes_per_s, .. }: Link| {
            format!("{} and {}", time(latency_ns), speed(bytes_per_s))
        };
        let tier = |tier: &Tier| {
            let name = ["inside servers", "between servers", "between superpods"];
            let name = name.get(tier.level).unwrap_or(&"between clusters");
            format!("{} {name}", link(tier.link))
        };
        let links = match &self.uneven {
            Some(_) => {
                let [inside, outside] = self.inside_outside;
                vec![format!("{} inside servers, {} between", link(inside), link(outside))]
            }
            None => self.tiers.iter().map(tier).collect(),
        };
        let source = if self.links_known { "" } else { ", assumed" };
        format!("links: {}{source}", links.join(", "))
    }

    /// Whether every rank has a link of its own to every other.
    pub(super) fn is_one_mesh(&self) -> bool {
        matches!(&*self.tiers, [only] if only.is_mesh)
    }
}

/// The size that all have, if they do.
fn even(sizes: &[u32]) -> Option<u32> {
    let first = *sizes.first()?;
    sizes.iter().all(|size| *size == first).then_some(first)
}

fn slowest(links: impl Iterator<Item = Link>) -> Link {
    links
        .reduce(|a, b| Link {
            latency_ns: a.latency_ns.max(b.latency_ns),
            bytes_per_s: a.bytes_per_s.min(b.bytes_per_s),
            ports: None,
        })
        .unwrap_or(ASSUMED[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        let topology: Topology = text.parse().unwrap();
        Shape::of(&topology, topology.ranks())
    }

    /// Size and level of each tier.
    fn tiers(text: &str) -> Vec<(u32, usize)> {
        shape(text).tiers.iter().map(|tier| (tier.size, tier.level)).collect()
    }

    #[test]
    fn tiers_with_nothing_to_do_are_left_out() {
        assert_eq!(tiers("8"), [(8, 0)]);
        assert_eq!(tiers("1"), []);
        assert_eq!(tiers("1x8"), [(8, 1)]);
        assert_eq!(tiers("8x1"), [(8, 0)]);
        assert_eq!(tiers("4x1x3"), [(4, 0), (3, 2)]);
        assert_eq!(tiers("8x4x2"), [(8, 0), (4, 1), (2, 2)]);
        assert!(shape("8").is_one_mesh());
        assert!(!shape("1x8").is_one_mesh() && !shape("2x2").is_one_mesh());
    }

    #[test]
    fn what_is_uneven_is_one_tier() {
        assert_eq!(tiers("2+3+5"), [(10, 1)]);
        assert_eq!(shape("2+3+5").uneven, Some(vec![2, 3, 5]));
        assert_eq!(tiers("8x4+8x3"), [(8, 0), (7, 1)]);
        assert_eq!(shape("8x4+8x3").server, Some(8));
        assert_eq!(tiers("2x2x2+2x2x3"), [(2, 0), (2, 1), (5, 2)]);
        assert_eq!(tiers("1x4+1x3"), [(7, 1)]);
        assert_eq!(tiers("8x2+4x4"), [(32, 1)]);
    }

    #[test]
    fn links_are_those_of_the_tiers_or_assumed() {
        let mut topology: Topology = "4x3x2".parse().unwrap();
        assert_eq!(Shape::of(&topology, 24).tiers[2].link, ASSUMED[1]);
        let link = |n: u64| Link { latency_ns: n, bytes_per_s: 1000 / n, ports: None };
        topology.links = vec![link(1), link(2), link(4)];
        let shape = Shape::of(&topology, 24);
        assert_eq!(shape.tiers.iter().map(|tier| tier.link).collect::<Vec<_>>(), topology.links);
        assert_eq!(shape.over_all().link, link(4));
        assert_eq!(shape.inside_outside, [link(1), link(4)]);
        assert_eq!(
            shape.tiers.iter().map(|tier| tier.is_mesh).collect::<Vec<_>>(),
            [true, false, false]
        );
        topology.links[0].ports = Some(Ports::Rank);
        topology.links[2].ports = Some(Ports::Pair);
        let ports = Shape::of(&topology, 24);
        assert_eq!(
            ports.tiers.iter().map(|tier| tier.is_mesh).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert!(!ports.meshed && !ports.is_one_mesh());
        let words = "links: 1 ns and 1000 B/s inside servers, 2 ns and 500 B/s between servers, 4 ns \
                     and 250 B/s between superpods";
        assert_eq!(shape.links(), words);
        let uneven = super::tests::shape("2+3").links();
        let words = "links: 5 us and 28 GB/s inside servers, 60 us and 25 GB/s between, assumed";
        assert_eq!(uneven, words);
    }

    #[test]
    fn contradictions_are_one_tier_of_all_ranks() {
        for groups in [vec![], vec![vec![]], vec![vec![3], vec![0]], vec![vec![u32::MAX; 3]]] {
            let topology = Topology { groups, links: Vec::new() };
            let shape = Shape::of(&topology, 12);
            assert_eq!((shape.tiers.len(), shape.over_all().size), (1, 12));
            assert_eq!((shape.uneven, shape.server), (None, None));
        }
    }
}
