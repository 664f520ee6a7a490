//! One call that every rank makes, with all that its arguments need.

use hccl::{DataType, Operator, ReduceOp};
use hccl_fabric::simulated::Dice;

use crate::uneven::Uneven;

/// The operators that scenarios go through. Sends and batches are sets of messages between pairs of
/// ranks; all others are plans.
pub const OPERATORS: [Operator; 15] = [
    Operator::Broadcast,
    Operator::AllReduce,
    Operator::Reduce,
    Operator::AllGather,
    Operator::ReduceScatter,
    Operator::AlltoAll,
    Operator::Gather,
    Operator::Scatter,
    Operator::Barrier,
    Operator::Send,
    Operator::BatchSendRecv,
    Operator::AlltoAllV,
    Operator::AlltoAllVC,
    Operator::AllGatherV,
    Operator::ReduceScatterV,
];

/// Types that can be reduced.
const REDUCIBLE: [DataType; 9] = [
    DataType::I8,
    DataType::I16,
    DataType::I32,
    DataType::I64,
    DataType::U64,
    DataType::F16,
    DataType::F32,
    DataType::F64,
    DataType::Bf16,
];

const REDUCE_OPS: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

/// Bytes of a buffer on few ranks and on many, and in the rare call that is large.
const FEW: u64 = 16 << 10;
const MANY: u64 = 2 << 10;
const LARGE: u64 = 64 << 10;
/// Bytes for very few ranks now and then: the engine works on such a step in several polls.
const HUGE: u64 = 1 << 20;
const VERY_FEW_RANKS: u32 = 3;
/// Up to so many ranks are few.
const FEW_RANKS: u32 = 64;

/// Elements that go from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    /// Who has them.
    pub(crate) from: u32,
    /// The first of them in the input there.
    pub(crate) source: u64,
    /// Who gets them.
    pub(crate) to: u32,
    /// The first of them in the output there.
    pub(crate) target: u64,
    /// How many.
    pub(crate) count: u64,
}

/// The messages of a call, and which of them each rank has to do with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Letters {
    all: Vec<Letter>,
    from: Vec<Vec<u32>>,
    to: Vec<Vec<u32>>,
}

impl Letters {
    fn new(ranks: u32, all: Vec<Letter>) -> Self {
        let none = vec![Vec::new(); ranks as usize];
        let (mut from, mut to) = (none.clone(), none);
        for (index, letter) in (0..).zip(&all) {
            from[letter.from as usize].push(index);
            to[letter.to as usize].push(index);
        }
        Self { all, from, to }
    }

    /// What a rank sends, in order.
    pub(crate) fn from(&self, rank: u32) -> impl Iterator<Item = &Letter> {
        listed(&self.from, &self.all, rank)
    }

    /// What a rank gets; what comes from the same rank in its order.
    pub(crate) fn to(&self, rank: u32) -> impl Iterator<Item = &Letter> {
        listed(&self.to, &self.all, rank)
    }
}

/// Nothing where the operator is not made of messages.
fn listed<'a>(
    lists: &'a [Vec<u32>],
    all: &'a [Letter],
    rank: u32,
) -> impl Iterator<Item = &'a Letter> {
    lists.get(rank as usize).into_iter().flatten().map(|&index| &all[index as usize])
}

/// A call, the same on all ranks.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub operator: Operator,
    /// Type of the elements.
    pub data_type: DataType,
    /// How they are reduced, if they are.
    pub reduce_op: Option<ReduceOp>,
    /// The root, where there is one.
    pub root: u32,
    /// Elements of a block.
    pub count: u64,
    /// Whether the output has the memory of the input, or of the own slice of it.
    pub in_place: bool,
    /// The stream that it runs on; calls of one stream run one after the other.
    pub stream: usize,
    /// Messages, where the operator is made of them.
    pub(crate) letters: Letters,
    /// Lengths, where ranks differ in them.
    pub(crate) uneven: Option<Uneven>,
    /// What its values follow from.
    pub seed: u64,
}

impl Call {
    /// Draws the arguments of an operator.
    pub(crate) fn draw(operator: Operator, ranks: u32, streams: usize, dice: &mut Dice) -> Self {
        let pick = |dice: &mut Dice, end: usize| dice.below(end as u64) as usize;
        let (data_type, reduce_op) = if operator.reduces() {
            let op = REDUCE_OPS[pick(dice, REDUCE_OPS.len())];
            (REDUCIBLE[pick(dice, REDUCIBLE.len())], Some(op))
        } else {
            (DataType::ALL[pick(dice, DataType::ALL.len())], None)
        };
        let root = if operator.is_rooted() { dice.below(ranks.into()) as u32 } else { 0 };
        let letters =
            if is_messages(operator) { letters(operator, ranks, dice) } else { Letters::default() };
        let is_uneven = operator.has_extents() && !is_messages(operator);
        let uneven = is_uneven.then(|| Uneven::draw(operator, ranks, ranks > FEW_RANKS, dice));
        let mut call = Self {
            operator,
            data_type,
            reduce_op,
            root,
            count: 0,
            in_place: operator.works_in_place() && dice.once_in(3),
            stream: pick(dice, streams),
            letters,
            uneven,
            seed: dice.roll(),
        };
        if operator == Operator::Broadcast {
            // One buffer, as the interface has it.
            call.in_place = true;
        }
        if !operator.has_extents() {
            call.count = call.draw_count(ranks, dice);
        }
        call
    }

