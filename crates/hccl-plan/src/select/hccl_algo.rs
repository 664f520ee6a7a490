//! The text of `HCCL_ALGO`, and of the field `hcclAlgo` of a communicator's configuration.
//!
//! ```text
//! for all operators:   level0:NA;level1:<word>[;level2:<word>]
//! operator by operator: <operator>=level0:NA;level1:<word>[;level2:<word>]/<operator>=...
//! ```
//!
//! This file reads the text and judges words; what they do is the business of [`super::forced`].

use crate::operator::Operator;

/// What a level may be asked to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Na,
    Null,
    Ring,
    FullMesh,
    HdR,
    Nhr,
    NhrV1,
    Nb,
    Ahc,
    AhcBroke,
    Pipeline,
    Pairwise,
    Cp,
}

/// The words as they are written.
const WORDS: &[(Word, &str)] = &[
    (Word::Na, "NA"),
    (Word::Null, "null"),
    (Word::Ring, "ring"),
    (Word::FullMesh, "fullmesh"),
    (Word::HdR, "H-D_R"),
    (Word::Nhr, "NHR"),
    (Word::NhrV1, "NHR_V1"),
    (Word::Nb, "NB"),
    (Word::Ahc, "AHC"),
    (Word::AhcBroke, "AHC_BROKE"),
    (Word::Pipeline, "pipeline"),
    (Word::Pairwise, "pairwise"),
    (Word::Cp, "CP"),
];

const LEVEL0: &[Word] = &[Word::Na, Word::Null, Word::Ring, Word::FullMesh];
const LEVEL1: &[Word] = &[
    Word::Na,
    Word::Null,
    Word::Ring,
    Word::HdR,
    Word::Nhr,
    Word::NhrV1,
    Word::Nb,
    Word::Ahc,
    Word::AhcBroke,
    Word::Pipeline,
    Word::Pairwise,
    Word::Cp,
];
const LEVEL2: &[Word] =
    &[Word::Na, Word::Null, Word::Ring, Word::HdR, Word::Nhr, Word::Nb, Word::Pipeline];

/// The words of each level. The last is reserved: it is read, and nothing looks at it.
const LEVELS: [&[Word]; 4] = [LEVEL0, LEVEL1, LEVEL2, LEVEL2];

/// What the operators are called, and whom that means. The last means all that are not named.
const OPERATORS: &[(&str, &[Operator])] = &[
    ("broadcast", &[Operator::Broadcast]),
    ("allreduce", &[Operator::AllReduce]),
    ("reduce", &[Operator::Reduce]),
    ("send", &[Operator::Send]),
    ("receive", &[Operator::Send]),
    ("allgather", &[Operator::AllGather, Operator::AllGatherV]),
    ("reducescatter", &[Operator::ReduceScatter, Operator::ReduceScatterV]),
    ("alltoall", &[Operator::AlltoAll, Operator::AlltoAllV, Operator::AlltoAllVC]),
    ("gather", &[Operator::Gather]),
    ("scatter", &[Operator::Scatter]),
    ("sendrecv", &[Operator::BatchSendRecv]),
    (OTHERS, &[]),
];
const OTHERS: &str = "others";

impl Word {
    /// As it is written.
    pub(super) fn text(self) -> &'static str {
        WORDS.iter().find(|(word, _)| *word == self).map_or("", |(_, text)| text)
    }

    /// Whether it leaves the level to the library.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Na | Self::Null)
    }
}

/// What was written for each level; `None` where nothing was.
pub(super) type Levels = [Option<Word>; 4];

/// What the text asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HcclAlgo {
    variable: String,
    text: String,
    /// For all operators, or each with its name.
    entries: Vec<(Option<&'static str>, Levels)>,
}

/// Why a text is none that the variable may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is `{given}`: {why}; allowed is {allowed}")]
pub struct HcclAlgoError {
    /// The variable, or the field of the configuration.
    pub variable: String,
    /// What was given.
    pub given: String,
    /// What is wrong with it.
    pub why: String,
    /// What is allowed in its place.
    pub allowed: String,
}

