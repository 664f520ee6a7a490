//! How a C call comes in and goes out.

use std::collections::BTreeSet;
use std::ffi::c_int;

use hccl_abi::contain;
use parking_lot::Mutex;

use crate::errors::{Failure, Record, Status};
use crate::runtime::{log_line, report};

/// Defines an exported function that returns an `HcclResult`.
macro_rules! hccl_call {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. Every pointer is NULL or valid for what the C interface says of it.
        // SAFETY: the name is that of the interface that this library is.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name is that of the C interface")]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> std::ffi::c_int {
            $crate::border::call(stringify!($name), move || $body)
        }
    };
}
pub(crate) use hccl_call;

/// Runs the body of a C call.
pub(crate) fn call(name: &str, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match contain(body) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => tell(name, &failure),
        Err(panic) => {
            let record = Record::internal(&format!("A defect of this library: {}.", panic.0));
            tell(name, &Failure::new(Status::Internal, record))
        }
    }
}

/// Calls that have said that they cannot be answered.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Leaves a failure in the log and among the messages, and gives its code.
fn tell(name: &str, failure: &Failure) -> c_int {
    let Failure { status, record } = failure;
    let code = *status as c_int;
    if *status == Status::Again {
        // The caller tries again, which is no failure.
        log_line!(Warning, name, "{}", record.text);
        return code;
    }
    if record.once && !SAID.lock().insert(name.to_owned()) {
        report(record);
        return code;
    }
    log_line!(
        Error,
        name,
        "{}{name} failed with ret[{code}], errNo[{:#018x}]: {} {}",
        record.keys,
        0x0500_0000 | code,
        record.code,
        record.text
    );
    report(record);
    code
}

/// Refuses a number of a rank that none of so many has.
pub(crate) fn check_rank(call: &str, name: &str, rank: u32, ranks: u32) -> Result<(), Failure> {
    if rank < ranks {
        return Ok(());
    }
    let expect = format!("[0, {}]", ranks.saturating_sub(1));
    Err(Failure::argument(call, name, &rank.to_string(), &expect))
}

/// A place for a result, or a structure to read, that must not be NULL.
pub(crate) fn present<T>(call: &str, name: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() { Err(Failure::null(call, name)) } else { Ok(()) }
}
