//! What a user asks for, and how far it can be followed.
//!
//! `HCCL_ALGO` speaks of levels: 0 inside a server, 1 between servers (the groups of the innermost
//! tier), 2 between superpods. A word acts where its level has more than one member. HCCL's
//! documented lists ([`super::products`]) say which word acts on which operator and what runs
//! otherwise; beyond them a word falls back where the topology does not have it. Other than in
//! HCCL, `level0:ring` and `level0:fullmesh` do choose inside the server.

use crate::generate::{Algorithm, Flat, supports};
use crate::operator::Operator;

use super::hccl_algo::{HcclAlgo, Levels, Word};
use super::products::{Product, support, words};
use super::table::{BETWEEN, DIRECT, TWO_SHOT, View, ahc, flat_over_all, hierarchies, pipeline};
use super::{Reach, obstacle};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Forced {
    /// The words of `HCCL_ALGO` or `hcclAlgo`, under the rules of the product.
    HcclAlgo(HcclAlgo),
    /// One algorithm, for every operator that has it.
    Algorithm(Algorithm),
}

/// What becomes of it.
#[derive(Default)]
pub(super) struct Followed {
    /// What may run, the first preferred; nothing where the library is free.
    pub(super) among: Vec<Algorithm>,
    /// What was asked, in words.
    pub(super) asked: String,
    /// What could not be followed, and what happens instead.
    pub(super) notes: Vec<String>,
    /// Algorithms that were asked for and cannot be, with the reason.
    pub(super) refused: Vec<(Algorithm, String)>,
}

pub(super) fn follow(forced: &Forced, view: &View<'_>) -> Followed {
    match forced {
        Forced::HcclAlgo(words) => Wish::new(words, view).follow(),
        Forced::Algorithm(algorithm) => {
            let mut followed =
                Followed { asked: format!("{algorithm} was asked for"), ..<_>::default() };
            match obstacle(view, algorithm) {
                None => followed.among.push(algorithm.clone()),
                Some(why) => {
                    followed.notes.push(format!(
                        "{algorithm} was asked for, but {why}; the automatic choice runs instead"
                    ));
                    followed.refused.push((algorithm.clone(), why));
                }
            }
            followed
        }
    }
}

/// What a word means on a topology.
enum Way {
    /// How the members of its level talk.
    Flat(Flat),
    /// An algorithm for all levels.
    Whole(Algorithm),
}

struct Wish<'a> {
    words: &'a HcclAlgo,
    view: &'a View<'a>,
    notes: Vec<String>,
}

impl<'a> Wish<'a> {
    fn new(words: &'a HcclAlgo, view: &'a View<'a>) -> Self {
        Self { words, view, notes: Vec::new() }
    }

    fn operator(&self) -> Operator {
        self.view.case.operator
    }

    /// Notes what becomes of a word.
    fn note(&mut self, level: usize, word: Word, what: &str) {
        self.notes.push(format!("{} level{level}:{} {what}", self.words.variable(), word.text()));
    }

    fn follow(mut self) -> Followed {
        let asked: Vec<(usize, Word)> = match self.words.levels(self.operator()) {
            Some(levels) => written(levels).collect(),
            None => Vec::new(),
        };
        let among = if asked.is_empty() || !self.acts() { Vec::new() } else { self.among(&asked) };
        let asked: Vec<_> =
            asked.iter().map(|(level, word)| format!("level{level}:{}", word.text())).collect();
        let asked = format!("{} asks for {}", self.words.variable(), asked.join(";"));
        Followed { among, asked, notes: self.notes, refused: Vec::new() }
    }

    /// Whether the variable has any effect on this operator and product.
    fn acts(&mut self) -> bool {
        let variable = self.words.variable();
        let operator = self.operator();
        let note = match (self.view.case.product, operator) {
            _ if self.view.case.ranks <= 1 => return false,
            (_, Operator::Send | Operator::BatchSendRecv | Operator::Barrier) => {
                format!("{variable} does not act on {operator}: there is nothing to choose")
            }
            (product @ Product::Ascend310P, _) => {
                format!("{variable} has no effect on {product}; the automatic choice runs")
            }
            _ => return true,
        };
        self.notes.push(note);
        false
    }

