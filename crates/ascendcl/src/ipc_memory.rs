//! Device memory that processes share by a key.

use std::ffi::{c_char, c_int, c_void};

use softnpu::runtime::runtime;
use softnpu::soc::Family;
use softnpu::{NpuError, NpuResult, ipc_memory};

use crate::border::{In, Out, Text, acl, pids, put_key};
use crate::notify::{ServerPid, server_pids};

/// Export: whoever has the key may import. Import: memory of the peer device is opened too.
fn flag(given: u64) -> NpuResult<bool> {
    if given > 1 {
        return Err(NpuError::value("flag", given, "0 or 1"));
    }
    Ok(given == 1)
}

fn text(key: Text) -> NpuResult<String> {
    key.get().ok_or_else(|| NpuError::null("key"))
}

acl! {
    /// A key by which another process finds device memory.
    fn aclrtIpcMemGetExportKey(
        pointer: *mut c_void,
        size: usize,
        key: *mut c_char,
        len: usize,
        flags: u64,
    ) {
        if pointer.is_null() {
            return Err(NpuError::null("devPtr"));
        }
        if size == 0 {
            return Err(NpuError::argument("size", 0, "greater than 0"));
        }
        let open = flag(flags)?;
        put_key(key, len, || ipc_memory::export(pointer.cast(), size, open))
    }
}

acl! {
    /// Finds device memory of another process.
    fn aclrtIpcMemImportByKey(pointer: Out<*mut c_void>, key: Text, flags: u64) {
        pointer.check("devPtr")?;
        let key = text(key)?;
        flag(flags)?;
        pointer.put("devPtr", ipc_memory::import(&key)?.cast())
    }
}

acl! {
    /// Lets processes import.
    fn aclrtIpcMemSetImportPid(key: Text, list: In<i32>, count: usize) {
        ipc_memory::allow(&text(key)?, &pids(list, count)?)
    }
}

acl! {
    /// As `aclrtIpcMemSetImportPid`, by server; there is this one only.
    fn aclrtIpcMemImportPidInterServer(key: Text, list: In<ServerPid>, count: usize) {
        ipc_memory::allow(&text(key)?, &server_pids(list, count)?)
    }
}

acl! {
    /// Which link between two dies others use: SIO (0) or HCCS (1). There is one memory here, so both
    /// are as good; only the products with two dies have the call.
    fn aclrtIpcMemSetAttr(key: Text, attribute: c_int, value: u64) {
        let key = text(key)?;
        if runtime()?.config().soc.family != Family::A3 {
            return Err(NpuError::unsupported("the choice of a link between dies"));
        }
        if attribute != 0 {
            return Err(NpuError::argument("type", attribute, "0 (the link between dies)"));
        }
        if value > 1 {
            return Err(NpuError::value("attr", value, "0 (SIO) or 1 (HCCS)"));
        }
        ipc_memory::allow(&key, &[])
    }
}

acl! {
    /// Ends an import, or an export that nobody has imported.
    fn aclrtIpcMemClose(key: Text) {
        ipc_memory::close(&text(key)?)
    }
}
