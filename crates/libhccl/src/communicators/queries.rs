//! What can be asked of a communicator.

use std::ffi::{c_char, c_int, c_void};

use hccl_abi::c_text;

use super::names::NAME_BYTES;
use super::{by_name, check_process, comm};
use crate::border::{hccl_call, present};
use crate::environment::environment;
use crate::errors::{Failure, status_of};
use crate::expansion;
use crate::runtime::product;

hccl_call! {
    /// How many ranks there are.
    fn HcclGetRankSize(handle: *mut c_void, size: *mut u32) {
        let comm = comm("HcclGetRankSize", handle)?;
        present("HcclGetRankSize", "rankSize", size)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { size.write(comm.engine.ranks()) };
        Ok(())
    }
}

hccl_call! {
    /// The own rank.
    fn HcclGetRankId(handle: *mut c_void, rank: *mut u32) {
        let comm = comm("HcclGetRankId", handle)?;
        present("HcclGetRankId", "rank", rank)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { rank.write(comm.engine.rank()) };
        Ok(())
    }
}

hccl_call! {
    /// Name of a communicator, into 128 bytes.
    fn HcclGetCommName(handle: *mut c_void, name: *mut c_char) {
        let comm = comm("HcclGetCommName", handle)?;
        present("HcclGetCommName", "commName", name)?;
        let text = comm.engine.name().as_bytes();
        let len = text.len().min(NAME_BYTES - 1);
        // SAFETY: not NULL; writable for 128 bytes by the contract of this function.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast::<u8>(), len);
            name.add(len).write(0);
        }
        Ok(())
    }
}

hccl_call! {
    /// The communicator that has a name.
    fn HcclCommGetHandleWithName(name: *const c_char, comm: *mut *mut c_void) {
        const CALL: &str = "HcclCommGetHandleWithName";
        check_process()?;
        present(CALL, "commName", name)?;
        present(CALL, "comm", comm)?;
        // SAFETY: not NULL; a C string by the contract of this function.
        let name = unsafe { c_text(name) }.unwrap_or_default();
        let (handle, _) = by_name(CALL, &name)?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { comm.write(handle) };
        Ok(())
    }
}

hccl_call! {
    /// Whether something went wrong with a communicator after a call had returned.
    fn HcclGetCommAsyncError(handle: *mut c_void, error: *mut c_int) {
        let comm = comm("HcclGetCommAsyncError", handle)?;
        present("HcclGetCommAsyncError", "asyncError", error)?;
        let code = comm.engine.failure().map_or(0, |error| status_of(&error) as c_int);
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { error.write(code) };
        Ok(())
    }
}

/// Kinds of what `HcclConfigGetInfo` tells.
const OP_EXPANSION_MODE: c_int = 0;
const ALGO: c_int = 1;
/// Bytes of an algorithm text with its NUL.
const ALGO_BYTES: usize = 1600;

hccl_call! {
    /// What a communicator was told: where its operators are expanded, or its algorithms.
    fn HcclConfigGetInfo(handle: *mut c_void, kind: c_int, len: u32, info: *mut c_void) {
        const CALL: &str = "HcclConfigGetInfo";
        let comm = comm(CALL, handle)?;
        present(CALL, "info", info)?;
        let bad_len = |expect: &str| {
            Err(Failure::argument(CALL, "infoLen", &len.to_string(), expect))
        };
        let config = &comm.origin.config;
        match kind {
            OP_EXPANSION_MODE if len as usize != size_of::<c_int>() => bad_len("4"),
            OP_EXPANSION_MODE => {
                let word = environment()?.expansion;
                let mode = expansion::mode(config.expansion, word, product());
                // SAFETY: not NULL; writable for 4 bytes by the contract of this function.
                unsafe { info.cast::<c_int>().write_unaligned(mode as c_int) };
                Ok(())
            }
            ALGO if (len as usize) < ALGO_BYTES => bad_len("at least 1600"),
            ALGO => {
                let algo = config.algo.as_ref().or(environment()?.algo.as_ref());
                let text = algo.map(|algo| algo.text().to_owned()).unwrap_or_default();
                let bytes = &text.as_bytes()[..text.len().min(ALGO_BYTES - 1)];
                // SAFETY: not NULL; writable for 1600 bytes by the contract of this function.
                unsafe {
                    let info = info.cast::<u8>();
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), info, bytes.len());
                    info.add(bytes.len()).write(0);
                }
                Ok(())
            }
            other => {
                let expect = "HCCL_CONFIG_TYPE_OP_EXPANSION_MODE (0) or HCCL_CONFIG_TYPE_HCCL_ALGO (1)";
                Err(Failure::argument(CALL, "cfgType", &other.to_string(), expect))
            }
        }
    }
}

/// Number of configuration features; each below it is available.
const CAPABILITY: u32 = 12;

/// Which fields of `HcclCommConfig` this library reads.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn HcclGetCommConfigCapability() -> u32 {
    CAPABILITY
}
