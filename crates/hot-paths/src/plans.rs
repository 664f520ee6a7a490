//! From a task to the choice of an algorithm and to the steps of a rank.

use std::hint::black_box;

use anyhow::Result;
use hccl_plan::select::{self, Product, Reach};
use hccl_plan::{Algorithm, Flat, Mesh, Operator, Task, Topology, expand};

use crate::{Case, Path};

pub(crate) fn cases() -> Vec<Case> {
    let servers = Algorithm::Hierarchy(vec![(8, Flat::Mesh), (4, Flat::Nhr)]);
    let mut cases = vec![
        plan("plan/allreduce/mesh/8-ranks", Algorithm::Mesh(Mesh::Direct), 8),
        plan("plan/allreduce/ring/8-ranks", Algorithm::Ring, 8),
        plan("plan/allreduce/nhr/64-ranks", Algorithm::Nhr, 64),
        plan("plan/allreduce/mesh+nhr/32-ranks", servers, 32),
    ];
    cases.push(Case::new("choose/allreduce/32-ranks", choose));
    cases
}

fn plan(name: &str, algorithm: Algorithm, ranks: u32) -> Case {
    Case::new(name, move || {
        let task = Task::new(Operator::AllReduce, ranks, 0);
        let path: Path = Box::new(move |meter| {
            meter.call(|| {
                black_box(expand(black_box(&algorithm), &task, ranks / 2)?);
                Ok(())
            })
        });
        Ok(path)
    })
}

/// What a first call of its size pays for, on a network of servers.
fn choose() -> Result<Path> {
    let topology: Topology = "4x8".parse()?;
    Ok(Box::new(move |meter| {
        meter.call(|| {
            black_box(select::select(black_box(&select::Case {
                operator: Operator::AllReduce,
                ranks: topology.ranks(),
                block_bytes: 1 << 20,
                topology: &topology,
                reach: Reach::Network,
                forced: None,
                product: Product::A2,
            })));
            Ok(())
        })
    }))
}
