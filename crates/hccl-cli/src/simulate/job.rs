//! What is to be priced.

use anyhow::{Context as _, Result, bail};
use hccl_plan::simulate::Model;
use hccl_plan::{Cluster, Link, Operator, Topology};

use super::choice::Choice;
use super::sizes;

/// Everything that was asked for.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) places: Vec<Place>,
    pub(super) operators: Vec<Operator>,
    pub(super) bytes: Vec<u64>,
    /// Name of the type of the data.
    pub(super) data_type: String,
    pub(super) root: u32,
}

/// A network, and what runs on it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) model: Model,
    /// Nothing means the usual ones, as far as they apply.
    pub(super) choices: Option<Vec<Choice>>,
}

/// Links where nothing is said of them: those of the servers of a cluster of A2.
pub(super) fn usual_links(tiers: usize) -> Result<Vec<Link>> {
    let links = Cluster::named("cluster-1024")?.model().topology.links;
    Ok((0..tiers).map(|tier| links[tier.min(1)]).collect())
}

/// Links from texts, innermost first.
pub(super) fn links(texts: &[impl AsRef<str>]) -> Result<Vec<Link>> {
    texts.iter().map(|text| Ok(text.as_ref().parse()?)).collect()
}

/// A topology with links; the usual ones where none are given.
pub(super) fn topology(ranks: &str, links: Vec<Link>) -> Result<Topology> {
    let topology: Topology = ranks.parse()?;
    let tiers = topology.groups.len();
    let links = if links.is_empty() { usual_links(tiers)? } else { links };
    if links.len() != tiers {
        bail!("`{ranks}` has {tiers} tiers, but there are {} links; give one a tier", links.len());
    }
    Ok(topology.with_links(links))
}

/// Bytes a second from a text like `500GB/s`.
pub(super) fn rate(text: &str) -> Result<u64> {
    let link: Result<Link, _> = format!("0ns:{text}").parse();
    match link {
        Ok(link) if link.ports.is_none() => Ok(link.bytes_per_s),
        _ => bail!("`{text}` is no rate; allowed are rates like 500GB/s, 1.6TB/s or 200Gb/s"),
    }
}

/// Operators from a list with commas.
pub(super) fn operators(text: &str) -> Result<Vec<Operator>> {
    text.split(',').map(operator).collect()
}

/// An operator that can be priced: one whose ranks all have as much data.
pub(super) fn operator(text: &str) -> Result<Operator> {
    let allowed: Vec<String> = Operator::ALL
        .into_iter()
        .filter(|one| !one.has_extents())
        .map(|one| one.name().to_ascii_lowercase())
        .collect();
    let priced = text.parse().ok().filter(|one: &Operator| !one.has_extents());
    priced.with_context(|| {
        format!("`{text}` is no operator that can be priced; allowed are {}", allowed.join(", "))
    })
}

impl Job {
    /// Looks whether the parts fit together.
    pub(super) fn check(&self) -> Result<()> {
        sizes::element_bytes(&self.data_type)?;
        if self.places.is_empty() || self.operators.is_empty() || self.bytes.is_empty() {
            bail!("there must be at least one topology, one operator and one amount of data");
        }
        for place in &self.places {
            let ranks = place.model.topology.ranks();
            if self.root >= ranks {
                bail!("root {} is none of the {ranks} ranks of {}", self.root, place.name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_job() {
        assert_eq!(rate("500GB/s").unwrap(), 500_000_000_000);
        assert!(rate("500GB/s:rank").is_err());
        assert!(rate("0B/s").is_err());
        let three = topology("8x4x2", Vec::new()).unwrap();
        assert_eq!(three.links[1], three.links[2]);
        let error = topology("8x4", links(&["5us:1GB/s"]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("2 tiers, but there are 1 links"), "{error}");
        assert_eq!(
            operators("AllReduce, barrier").unwrap(),
            [Operator::AllReduce, Operator::Barrier]
        );
        let error = operators("alltoallv").unwrap_err().to_string();
        assert!(error.contains("alltoallv") && error.contains("alltoall,"), "{error}");
    }
}
