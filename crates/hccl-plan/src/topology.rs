//! Where the ranks are: devices in hosts, hosts in superpods, superpods in a cluster, and what the
//! links of each tier can do.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generate::{Algorithm, Flat};

/// A tier: what the members of one kind of group are connected by.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Devices of one host, each connected to each.
    Mesh,
    /// Hosts of one superpod.
    Host,
    /// Superpods of one cluster.
    Superpod,
    /// Clusters.
    Cluster,
}

impl Tier {
    /// All tiers, innermost first.
    pub const ALL: [Self; 4] = [Self::Mesh, Self::Host, Self::Superpod, Self::Cluster];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Host => "host",
            Self::Superpod => "superpod",
            Self::Cluster => "cluster",
        }
    }

    /// The name of a tier, counted from the innermost, also of those that have none.
    pub fn name_of(tier: usize) -> String {
        Self::ALL.get(tier).map_or_else(|| format!("tier{tier}"), |tier| tier.name().to_owned())
    }
}

/// Who shares the bandwidth of the links of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ports {
    /// Nobody: each pair of ranks has a link of its own.
    Pair,
    /// Each rank has one port into the tier: all that it sends there at a time shares its
    /// bandwidth, and so does all that it receives.
    Rank,
}

/// What a link can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// From the beginning of a step to its first byte, nanoseconds.
    pub latency_ns: u64,
    /// Bytes a second in one direction.
    pub bytes_per_s: u64,
    /// Who shares them; where nothing is said, nobody in the innermost tier, and all of a rank in
    /// the others, which have switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
}

/// Ranks in groups of groups. Ranks are numbered group after group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// For each tier, innermost first: how many members each of its groups has. Members of the
    /// innermost are ranks, members of the next are groups of the one before.
    pub groups: Vec<Vec<u32>>,
    /// The links of each tier, where they are known; as many as tiers, or none.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// Why a text is no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no topology: {why}; examples are 8, 8x4, 8x4x2, 2+3+5, 8x4+8x3")]
pub struct ParseError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Why a topology cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTopology {
    /// The groups of a tier do not hold those of the tier before.
    #[error("tier {tier} has {found} members in its groups, but there are {expected}")]
    Members {
        /// Which tier, counted from the innermost.
        tier: usize,
        /// How many members its groups have.
        found: u64,
        /// How many groups the tier before has.
        expected: u64,
    },
    /// A group without members, or no groups, or more ranks than allowed.
    #[error("{0}")]
    Shape(&'static str),
    /// There are links, but not one for each tier.
    #[error("there are {links} links for {tiers} tiers; give one a tier, or none")]
    Links {
        /// How many links.
        links: usize,
        /// How many tiers.
        tiers: usize,
    },
    /// A link that carries nothing.
    #[error("the link of tier {tier} carries 0 bytes a second; give at least 1")]
    NoBandwidth {
        /// Which tier, counted from the innermost.
        tier: usize,
    },
}

/// More ranks than anybody has.
const RANKS_MAX: u64 = 1 << 24;

impl Topology {
    /// Groups of the same size, innermost first.
    pub fn uniform(sizes: &[u32]) -> Self {
        let mut groups = Vec::with_capacity(sizes.len());
        let mut count: usize = 1;
        for &size in sizes.iter().rev() {
            groups.push(vec![size; count]);
            count = count.saturating_mul(size as usize);
        }
        groups.reverse();
        Self { groups, links: Vec::new() }
    }

    /// Hosts of these sizes.
    pub fn uneven(sizes: &[u32]) -> Self {
        Self { groups: vec![sizes.to_vec(), vec![sizes.len() as u32]], links: Vec::new() }
    }

    /// The same groups with these links, innermost first.
    pub fn with_links(self, links: Vec<Link>) -> Self {
        Self { links, ..self }
    }

    /// Whether groups and links fit together, as they always do for a topology from a text.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), InvalidTopology> {
        let total = |sizes: &[u32]| sizes.iter().map(|&size| u64::from(size)).sum::<u64>();
        let Some(innermost) = self.groups.first() else {
            return Err(InvalidTopology::Shape("there are no tiers"));
        };
        if total(innermost) > RANKS_MAX {
            return Err(InvalidTopology::Shape("there are more than 2^24 ranks"));
        }
        for (tier, sizes) in self.groups.iter().enumerate() {
            let expected = match tier {
                0 => total(sizes),
                _ => self.groups[tier - 1].len() as u64,
            };
            if total(sizes) != expected {
                return Err(InvalidTopology::Members { tier, found: total(sizes), expected });
            }
            if sizes.contains(&0) {
                return Err(InvalidTopology::Shape("a group has no members"));
            }
        }
        if self.groups.last().is_none_or(|sizes| sizes.len() != 1) {
            return Err(InvalidTopology::Shape("the outermost tier is not one group"));
        }
        if !self.links.is_empty() && self.links.len() != self.groups.len() {
            return Err(InvalidTopology::Links {
                links: self.links.len(),
                tiers: self.groups.len(),
            });
        }
        match self.links.iter().position(|link| link.bytes_per_s == 0) {
            Some(tier) => Err(InvalidTopology::NoBandwidth { tier }),
            None => Ok(()),
        }
    }

