//! The rank graph: where the ranks of a communicator are, as a program that brings operators of its
//! own asks for it.
//!
//! Layers are the tiers of the communicator's topology, counted from the innermost: servers, then
//! superpods. An *instance* of a layer is a group of its tier, all of whose ranks reach each other.
//! Two ranks have one link, on the lowest layer that has them in one instance.

mod calls;
mod endpoint;

use std::collections::HashMap;

use hccl::{Product, Topology};
use parking_lot::Mutex;

use crate::communicators::Comm;
use crate::runtime::product;
use endpoint::{Endpoint, Link};

/// Values that programs are shown, and may even write; nothing here reads them again.
struct Shown<T>(*mut [T]);

// SAFETY: memory that this has alone.
unsafe impl<T: Send> Send for Shown<T> {}
// SAFETY: nothing here follows the address until it is dropped.
unsafe impl<T: Sync> Sync for Shown<T> {}

impl<T> Shown<T> {
    fn new(values: Vec<T>) -> Self {
        Self(Box::into_raw(values.into_boxed_slice()))
    }

    /// The first value, and how many there are.
    fn parts(&self) -> (*mut T, u32) {
        (self.0.cast(), self.0.len() as u32)
    }
}

impl<T> Drop for Shown<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a box, once, and programs use it no more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// One layer, as the own rank sees it.
struct Layer {
    /// Ranks of the own instance.
    ranks: Shown<u32>,
    /// How many ranks each instance has.
    sizes: Shown<u32>,
    /// The one topology that an instance has.
    instances: Shown<u32>,
}

/// The graph of a communicator, made when somebody asks first.
pub(crate) struct Graph {
    topology: Topology,
    devices: Vec<i32>,
    product: Product,
    numbers: Shown<u32>,
    layers: Vec<Layer>,
    /// Links that were asked for, by layer and ranks.
    links: Mutex<HashMap<(u32, u32, u32), Shown<Link>>>,
}

/// The number of the one topology that an instance has.
const ONLY_INSTANCE: u32 = 0;

impl Graph {
    fn of(comm: &Comm) -> &Self {
        let make = || {
            let ranks = comm.engine.ranks();
            let flat = || Topology { groups: vec![vec![ranks]], links: Vec::new() };
            let topology = comm.origin.topology.clone().unwrap_or_else(flat);
            Self::new(topology, comm.origin.devices.clone(), comm.engine.rank(), product())
        };
        comm.origin.resources.graph.get_or_init(make)
    }

    fn new(topology: Topology, devices: Vec<i32>, own: u32, product: Product) -> Self {
        let tiers = topology.groups.len();
        let group = |tier: usize, rank: u32| topology.place(tier, rank).map(|(group, _)| group);
        let layer = |tier: usize| {
            let all = 0..devices.len() as u32;
            let mut sizes = vec![0u32; topology.groups[tier].len()];
            for rank in all.clone() {
                let size = group(tier, rank).and_then(|group| sizes.get_mut(group as usize));
                size.into_iter().for_each(|size| *size += 1);
            }
            let ranks = all.filter(|&rank| group(tier, rank) == group(tier, own)).collect();
            Layer {
                ranks: Shown::new(ranks),
                sizes: Shown::new(sizes),
                instances: Shown::new(vec![ONLY_INSTANCE]),
            }
        };
        let layers = (0..tiers).map(layer).collect();
        let numbers = Shown::new((0..tiers as u32).collect());
        Self { topology, devices, product, numbers, layers, links: Mutex::default() }
    }

    /// `CommTopo` of a layer.
    fn kind(&self, layer: u32) -> i32 {
        const CLOS: i32 = 0;
        const MESH: i32 = 1;
        const A3: i32 = 2;
        const A310P: i32 = 3;
        match (layer, self.product) {
            (0, Product::A3) => A3,
            (0, Product::Ascend310P) => A310P,
            (0, _) => MESH,
            _ => CLOS,
        }
    }

    /// `CommProtocol` of the links of a layer: what the product's machines have there.
    fn protocol(&self, layer: u32) -> i32 {
        const HCCS: i32 = 0;
        const ROCE: i32 = 1;
        const PCIE: i32 = 2;
        const UBC_CTP: i32 = 4;
        let is_outermost = layer as usize + 1 == self.layers.len();
        match (layer, self.product) {
            (0, Product::Ascend310P) => PCIE,
            (_, Product::Ascend950) if layer == 0 || !is_outermost => UBC_CTP,
            // Servers of a superpod have the links that are inside of servers.
            (1, Product::A3) if !is_outermost => HCCS,
            (0, _) => HCCS,
            _ => ROCE,
        }
    }

    /// Where a rank ends a link of a layer.
    fn endpoint(&self, layer: u32, rank: u32) -> Endpoint {
        let group = |tier| self.topology.place(tier, rank).map_or(0, |(group, _)| group);
        let device = self.devices.get(rank as usize).map_or(u32::MAX, |it| it.cast_unsigned());
        let pod = if self.layers.len() > 2 { group(1) } else { 0 };
        Endpoint::of_device(self.protocol(layer), device, group(0), pod)
    }

    /// Links of a layer between two ranks.
    fn links(&self, layer: u32, from: u32, to: u32) -> (*mut Link, u32) {
        let mut links = self.links.lock();
        let make = || {
            let tier = (from != to).then(|| self.topology.tier_between(from, to)).flatten();
            let link = || {
                let ends = [self.endpoint(layer, from), self.endpoint(layer, to)];
                Link::new(ends, self.protocol(layer), layer + 1)
            };
            Shown::new((tier == Some(layer as usize)).then(link).into_iter().collect())
        };
        links.entry((layer, from, to)).or_insert_with(make).parts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program reads.
    fn read<T: Copy>(shown: (*mut T, u32)) -> Vec<T> {
        // SAFETY: the values live as long as the graph that the test has.
        unsafe { std::slice::from_raw_parts(shown.0, shown.1 as usize) }.to_vec()
    }

    #[test]
    fn layers_are_tiers() {
        let graph = Graph::new("2+3".parse().unwrap(), (0..5).collect(), 3, Product::A2);
        assert_eq!(read(graph.numbers.parts()), [0, 1]);
        assert_eq!(read(graph.layers[0].ranks.parts()), [2, 3, 4]);
        assert_eq!(read(graph.layers[0].sizes.parts()), [2, 3]);
        assert_eq!(read(graph.layers[1].ranks.parts()), [0, 1, 2, 3, 4]);
        assert_eq!(read(graph.layers[1].sizes.parts()), [5]);
        assert_eq!([graph.kind(0), graph.kind(1)], [1, 0]);
        assert_eq!([graph.protocol(0), graph.protocol(1)], [0, 1]);
    }

    #[test]
    fn two_ranks_have_one_link_on_the_lowest_layer_that_joins_them() {
        let graph = Graph::new("2x2x2".parse().unwrap(), (0..8).collect(), 0, Product::A3);
        for (to, layer) in [(1, 0), (2, 1), (3, 1), (4, 2), (7, 2)] {
            let counts = [0, 1, 2].map(|layer| graph.links(layer, 0, to).1);
            let expected = [0, 1, 2].map(|it| u32::from(it == layer));
            assert_eq!(counts, expected, "to {to}");
        }
        assert_eq!(graph.links(0, 3, 3).1, 0);
        assert_eq!([0, 1, 2].map(|layer| graph.protocol(layer)), [0, 0, 1]);
        // The same question has the same answer, in the same place.
        assert_eq!(graph.links(0, 0, 1), graph.links(0, 0, 1));
    }
}
