//! Ranks as processes: this program starts itself once for each rank and tells them through their
//! standard input where to meet.
//!
//! `cargo run --example processes -- 4`

use std::error::Error;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use hccl::{Communicator, JoinOptions, ROOT_INFO_BYTES, ReduceOp, Root, RootInfo};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [rank, ranks] => run(rank.parse()?, ranks.parse()?),
        [ranks] => start(ranks.parse()?),
        _ => start(4),
    }
}

fn start(ranks: u32) -> Result<(), Box<dyn Error>> {
    let root = Root::open()?;
    let program = std::env::current_exe()?;
    let mut children = Vec::new();
    for rank in 0..ranks {
        let mut child = Command::new(&program)
            .args([rank.to_string(), ranks.to_string()])
            .stdin(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().ok_or("the child has no standard input")?;
        input.write_all(&root.info().to_bytes())?;
        children.push(child);
    }
    for (rank, mut child) in children.into_iter().enumerate() {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("rank {rank} ended with {status}").into());
        }
    }
    Ok(())
}

fn run(rank: u32, ranks: u32) -> Result<(), Box<dyn Error>> {
    let mut bytes = [0; ROOT_INFO_BYTES];
    std::io::stdin().read_exact(&mut bytes)?;
    let root = RootInfo::from_bytes(&bytes)?;
    let communicator = Communicator::join(&root, rank, ranks, JoinOptions::default())?;

    // Everybody learns everybody's process.
    let mut processes = vec![0; ranks as usize];
    communicator.all_gather(&[std::process::id()], &mut processes)?;
    assert_eq!(processes[rank as usize], std::process::id());

    let mut sum = [0u64];
    communicator.all_reduce(&[u64::from(rank) + 1], &mut sum, ReduceOp::Sum)?;
    assert_eq!(sum[0], u64::from(ranks) * u64::from(ranks + 1) / 2);
    println!("rank {rank} is process {}; 1 + ... + {ranks} = {}", processes[rank as usize], sum[0]);
    communicator.barrier()?;
    Ok(())
}
