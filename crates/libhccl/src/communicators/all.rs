//! Communicators of several devices of one process.

use std::ffi::c_void;
use std::sync::Arc;

use hccl_fabric::Server;

use super::create::{Recipe, create};
use super::{Comm, check_process, hand_out};
use crate::border::{hccl_call, present};
use crate::config::Config;
use crate::environment::environment;
use crate::errors::{Failure, Record, Status};
use crate::runtime::{arena, log_line};
use crate::tuner;

/// Most devices that a host can have.
const DEVICES_MAX: u32 = 64;

hccl_call! {
    /// Makes one communicator of several devices of this process, rank i on `devices[i]`.
    fn HcclCommInitAll(count: u32, devices: *const i32, comms: *mut *mut c_void) {
        const CALL: &str = "HcclCommInitAll";
        check_process()?;
        present(CALL, "devices", devices)?;
        present(CALL, "comms", comms)?;
        if count == 0 || count > DEVICES_MAX {
            let expect = format!("[1, {DEVICES_MAX}]");
            return Err(Failure::argument(CALL, "ndev", &count.to_string(), &expect));
        }
        // SAFETY: not NULL; readable for `count` numbers by the contract of this function.
        let devices = unsafe { std::slice::from_raw_parts(devices, count as usize) };
        for (i, device) in devices.iter().enumerate() {
            if devices[..i].contains(device) {
                let value = format!("{device} twice");
                return Err(Failure::argument(CALL, "devices", &value, "each device once"));
            }
        }
        // What one of them alone cannot have must not keep the others waiting.
        for &device in devices {
            arena(device).map_err(|failure| {
                let expect = "devices that this process sees and that can start";
                let record = Record::argument(CALL, "devices", &device.to_string(), expect);
                // What the runtime said of it is in the log and among the messages.
                log_line!(Error, CALL, "{}", failure.record.text);
                Failure::new(Status::Internal, record)
            })?;
        }
        let environment = environment()?;
        let server = Server::open(devices[0])?;
        let root = server.info().clone();
        server.serve(environment.connect_timeout)?;
        let in_plugin = tuner::is_inside();
        let made: Vec<Result<Arc<Comm>, Failure>> = std::thread::scope(|scope| {
            let join = |(&device, rank)| {
                let place = &root;
                let recipe = Recipe {
                    call: CALL,
                    ranks: count,
                    rank,
                    place,
                    device,
                    config: Config::default(),
                    name: place.identifier(),
                    topology: None,
                    members: None,
                    opens: false,
                    hopeless: None,
                };
                let thread = std::thread::Builder::new().name("hccl-init".into());
                thread.spawn_scoped(scope, move || tuner::inherit(in_plugin, || create(recipe)))
            };
            let threads: Vec<_> = devices.iter().zip(0u32..).map(join).collect();
            let threads = threads.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().expect("a C call contains panics"),
                Err(error) => {
                    let text = format!("{CALL}: no thread for a rank: {error}");
                    Err(Failure::new(Status::Syscall, Record::internal(&text)))
                }
            });
            threads.collect()
        });
        let made: Vec<Arc<Comm>> = made.into_iter().collect::<Result<_, _>>()?;
        for (i, comm) in made.into_iter().enumerate() {
            // SAFETY: `comms` is writable for `count` handles by the contract of this function.
            unsafe { hand_out(CALL, comm, comms.add(i)) }?;
        }
        Ok(())
    }
}
