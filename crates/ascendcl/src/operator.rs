//! Single operators by name, kernels, and options of the operator compiler.
//!
//! The software NPU has no operators of its own: those of PyTorch run through the Python package
//! that comes with it. A call that gets here found none, and says so.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};

use parking_lot::Mutex;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, Text, acl};

fn no_operator(name: Text) -> NpuResult<()> {
    let name = name.get().ok_or_else(|| NpuError::null("opType"))?;
    Err(NpuError::unsupported(format!(
        "operator {name}: the software NPU runs PyTorch operators through the Python package \
         hccl.softnpu, which is loaded with torch when its folder is on the module search path \
         (set_env.sh sees to that; otherwise import hccl.softnpu after torch_npu)"
    )))
}

acl! {
    /// Would run an operator by name.
    fn aclopCompileAndExecute(
        name: Text,
        _input_count: c_int,
        _input_descs: In<*const c_void>,
        _inputs: In<*const c_void>,
        _output_count: c_int,
        _output_descs: In<*const c_void>,
        _outputs: In<*mut c_void>,
        _attributes: *const c_void,
        _engine: c_int,
        _compile: c_int,
        _path: Text,
        _stream: StreamHandle,
    ) {
        no_operator(name)
    }
}

acl! {
    /// As above, for operators whose output shape depends on their input.
    fn aclopCompileAndExecuteV2(
        name: Text,
        _input_count: c_int,
        _input_descs: In<*mut c_void>,
        _inputs: In<*mut c_void>,
        _output_count: c_int,
        _output_descs: In<*mut c_void>,
        _outputs: In<*mut c_void>,
        _attributes: *mut c_void,
        _engine: c_int,
        _compile: c_int,
        _path: Text,
        _stream: StreamHandle,
    ) {
        no_operator(name)
    }
}

/// Options of the operator compiler: 0 to 16.
const OPTION_LAST: c_int = 16;

static OPTIONS: Mutex<Option<HashMap<c_int, Vec<u8>>>> = Mutex::new(None);

fn option(given: c_int) -> NpuResult<c_int> {
    if (0..=OPTION_LAST).contains(&given) {
        return Ok(given);
    }
    Err(NpuError::argument("opt", given, "an aclCompileOpt from 0 to 16"))
}

acl! {
    /// Sets an option of the operator compiler. It is kept for whoever asks.
    fn aclSetCompileopt(given: c_int, value: Text) {
        let given = option(given)?;
        let value = value.get().ok_or_else(|| NpuError::null("value"))?;
        OPTIONS.lock().get_or_insert_default().insert(given, value.into_bytes());
        Ok(())
    }
}

fn value(given: c_int) -> Vec<u8> {
    let options = OPTIONS.lock();
    options.as_ref().and_then(|options| options.get(&given)).cloned().unwrap_or_default()
}

/// Bytes of an option's value with its NUL.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetCompileoptSize(given: c_int) -> usize {
    value(given).len() + 1
}

acl! {
    /// Value of an option, into a buffer of `length` bytes.
    fn aclGetCompileopt(given: c_int, buffer: *mut c_char, length: usize) {
        let mut value = value(option(given)?);
        value.push(0);
        if buffer.is_null() {
            return Err(NpuError::null("value"));
        }
        if length < value.len() {
            let allowed = format!("at least {}", value.len());
            return Err(NpuError::argument("length", length, &allowed));
        }
        // SAFETY: not NULL, and writable for `length` bytes by the contract of this function.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len()) };
        Ok(())
    }
}

acl! {
    /// Would register device binaries.
    fn rtDevBinaryRegister(_binary: *const c_void, _handle: Out<*mut c_void>) {
        Err(NpuError::unsupported("rtDevBinaryRegister: device binaries"))
    }
}

acl! {
    /// Would register a kernel.
    fn rtFunctionRegister(
        _binary: *mut c_void,
        _stub: *const c_void,
        _name: Text,
        _device_function: *const c_void,
        _mode: u32,
    ) {
        Err(NpuError::unsupported("rtFunctionRegister: device kernels"))
    }
}

acl! {
    /// Would launch a kernel.
    fn rtKernelLaunch(
        _stub: *const c_void,
        _blocks: u32,
        _arguments: *mut c_void,
        _size: u32,
        _shared: *mut c_void,
        _stream: StreamHandle,
    ) {
        Err(NpuError::unsupported("rtKernelLaunch: device kernels"))
    }
}
