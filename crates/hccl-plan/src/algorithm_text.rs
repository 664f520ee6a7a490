//! How people write algorithms: on command lines, in tables of choices, in logs and plan files.
//!
//! One form each, read without regard to case, and every algorithm reads back from the text that it
//! writes. HCCL's own word for halving and doubling, `H-D_R`, is understood as well.

use std::fmt;
use std::str::FromStr;

use crate::generate::{Algorithm, Flat, Mesh};

/// The forms, as messages list them.
const FORMS: &str = "ring, double-ring, rhd (or h-d_r), nhr, nb, mesh, mesh:one-shot, \
    mesh:two-shot, mesh:chunked:CHUNKS, pairwise, star, pipeline:GROUP, \
    ahc:SIZE+SIZE...:INSIDE:BETWEEN (as in ahc:2+3+5:nb:nb) and hierarchy:SIZE*HOW,SIZE*HOW... \
    innermost first (as in hierarchy:8*mesh,4*nhr)";

/// Why a text is no algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no algorithm: {why}; allowed are {FORMS}")]
pub struct UnknownAlgorithm {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// Why a text is no way in which the members of a group talk to each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no way to run a group; allowed are {}", flats())]
pub struct UnknownFlat {
    /// What was given.
    pub text: String,
}

fn flats() -> String {
    Flat::ALL.map(Flat::name).join(", ")
}

impl Flat {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Mesh, Self::Ring, Self::DoubleRing, Self::Rhd, Self::Nhr, Self::Nb];

    /// Its name in texts, tables and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Ring => "ring",
            Self::DoubleRing => "double-ring",
            Self::Rhd => "rhd",
            Self::Nhr => "nhr",
            Self::Nb => "nb",
        }
    }
}

impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Flat {
    type Err = UnknownFlat;

    fn from_str(text: &str) -> Result<Self, UnknownFlat> {
        let word = text.trim().to_ascii_lowercase();
        let word = if word == "h-d_r" { "rhd" } else { &*word };
        let found = Self::ALL.into_iter().find(|flat| flat.name() == word);
        found.ok_or_else(|| UnknownFlat { text: text.to_owned() })
    }
}

impl Algorithm {
    /// Its name in tables, logs and plan files: the text that reads back as the algorithm.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// Several algorithms with commas between them.
    ///
    /// # Errors
    /// The first that is none.
    pub fn list(text: &str) -> Result<Vec<Self>, UnknownAlgorithm> {
        Self::split(text).iter().map(|piece| piece.parse()).collect()
    }

    /// The texts of several algorithms with commas between them. The commas inside of a hierarchy
    /// stay its own, since no algorithm begins with a number.
    pub fn split(text: &str) -> Vec<String> {
        let mut pieces: Vec<String> = Vec::new();
        for piece in text.split(',') {
            match pieces.last_mut() {
                Some(last) if piece.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
                    last.push(',');
                    last.push_str(piece);
                }
                _ => pieces.push(piece.to_owned()),
            }
        }
        pieces
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mesh(Mesh::Direct) => f.pad("mesh"),
            Self::Mesh(Mesh::OneShot) => f.pad("mesh:one-shot"),
            Self::Mesh(Mesh::TwoShot) => f.pad("mesh:two-shot"),
            Self::Mesh(Mesh::Chunked(chunks)) => f.pad(&format!("mesh:chunked:{chunks}")),
            Self::Ring => f.pad("ring"),
            Self::DoubleRing => f.pad("double-ring"),
            Self::Rhd => f.pad("rhd"),
            Self::Nhr => f.pad("nhr"),
            Self::Nb => f.pad("nb"),
            Self::Pairwise => f.pad("pairwise"),
            Self::Star => f.pad("star"),
            Self::Ahc { groups, inside, between } => {
                let groups: Vec<_> = groups.iter().map(u32::to_string).collect();
                f.pad(&format!("ahc:{}:{inside}:{between}", groups.join("+")))
            }
            Self::Pipeline { group } => f.pad(&format!("pipeline:{group}")),
            Self::Hierarchy(tiers) => {
                let tiers: Vec<_> =
                    tiers.iter().map(|(size, flat)| format!("{size}*{flat}")).collect();
                f.pad(&format!("hierarchy:{}", tiers.join(",")))
            }
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        parse(&text.trim().to_ascii_lowercase())
            .map_err(|why| UnknownAlgorithm { text: text.to_owned(), why })
    }
}

fn parse(word: &str) -> Result<Algorithm, String> {
    let (head, rest) = match word.split_once(':') {
        Some((head, rest)) => (head, Some(rest)),
        None => (word, None),
    };
    let bare = |algorithm| match rest {
        None => Ok(algorithm),
        Some(rest) => Err(format!("{head} takes nothing after it, but has `{rest}`")),
    };
    match head {
        "" => Err("it is empty".into()),
        "ring" => bare(Algorithm::Ring),
        "double-ring" => bare(Algorithm::DoubleRing),
        "rhd" | "h-d_r" => bare(Algorithm::Rhd),
        "nhr" => bare(Algorithm::Nhr),
        "nb" => bare(Algorithm::Nb),
        "pairwise" => bare(Algorithm::Pairwise),
        "star" => bare(Algorithm::Star),
        "mesh" => mesh(rest).map(Algorithm::Mesh),
        "pipeline" => {
            let group = number(rest.ok_or("pipeline needs the size of its groups")?)?;
            Ok(Algorithm::Pipeline { group })
        }
        "ahc" => ahc(rest.ok_or("ahc needs its groups")?),
        "hierarchy" => {
            let tiers = rest.ok_or("hierarchy needs its tiers")?.split(',').map(tier);
            Ok(Algorithm::Hierarchy(tiers.collect::<Result<_, _>>()?))
        }
        _ => Err(format!("`{head}` is not known")),
    }
}

