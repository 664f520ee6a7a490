//! Which words of `HCCL_ALGO` act on which operators, by product, and what runs instead: HCCL's
//! documented support lists as data. Data types and modes of execution make no difference here, so
//! the lists are those of all of them together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operator::Operator;

use super::hccl_algo::Word;

/// A product generation: whose documented lists apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Product {
    /// Atlas training series.
    Ascend910,
    /// Atlas inference series.
    Ascend310P,
    /// Atlas A2.
    A2,
    /// Atlas A3.
    A3,
    /// Ascend 950.
    Ascend950,
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Ascend910, Self::Ascend310P, Self::A2, Self::A3, Self::Ascend950];

    /// As it is written: `910`, `310p`, `a2`, `a3`, `950`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascend910 => "910",
            Self::Ascend310P => "310p",
            Self::A2 => "a2",
            Self::A3 => "a3",
            Self::Ascend950 => "950",
        }
    }
}

impl std::fmt::Display for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text is no product.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no product; allowed are {}", Product::ALL.map(Product::name).join(", "))]
pub struct UnknownProduct {
    /// What was given.
    pub text: String,
}

impl std::str::FromStr for Product {
    type Err = UnknownProduct;

    /// By its name, without regard to case; `Ascend` may stand before a number.
    fn from_str(text: &str) -> Result<Self, UnknownProduct> {
        let word = text.trim().to_ascii_lowercase();
        let word = word.strip_prefix("ascend").unwrap_or(&word);
        let found = Self::ALL.into_iter().find(|product| product.name() == word);
        found.ok_or_else(|| UnknownProduct { text: text.to_owned() })
    }
}

/// A line of a support list.
pub(super) struct Support {
    product: Product,
    /// Level 1 or 2.
    level: usize,
    word: Word,
    /// On which operators it acts.
    pub(super) operators: &'static [Operator],
    /// What runs on others, in order.
    pub(super) instead: &'static [Word],
}

const fn line(
    product: Product,
    level: usize,
    word: Word,
    operators: &'static [Operator],
    instead: &'static [Word],
) -> Support {
    Support { product, level, word, operators, instead }
}

use Operator::{
    AllGather, AllGatherV, AllReduce, AlltoAll, AlltoAllV, AlltoAllVC, Broadcast, Reduce,
    ReduceScatter, ReduceScatterV, Scatter,
};
use Product::{A2, A3, Ascend910, Ascend950};
use Word::{Ahc, Cp, HdR, Nb, Nhr, NhrV1, Pairwise, Pipeline, Ring};

const A3_RING: &[Operator] =
    &[ReduceScatter, AllGather, AllReduce, Reduce, ReduceScatterV, Scatter, AllGatherV];
const A3_NHR: &[Operator] =
    &[ReduceScatter, AllGather, AllReduce, Broadcast, ReduceScatterV, Scatter, AllGatherV];
const A2_RING: &[Operator] =
    &[ReduceScatter, AllGather, AllReduce, Reduce, AllGatherV, ReduceScatterV, Scatter];
const A2_NHR: &[Operator] =
    &[ReduceScatter, AllGather, AllReduce, Broadcast, AllGatherV, ReduceScatterV, Scatter];
const BOTH_ENDS: &[Operator] = &[ReduceScatter, AllGather, AllReduce, Broadcast, Reduce];
const FOUR: &[Operator] = &[ReduceScatter, AllGather, AllReduce, Broadcast];
const LAYERED: &[Operator] = &[ReduceScatter, AllGather, AllReduce];

const SUPPORT: &[Support] = &[
    line(
        Ascend950,
        1,
        Nhr,
        &[ReduceScatter, AllReduce, Reduce, AllGather, Broadcast, Scatter],
        &[],
    ),
    line(
        Ascend950,
        2,
        Nhr,
        &[ReduceScatter, AllReduce, Reduce, AllGather, Broadcast, Scatter],
        &[],
    ),
    line(A3, 1, Ring, A3_RING, &[Nhr, HdR]),
    line(A3, 1, Nhr, A3_NHR, &[HdR, Ring]),
    line(A3, 1, Nb, A3_NHR, &[Nhr, HdR, Ring]),
    line(A3, 1, Ahc, LAYERED, &[Nhr, HdR, Ring]),
    line(A3, 2, Ring, A3_RING, &[Nhr, HdR]),
    line(A3, 2, HdR, &[AllReduce, Broadcast, Reduce], &[Nhr, Ring]),
    line(A3, 2, Nhr, A3_NHR, &[HdR, Ring]),
    line(A3, 2, Nb, A3_NHR, &[Nhr, HdR, Ring]),
    line(A3, 2, Pipeline, &[AllGather, ReduceScatter], &[Nhr, HdR, Ring]),
    line(A2, 1, Ring, A2_RING, &[Nhr, HdR]),
    line(A2, 1, HdR, BOTH_ENDS, &[Nhr, Ring]),
    line(A2, 1, Nhr, A2_NHR, &[HdR, Ring]),
    line(A2, 1, NhrV1, FOUR, &[Nhr, HdR, Ring]),
    line(A2, 1, Nb, A2_NHR, &[Nhr, HdR, Ring]),
    line(
        A2,
        1,
        Pipeline,
        &[AllReduce, ReduceScatter, AllGather, AllGatherV, AlltoAll, AlltoAllV, AlltoAllVC],
        &[Pairwise, Nhr, HdR, Ring],
    ),
    line(A2, 1, Pairwise, &[AlltoAll, AlltoAllV, AlltoAllVC], &[]),
    line(A2, 1, Cp, &[AlltoAllV], &[Pairwise]),
    line(Ascend910, 1, Ring, &[ReduceScatter, AllGather, AllReduce, Reduce], &[HdR, Nhr, Nb]),
    line(Ascend910, 1, HdR, BOTH_ENDS, &[Ring, Nhr, Nb]),
    line(Ascend910, 1, Nhr, FOUR, &[HdR, Ring, Nb]),
    line(Ascend910, 1, NhrV1, FOUR, &[Nhr, HdR, Ring, Nb]),
    line(
        Ascend910,
        1,
        Nb,
        &[ReduceScatter, AllGather, AllReduce, Broadcast, ReduceScatterV, AllGatherV, Scatter],
        &[Nhr, HdR, Ring],
    ),
];

/// The line for a word at a level, if the product has one.
pub(super) fn support(product: Product, level: usize, word: Word) -> Option<&'static Support> {
    let word = if word == Word::AhcBroke { Ahc } else { word };
    SUPPORT.iter().find(|line| (line.product, line.level, line.word) == (product, level, word))
}

/// The words that a product lists for a level.
pub(super) fn words(product: Product, level: usize) -> impl Iterator<Item = Word> {
    SUPPORT
        .iter()
        .filter(move |line| (line.product, line.level) == (product, level))
        .map(|line| line.word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_read_from_their_names() {
        for product in Product::ALL {
            assert_eq!(product.to_string().to_uppercase().parse(), Ok(product));
        }
        assert_eq!("Ascend950".parse(), Ok(Product::Ascend950));
        let error = "a4".parse::<Product>().unwrap_err().to_string();
        assert_eq!(error, "`a4` is no product; allowed are 910, 310p, a2, a3, 950");
    }

    #[test]
    fn each_line_stands_once() {
        for (i, one) in SUPPORT.iter().enumerate() {
            let same = |other: &&Support| {
                (one.product, one.level, one.word) == (other.product, other.level, other.word)
            };
            assert_eq!(SUPPORT.iter().filter(same).count(), 1, "line {i}");
            assert!(!one.instead.contains(&one.word), "line {i}");
        }
    }
}
