//! Heat in a rod that is cut into one piece for each rank. In each step neighbours exchange the
//! temperature at their borders: sends and receives in a group.
//!
//! `cargo run --example heat -- 4`

use hccl::{Communicator, Error, Group, ReduceOp, run_threads};

const CELLS: usize = 60;
const STEPS: usize = 500;
const RATE: f64 = 0.25;

/// Temperature at the beginning: hot on the left, cold on the right.
fn at_first(cell: usize) -> f64 {
    if cell < CELLS / 3 { 100.0 } else { 0.0 }
}

/// One step of a piece, with the cells on both sides of it.
fn step(piece: &[f64], left: f64, right: f64) -> Vec<f64> {
    let at = |i: usize| match i {
        0 => left,
        i if i > piece.len() => right,
        i => piece[i - 1],
    };
    (1..=piece.len()).map(|i| at(i) + RATE * (at(i - 1) - 2.0 * at(i) + at(i + 1))).collect()
}

fn run(communicator: &Communicator) -> Result<(Vec<f64>, f64), Error> {
    let (rank, ranks) = (communicator.rank() as usize, communicator.ranks() as usize);
    let (first, last) = (CELLS * rank / ranks, CELLS * (rank + 1) / ranks);
    let mut piece: Vec<f64> = (first..last).map(at_first).collect();
    for _ in 0..STEPS {
        let (own_left, own_right) = ([piece[0]], [piece[piece.len() - 1]]);
        // The ends of the rod lose no heat: what lies beyond is as warm as they are.
        let (mut left, mut right) = (own_left, own_right);
        let mut group = Group::new();
        if rank > 0 {
            group.add(communicator.send_async(&own_left, rank as u32 - 1)?);
            group.add(communicator.receive_async(&mut left, rank as u32 - 1)?);
        }
        if rank + 1 < ranks {
            group.add(communicator.send_async(&own_right, rank as u32 + 1)?);
            group.add(communicator.receive_async(&mut right, rank as u32 + 1)?);
        }
        group.wait()?;
        piece = step(&piece, left[0], right[0]);
    }
    let mut total = [piece.iter().sum::<f64>()];
    communicator.all_reduce_in_place(&mut total, ReduceOp::Sum)?;
    Ok((piece, total[0]))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks: u32 = std::env::args().nth(1).map_or(Ok(4), |text| text.parse())?;
    if ranks == 0 || ranks as usize > CELLS {
        return Err(format!("{ranks} ranks: allowed are 1 to {CELLS}").into());
    }
    // The same, alone.
    let mut expected: Vec<f64> = (0..CELLS).map(at_first).collect();
    for _ in 0..STEPS {
        expected = step(&expected, expected[0], expected[CELLS - 1]);
    }
    let mut rod = Vec::new();
    for result in run_threads(ranks, |communicator| run(&communicator))? {
        let (piece, total) = result?;
        assert!((total - 100.0 * (CELLS / 3) as f64).abs() < 1e-6, "no heat is lost: {total}");
        rod.extend(piece);
    }
    assert_eq!(rod, expected, "the pieces are the rod");
    println!("after {STEPS} steps: {:.2} on the left, {:.2} on the right", rod[0], rod[CELLS - 1]);
    Ok(())
}