    /// Who shares the bandwidth of the links of a tier.
    pub fn ports(&self, tier: usize) -> Ports {
        let default = if tier == 0 { Ports::Pair } else { Ports::Rank };
        self.links.get(tier).and_then(|link| link.ports).unwrap_or(default)
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.groups.first().map_or(0, |sizes| sizes.iter().sum())
    }

    /// The size of the groups of each tier, if all of a tier have the same.
    pub fn sizes(&self) -> Option<Vec<u32>> {
        let same = |sizes: &Vec<u32>| {
            let first = *sizes.first()?;
            sizes.iter().all(|size| *size == first).then_some(first)
        };
        self.groups.iter().map(same).collect()
    }

    /// The group of a rank in a tier, and its place there.
    pub fn place(&self, tier: usize, rank: u32) -> Option<(u32, u32)> {
        let mut member = rank;
        for (i, sizes) in self.groups.iter().enumerate() {
            let (mut group, mut place) = (0, member);
            for &size in sizes {
                if place < size {
                    break;
                }
                place -= size;
                group += 1;
            }
            if group as usize >= sizes.len() {
                return None;
            }
            if i == tier {
                return Some((group, place));
            }
            member = group;
        }
        None
    }

    /// The innermost tier in which two ranks belong to one group: whose links they talk over.
    pub fn tier_between(&self, a: u32, b: u32) -> Option<usize> {
        (0..self.groups.len()).find(|&tier| match (self.place(tier, a), self.place(tier, b)) {
            (Some((one, _)), Some((other, _))) => one == other,
            _ => false,
        })
    }

    /// The link between two ranks, where links are known.
    pub fn link_between(&self, a: u32, b: u32) -> Option<Link> {
        self.links.get(self.tier_between(a, b)?).copied()
    }

    /// The composition for this topology: tier by tier where groups are even, else AHC over the
    /// innermost groups. `flats` says how each tier runs, innermost first; the last stands for
    /// all further ones.
    pub fn algorithm(&self, flats: &[Flat]) -> Algorithm {
        let flat = |tier: usize| flats.get(tier).or(flats.last()).copied().unwrap_or(Flat::Nhr);
        match (self.sizes(), self.groups.first()) {
            (Some(sizes), _) => Algorithm::Hierarchy(
                sizes.into_iter().enumerate().map(|(tier, size)| (size, flat(tier))).collect(),
            ),
            (None, groups) => Algorithm::Ahc {
                groups: groups.cloned().unwrap_or_default(),
                inside: flat(0),
                between: flat(1),
            },
        }
    }
}

impl FromStr for Topology {
    type Err = ParseError;

    /// `8x4`: 4 groups of 8. `8x4x2`: 2 groups of such. `2+3+5`: groups of 2, 3 and 5.
    /// `8x4+8x3`: two groups, of 4 and of 3 groups of 8.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fail = |why| ParseError { text: text.to_owned(), why };
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let terms: Vec<&str> = text.split('+').collect();
        let (mut tiers, mut ranks) = (None, 0u64);
        for term in &terms {
            let mut sizes = Vec::new();
            let mut product = 1u64;
            for size in term.split('x') {
                let size: u32 =
                    size.trim().parse().map_err(|_| fail("it has a part that is no number"))?;
                product = product.saturating_mul(u64::from(size));
                sizes.push(size);
            }
            ranks = ranks.saturating_add(product);
            if product == 0 || ranks > RANKS_MAX {
                return Err(fail("it has no ranks, or too many"));
            }
            if *tiers.get_or_insert(sizes.len()) != sizes.len() {
                return Err(fail("its terms differ in depth"));
            }
            let term = Self::uniform(&sizes);
            groups.resize(sizes.len(), Vec::new());
            for (all, more) in groups.iter_mut().zip(term.groups) {
                all.extend(more);
            }
        }
        if terms.len() > 1 {
            groups.push(vec![terms.len() as u32]);
        }
        Ok(Self { groups, links: Vec::new() })
    }
}

