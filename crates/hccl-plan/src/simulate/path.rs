//! The critical path: the chain of things that each began when the one before it was over, from the
//! start to the end of the last rank. To end earlier, one of them has to become shorter.

use std::fmt;

use crate::topology::Tier;

/// What a rank did for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Read memory of a peer.
    Get {
        /// Whose.
        peer: u32,
        /// How much.
        bytes: u64,
        /// The tier it came over, counted from the innermost.
        tier: usize,
    },
    /// Wrote memory of a peer.
    Put {
        /// Whose.
        peer: u32,
        /// How much.
        bytes: u64,
        /// The tier it went over, counted from the innermost.
        tier: usize,
    },
    /// Combined data.
    Reduce {
        /// How much, counted once for each source but the first.
        bytes: u64,
    },
    /// Copied within its own memory.
    Copy {
        /// How much.
        bytes: u64,
    },
    /// Heard that a peer is so far.
    Hear {
        /// Who.
        peer: u32,
        /// The tier it heard it over, counted from the innermost.
        tier: usize,
    },
}

/// One link of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Who did it.
    pub rank: u32,
    /// Number of the step in its plan. Where several steps are one message, the first.
    pub step: usize,
    /// When it began, picoseconds from the start.
    pub from_ps: u64,
    /// When it was over.
    pub to_ps: u64,
    /// What it did.
    pub work: Work,
}

/// The chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Hop>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tier = Tier::name_of;
        writeln!(f, "{:>14} {:>14}  {:>6} {:>5}  what", "from us", "to us", "rank", "step")?;
        let mut before: Option<u32> = None;
        for hop in &self.0 {
            let Hop { rank, step, work, .. } = hop;
            let (from, to) = (hop.from_ps as f64 / 1e6, hop.to_ps as f64 / 1e6);
            write!(f, "{from:14.3} {to:14.3}  {rank:6} {step:5}  ")?;
            match *work {
                Work::Get { peer, bytes, tier: over } => {
                    write!(f, "gets {bytes} bytes from rank {peer} over {}", tier(over))?;
                }
                Work::Put { peer, bytes, tier: over } => {
                    write!(f, "puts {bytes} bytes to rank {peer} over {}", tier(over))?;
                }
                Work::Reduce { bytes } => write!(f, "reduces {bytes} bytes")?,
                Work::Copy { bytes } => write!(f, "copies {bytes} bytes of its own")?,
                Work::Hear { peer, tier: over } => {
                    write!(f, "hears of rank {peer} over {}", tier(over))?;
                }
            }
            match before {
                Some(other) if other != *rank => writeln!(f, ", after waiting for rank {other}")?,
                _ => writeln!(f)?,
            }
            before = Some(*rank);
        }
        Ok(())
    }
}

/// Something that happened, as a place in [`Story`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(u32);

impl Node {
    /// Before anything happened.
    pub(super) const START: Self = Self(u32::MAX);
}

/// All that may turn out to be a part of the critical path, each with what was before it.
#[derive(Default)]
pub(super) struct Story {
    hops: Vec<(Hop, Node)>,
}

impl Story {
    /// Notes what happened after something else; if it took no time, nothing did.
    pub(super) fn add(&mut self, after: Node, hop: Hop) -> Node {
        if hop.from_ps == hop.to_ps {
            return after;
        }
        self.hops.push((hop, after));
        Node(self.hops.len() as u32 - 1)
    }

    /// The chain that ends here.
    pub(super) fn path(&self, mut node: Node) -> Path {
        let mut hops = Vec::new();
        while let Some((hop, after)) = self.hops.get(node.0 as usize) {
            hops.push(*hop);
            node = *after;
        }
        hops.reverse();
        Path(hops)
    }
}