    /// Whether it is made of messages.
    pub(crate) fn is_messages(&self) -> bool {
        is_messages(self.operator)
    }

    /// Elements of a rank's input and output.
    pub(crate) fn lens(&self, ranks: u32, rank: u32) -> (u64, u64) {
        if self.is_messages() {
            let sent = self.letters.from(rank).map(|letter| letter.source + letter.count);
            let got = self.letters.to(rank).map(|letter| letter.target + letter.count);
            return (sent.max().unwrap_or(0), got.max().unwrap_or(0));
        }
        if let Some(uneven) = &self.uneven {
            return uneven.lens(rank);
        }
        let is_root = rank == self.root;
        (
            u64::from(self.operator.input_blocks(ranks, is_root)) * self.count,
            u64::from(self.operator.output_blocks(ranks, is_root)) * self.count,
        )
    }

    fn draw_count(&self, ranks: u32, dice: &mut Dice) -> u64 {
        let is_root = true;
        let input = self.operator.input_blocks(ranks, is_root);
        let blocks = input.max(self.operator.output_blocks(ranks, is_root)).max(1);
        let most = |bytes: u64| {
            let size = self.data_type.size() as u64;
            (bytes / size / u64::from(blocks)).max(2)
        };
        if ranks <= VERY_FEW_RANKS && dice.once_in(24) {
            let most = most(HUGE);
            return most - dice.below(most / 8 + 1);
        }
        let usual = if ranks > FEW_RANKS { MANY } else { FEW };
        let most = most(if dice.once_in(32) { LARGE } else { usual });
        // All sizes alike, from nothing on.
        let most = most >> dice.below(u64::from(most.ilog2()) + 1);
        dice.below(most + 1)
    }
}

fn is_messages(operator: Operator) -> bool {
    matches!(operator, Operator::Send | Operator::BatchSendRecv)
}

/// Who sends what to whom.
fn letters(operator: Operator, ranks: u32, dice: &mut Dice) -> Letters {
    // (from, to, elements); order matters between the same two ranks.
    let mut ways: Vec<(u32, u32, u64)> = Vec::new();
    match operator {
        // Pairs of ranks that have nothing to do with each other.
        Operator::Send => {
            let mut order: Vec<u32> = (0..ranks).collect();
            dice.shuffle(&mut order);
            let pairs = order.chunks_exact(2);
            ways.extend(pairs.map(|pair| (pair[0], pair[1], dice.below(300))));
        }
        // Any graph, with several messages on a way and messages to the own rank.
        Operator::BatchSendRecv => {
            for from in 0..ranks {
                for _ in 0..dice.below(5) {
                    ways.push((from, dice.below(ranks.into()) as u32, dice.below(100)));
                }
            }
        }
        _ => {}
    }
    let (mut sources, mut targets) = (vec![0; ranks as usize], vec![0; ranks as usize]);
    let letter = |(from, to, count): (u32, u32, u64)| {
        let source = sources[from as usize];
        let target = targets[to as usize] + dice.below(3);
        sources[from as usize] += count + dice.below(3);
        targets[to as usize] = target + count;
        Letter { from, source, to, target, count }
    };
    Letters::new(ranks, ways.into_iter().map(letter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_one_output_do_not_overlap() {
        let mut dice = Dice::new(3);
        for ranks in [1, 2, 7, 100] {
            for operator in OPERATORS.into_iter().filter(|one| is_messages(*one)) {
                let call = Call::draw(operator, ranks, 2, &mut dice);
                for rank in 0..ranks {
                    let mut runs: Vec<_> = call
                        .letters
                        .to(rank)
                        .map(|letter| (letter.target, letter.target + letter.count))
                        .collect();
                    runs.sort_unstable();
                    assert!(runs.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{operator}");
                    assert!(runs.iter().all(|run| run.1 <= call.lens(ranks, rank).1));
                }
            }
        }
    }

    #[test]
    fn counts_are_of_all_sizes() {
        let mut dice = Dice::new(9);
        let counts: Vec<u64> =
            (0..2000).map(|_| Call::draw(Operator::AllReduce, 5, 1, &mut dice).count).collect();
        assert!(counts.contains(&0) && counts.contains(&1));
        assert!(counts.iter().any(|&count| count > 4000));
        assert!(counts.iter().filter(|&&count| count < 100).count() > 500);
    }
}
