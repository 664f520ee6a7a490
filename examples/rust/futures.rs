//! Calls as futures: each layer's gradients are given away as soon as they are computed, and all
//! are awaited together. Buffers are shared memory, so nothing is copied. The executor is a dozen
//! lines; any other does as well.
//!
//! `cargo run --example futures -- 2`

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};

use hccl::{Buffer, Communicator, Error, Group, ReduceOp, run_threads};

const LAYERS: usize = 5;
const PARAMETERS: usize = 20_000;

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        std::thread::park();
    }
}

/// Stands for the backward pass of a layer.
fn gradient(rank: u32, layer: usize, parameter: usize) -> f32 {
    ((parameter * 13 + layer) % 100) as f32 + rank as f32
}

async fn train(communicator: &Communicator) -> Result<Vec<Buffer<f32>>, Error> {
    let rank = communicator.rank();
    let mut layers = (0..LAYERS)
        .map(|_| Buffer::new(PARAMETERS))
        .collect::<Result<Vec<Buffer<f32>>, Error>>()?;
    let mut group = Group::new();
    for (layer, buffer) in layers.iter_mut().enumerate().rev() {
        for (parameter, value) in buffer.iter_mut().enumerate() {
            *value = gradient(rank, layer, parameter);
        }
        group.add(communicator.all_reduce_in_place_async(buffer, ReduceOp::Avg)?);
    }
    group.await?;
    Ok(layers)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks: u32 = std::env::args().nth(1).map_or(Ok(2), |text| text.parse())?;
    let results = run_threads(ranks, |communicator| block_on(train(&communicator)))?;
    for result in results {
        for (layer, averages) in result?.iter().enumerate() {
            for (parameter, value) in averages.iter().enumerate() {
                let expected = gradient(0, layer, parameter) + (ranks - 1) as f32 / 2.0;
                assert_eq!(*value, expected, "parameter {parameter} of layer {layer}");
            }
        }
    }
    println!("{ranks} ranks have averaged {LAYERS} layers of {PARAMETERS} parameters");
    Ok(())
}