    fn among(&mut self, asked: &[(usize, Word)]) -> Vec<Algorithm> {
        let mut fixed: Vec<(usize, Flat)> = Vec::new();
        let inside = self.inside(asked);
        for &(level, word) in asked.iter().filter(|(level, _)| *level > 0) {
            if !self.has_level(level, word) {
                continue;
            }
            match self.between(level, word, inside) {
                Some(Way::Flat(flat)) => fixed.push((level, flat)),
                Some(Way::Whole(algorithm)) => {
                    for &(further, word) in asked.iter().filter(|(further, _)| *further > level) {
                        let what = format!("is not followed: {algorithm} runs all levels");
                        self.note(further, word, &what);
                    }
                    return vec![algorithm];
                }
                None => {}
            }
        }
        fixed.extend(inside.map(|flat| (0, flat)));
        let view = self.view;
        let full_mesh = fixed.iter().all(|(level, flat)| (*level, *flat) == (0, Flat::Mesh));
        match &*view.shape.tiers {
            _ if fixed.is_empty() => Vec::new(),
            // On mapped memory the automatic choice is a mesh.
            _ if full_mesh && view.case.reach == Reach::Mapped => Vec::new(),
            // In a mesh it is one but for these.
            [_] if full_mesh && view.shape.is_one_mesh() => match self.operator() {
                Operator::Broadcast | Operator::Reduce => vec![TWO_SHOT],
                _ => Vec::new(),
            },
            [_] if full_mesh => vec![TWO_SHOT, DIRECT],
            [_] => fixed.iter().map(|(_, flat)| flat_over_all(*flat)).collect(),
            _ => hierarchies(view, &fixed, &BETWEEN),
        }
    }

    /// What level 0 is asked to be, where it acts.
    fn inside(&mut self, asked: &[(usize, Word)]) -> Option<Flat> {
        let &(level, word) = asked.iter().find(|(level, _)| *level == 0)?;
        if !self.has_level(level, word) {
            return None;
        }
        let flat = if word == Word::Ring { Flat::Ring } else { Flat::Mesh };
        let in_tiers = self.view.shape.tiers.len() > 1;
        if goes_by_pairs(self.operator()) && (flat == Flat::Ring || in_tiers) {
            let what = format!("does not act on {}, which goes by pairs", self.operator());
            self.note(level, word, &what);
            return None;
        }
        Some(flat)
    }

    /// Whether a level has more than one member; else says why not.
    fn has_level(&mut self, level: usize, word: Word) -> bool {
        let shape = &self.view.shape;
        if level == 3 {
            self.note(level, word, "is not followed: the level is reserved");
            return false;
        }
        if shape.tiers.iter().any(|tier| tier.level == level) {
            return true;
        }
        let joins = matches!(word, Word::Ahc | Word::AhcBroke);
        let why = match level {
            0 if shape.uneven.is_some() => "servers differ in size, so all ranks are one level",
            0 => "each server has one rank",
            1 if shape.tiers.iter().all(|tier| tier.level == 0) => "all ranks are in one server",
            1 if joins => return true,
            1 => "each superpod has one server",
            _ if self.view.case.topology.groups.len() > 2 => {
                "superpods are uneven or one, so level1 runs between all servers"
            }
            _ => "there is one superpod",
        };
        self.note(level, word, &format!("has nothing to act on: {why}"));
        false
    }

