//! Plans run on numbers, with an oracle that shares nothing with the checker: any order of ranks
//! that the waits allow, counts that do not divide, with and without granules, in place or not.

mod common;

use common::{algorithms, applies, noise, task};
use hccl_plan::{Buffer, Extents, Operator, Peers, Place, Plan, Span, Step, Task, expand};
use proptest::prelude::*;

/// What rank r has at element i of its input.
fn value(rank: u32, element: u64) -> u64 {
    noise(u64::from(rank) << 32 | element) >> 8
}

struct World {
    task: Task,
    count: u64,
    granule: u64,
    in_place: bool,
    memory: Vec<[Vec<u64>; 3]>,
}

impl World {
    fn new(task: &Task, plans: &[Plan], count: u64, granule: u64, in_place: bool) -> Self {
        let lens = |rank: u32| match &task.extents {
            None => {
                let is_root = rank == task.root;
                let input = task.operator.input_blocks(task.ranks, is_root);
                let output = task.operator.output_blocks(task.ranks, is_root);
                (u64::from(input) * count, u64::from(output) * count)
            }
            Some(extents) => {
                let (one, other) = extents.lens(task.ranks)[rank as usize];
                if task.operator == Operator::AllGatherV { (other, one) } else { (one, other) }
            }
        };
        let scale = if task.extents.is_some() { 1 } else { count };
        let memory = (0..task.ranks)
            .zip(plans)
            .map(|(rank, plan)| {
                let (input, output) = lens(rank);
                let fresh = |len: u64| vec![u64::MAX; len as usize];
                let input: Vec<u64> = (0..input).map(|i| value(rank, i)).collect();
                [input, fresh(output), fresh(plan.scratch * scale)]
            })
            .collect();
        let mut world = Self { task: task.clone(), count, granule, in_place, memory };
        // In place the smaller buffer is kept empty, and the larger holds the input.
        for rank in 0..task.ranks {
            let [input, output, _] = &mut world.memory[rank as usize];
            match task.operator {
                Operator::AllGather if in_place => {
                    let at = u64::from(rank) * count;
                    output[at as usize..(at + count) as usize].copy_from_slice(input);
                }
                Operator::Broadcast if rank == task.root => output.copy_from_slice(input),
                _ => {}
            }
        }
        world
    }

    /// Rank, buffer and element that a place stands for.
    fn at(&self, place: Place, element: u64) -> (usize, usize, usize) {
        let scale = if self.task.extents.is_some() { 1 } else { self.count };
        let own = u64::from(place.rank) * self.count;
        let (mut buffer, mut at) = (place.buffer as usize, place.at * scale + element);
        let is_root = place.rank == self.task.root;
        match (self.task.operator, place.buffer) {
            (Operator::Broadcast, Buffer::Output) if is_root => buffer = 0,
            _ if !self.in_place => {}
            (Operator::AllReduce, Buffer::Output) => buffer = 0,
            (Operator::Reduce, Buffer::Output) if is_root => buffer = 0,
            (Operator::ReduceScatter, Buffer::Output) => (buffer, at) = (0, at + own),
            (Operator::AllGather, Buffer::Input) => (buffer, at) = (1, at + own),
            _ => {}
        }
        (place.rank as usize, buffer, at as usize)
    }

    fn step(&mut self, span: Span, sources: &[Place], targets: &[Place]) {
        for element in span.range(self.count, self.granule) {
            let get = |place: &Place| {
                let (rank, buffer, at) = self.at(*place, element);
                self.memory[rank][buffer][at]
            };
            let sum = sources.iter().map(get).fold(0u64, |sum, x| sum.wrapping_add(x));
            for place in targets {
                let (rank, buffer, at) = self.at(*place, element);
                self.memory[rank][buffer][at] = sum;
            }
        }
    }

    /// Runs to the end, ranks in an order that the seed chooses.
    fn run(&mut self, plans: &[Plan], seed: u64) {
        let mut next = vec![0; plans.len()];
        let mut level = vec![1; plans.len()];
        let mut turn = seed;
        let mut idle = 0;
        while idle < 64 * plans.len() {
            turn = noise(turn);
            let rank = (turn % plans.len() as u64) as usize;
            idle += 1;
            let Some(step) = plans[rank].steps.get(next[rank]) else {
                continue;
            };
            match step {
                Step::Wait { peers: Peers::All, level: need } if level.iter().any(|l| l < need) => {
                    continue;
                }
                Step::Wait { peers: Peers::One(peer), level: need }
                    if level[*peer as usize] < *need =>
                {
                    continue;
                }
                Step::Wait { .. } => {}
                Step::Signal { level: to } => level[rank] = *to,
                Step::Copy { span, source, target } => self.step(*span, &[*source], &[*target]),
                Step::Reduce { span, sources, targets } => self.step(*span, sources, targets),
                other => panic!("{other:?}"),
            }
            next[rank] += 1;
            idle = 0;
        }
        for (next, plan) in next.iter().zip(plans) {
            assert_eq!(*next, plan.steps.len(), "stuck");
        }
    }

