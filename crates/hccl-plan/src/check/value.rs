//! What a run of memory holds: a combination of inputs.
//!
//! Values are interned trees. A value knows nothing of where it lies: with it goes a shift, which
//! added to the place of an element gives the element's place in the frame of the tree. The frame
//! of a leaf is the input of its rank; that of a combination is the frame of its first child.

use std::collections::{HashMap, HashSet};

/// Index of a tree. Zero is nothing; n is the input of rank n - 1, up to the number of ranks.
pub(super) type Node = u32;

/// A value and its shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) node: Node,
    pub(super) shift: i64,
}

impl Held {
    pub(super) const NOTHING: Self = Self { node: 0, shift: 0 };
}

pub(super) struct Values {
    ranks: u32,
    known: HashMap<Box<[Held]>, Node>,
    children: Vec<Box<[Held]>>,
    leaves: Vec<u32>,
    /// Of trees that were looked at: the shift that all leaves share.
    whole: HashMap<Node, Result<i64, &'static str>>,
}

impl Values {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            ranks,
            known: HashMap::new(),
            children: Vec::new(),
            leaves: Vec::new(),
            whole: HashMap::new(),
        }
    }

    pub(super) fn leaf(rank: u32) -> Node {
        rank + 1
    }

    fn inner(&self, node: Node) -> Option<usize> {
        node.checked_sub(self.ranks + 1).map(|index| index as usize)
    }

    fn leaves(&self, node: Node) -> u32 {
        self.inner(node).map_or(1, |index| self.leaves[index])
    }

    /// The combination of values, in this order. The result's frame is that of the first.
    pub(super) fn combine(&mut self, parts: &[Held]) -> Node {
        let first = parts.first().map_or(0, |held| held.shift);
        let parts: Box<[Held]> =
            parts.iter().map(|held| Held { shift: held.shift - first, ..*held }).collect();
        if let Some(node) = self.known.get(&parts) {
            return *node;
        }
        let leaves =
            parts.iter().fold(0u32, |sum, part| sum.saturating_add(self.leaves(part.node)));
        self.children.push(parts.clone());
        self.leaves.push(leaves);
        let node = self.ranks + self.children.len() as u32;
        self.known.insert(parts, node);
        node
    }

    /// If the tree has the input of every rank once, all at the same place: the shift from the
    /// frame of the tree to that place.
    pub(super) fn whole(&mut self, node: Node) -> Result<i64, &'static str> {
        if let Some(known) = self.whole.get(&node) {
            return *known;
        }
        let found = self.flatten(node);
        self.whole.insert(node, found);
        found
    }

    fn flatten(&self, node: Node) -> Result<i64, &'static str> {
        if self.leaves(node) < self.ranks {
            return Err("a contribution is missing");
        }
        if self.leaves(node) > self.ranks {
            return Err("a contribution counts twice");
        }
        let mut seen = HashSet::with_capacity(self.ranks as usize);
        let mut shift = None;
        let mut stack = vec![Held { node, shift: 0 }];
        while let Some(held) = stack.pop() {
            match self.inner(held.node) {
                Some(index) => {
                    let below = |part: &Held| Held { shift: part.shift + held.shift, ..*part };
                    stack.extend(self.children[index].iter().map(below));
                }
                None if !seen.insert(held.node) => return Err("a contribution counts twice"),
                None if *shift.get_or_insert(held.shift) != held.shift => {
                    return Err("contributions of different elements are mixed");
                }
                None => {}
            }
        }
        shift.ok_or("a contribution is missing")
    }
}