    /// What a word of level 1 or 2 leads to by the lists of the product; `None` leaves the level
    /// to the automatic choice.
    fn between(&mut self, level: usize, word: Word, inside: Option<Flat>) -> Option<Way> {
        let (operator, product) = (self.operator(), self.view.case.product);
        let Some(line) = support(product, level, word) else {
            let listed: Vec<_> = words(product, level).map(Word::text).collect();
            let listed = if listed.is_empty() { "nothing".into() } else { listed.join(", ") };
            let what = format!(
                "is not followed: {product} lists {listed} there; the level is chosen automatically"
            );
            self.note(level, word, &what);
            return None;
        };
        let mut first = None;
        for candidate in std::iter::once(word).chain(line.instead.iter().copied()) {
            let listed = support(product, level, candidate)
                .is_none_or(|line| line.operators.contains(&operator));
            let way = if listed {
                self.way(level, candidate, inside)
            } else {
                Err(format!("does not cover {operator} on {product}"))
            };
            match (way, &first) {
                (Ok(way), None) => return Some(way),
                (Ok(way), Some(why)) => {
                    let what = format!("{why}; {} runs there instead", candidate.text());
                    self.note(level, word, &what);
                    return Some(way);
                }
                (Err(why), None) => first = Some(why),
                (Err(_), Some(_)) => {}
            }
        }
        let why = first.unwrap_or_default();
        self.note(level, word, &format!("{why}; the level is chosen automatically"));
        None
    }

    /// What a word means, if the topology has it.
    fn way(&self, level: usize, word: Word, inside: Option<Flat>) -> Result<Way, String> {
        let view = self.view;
        let whole = |algorithm: Option<Algorithm>, without: &str| {
            let algorithm = algorithm.ok_or_else(|| without.to_owned())?;
            match obstacle(view, &algorithm) {
                None => Ok(Way::Whole(algorithm)),
                Some(why) => Err(format!("cannot run: {why}")),
            }
        };
        let flat = match word {
            Word::Ring => Flat::Ring,
            Word::HdR => Flat::Rhd,
            Word::Nhr => Flat::Nhr,
            Word::Nb => Flat::Nb,
            Word::NhrV1 => return Err("is the older form of NHR, which is not built".into()),
            Word::Ahc | Word::AhcBroke => {
                let joined = ahc(view, Flat::Nhr).map(|joined| match (joined, inside) {
                    (Algorithm::Ahc { groups, between, .. }, Some(inside)) => {
                        Algorithm::Ahc { groups, inside, between }
                    }
                    (joined, _) => joined,
                });
                return whole(joined, "needs several servers");
            }
            Word::Pipeline if level == 1 => {
                let meshed = inside.is_none_or(|flat| flat == Flat::Mesh);
                let without = "needs two levels, a mesh in each server, and servers of one size";
                return whole(pipeline(view).filter(|_| meshed), without);
            }
            Word::Pipeline => return Err("is not built between superpods".into()),
            Word::Pairwise => return whole(Some(Algorithm::Pairwise), ""),
            Word::Cp => return Err("is not built".into()),
            Word::Na | Word::Null | Word::FullMesh => return Err("names no algorithm there".into()),
        };
        if goes_by_pairs(self.operator()) {
            return Err(format!("has no {}", self.operator()));
        }
        let tiers = &view.shape.tiers;
        let algorithm = match tiers.iter().find(|tier| tier.level == level) {
            Some(tier) if tiers.len() > 1 && flat == Flat::Rhd && !tier.size.is_power_of_two() => {
                return Err(format!("runs powers of two in a tier, not {} members", tier.size));
            }
            Some(_) if tiers.len() > 1 => TWO_SHOT,
            _ => flat_over_all(flat),
        };
        match supports(&algorithm, self.operator(), view.case.ranks) {
            Ok(()) => Ok(Way::Flat(flat)),
            Err(_) => Err(format!("has no {}", self.operator())),
        }
    }
}

/// Operators that no walk carries. AlltoAll over tiers bundles blocks, whatever the tiers are.
fn goes_by_pairs(operator: Operator) -> bool {
    matches!(operator, Operator::AlltoAll | Operator::AlltoAllV | Operator::AlltoAllVC)
}

/// The levels that are asked to be something.
fn written(levels: &Levels) -> impl Iterator<Item = (usize, Word)> {
    let one = |(level, word): (usize, &Option<Word>)| Some((level, (*word)?));
    levels.iter().enumerate().filter_map(one).filter(|(_, word)| !word.is_open())
}
