//! Algorithms as people ask for them: whole, or with sizes of groups to be taken from the topology.

use std::str::FromStr;

use anyhow::{Context as _, Error, Result};
use hccl_plan::{Algorithm, Flat, Mesh, Topology};

/// Up to so many ranks, slower algorithms are tried without being asked for.
const FEW_RANKS: u32 = 4096;

/// An algorithm, or a form that a topology completes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// An algorithm that says everything.
    Whole(Algorithm),
    /// A hierarchy over the tiers of the topology, innermost first; AHC where groups are uneven.
    Tiers(Vec<Flat>),
    /// AHC over the innermost groups of the topology.
    Ahc(Flat, Flat),
    /// A pipeline over the innermost groups of the topology.
    Pipeline,
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let word = text.trim().to_ascii_lowercase();
        if word == "pipeline" {
            return Ok(Self::Pipeline);
        }
        if let Some(rest) = word.strip_prefix("hierarchy:")
            && !rest.contains('*')
        {
            let flats = rest.split('+').map(str::parse).collect::<Result<_, _>>();
            let flats = flats.with_context(|| format!("`{text}` is no algorithm"))?;
            return Ok(Self::Tiers(flats));
        }
        if let Some(rest) = word.strip_prefix("ahc:")
            && let Some((inside, between)) = rest.split_once(':')
            && let (Ok(inside), Ok(between)) = (inside.parse(), between.parse())
        {
            return Ok(Self::Ahc(inside, between));
        }
        let algorithm = word.parse();
        Ok(Self::Whole(algorithm.context(
            "besides, hierarchy:HOW+HOW..., ahc:INSIDE:BETWEEN and pipeline take the sizes of \
             groups from the topology (as in hierarchy:mesh+nhr)",
        )?))
    }
}

impl Choice {
    /// Several, with commas between them.
    pub(super) fn list(text: &str) -> Result<Vec<Self>> {
        Algorithm::split(text).iter().map(|piece| piece.parse()).collect()
    }

    /// The algorithm on a topology.
    pub(super) fn on(&self, topology: &Topology) -> Algorithm {
        let groups = || topology.groups.first().cloned().unwrap_or_default();
        match self {
            Self::Whole(algorithm) => algorithm.clone(),
            Self::Tiers(flats) => topology.algorithm(flats),
            Self::Ahc(inside, between) => {
                Algorithm::Ahc { groups: groups(), inside: *inside, between: *between }
            }
            Self::Pipeline => Algorithm::Pipeline { group: groups().first().copied().unwrap_or(1) },
        }
    }

    /// What is worth a look when nothing was asked for.
    pub(super) fn usual(topology: &Topology) -> Vec<Self> {
        if topology.groups.len() > 1 {
            let tiers = |outer| Self::Tiers(vec![Flat::Mesh, outer]);
            let mut choices = vec![tiers(Flat::Nhr)];
            // Rings, and one tier, of very many ranks take minutes.
            if topology.ranks() <= FEW_RANKS {
                choices.push(tiers(Flat::Ring));
                choices.extend([Algorithm::Nhr, Algorithm::Pairwise].map(Self::Whole));
            }
            return choices;
        }
        let one_tier = [
            Algorithm::Mesh(Mesh::OneShot),
            Algorithm::Mesh(Mesh::TwoShot),
            Algorithm::Ring,
            Algorithm::Nhr,
            Algorithm::Pairwise,
        ];
        one_tier.map(Self::Whole).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topologies_complete_what_is_left_out() {
        let on = |text: &str, topology: &str| {
            let topology: Topology = topology.parse().unwrap();
            Choice::list(text).unwrap()[0].on(&topology).to_string()
        };
        assert_eq!(on("hierarchy:mesh+nhr", "8x4"), "hierarchy:8*mesh,4*nhr");
        assert_eq!(on("hierarchy:mesh+nhr", "8x4x2"), "hierarchy:8*mesh,4*nhr,2*nhr");
        assert_eq!(on("Hierarchy:NB", "2+3"), "ahc:2+3:nb:nb");
        assert_eq!(on("ahc:nb:ring", "2+3"), "ahc:2+3:nb:ring");
        assert_eq!(on("ahc:2+3:nb:ring", "5"), "ahc:2+3:nb:ring");
        assert_eq!(on("pipeline", "8x4"), "pipeline:8");
        assert_eq!(on("hierarchy:8*mesh,4*nhr,ring", "8x4"), "hierarchy:8*mesh,4*nhr");
        assert_eq!(Choice::list("hierarchy:8*mesh,4*nhr,ring,nb").unwrap().len(), 3);
    }

    #[test]
    fn errors_list_both_kinds() {
        let error = |text: &str| format!("{:#}", text.parse::<Choice>().unwrap_err());
        assert!(error("nhrr").contains("hierarchy:mesh+nhr"));
        assert!(error("nhrr").contains("hierarchy:8*mesh,4*nhr"));
        assert!(error("hierarchy:mesh+star").contains("`star` is no way to run a group"));
        assert!(error("ahc:nb:star").contains("no algorithm"));
    }
}
