//! A forked child must not act as the rank that its parent is.

use std::ffi::c_void;
use std::path::Path;

use anyhow::ensure;

use crate::libraries::Libraries;
use crate::matrix::root_info;
use crate::oracle::{Op, Type};

pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let libraries = Libraries::load(folder)?;
    let root = root_info(&libraries)?;
    let null = std::ptr::null_mut::<c_void>();
    let (mut comm, mut stream, mut buffer) = (null, null, null);
    // SAFETY: places for results are live locals; the root info has its size.
    unsafe {
        libraries.check("aclrtCreateStream", (libraries.create_stream)(&raw mut stream))?;
        libraries.check("aclrtMalloc", (libraries.malloc)(&raw mut buffer, 4096, 0))?;
        let code = (libraries.join)(1, root.as_ptr(), 0, &raw mut comm);
        libraries.check("HcclCommInitRootInfo", code)?;
    }
    let reduce = || {
        let (ty, op) = (Type::F32.code(), Op::Sum.code());
        // SAFETY: the buffer is longer than the count; handles are live in the parent, and in the
        // child the library has to notice that they are not.
        unsafe { (libraries.all_reduce)(buffer, buffer, 8, ty, op, comm, stream) }
    };
    for round in 0..20 {
        libraries.check("HcclAllReduce", reduce())?;
        // SAFETY: the child calls the library, which must answer without a lock of the parent's,
        // and ends at once without running anything else.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a handle of the parent's, which the library has to refuse.
            let refused = reduce() != 0
                && unsafe { (libraries.destroy)(comm) } != 0
                && unsafe { (libraries.set_device)(0) } != 0
                && unsafe { (libraries.synchronize)(stream) } != 0;
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!refused)) };
        }
        ensure!(child > 0, "fork failed");
        let mut status = 0;
        // SAFETY: waits for the child just made; `status` is writable.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        ensure!(status == 0, "round {round}: the child was not refused, or did not end ({status})");
        // SAFETY: a live stream.
        libraries.check("aclrtSynchronizeStream", unsafe { (libraries.synchronize)(stream) })?;
    }
    // SAFETY: a live communicator.
    libraries.check("HcclCommDestroy", unsafe { (libraries.destroy)(comm) })?;
    println!("20 forked children were refused, and their parent went on");
    Ok(())
}
