//! Ranks as threads: each has a gradient of its own, all get the average.
//!
//! `cargo run --example all_reduce -- 4`

use hccl::{Error, ReduceOp, run_threads};

const PARAMETERS: usize = 1000;

fn gradient(rank: u32) -> Vec<f32> {
    (0..PARAMETERS).map(|i| (i % 10) as f32 + rank as f32).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks = std::env::args().nth(1).map_or(Ok(4), |text| text.parse())?;
    let averages = run_threads(ranks, |communicator| {
        let mut gradient = gradient(communicator.rank());
        communicator.all_reduce_in_place(&mut gradient, ReduceOp::Avg)?;
        Ok::<_, Error>(gradient)
    })?;
    for (rank, average) in averages.into_iter().enumerate() {
        let average = average?;
        let offset = (ranks - 1) as f32 / 2.0;
        for (i, value) in average.iter().enumerate() {
            assert_eq!(*value, (i % 10) as f32 + offset, "parameter {i} on rank {rank}");
        }
        println!("rank {rank}: the first averages are {:?}", &average[..4]);
    }
    Ok(())
}
