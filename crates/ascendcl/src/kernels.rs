//! Device binaries, models and labels: what the software NPU cannot run. Whatever would begin to use
//! them says so (207000), so handles for the rest do not come to be, and the rest refuses what it
//! is given.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, Text, acl, call, handle};

/// A binary as it was given; nobody can load it.
#[derive(Debug)]
struct Binary;

static BINARIES: Table<Binary> = Table::new(0x26);

/// Makes an object of a device binary; NULL for no data.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtCreateBinary(data: *const c_void, length: usize) -> *mut c_void {
    let mut made = std::ptr::null_mut();
    call("aclrtCreateBinary", || {
        if data.is_null() {
            return Err(NpuError::null("data"));
        }
        if length == 0 {
            return Err(NpuError::argument("dataLen", 0, "greater than 0"));
        }
        made = handle(&BINARIES, Arc::new(Binary), "device binary")?;
        Ok(())
    });
    made
}

fn binary(given: *mut c_void) -> NpuResult<()> {
    if given.is_null() {
        return Err(NpuError::null("binary"));
    }
    BINARIES.get(given).map(drop).ok_or_else(|| NpuError::handle("device binary", given))
}

acl! {
    /// Ends such an object.
    fn aclrtDestroyBinary(given: *mut c_void) {
        binary(given)?;
        BINARIES.remove(given);
        Ok(())
    }
}

fn no_binaries() -> NpuResult<()> {
    Err(NpuError::unsupported("device binaries: a software NPU has no cores to run them"))
}

acl! {
    /// Would load a binary.
    fn aclrtBinaryLoad(given: *mut c_void, out: Out<*mut c_void>) {
        binary(given)?;
        out.check("binHandle")?;
        no_binaries()
    }
}

acl! {
    /// Would load a binary from a file.
    fn aclrtBinaryLoadFromFile(path: Text, _options: *const c_void, out: Out<*mut c_void>) {
        path.get().ok_or_else(|| NpuError::null("binPath"))?;
        out.check("binHandle")?;
        no_binaries()
    }
}

acl! {
    /// Would load a binary from memory.
    fn aclrtBinaryLoadFromData(
        data: *const c_void,
        length: usize,
        _options: *const c_void,
        out: Out<*mut c_void>,
    ) {
        if data.is_null() {
            return Err(NpuError::null("data"));
        }
        if length == 0 {
            return Err(NpuError::argument("length", 0, "greater than 0"));
        }
        out.check("binHandle")?;
        no_binaries()
    }
}

/// Refuses a handle of a kind of which there are none.
fn none(what: &str, given: *const c_void) -> NpuResult<()> {
    if given.is_null() {
        return Err(NpuError::null(what));
    }
    Err(NpuError::handle(what, given))
}

acl! {
    /// Would unload a binary.
    fn aclrtBinaryUnLoad(given: *mut c_void) {
        none("loaded binary", given)
    }
}

acl! {
    /// Would find a kernel in a binary.
    fn aclrtBinaryGetFunction(given: *mut c_void, _name: Text, _out: Out<*mut c_void>) {
        none("loaded binary", given)
    }
}

acl! {
    /// Would begin a list of arguments.
    fn aclrtKernelArgsInit(function: *mut c_void, _out: Out<*mut c_void>) {
        none("kernel", function)
    }
}

acl! {
    /// Would end a list of arguments.
    fn aclrtKernelArgsFinalize(arguments: *mut c_void) {
        none("argument list", arguments)
    }
}

acl! {
    /// Would add an argument.
    fn aclrtKernelArgsAppend(
        arguments: *mut c_void,
        _value: *mut c_void,
        _size: usize,
        _out: Out<*mut c_void>,
    ) {
        none("argument list", arguments)
    }
}

acl! {
    /// Would add a place for an argument.
    fn aclrtKernelArgsAppendPlaceHolder(arguments: *mut c_void, _out: Out<*mut c_void>) {
        none("argument list", arguments)
    }
}

acl! {
    /// Would give the memory of such a place.
    fn aclrtKernelArgsGetPlaceHolderBuffer(
        arguments: *mut c_void,
        _parameter: *mut c_void,
        _size: usize,
        _out: Out<*mut c_void>,
    ) {
        none("argument list", arguments)
    }
}

acl! {
    /// Would change an argument.
    fn aclrtKernelArgsParaUpdate(
        arguments: *mut c_void,
        _parameter: *mut c_void,
        _value: *mut c_void,
        _size: usize,
    ) {
        none("argument list", arguments)
    }
}

acl! {
    /// Would run a kernel.
    fn aclrtLaunchKernel(
        function: *mut c_void,
        _blocks: u32,
        _arguments: *const c_void,
        _size: usize,
        _stream: StreamHandle,
    ) {
        none("kernel", function)
    }
}

acl! {
    /// Would run a kernel, with a configuration.
    fn aclrtLaunchKernelV2(
        function: *mut c_void,
        _blocks: u32,
        _arguments: *const c_void,
        _size: usize,
        _config: *const c_void,
        _stream: StreamHandle,
    ) {
        none("kernel", function)
    }
}

