//! Switches of the whole process.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::border::{hccl_call, present};
use crate::communicators::{check_process, comm};
use crate::config::strict_is_there;
use crate::environment::environment;
use crate::errors::Failure;
use crate::runtime::{log_line, product};

/// `HCCL_DETERMINISTIC` of `HcclConfig`.
const DETERMINISTIC: c_int = 0;
/// The strictest kind of determinism.
const STRICT: i32 = 2;

/// What `HcclSetConfig` set. Reductions here are in rank order whatever it is, which is what the
/// strictest value asks for.
static DETERMINISM: AtomicI32 = AtomicI32::new(0);

fn set(call: &str, config: c_int, value: i32) -> Result<(), Failure> {
    if config != DETERMINISTIC {
        return Ok(());
    }
    if environment()?.deterministic.is_some() {
        log_line!(Warning, call, "HCCL_DETERMINISTIC is set in the environment, which comes first");
        return Ok(());
    }
    if !(0..=STRICT).contains(&value) {
        return Err(Failure::argument(call, "configValue", &value.to_string(), "0, 1 or 2"));
    }
    if value == STRICT {
        strict_is_there(call, "configValue", product())?;
    }
    DETERMINISM.store(value, Ordering::Relaxed);
    Ok(())
}

fn get() -> Result<i32, Failure> {
    Ok(environment()?.deterministic.unwrap_or_else(|| DETERMINISM.load(Ordering::Relaxed)))
}

hccl_call! {
    /// Sets a switch for all communicators of the process.
    fn HcclSetConfig(config: c_int, value: i32) {
        check_process()?;
        set("HcclSetConfig", config, value)
    }
}

hccl_call! {
    /// The value of a switch.
    fn HcclGetConfig(config: c_int, value: *mut i32) {
        check_process()?;
        present("HcclGetConfig", "configValue", value)?;
        if config == DETERMINISTIC {
            // SAFETY: not NULL; writable by the contract of this function.
            unsafe { value.write(get()?) };
        }
        Ok(())
    }
}

hccl_call! {
    /// As `HcclSetConfig`. A communicator has no switches of its own: each value asks for no more
    /// than what is always so.
    fn HcclSetCommConfig(handle: *mut c_void, config: c_int, value: i32) {
        const CALL: &str = "HcclSetCommConfig";
        comm(CALL, handle)?;
        set(CALL, config, value)
    }
}

hccl_call! {
    /// As `HcclGetConfig`.
    fn HcclGetCommConfig(handle: *mut c_void, config: c_int, value: *mut i32) {
        const CALL: &str = "HcclGetCommConfig";
        comm(CALL, handle)?;
        present(CALL, "configValue", value)?;
        if config == DETERMINISTIC {
            // SAFETY: not NULL; writable by the contract of this function.
            unsafe { value.write(get()?) };
        }
        Ok(())
    }
}