impl HcclAlgo {
    /// What EI0001 says is expected of the variable.
    pub const EXPECT: &'static str = "level0:NA;level1:<algo> or per-operator form";

    /// Reads the text of a variable. Blanks count for nothing; upper and lower case do.
    ///
    /// # Errors
    /// When it is empty, has a word or an operator that is not known, has one twice, or mixes the
    /// form for all operators with the form for each.
    pub fn parse(variable: &str, text: &str) -> Result<Self, HcclAlgoError> {
        let fail = |(why, allowed)| HcclAlgoError {
            variable: variable.to_owned(),
            given: text.to_owned(),
            why,
            allowed,
        };
        let bare: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let entries = entries(&bare).map_err(fail)?;
        Ok(Self { variable: variable.to_owned(), text: bare, entries })
    }

    /// The variable, or the field of the configuration.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// The text, without blanks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is asked of an operator, if anything is.
    pub(super) fn levels(&self, operator: Operator) -> Option<&Levels> {
        let named = |name: &str| {
            OPERATORS.iter().any(|(known, all)| *known == name && all.contains(&operator))
        };
        let of = |wanted: &dyn Fn(&str) -> bool| {
            self.entries.iter().find(|(name, _)| name.is_none_or(wanted)).map(|(_, levels)| levels)
        };
        of(&named).or_else(|| of(&|name| name == OTHERS))
    }
}

/// What is wrong, and what is allowed.
type Complaint = (String, String);