    /// The output of a rank, as far as the operator promises it.
    fn expected(&self, rank: u32) -> Vec<Option<u64>> {
        let (task, n) = (&self.task, self.count);
        let all = 0..task.ranks;
        let sum = |i: u64| all.clone().fold(0u64, |sum, peer| sum.wrapping_add(value(peer, i)));
        let own = u64::from(rank) * n;
        let blocks = |from: u64| {
            let block = move |peer| (0..n).map(move |i| Some(value(peer, from + i)));
            all.clone().flat_map(block).collect()
        };
        match (task.operator, &task.extents) {
            (Operator::AllReduce, _) => (0..n).map(|i| Some(sum(i))).collect(),
            (Operator::Reduce, _) if rank == task.root => (0..n).map(|i| Some(sum(i))).collect(),
            (Operator::ReduceScatter, _) => (0..n).map(|i| Some(sum(own + i))).collect(),
            (Operator::Broadcast, _) => (0..n).map(|i| Some(value(task.root, i))).collect(),
            (Operator::Scatter, _) => (0..n).map(|i| Some(value(task.root, own + i))).collect(),
            (Operator::AllGather, _) => blocks(0),
            (Operator::AlltoAll, _) => blocks(own),
            (Operator::Gather, _) if rank == task.root => blocks(0),
            (Operator::AllGatherV, Some(Extents::Rows(rows))) => {
                let len = rows.iter().map(|row| row.start + row.len).max().unwrap_or(0);
                let mut output = vec![None; len as usize];
                for (peer, row) in (0u32..).zip(rows) {
                    for i in 0..row.len {
                        output[(row.start + i) as usize] = Some(value(peer, i));
                    }
                }
                output
            }
            (Operator::ReduceScatterV, Some(Extents::Rows(rows))) => {
                let row = rows[rank as usize];
                (row.start..row.start + row.len).map(|i| Some(sum(i))).collect()
            }
            (_, Some(Extents::Transfers(rows))) => {
                let len = task.extents.as_ref().unwrap().lens(task.ranks)[rank as usize].1;
                let mut output = vec![None; len as usize];
                for one in &rows[rank as usize] {
                    for i in 0..one.len {
                        output[(one.target + i) as usize] = Some(value(one.from, one.source + i));
                    }
                }
                output
            }
            _ => Vec::new(),
        }
    }
}

fn try_all(ranks: u32, seed: u64, count: u64, granule: u64) {
    for algorithm in algorithms(ranks) {
        for operator in Operator::ALL {
            let task = task(operator, ranks, seed % 1000);
            if !applies(&algorithm, &task) {
                continue;
            }
            let plans: Vec<Plan> =
                (0..ranks).map(|rank| expand(&algorithm, &task, rank).unwrap()).collect();
            for in_place in [false, operator.works_in_place()] {
                let mut world = World::new(&task, &plans, count, granule, in_place);
                world.run(&plans, seed);
                let name = format!("{} {operator} of {ranks} x {count}", algorithm.name());
                for rank in 0..ranks {
                    let place = Place { rank, buffer: Buffer::Output, at: 0 };
                    for (i, expected) in world.expected(rank).into_iter().enumerate() {
                        let (_, buffer, at) = world.at(place, i as u64);
                        let found = world.memory[rank as usize][buffer][at];
                        assert!(expected.is_none_or(|x| x == found), "{name}: {rank} at {i}");
                    }
                    if !in_place {
                        let input = &world.memory[rank as usize][0];
                        let same = (0u64..).zip(input).all(|(i, x)| *x == value(rank, i));
                        assert!(same, "{name}: input of {rank} was written");
                    }
                }
            }
        }
    }
}

#[test]
fn small_groups_and_odd_counts() {
    for ranks in [1, 2, 3, 4, 5, 7, 8, 12] {
        for (count, granule) in [(0, 1), (1, 1), (13, 1), (29, 4)] {
            try_all(ranks, u64::from(ranks) * 31 + count, count, granule);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_ranks_gives_the_same(
        ranks in 1u32..17,
        seed in any::<u64>(),
        count in 0u64..50,
        granule in 1u64..9,
    ) {
        try_all(ranks, seed, count, granule);
    }
}
