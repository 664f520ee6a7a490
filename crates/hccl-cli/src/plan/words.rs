//! The words of the command line that need reading.

use std::str::FromStr;

use hccl_kernels::DataType;
use hccl_plan::{Operator, UnknownOperator};

/// Reads an operator. A receive is the other side of a send.
pub(super) fn operator(text: &str) -> Result<Operator, UnknownOperator> {
    match &*text.trim().to_ascii_lowercase() {
        "recv" | "receive" => Ok(Operator::Send),
        _ => text.parse(),
    }
}

/// Why a text is no data type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no data type; allowed are {}", data_types())]
pub(super) struct NoDataType {
    text: String,
}

fn data_types() -> String {
    let names: Vec<_> = DataType::ALL.iter().map(|one| one.name()).collect();
    format!("{} (fp16, fp32, fp64, bf16 and bfp16 as well)", names.join(", "))
}

/// Reads a data type, by our name or HCCL's.
pub(super) fn data_type(text: &str) -> Result<DataType, NoDataType> {
    let word = text.trim().to_ascii_lowercase();
    let name = match &*word {
        "fp16" => "float16",
        "fp32" => "float32",
        "fp64" => "float64",
        "bf16" | "bfp16" => "bfloat16",
        other => other,
    };
    let found = DataType::ALL.iter().find(|one| one.name() == name);
    found.copied().ok_or_else(|| NoDataType { text: text.to_owned() })
}

/// Ranks that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ranks {
    /// All of them.
    All,
    /// These runs, first and last.
    Some(Vec<(u32, u32)>),
}

/// Why a text is no list of ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no ranks; allowed is `all`, or numbers and runs as in 0,3,5-7")]
pub(super) struct NoRanks {
    text: String,
}

impl FromStr for Ranks {
    type Err = NoRanks;

    fn from_str(text: &str) -> Result<Self, NoRanks> {
        let fail = || NoRanks { text: text.to_owned() };
        if text.trim().eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| fail());
        let run = |item: &str| match item.split_once('-') {
            Some((first, last)) => match (number(first)?, number(last)?) {
                (first, last) if first <= last => Ok((first, last)),
                _ => Err(fail()),
            },
            None => number(item).map(|one| (one, one)),
        };
        text.split(',').map(run).collect::<Result<_, _>>().map(Self::Some)
    }
}

impl Ranks {
    /// The ranks, each once and in order, or the first that is none.
    pub(super) fn of(&self, ranks: u32) -> Result<Vec<u32>, u32> {
        let runs = match self {
            Self::All => return Ok((0..ranks).collect()),
            Self::Some(runs) => runs,
        };
        if let Some((_, last)) = runs.iter().find(|(_, last)| *last >= ranks) {
            return Err(*last);
        }
        let mut all: Vec<u32> = runs.iter().flat_map(|&(first, last)| first..=last).collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }
}

/// Lengths in elements: one for each rank, or a row for each sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lengths(pub(super) Vec<Vec<u64>>);

/// Why a text is no list of lengths.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` are no lengths; allowed are numbers of elements, one for each rank as in 3,0,5, or a \
     row for each sender as in 1,2/3,4"
)]
pub(super) struct NoLengths {
    text: String,
}

impl FromStr for Lengths {
    type Err = NoLengths;

    fn from_str(text: &str) -> Result<Self, NoLengths> {
        let number = |text: &str| text.trim().parse::<u64>();
        let row = |row: &str| row.split(',').map(number).collect::<Result<Vec<_>, _>>();
        let rows = text.split('/').map(row).collect::<Result<_, _>>();
        rows.map(Self).map_err(|_| NoLengths { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbers_and_runs() {
        let ranks = |text: &str| text.parse::<Ranks>().unwrap().of(8);
        assert_eq!(ranks("5-7, 0,6"), Ok(vec![0, 5, 6, 7]));
        assert_eq!(ranks("all"), Ok((0..8).collect()));
        assert_eq!(ranks("0-4000000000"), Err(4_000_000_000));
        assert_eq!(ranks("8"), Err(8));
        for text in ["", "a", "3-1", "1-", "-1", "1,,2"] {
            assert!(text.parse::<Ranks>().unwrap_err().to_string().contains("0,3,5-7"), "{text}");
        }
    }

    #[test]
    fn lengths_are_rows() {
        assert_eq!("3,0,5".parse(), Ok(Lengths(vec![vec![3, 0, 5]])));
        assert_eq!("1,2/3,4".parse(), Ok(Lengths(vec![vec![1, 2], vec![3, 4]])));
        for text in ["", "1,", "a", "1/", "-1"] {
            assert!(text.parse::<Lengths>().unwrap_err().to_string().contains("3,0,5"), "{text}");
        }
    }

    #[test]
    fn types_have_both_names() {
        assert_eq!(data_type("FP32"), Ok(DataType::F32));
        assert_eq!(data_type("bfp16"), data_type("bfloat16"));
        assert!(data_type("fp4").unwrap_err().to_string().contains("float32, "));
        assert_eq!(operator("Recv"), Ok(Operator::Send));
    }
}