fn entries(text: &str) -> Result<Vec<(Option<&'static str>, Levels)>, Complaint> {
    let forms = || HcclAlgo::EXPECT.to_owned();
    if text.is_empty() {
        return Err(("it is empty".into(), forms()));
    }
    if !text.contains('=') {
        if text.contains('/') {
            return Err(("`/` stands between operators, and none is named".into(), forms()));
        }
        return Ok(vec![(None, levels(text, false)?)]);
    }
    let mut entries: Vec<(Option<&'static str>, Levels)> = Vec::new();
    for entry in text.split('/') {
        let Some((name, rest)) = entry.split_once('=') else {
            let why = format!("`{entry}` names no operator, and others do: the forms are mixed");
            return Err((why, forms()));
        };
        let Some((name, _)) = OPERATORS.iter().find(|(known, _)| *known == name) else {
            let names: Vec<_> = OPERATORS.iter().map(|(name, _)| *name).collect();
            let allowed = format!("one of {}", names.join(", "));
            return Err((format!("`{name}` is no operator"), allowed));
        };
        if entries.iter().any(|(known, _)| *known == Some(*name)) {
            return Err((format!("`{name}` stands there twice"), "each operator once".into()));
        }
        entries.push((Some(name), levels(rest, true)?));
    }
    Ok(entries)
}

/// The levels of one entry.
fn levels(text: &str, of_operator: bool) -> Result<Levels, Complaint> {
    let mut levels: Levels = [None; 4];
    for item in text.split(';') {
        let Some((level, word)) = item.split_once(':') else {
            let why = format!("`{item}` is not a level with a word");
            return Err((why, "level0:NA;level1:<algo>;level2:<algo>".into()));
        };
        let number = ["level0", "level1", "level2", "level3"].iter().position(|l| *l == level);
        let Some(number) = number else {
            return Err((
                format!("`{level}` is no level"),
                "level0, level1, level2, level3".into(),
            ));
        };
        if levels[number].is_some() {
            return Err((format!("`{level}` stands there twice"), "each level once".into()));
        }
        let known = |word: &&Word| !(of_operator && number == 0 && **word == Word::Null);
        let words: Vec<Word> = LEVELS[number].iter().filter(known).copied().collect();
        let Some(&found) = words.iter().find(|one| one.text() == word) else {
            let allowed: Vec<_> = words.iter().map(|word| word.text()).collect();
            let allowed = format!("one of {}", allowed.join(", "));
            return Err((format!("`{word}` is no word of {level}"), allowed));
        };
        levels[number] = Some(found);
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<HcclAlgo, HcclAlgoError> {
        HcclAlgo::parse("HCCL_ALGO", text)
    }

    #[test]
    fn both_forms_are_read() {
        let all = parse(" level0:NA; level1:H-D_R ;level2:NB").unwrap();
        assert_eq!(all.text(), "level0:NA;level1:H-D_R;level2:NB");
        assert_eq!(all.variable(), "HCCL_ALGO");
        let levels = [Some(Word::Na), Some(Word::HdR), Some(Word::Nb), None];
        for operator in Operator::ALL {
            assert_eq!(all.levels(operator), Some(&levels));
        }
        let each = parse("allreduce=level1:ring/others=level0:fullmesh/send=level1:NHR").unwrap();
        let word = |operator, level: usize| each.levels(operator).and_then(|levels| levels[level]);
        assert_eq!(word(Operator::AllReduce, 1), Some(Word::Ring));
        assert_eq!(word(Operator::AllReduce, 0), None);
        assert_eq!(word(Operator::Send, 1), Some(Word::Nhr));
        assert_eq!(word(Operator::Barrier, 0), Some(Word::FullMesh));
        let some = parse("allgather=level1:NHR/sendrecv=level1:ring/receive=level0:NA").unwrap();
        assert!(some.levels(Operator::AllGatherV).is_some());
        assert!(some.levels(Operator::BatchSendRecv).is_some());
        assert!(some.levels(Operator::Send).is_some());
        assert_eq!(some.levels(Operator::AllReduce), None);
    }

    #[test]
    fn every_word_of_the_table_is_read_at_its_level() {
        for (level, words) in LEVELS.iter().enumerate() {
            for (word, text) in WORDS {
                let read = parse(&format!("level{level}:{text}"));
                assert_eq!(read.is_ok(), words.contains(word), "level{level}:{text}");
            }
        }
    }

    #[test]
    fn errors_say_what_was_given_and_what_is_allowed() {
        for (text, why, allowed) in [
            ("", "empty", "level0:NA;level1:<algo>"),
            ("ring", "`ring` is not a level", "level0:NA"),
            ("level1:Ring", "`Ring` is no word of level1", "NA, null, ring, H-D_R"),
            ("level0:NHR", "`NHR` is no word of level0", "NA, null, ring, fullmesh"),
            ("allreduce=level0:null", "`null` is no word", "NA, ring, fullmesh"),
            ("level1:", "`` is no word", "NHR"),
            ("level4:NA", "`level4` is no level", "level0, level1"),
            ("level1:NA;level1:NA", "`level1` stands there twice", "once"),
            ("level1:NA;", "`` is not a level", "level0"),
            ("level1:NA/level1:NA", "none is named", "per-operator"),
            ("allreduce=level1:NA/level1:NHR", "the forms are mixed", "per-operator"),
            ("level1:NHR/allreduce=level1:NA", "the forms are mixed", "per-operator"),
            ("allreduce=level1:NA/", "`` names no operator", "per-operator"),
            ("AllReduce=level1:NA", "`AllReduce` is no operator", "broadcast, allreduce"),
            ("reduce=level1:NA/reduce=level1:NHR", "twice", "once"),
            ("reduce=level1=NA", "`level1=NA` is not a level", "level0"),
        ] {
            let error = parse(text).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with("HCCL_ALGO is"), "{message}");
            assert_eq!(error.given, text);
            assert!(error.why.contains(why) && error.allowed.contains(allowed), "{message}");
        }
        assert_eq!(HcclAlgo::parse("hcclAlgo", "x").unwrap_err().variable, "hcclAlgo");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z0-9:;=/_ ]{0,40}|(allreduce=)?level[0-4]:(NA|ring|x).{0,9}") {
            let _ = parse(&text);
        }
    }
}
