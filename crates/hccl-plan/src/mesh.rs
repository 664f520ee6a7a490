//! Mesh: every rank reaches every other's memory directly, so one phase does the work.
//!
//! Each rank owns a share of the result. It reads that share of all inputs and writes it to all
//! outputs that need it; nobody else touches these bytes, so the only synchronisation is a
//! meeting before (the buffers are there) and one after (nobody will touch them any more).
//! Source: the one-shot and two-shot mesh of the catalogue of HCCL's algorithms, for memory that
//! all ranks can map; reduction is in rank order.

use crate::plan::{Block, Buffer, Operator, Part, Peers, Plan, Step, VERSION};

/// The plan of one rank. `root` matters for rooted operators only.
pub fn mesh(operator: Operator, ranks: u32, rank: u32, root: u32) -> Plan {
    let input = |rank, index| Block { rank, buffer: Buffer::Input, index };
    let output = |rank, index| Block { rank, buffer: Buffer::Output, index };
    let own = Part { index: rank, of: ranks };
    let all = 0..ranks;
    let mut steps = vec![Step::Wait { peers: Peers::All, level: 1 }];
    match operator {
        Operator::AllReduce => steps.push(Step::Reduce {
            part: own,
            sources: all.clone().map(|peer| input(peer, 0)).collect(),
            targets: all.map(|peer| output(peer, 0)).collect(),
        }),
        Operator::Reduce => steps.push(Step::Reduce {
            part: own,
            sources: all.map(|peer| input(peer, 0)).collect(),
            targets: vec![output(root, 0)],
        }),
        Operator::ReduceScatter => steps.push(Step::Reduce {
            part: Part::WHOLE,
            sources: all.map(|peer| input(peer, rank)).collect(),
            targets: vec![output(rank, 0)],
        }),
        // Readers pull: each writes memory of its own only. Each begins with itself and goes on
        // with its successors, so that not all read one rank's memory at a time.
        Operator::AllGather => steps.extend(all.map(|i| {
            let peer = (rank + i) % ranks;
            Step::Copy { part: Part::WHOLE, source: input(peer, 0), target: output(rank, peer) }
        })),
        Operator::AlltoAll => steps.extend(all.map(|i| {
            let peer = (rank + i) % ranks;
            Step::Copy { part: Part::WHOLE, source: input(peer, rank), target: output(rank, peer) }
        })),
        Operator::Broadcast => {
            if rank != root {
                let (source, target) = (input(root, 0), output(rank, 0));
                steps.push(Step::Copy { part: Part::WHOLE, source, target });
            }
        }
        Operator::Scatter => {
            let (source, target) = (input(root, rank), output(rank, 0));
            steps.push(Step::Copy { part: Part::WHOLE, source, target });
        }
        Operator::Barrier => {}
    }
    if operator != Operator::Barrier {
        steps.extend([Step::Signal, Step::Wait { peers: Peers::All, level: 2 }]);
    }
    Plan { version: VERSION, operator, algorithm: "mesh", ranks, rank, root, steps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// What a part of a block holds: the contributions in the order in which they were combined.
    /// A contribution is the block of the input that it comes from.
    type Value = Vec<Block>;

    /// Runs the plans of all ranks on symbols, in any order that the waits allow (they all meet,
    /// so phase by phase), and refuses two accesses to one place in one phase of which one writes.
    fn run(operator: Operator, ranks: u32, root: u32) -> HashMap<(Block, u32), Value> {
        let plans: Vec<_> = (0..ranks).map(|rank| mesh(operator, ranks, rank, root)).collect();
        let shares = ranks;
        let mut memory: HashMap<(Block, u32), Value> = HashMap::new();
        // In place where the operator allows it is the harder case for reductions; moving
        // operators keep input and output apart here.
        let alias = |block: Block| match operator {
            Operator::AllReduce => Block { buffer: Buffer::Input, ..block },
            _ => block,
        };
        let mut touched: HashMap<(Block, u32), (u32, bool)> = HashMap::new();
        let mut touch = |rank: u32, place: (Block, u32), writes: bool| {
            if let Some((other, wrote)) = touched.insert(place, (rank, writes)) {
                assert!(other == rank || !(wrote || writes), "{operator}: race on {place:?}");
                touched.insert(place, (rank, wrote || writes));
            }
        };
        for (rank, plan) in (0u32..).zip(&plans) {
            assert!(matches!(plan.steps[0], Step::Wait { peers: Peers::All, level: 1 }));
            for step in &plan.steps {
                let (part, sources, targets) = match step {
                    Step::Reduce { part, sources, targets } => {
                        (part, sources.clone(), targets.clone())
                    }
                    Step::Copy { part, source, target } => (part, vec![*source], vec![*target]),
                    Step::Signal | Step::Wait { .. } => continue,
                };
                let parts = if part.of == 1 { 0..shares } else { part.index..part.index + 1 };
                for share in parts {
                    let mut value = Value::new();
                    for source in &sources {
                        let place = (alias(*source), share);
                        touch(rank, place, false);
                        let initial = vec![*source];
                        value.extend(memory.get(&place).cloned().unwrap_or(initial));
                    }
                    for target in &targets {
                        touch(rank, (alias(*target), share), true);
                        memory.insert((alias(*target), share), value.clone());
                    }
                }
            }
        }
        memory
    }

    #[test]
    fn every_output_is_the_right_combination_and_nobody_races() {
        for ranks in 1..=17 {
            for operator in Operator::ALL {
                let root = ranks / 2;
                let memory = run(operator, ranks, root);
                let input = |rank, index| Block { rank, buffer: Buffer::Input, index };
                for rank in 0..ranks {
                    let is_root = rank == root;
                    for index in 0..operator.output_blocks(ranks, is_root) {
                        let expected: Value = match operator {
                            Operator::AllReduce | Operator::Reduce => {
                                (0..ranks).map(|peer| input(peer, 0)).collect()
                            }
                            Operator::ReduceScatter => {
                                (0..ranks).map(|peer| input(peer, rank)).collect()
                            }
                            Operator::AllGather => vec![input(index, 0)],
                            Operator::AlltoAll => vec![input(index, rank)],
                            Operator::Scatter => vec![input(root, rank)],
                            // The root's buffer is its input and its output.
                            Operator::Broadcast if is_root => continue,
                            Operator::Broadcast => vec![input(root, 0)],
                            Operator::Barrier => unreachable!("has no output"),
                        };
                        let buffer = match operator {
                            Operator::AllReduce => Buffer::Input,
                            _ => Buffer::Output,
                        };
                        for share in 0..ranks {
                            let place = (Block { rank, buffer, index }, share);
                            assert_eq!(memory.get(&place), Some(&expected), "{operator} {place:?}");
                        }
                    }
                }
            }
        }
    }
}
