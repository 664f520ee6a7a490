//! One thread with many devices: a call never waits for a peer, and work gets on whether somebody
//! waits for it or not.

use std::ffi::c_void;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::libraries::Libraries;
use crate::oracle::{Op, Type};

const DEVICES: usize = 8;
const COUNT: usize = 300_000;
const LATEST: Duration = Duration::from_secs(60);

struct Device {
    stream: *mut c_void,
    buffer: *mut c_void,
}

/// How the thread learns that the work is done.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Look {
    Synchronize,
    Query,
}

pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let libraries = Libraries::load(folder)?;
    let numbers: [i32; DEVICES] = std::array::from_fn(|i| i as i32);
    let mut comms = [std::ptr::null_mut::<c_void>(); DEVICES];
    let bytes = COUNT * size_of::<f32>();
    let mut devices = Vec::new();
    for &number in &numbers {
        let null = std::ptr::null_mut();
        let mut device = Device { stream: null, buffer: null };
        // SAFETY: places for results are fields of a live local.
        unsafe {
            libraries.check("aclrtSetDevice", (libraries.set_device)(number))?;
            let code = (libraries.create_stream)(&raw mut device.stream);
            libraries.check("aclrtCreateStream", code)?;
            let code = (libraries.malloc)(&raw mut device.buffer, bytes, 0);
            libraries.check("aclrtMalloc", code)?;
        }
        devices.push(device);
    }
    // SAFETY: both arrays have as many places as are said.
    let code =
        unsafe { (libraries.join_all)(DEVICES as u32, numbers.as_ptr(), comms.as_mut_ptr()) };
    libraries.check("HcclCommInitAll", code)?;
    for look in [Look::Synchronize, Look::Query, Look::Synchronize, Look::Query] {
        let begun = Instant::now();
        round(&libraries, &devices, &comms, look)?;
        println!("one thread, {DEVICES} devices, {look:?}: right ({:.1?})", begun.elapsed());
    }
    for comm in comms {
        // SAFETY: a live communicator.
        libraries.check("HcclCommDestroy", unsafe { (libraries.destroy)(comm) })?;
    }
    Ok(())
}

fn round(
    libraries: &Libraries,
    devices: &[Device],
    comms: &[*mut c_void],
    look: Look,
) -> anyhow::Result<()> {
    let bytes = COUNT * size_of::<f32>();
    for (number, device) in devices.iter().enumerate() {
        let values: Vec<f32> = (0..COUNT).map(|i| (i % 1000 * (number + 1)) as f32).collect();
        // SAFETY: the buffer has these bytes.
        let code =
            unsafe { (libraries.memcpy)(device.buffer, bytes, values.as_ptr().cast(), bytes, 1) };
        libraries.check("aclrtMemcpy", code)?;
    }
    for (device, &comm) in devices.iter().zip(comms) {
        let (ty, op) = (Type::F32.code(), Op::Sum.code());
        let (buffer, stream) = (device.buffer, device.stream);
        // SAFETY: the buffer has as many elements; handles are live.
        let code =
            unsafe { (libraries.all_reduce)(buffer, buffer, COUNT as u64, ty, op, comm, stream) };
        libraries.check("HcclAllReduce", code)?;
    }
    let deadline = Instant::now() + LATEST;
    for device in devices {
        match look {
            Look::Synchronize => {
                // SAFETY: a live stream.
                let code = unsafe { (libraries.synchronize)(device.stream) };
                libraries.check("aclrtSynchronizeStream", code)?;
            }
            Look::Query => loop {
                let mut status = -1;
                // SAFETY: a live stream and a place for the result.
                let code = unsafe { (libraries.query)(device.stream, &raw mut status) };
                libraries.check("aclrtStreamQuery", code)?;
                if status == 0 {
                    break;
                }
                ensure!(Instant::now() < deadline, "nobody drives a stream that is only looked at");
                std::thread::sleep(Duration::from_millis(1));
            },
        }
    }
    for device in devices {
        let mut values = vec![0f32; COUNT];
        // SAFETY: the buffer has these bytes.
        let code = unsafe {
            (libraries.memcpy)(values.as_mut_ptr().cast(), bytes, device.buffer, bytes, 2)
        };
        libraries.check("aclrtMemcpy", code)?;
        let wrong = values.iter().enumerate().find(|(i, value)| **value != (i % 1000 * 36) as f32);
        wrong.map_or(Ok(()), |(i, value)| {
            Err(anyhow::anyhow!("element {i} is {value}")).context("a wrong sum")
        })?;
    }
    Ok(())
}
