//! Single operators by name, kernels, and options of the operator compiler.
//!
//! The software NPU has hardly any operators of its own: those of PyTorch run through the Python
//! package that comes with it. A call that finds none here says so.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};

use parking_lot::Mutex;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, Text, acl};
use crate::small_operators;
use crate::tensor::Operand;

/// Runs an operator by name.
fn execute(
    name: Text,
    inputs: (c_int, In<*const c_void>, In<*const c_void>),
    outputs: (c_int, In<*const c_void>, In<*const c_void>),
    attributes: *const c_void,
    stream: StreamHandle,
) -> NpuResult<()> {
    let name = name.get().ok_or_else(|| NpuError::null("opType"))?;
    if small_operators::knows(&name) {
        let operands = |(count, descs, buffers): (c_int, In<*const c_void>, In<*const c_void>)| {
            let count = usize::try_from(count)
                .map_err(|_| NpuError::argument("the number of tensors", count, "0 or more"))?;
            let (descs, buffers) = (descs.list(count)?, buffers.list(count)?);
            if descs.len() != count || buffers.len() != count {
                return Err(NpuError::null("the list of tensors"));
            }
            let pairs = descs.into_iter().zip(buffers);
            pairs.map(|(desc, buffer)| Operand::new(desc, buffer)).collect::<NpuResult<Vec<_>>>()
        };
        let (inputs, outputs) = (operands(inputs)?, operands(outputs)?);
        return small_operators::run(&name, &inputs, &outputs, attributes, &stream.get()?);
    }
    Err(NpuError::unsupported(format!(
        "operator {name}: the software NPU runs PyTorch operators through the Python package \
         hccl.softnpu, which is loaded with torch when its folder is on the module search path \
         (set_env.sh sees to that; otherwise import hccl.softnpu after torch_npu)"
    )))
}

acl! {
    /// Runs an operator by name, if it is one that is known here.
    fn aclopCompileAndExecute(
        name: Text,
        input_count: c_int,
        input_descs: In<*const c_void>,
        inputs: In<*const c_void>,
        output_count: c_int,
        output_descs: In<*const c_void>,
        outputs: In<*const c_void>,
        attributes: *const c_void,
        _engine: c_int,
        _compile: c_int,
        _path: Text,
        stream: StreamHandle,
    ) {
        let inputs = (input_count, input_descs, inputs);
        execute(name, inputs, (output_count, output_descs, outputs), attributes, stream)
    }
}

acl! {
    /// As above, for operators whose output shape depends on their input.
    fn aclopCompileAndExecuteV2(
        name: Text,
        input_count: c_int,
        input_descs: In<*const c_void>,
        inputs: In<*const c_void>,
        output_count: c_int,
        output_descs: In<*const c_void>,
        outputs: In<*const c_void>,
        attributes: *const c_void,
        _engine: c_int,
        _compile: c_int,
        _path: Text,
        stream: StreamHandle,
    ) {
        let inputs = (input_count, input_descs, inputs);
        execute(name, inputs, (output_count, output_descs, outputs), attributes, stream)
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
    /// Says how operators are compiled: as they are (0), or for shapes that vary (1). Kept for
    /// nobody: nothing is compiled.
    fn aclopSetCompileFlag(flag: c_int) {
        if !(0..=1).contains(&flag) {
            return Err(NpuError::argument("flag", flag, "0 or 1"));
        }
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