fn mesh(form: Option<&str>) -> Result<Mesh, String> {
    match form {
        None => Ok(Mesh::Direct),
        Some("one-shot") => Ok(Mesh::OneShot),
        Some("two-shot") => Ok(Mesh::TwoShot),
        Some(form) => match form.split_once(':') {
            Some(("chunked", chunks)) => Ok(Mesh::Chunked(number(chunks)?)),
            _ if form == "chunked" => Err("mesh:chunked needs a number of chunks".into()),
            _ => Err(format!("mesh has no form `{form}`")),
        },
    }
}

fn ahc(rest: &str) -> Result<Algorithm, String> {
    let parts: Vec<&str> = rest.split(':').collect();
    let &[groups, inside, between] = &*parts else {
        return Err("ahc needs its groups, and how it runs inside and between them".into());
    };
    Ok(Algorithm::Ahc {
        groups: groups.split('+').map(number).collect::<Result<_, _>>()?,
        inside: flat(inside)?,
        between: flat(between)?,
    })
}

fn tier(text: &str) -> Result<(u32, Flat), String> {
    let (size, how) =
        text.split_once('*').ok_or_else(|| format!("the tier `{text}` is not SIZE*HOW"))?;
    Ok((number(size)?, flat(how)?))
}

fn number(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is no number from 0 to {}", u32::MAX))
}

fn flat(text: &str) -> Result<Flat, String> {
    text.parse().map_err(|error: UnknownFlat| error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_flat() -> impl Strategy<Value = Flat> {
        prop::sample::select(&Flat::ALL[..])
    }

    fn any_algorithm() -> impl Strategy<Value = Algorithm> {
        let sizes = || prop::collection::vec(any::<u32>(), 1..9);
        prop_oneof![
            prop::sample::select(vec![
                Algorithm::Mesh(Mesh::Direct),
                Algorithm::Mesh(Mesh::OneShot),
                Algorithm::Mesh(Mesh::TwoShot),
                Algorithm::Ring,
                Algorithm::DoubleRing,
                Algorithm::Rhd,
                Algorithm::Nhr,
                Algorithm::Nb,
                Algorithm::Pairwise,
                Algorithm::Star,
            ]),
            any::<u32>().prop_map(|chunks| Algorithm::Mesh(Mesh::Chunked(chunks))),
            any::<u32>().prop_map(|group| Algorithm::Pipeline { group }),
            (sizes(), any_flat(), any_flat())
                .prop_map(|(groups, inside, between)| Algorithm::Ahc { groups, inside, between }),
            prop::collection::vec((any::<u32>(), any_flat()), 1..5).prop_map(Algorithm::Hierarchy),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            all in prop::collection::vec(any_algorithm(), 1..6),
            flat in any_flat(),
        ) {
            for one in &all {
                prop_assert_eq!(one.to_string().parse(), Ok(one.clone()));
                prop_assert_eq!(one.to_string().to_uppercase().parse(), Ok(one.clone()));
            }
            let texts: Vec<_> = all.iter().map(Algorithm::to_string).collect();
            prop_assert_eq!(Algorithm::list(&texts.join(",")), Ok(all));
            prop_assert_eq!(flat.to_string().parse(), Ok(flat));
        }

        #[test]
        fn no_text_panics(text in "[a-z0-9:*+,_ -]{0,24}|(mesh|ahc|pipeline|hierarchy):.{0,12}") {
            if let Err(error) = text.parse::<Algorithm>() {
                prop_assert!(error.to_string().contains("allowed are"));
            }
            let _ = Algorithm::list(&text);
        }
    }

    #[test]
    fn forms_are_those_of_the_documentation() {
        let tiers = vec![(8, Flat::Mesh), (4, Flat::Nhr)];
        let ahc = Algorithm::Ahc { groups: vec![2, 3, 5], inside: Flat::Nb, between: Flat::Ring };
        for (text, algorithm) in [
            ("mesh", Algorithm::Mesh(Mesh::Direct)),
            ("mesh:one-shot", Algorithm::Mesh(Mesh::OneShot)),
            ("mesh:chunked:4", Algorithm::Mesh(Mesh::Chunked(4))),
            ("H-D_R", Algorithm::Rhd),
            ("pipeline:8", Algorithm::Pipeline { group: 8 }),
            ("ahc:2+3+5:nb:ring", ahc),
            ("hierarchy:8*mesh,4*nhr", Algorithm::Hierarchy(tiers)),
        ] {
            assert_eq!(text.parse(), Ok(algorithm), "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_is_allowed() {
        for (text, why) in [
            ("", "empty"),
            ("nhrr", "`nhrr` is not known"),
            ("ring:4", "takes nothing"),
            ("mesh:three-shot", "no form `three-shot`"),
            ("mesh:chunked", "number of chunks"),
            ("mesh:chunked:x", "`x` is no number"),
            ("pipeline", "size of its groups"),
            ("pipeline:4294967296", "no number"),
            ("ahc", "needs its groups"),
            ("ahc:2+3", "inside and between"),
            ("ahc:2+:nb:nb", "`` is no number"),
            ("ahc:2+3:nb:star", "`star` is no way to run a group"),
            ("hierarchy", "needs its tiers"),
            ("hierarchy:8", "SIZE*HOW"),
            ("hierarchy:8*mesh,", "SIZE*HOW"),
        ] {
            let error = text.parse::<Algorithm>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("hierarchy:8*mesh,4*nhr"), "{error}");
        }
        assert!(Algorithm::list("ring,,nhr").is_err());
        assert!(Algorithm::list("8*mesh").is_err());
    }
}