acl! {
    /// Would run a kernel with a list of arguments.
    fn aclrtLaunchKernelWithConfig(
        function: *mut c_void,
        _blocks: u32,
        _stream: StreamHandle,
        _config: *const c_void,
        _arguments: *mut c_void,
        _reserve: *mut c_void,
    ) {
        none("kernel", function)
    }
}

acl! {
    /// Would run a kernel with arguments in host memory.
    fn aclrtLaunchKernelWithHostArgs(
        function: *mut c_void,
        _blocks: u32,
        _stream: StreamHandle,
        _config: *const c_void,
        _arguments: *mut c_void,
        _size: usize,
        _places: *const c_void,
        _count: usize,
    ) {
        none("kernel", function)
    }
}

acl! {
    /// Would let a stream of a model run.
    fn aclrtActiveStream(active: StreamHandle, stream: StreamHandle) {
        active.get()?;
        stream.get()?;
        Err(NpuError::unsupported("aclrtActiveStream: streams of models"))
    }
}

acl! {
    /// Would go on with one of two streams of a model.
    fn aclrtSwitchStream(
        _left: *mut c_void,
        _condition: c_int,
        _right: *mut c_void,
        _data_type: c_int,
        _if_so: StreamHandle,
        _if_not: StreamHandle,
        stream: StreamHandle,
    ) {
        stream.get()?;
        Err(NpuError::unsupported("aclrtSwitchStream: streams of models"))
    }
}

acl! {
    /// Would stop a stream that never ends.
    fn aclrtStreamStop(stream: StreamHandle) {
        stream.named()?;
        Err(NpuError::unsupported("aclrtStreamStop: streams whose work never ends"))
    }
}

acl! {
    /// Would throw away the tasks of such a stream.
    fn aclrtPersistentTaskClean(stream: StreamHandle) {
        stream.named()?;
        Err(NpuError::unsupported("aclrtPersistentTaskClean: streams whose work never ends"))
    }
}

acl! {
    /// Would make a label of a model.
    fn aclrtCreateLabel(out: Out<*mut c_void>) {
        out.check("label")?;
        Err(NpuError::unsupported("aclrtCreateLabel: labels of models"))
    }
}

acl! {
    /// Would set a label.
    fn aclrtSetLabel(label: *mut c_void, _stream: StreamHandle) {
        none("label", label)
    }
}

acl! {
    /// Would end a label.
    fn aclrtDestroyLabel(label: *mut c_void) {
        none("label", label)
    }
}

acl! {
    /// Would make a list of labels.
    fn aclrtCreateLabelList(labels: In<*mut c_void>, _count: usize, out: Out<*mut c_void>) {
        if labels.is_null() {
            return Err(NpuError::null("labels"));
        }
        out.check("labelList")?;
        Err(NpuError::unsupported("aclrtCreateLabelList: labels of models"))
    }
}

acl! {
    /// Would end a list of labels.
    fn aclrtDestroyLabelList(list: *mut c_void) {
        none("list of labels", list)
    }
}

acl! {
    /// Would go on at one of several labels.
    fn aclrtSwitchLabelByIndex(
        _index: *mut c_void,
        _max: u32,
        list: *mut c_void,
        _stream: StreamHandle,
    ) {
        none("list of labels", list)
    }
}

fn no_descriptions() -> NpuResult<()> {
    Err(NpuError::unsupported("copies that descriptions in device memory tell of"))
}

acl! {
    /// Would copy between places that device memory tells of.
    fn aclrtMemcpyAsyncWithOffset(
        to: In<*mut c_void>,
        _room: usize,
        _to_offset: usize,
        from: In<*const c_void>,
        _count: usize,
        _from_offset: usize,
        _kind: c_int,
        stream: StreamHandle,
    ) {
        if to.is_null() {
            return Err(NpuError::null("dst"));
        }
        if from.is_null() {
            return Err(NpuError::null("src"));
        }
        stream.get()?;
        no_descriptions()
    }
}

acl! {
    /// Would tell the size of a description of a copy.
    fn aclrtGetMemcpyDescSize(_kind: c_int, size: Out<usize>) {
        size.check("descSize")?;
        no_descriptions()
    }
}

acl! {
    /// Would write a description of a copy.
    fn aclrtSetMemcpyDesc(
        description: *mut c_void,
        _kind: c_int,
        _from: *mut c_void,
        _to: *mut c_void,
        _count: usize,
        _config: *mut c_void,
    ) {
        if description.is_null() {
            return Err(NpuError::null("desc"));
        }
        no_descriptions()
    }
}

acl! {
    /// Would copy as a description says.
    fn aclrtMemcpyAsyncWithDesc(description: *mut c_void, _kind: c_int, stream: StreamHandle) {
        if description.is_null() {
            return Err(NpuError::null("desc"));
        }
        stream.get()?;
        no_descriptions()
    }
}

acl! {
    /// Would tell where the control words between chips lie.
    fn rtGetC2cCtrlAddr(_address: Out<u64>, _length: Out<u32>) {
        Err(NpuError::unsupported("rtGetC2cCtrlAddr: control words between chips"))
    }
}
