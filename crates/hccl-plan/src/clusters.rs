//! Ready-made models of Ascend clusters, from public figures.
//!
//! A rank is a card. The two dies of a 910C are one rank here; HCCL on A3 has a rank for each.
//! Bandwidths are nominal, in one direction. Sources:
//!
//! - **Atlas 800T A2**, eight 910B. The 392 GB/s that are told of a card are seven HCCS links of
//!   56 GB/s, one to each other card [1], which is both directions together: the notes on
//!   performance of Ascend SHMEM count 28 GB/s for a get or put over one link. A card has a RoCE
//!   port of 200 Gb/s [1] [2].
//! - **CloudMatrix384**, 48 nodes of eight 910C. 392 GB/s a card in one direction over the UB
//!   switches; between nodes less than 3 % lower and less than 1 us later; 400 Gb/s RoCE a card
//!   between superpods; 3.2 TB/s of memory bandwidth [3].
//! - A step over **RoCE** takes the 60 us by which HCCL's own choice among algorithms on A2 prices
//!   a step between servers.
//!
//! Assumptions, for want of public figures: a step over HCCS or UB within a node takes 5 us; a 910B
//! has half the memory bandwidth of a 910C, which is two dies of its kind; a card combines and
//! copies at the speed of its memory, with two reads and a write, or a read and a write, for each
//! byte.
//!
//! [1] popomen.github.io, 2023-10-16, on what is better in the 910B; also arthurchiao.art, "GPU
//! advanced notes 2", which compares it with the 400 GB/s of the A800, both directions too.
//! [2] Hu et al., "DeepServe: Serverless Large Language Model Serving at Scale", USENIX ATC 2025.
//! [3] Zuo et al., "Serving Large Language Models on Huawei CloudMatrix384", arXiv:2506.12708.

use crate::simulate::Model;
use crate::topology::{Link, Topology};

/// A ready-made model.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// By which people ask for it.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Sizes of its groups, innermost first.
    sizes: &'static [u32],
    /// Its links, innermost first.
    links: &'static [Link],
    /// Bytes a second of the memory of a card.
    memory: u64,
}

const fn link(latency_us: u64, megabytes_per_s: u64) -> Link {
    Link { latency_ns: latency_us * 1_000, bytes_per_s: megabytes_per_s * 1_000_000, ports: None }
}

/// A port of each card into switches.
const fn switched(link: Link) -> Link {
    Link { ports: Some(crate::topology::Ports::Rank), ..link }
}

pub(crate) const HCCS: Link = link(5, 28_000);
const UB_NODE: Link = switched(link(5, 392_000));
const UB_SUPERPOD: Link = switched(link(6, 380_000));
pub(crate) const ROCE_200: Link = switched(link(60, 25_000));
const ROCE_400: Link = switched(link(60, 50_000));

pub(crate) const MEMORY_910B: u64 = 1_600_000_000_000;
const MEMORY_910C: u64 = 3_200_000_000_000;

/// All of them.
pub const CLUSTERS: [Cluster; 4] = [
    Cluster {
        name: "a2-server",
        about: "8 cards 910B in one Atlas 800T A2, full mesh of HCCS links",
        sizes: &[8],
        links: &[HCCS],
        memory: MEMORY_910B,
    },
    Cluster {
        name: "cluster-1024",
        about: "128 servers Atlas 800T A2 of 8 cards, a 200 Gb/s RoCE port a card",
        sizes: &[8, 128],
        links: &[HCCS, ROCE_200],
        memory: MEMORY_910B,
    },
    Cluster {
        name: "superpod-384",
        about: "CloudMatrix384: 48 nodes of 8 cards 910C on UB switches",
        sizes: &[8, 48],
        links: &[UB_NODE, UB_SUPERPOD],
        memory: MEMORY_910C,
    },
    Cluster {
        name: "cluster-16384",
        about: "128 superpods of 16 nodes of 8 cards 910C, 400 Gb/s RoCE a card between them",
        sizes: &[8, 16, 128],
        links: &[UB_NODE, UB_SUPERPOD, ROCE_400],
        memory: MEMORY_910C,
    },
];

/// Why there is no such cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no ready-made cluster; there are {}", CLUSTERS.map(|one| one.name).join(", "))]
pub struct UnknownCluster {
    /// What was asked for.
    pub name: String,
}

impl Cluster {
    /// The cluster of a name, without regard to case.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self, UnknownCluster> {
        let found = CLUSTERS.into_iter().find(|one| one.name.eq_ignore_ascii_case(name.trim()));
        found.ok_or_else(|| UnknownCluster { name: name.to_owned() })
    }

    /// Its model.
    pub fn model(&self) -> Model {
        Model {
            topology: Topology::uniform(self.sizes).with_links(self.links.to_vec()),
            reduce_bytes_per_s: Some(self.memory / 3),
            copy_bytes_per_s: Some(self.memory / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_what_their_names_say() {
        let ranks = |name| Cluster::named(name).unwrap().model().topology.ranks();
        assert_eq!(
            ["a2-server", "superpod-384", "Cluster-1024 ", "cluster-16384"].map(ranks),
            [8, 384, 1024, 16_384]
        );
        for cluster in CLUSTERS {
            assert_eq!(cluster.model().topology.check(), Ok(()));
        }
        let error = Cluster::named("a3-server").unwrap_err().to_string();
        assert!(error.contains("a3-server") && error.contains("superpod-384"), "{error}");
    }
}
