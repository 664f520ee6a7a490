//! Jobs as files, in TOML.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hccl_plan::Cluster;
use hccl_plan::simulate::Model;
use serde::Deserialize;

use super::choice::Choice;
use super::job::{self, Job, Place};
use super::sizes;

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    operators: Vec<String>,
    bytes: Vec<Amount>,
    #[serde(default = "usual_data_type")]
    data_type: String,
    #[serde(default)]
    root: u32,
    algorithms: Option<Vec<String>>,
    topology: Vec<Entry>,
}

/// A number, or a text as on the command line.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an amount of data: a number of bytes, or a text as \"64M\"")]
enum Amount {
    Number(u64),
    Text(String),
}

/// A topology: ready-made, or by its groups and links.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    cluster: Option<String>,
    ranks: Option<String>,
    links: Option<Vec<String>>,
    reduce: Option<String>,
    copy: Option<String>,
    algorithms: Option<Vec<String>>,
}

fn usual_data_type() -> String {
    "fp32".into()
}

/// Reads a job.
pub(super) fn read(path: &Path) -> Result<Job> {
    let name = path.display();
    let length = std::fs::metadata(path).with_context(|| format!("cannot read {name}"))?.len();
    if length > FILE_BYTES_MAX {
        bail!("{name} has {length} bytes; at most {FILE_BYTES_MAX} are read");
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    parse(&text).with_context(|| format!("in {name}"))
}

fn parse(text: &str) -> Result<Job> {
    let file: File = toml::from_str(text)?;
    let mut bytes = Vec::new();
    for amount in &file.bytes {
        match amount {
            Amount::Number(number) => bytes.push(sizes::bytes(&number.to_string())?),
            Amount::Text(text) => bytes.extend(sizes::list(text)?),
        }
    }
    let operators = file.operators.iter().map(|text| job::operator(text)).collect::<Result<_>>()?;
    let common = file.algorithms.as_deref().map(choices).transpose()?;
    let place = |(index, entry): (usize, &Entry)| {
        place(entry, common.clone()).with_context(|| format!("topology {}", index + 1))
    };
    let places = file.topology.iter().enumerate().map(place).collect::<Result<_>>()?;
    Ok(Job { places, operators, bytes, data_type: file.data_type, root: file.root })
}

fn place(entry: &Entry, common: Option<Vec<Choice>>) -> Result<Place> {
    let (usual_name, mut model) = match (&entry.cluster, &entry.ranks) {
        (Some(name), None) => {
            let cluster = Cluster::named(name)?;
            (cluster.name.to_owned(), cluster.model())
        }
        (None, Some(ranks)) => {
            let links = job::links(entry.links.as_deref().unwrap_or_default())?;
            (ranks.clone(), Model::new(job::topology(ranks, links)?))
        }
        _ => bail!("it must have either `cluster` or `ranks`"),
    };
    if entry.cluster.is_some() && entry.links.is_some() {
        bail!("a ready-made cluster has its links; give `ranks` to choose other ones");
    }
    if let Some(text) = &entry.reduce {
        model.reduce_bytes_per_s = Some(job::rate(text)?);
    }
    if let Some(text) = &entry.copy {
        model.copy_bytes_per_s = Some(job::rate(text)?);
    }
    let own = entry.algorithms.as_deref().map(choices).transpose()?;
    let name = entry.name.clone().unwrap_or(usual_name);
    Ok(Place { name, model, choices: own.or(common) })
}

fn choices(texts: &[String]) -> Result<Vec<Choice>> {
    texts.iter().map(|text| text.parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        operators = ["allreduce", "AllGather"]
        bytes = [4096, "1M:4M:2"]
        algorithms = ["hierarchy:mesh+nhr"]

        [[topology]]
        cluster = "a2-server"

        [[topology]]
        name = "mine"
        ranks = "4x2"
        links = ["1us:10GB/s", "2us:100Gb/s:pair"]
        reduce = "100GB/s"
        algorithms = ["ring", "hierarchy:4*mesh,2*nhr"]
    "#;

    #[test]
    fn a_file_says_everything() {
        let job = parse(GOOD).unwrap();
        assert_eq!(job.bytes, [4096, 1 << 20, 2 << 20, 4 << 20]);
        assert_eq!((job.data_type.as_str(), job.root, job.operators.len()), ("fp32", 0, 2));
        let [server, mine] = &*job.places else { panic!("{:?}", job.places) };
        assert_eq!((server.name.as_str(), mine.name.as_str()), ("a2-server", "mine"));
        assert_eq!(mine.model.topology.to_string(), "4x2");
        assert_eq!(mine.model.topology.links[1].bytes_per_s, 12_500_000_000);
        assert_eq!(mine.model.reduce_bytes_per_s, Some(100_000_000_000));
        assert_eq!(server.choices.as_ref().map(Vec::len), Some(1));
        assert_eq!(mine.choices.as_ref().map(Vec::len), Some(2));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, why) in [
            ("operators", "operator", "unknown field `operator`"),
            ("\"allreduce\"", "\"allreduse\"", "`allreduse` is no operator"),
            ("4096", "0", "`0` is no amount"),
            ("4096", "-4", "an amount of data"),
            ("1M:4M:2", "1M:4M:0", "`0` is no factor"),
            ("a2-server", "a9-server", "topology 1: `a9-server` is no ready-made cluster"),
            ("ranks = \"4x2\"", "ranks = \"4y2\"", "topology 2: `4y2` is no topology"),
            ("ranks = \"4x2\"", "", "either `cluster` or `ranks`"),
            ("1us:10GB/s", "1us", "has no bandwidth"),
            ("\"1us:10GB/s\", ", "", "2 tiers, but there are 1 links"),
            ("100GB/s\"\n", "fast\"\n", "`fast` is no rate"),
            ("\"ring\"", "\"rung\"", "`rung` is no algorithm"),
            ("[[topology]]\n        cluster", "cluster", "unknown field `cluster`"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let error = format!("{:#}", parse(&text).unwrap_err());
            assert!(error.contains(why), "{to}: {error}");
        }
    }
}
