//! A matrix times a vector on a grid of ranks: each has a tile of the matrix. Rows and columns of
//! the grid are communicators of their own.
//!
//! `cargo run --example grid -- 2 3`

use hccl::{Communicator, Error, ReduceOp, run_threads};

/// Rows and columns of a tile.
const TILE: usize = 8;

fn matrix(row: usize, column: usize) -> i64 {
    (row * 7 + column * 3) as i64 % 11 - 5
}

fn vector(column: usize) -> i64 {
    column as i64 % 5 - 2
}

/// The part of the product that belongs to the own row of the grid.
fn multiply(all: &Communicator, columns: u32) -> Result<Vec<i64>, Error> {
    let (i, j) = (all.rank() / columns, all.rank() % columns);
    let taken = |part: Option<Communicator>| part.expect("every rank has a colour");
    let row = taken(all.split(Some(i), j.into())?);
    let column = taken(all.split(Some(j), i.into())?);

    // The first row has the vector and gives it down the columns.
    let mut x = vec![0; TILE];
    if i == 0 {
        x = (0..TILE).map(|k| vector(j as usize * TILE + k)).collect();
    }
    column.broadcast(&mut x, 0)?;

    let tile = |r: usize, c: usize| matrix(i as usize * TILE + r, j as usize * TILE + c);
    let mut y: Vec<i64> = (0..TILE).map(|r| (0..TILE).map(|c| tile(r, c) * x[c]).sum()).collect();
    // Sums over the tiles of a row.
    row.all_reduce_in_place(&mut y, ReduceOp::Sum)?;
    Ok(y)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes = std::env::args().skip(1);
    let rows: u32 = sizes.next().map_or(Ok(2), |text| text.parse())?;
    let columns: u32 = sizes.next().map_or(Ok(3), |text| text.parse())?;
    if rows == 0 || columns == 0 {
        return Err(format!("a grid of {rows} by {columns} has no ranks").into());
    }
    let products = run_threads(rows * columns, |all| multiply(&all, columns))?;
    for (rank, product) in products.into_iter().enumerate() {
        let first = rank / columns as usize * TILE;
        let width = columns as usize * TILE;
        let expected: Vec<i64> = (first..first + TILE)
            .map(|row| (0..width).map(|column| matrix(row, column) * vector(column)).sum())
            .collect();
        assert_eq!(product?, expected, "on rank {rank}");
    }
    println!("{rows} by {columns} ranks have the product of a matrix and a vector");
    Ok(())
}