impl std::fmt::Display for Topology {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(sizes) = self.sizes() {
            let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
            return f.write_str(&sizes.join("x"));
        }
        // A sum over the outermost groups, each of which is even or shown by its ranks.
        let inner = self.groups.len() - 1;
        let mut terms = Vec::new();
        let mut begin: Vec<usize> = vec![0; inner];
        for outer in 0..self.groups[inner].iter().sum::<u32>() {
            let mut sizes = Vec::new();
            let mut count = 1;
            for tier in (0..inner).rev() {
                let from = if tier + 1 == inner { outer as usize } else { begin[tier] };
                let of_tier = &self.groups[tier][from..from + count];
                begin[tier] = from + count;
                sizes.push(of_tier.first().copied().unwrap_or(0).to_string());
                count = of_tier.iter().sum::<u32>() as usize;
            }
            sizes.reverse();
            terms.push(sizes.join("x"));
        }
        f.write_str(&terms.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for (text, ranks, tiers) in [("8", 8, 1), ("8x4", 32, 2), ("8x4x2", 64, 3)] {
            let topology: Topology = text.parse().unwrap();
            assert_eq!((topology.ranks(), topology.groups.len()), (ranks, tiers));
            assert_eq!(topology.to_string(), text);
        }
        for (text, ranks) in [("2+3+5", 10), ("8x4+8x3", 56), ("2x2x2+2x2x3", 20)] {
            let topology: Topology = text.parse().unwrap();
            assert_eq!(topology.ranks(), ranks);
            assert_eq!(topology.to_string(), text);
            assert_eq!(topology.sizes(), None);
        }
        assert_eq!("2+3+5".parse(), Ok(Topology::uneven(&[2, 3, 5])));
        for bad in ["", "x", "0", "8x", "8+", "-1", "8x4+8", "99999999x99999999"] {
            let error = bad.parse::<Topology>().unwrap_err();
            assert!(error.to_string().contains("examples"), "{error}");
        }
    }

    #[test]
    fn ranks_have_places_and_links() {
        let mut topology: Topology = "4x3x2".parse().unwrap();
        assert_eq!(topology.place(0, 17), Some((4, 1)));
        assert_eq!(topology.place(1, 17), Some((1, 1)));
        assert_eq!(topology.place(2, 17), Some((0, 1)));
        assert_eq!(topology.place(0, 24), None);
        assert_eq!(topology.tier_between(0, 3), Some(0));
        assert_eq!(topology.tier_between(0, 4), Some(1));
        assert_eq!(topology.tier_between(0, 12), Some(2));
        assert_eq!(topology.link_between(0, 1), None);
        let link = |latency_ns| Link { latency_ns, bytes_per_s: 1, ports: None };
        topology.links = vec![link(1), link(2), link(3)];
        assert_eq!(topology.link_between(0, 12), Some(link(3)));
        assert_eq!(
            [0, 1, 2].map(|tier| topology.ports(tier)),
            [Ports::Pair, Ports::Rank, Ports::Rank]
        );
        topology.links[0].ports = Some(Ports::Rank);
        assert_eq!(topology.ports(0), Ports::Rank);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let link = Link { latency_ns: 1, bytes_per_s: 1, ports: None };
        let even = || Topology::uniform(&[4, 3]);
        assert_eq!(even().check(), Ok(()));
        assert_eq!(even().with_links(vec![link; 2]).check(), Ok(()));
        assert_eq!("8x4+8x3".parse::<Topology>().unwrap().check(), Ok(()));
        let refused = |topology: Topology| topology.check().unwrap_err().to_string();
        assert!(refused(even().with_links(vec![link])).contains("1 links for 2 tiers"));
        let dead = Link { bytes_per_s: 0, ..link };
        assert!(refused(even().with_links(vec![link, dead])).contains("tier 1 carries 0 bytes"));
        let groups = |groups: &[&[u32]]| Topology {
            groups: groups.iter().map(|sizes| sizes.to_vec()).collect(),
            links: Vec::new(),
        };
        assert!(refused(groups(&[])).contains("no tiers"));
        assert!(refused(groups(&[&[4, 4], &[3]])).contains("has 3 members"));
        assert!(refused(groups(&[&[4, 0], &[2]])).contains("no members"));
        assert!(refused(groups(&[&[4, 4]])).contains("not one group"));
        assert!(refused(groups(&[&[u32::MAX, u32::MAX], &[2]])).contains("2^24"));
    }

    #[test]
    fn links_in_files_may_leave_out_who_shares_them() {
        let text = r#"{"latency_ns": 7, "bytes_per_s": 9}"#;
        let link: Link = serde_json::from_str(text).unwrap();
        assert_eq!(link, Link { latency_ns: 7, bytes_per_s: 9, ports: None });
        assert_eq!(
            serde_json::to_string(&link).unwrap(),
            text.replace(": ", ":").replace(", ", ",")
        );
        let rank = Link { ports: Some(Ports::Rank), ..link };
        let text = serde_json::to_string(&rank).unwrap();
        assert_eq!(serde_json::from_str::<Link>(&text).unwrap(), rank);
    }

    #[test]
    fn uneven_groups_run_ahc() {
        let even: Topology = "4x3".parse().unwrap();
        let tiers = vec![(4, Flat::Mesh), (3, Flat::Nb)];
        assert_eq!(even.algorithm(&[Flat::Mesh, Flat::Nb]), Algorithm::Hierarchy(tiers));
        let uneven: Topology = "8+7".parse().unwrap();
        let ahc = Algorithm::Ahc { groups: vec![8, 7], inside: Flat::Ring, between: Flat::Ring };
        assert_eq!(uneven.algorithm(&[Flat::Ring]), ahc);
    }
}
