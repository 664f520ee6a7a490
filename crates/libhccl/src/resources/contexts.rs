//! Contexts: memory in which an operator of a program keeps what it made for its engine, found again
//! by a tag. Engines of the host have it in host memory, those of the device in device memory.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};

use parking_lot::Mutex;

use super::{Engine, read_tag};
use crate::border::{hccl_call, present};
use crate::communicators::{Comm, comm};
use crate::errors::{Failure, Record, Status};
use crate::runtime::{DeviceBuffer, c_pointer};

#[derive(Default)]
pub(super) struct Contexts(Mutex<BTreeMap<(Engine, String), Context>>);

struct Context {
    size: u64,
    memory: Memory,
}

enum Memory {
    Host(HostMemory),
    Device(DeviceBuffer),
}

/// Zeroed memory of this process, aligned for whatever a program keeps there. Programs write it, so
/// nothing here looks at what is in it; pages that nobody writes are not taken.
struct HostMemory {
    first: *mut u8,
    layout: Layout,
}

// SAFETY: memory that this has alone; whoever follows its address has the promise for it.
unsafe impl Send for HostMemory {}

impl HostMemory {
    const ALIGN: usize = 64;

    /// `None` where the process has no room; `bytes` is not 0.
    fn new(bytes: u64) -> Option<Self> {
        let layout = Layout::from_size_align(usize::try_from(bytes).ok()?, Self::ALIGN).ok()?;
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the size is not 0.
        let first = unsafe { std::alloc::alloc_zeroed(layout) };
        (!first.is_null()).then_some(Self { first, layout })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: it was taken with this layout, once, and programs use it no more.
        unsafe { std::alloc::dealloc(self.first, self.layout) };
    }
}

impl Context {
    fn address(&self) -> *mut u8 {
        match &self.memory {
            Memory::Host(memory) => memory.first,
            Memory::Device(buffer) => buffer.address(),
        }
    }
}

/// Runs `use_it` on a context.
fn with<T>(
    call: &str,
    comm: &Comm,
    key: &(Engine, String),
    use_it: impl FnOnce(&Context) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let contexts = comm.origin.resources.contexts.0.lock();
    use_it(contexts.get(key).ok_or_else(|| missing(call, key))?)
}

fn missing(call: &str, (engine, tag): &(Engine, String)) -> Failure {
    let expect = "a tag that HcclEngineCtxCreate was given for this engine";
    Failure::not_found(call, "ctxTag", &format!("`{tag}` of engine {engine:?}"), expect)
}

hccl_call! {
    /// Makes a context of so many bytes, which are zero.
    fn HcclEngineCtxCreate(
        handle: *mut c_void,
        tag: *const c_char,
        engine: c_int,
        size: u64,
        context: *mut *mut c_void,
    ) {
        const CALL: &str = "HcclEngineCtxCreate";
        let comm = comm(CALL, handle)?;
        present(CALL, "ctx", context)?;
        // SAFETY: NULL or a C string by the contract of this function.
        let tag = unsafe { read_tag(CALL, "ctxTag", tag) }?;
        let engine = Engine::parse(CALL, "engine", engine)?;
        if size == 0 {
            return Err(Failure::argument(CALL, "size", "0", "greater than 0"));
        }
        let key = (engine, tag);
        let mut contexts = comm.origin.resources.contexts.0.lock();
        if contexts.contains_key(&key) {
            let value = format!("`{}` of engine {engine:?} again", key.1);
            return Err(Failure::argument(CALL, "ctxTag", &value, "a tag without context"));
        }
        let no_room = || Failure::no_room(CALL, comm.device, size);
        let memory = if engine.is_on_device() {
            Memory::Device(DeviceBuffer::new(comm.device, size)?.ok_or_else(no_room)?)
        } else {
            let no_room = || {
                let text = format!("{CALL}: the process has no {size} bytes left.");
                let record = Record::internal(&text);
                Failure::new(Status::Memory, record)
            };
            Memory::Host(HostMemory::new(size).ok_or_else(no_room)?)
        };
        let made = Context { size, memory };
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { context.write(c_pointer(made.address())) };
        contexts.insert(key, made);
        Ok(())
    }
}

hccl_call! {
    /// Finds a context again.
    fn HcclEngineCtxGet(
        handle: *mut c_void,
        tag: *const c_char,
        engine: c_int,
        context: *mut *mut c_void,
        size: *mut u64,
    ) {
        const CALL: &str = "HcclEngineCtxGet";
        let comm = comm(CALL, handle)?;
        present(CALL, "ctx", context)?;
        present(CALL, "size", size)?;
        // SAFETY: NULL or a C string by the contract of this function.
        let tag = unsafe { read_tag(CALL, "ctxTag", tag) }?;
        let key = (Engine::parse(CALL, "engine", engine)?, tag);
        with(CALL, &comm, &key, |found| {
            // SAFETY: not NULL; writable by the contract of this function.
            unsafe {
                context.write(c_pointer(found.address()));
                size.write(found.size);
            }
            Ok(())
        })
    }
}

hccl_call! {
    /// Copies host memory into a context.
    fn HcclEngineCtxCopy(
        handle: *mut c_void,
        engine: c_int,
        tag: *const c_char,
        source: *const c_void,
        size: u64,
        offset: u64,
    ) {
        const CALL: &str = "HcclEngineCtxCopy";
        let comm = comm(CALL, handle)?;
        present(CALL, "srcCtx", source)?;
        // SAFETY: NULL or a C string by the contract of this function.
        let tag = unsafe { read_tag(CALL, "ctxTag", tag) }?;
        let key = (Engine::parse(CALL, "engine", engine)?, tag);
        with(CALL, &comm, &key, |found| {
            if size == 0 || offset.checked_add(size).is_none_or(|end| end > found.size) {
                let value = format!("{size} at offset {offset}");
                let expect = format!("a part of the context, which has {} bytes", found.size);
                return Err(Failure::argument(CALL, "size", &value, &expect));
            }
            // SAFETY: the range was checked; `source` is readable for `size` bytes by the contract
            // of this function. Device memory is mapped in this process.
            unsafe {
                let target = found.address().wrapping_add(offset as usize);
                std::ptr::copy(source.cast::<u8>(), target, size as usize);
            }
            Ok(())
        })
    }
}

hccl_call! {
    /// Gives a context up.
    fn HcclEngineCtxDestroy(handle: *mut c_void, tag: *const c_char, engine: c_int) {
        const CALL: &str = "HcclEngineCtxDestroy";
        let comm = comm(CALL, handle)?;
        // SAFETY: NULL or a C string by the contract of this function.
        let tag = unsafe { read_tag(CALL, "ctxTag", tag) }?;
        let key = (Engine::parse(CALL, "engine", engine)?, tag);
        let gone = comm.origin.resources.contexts.0.lock().remove(&key);
        gone.map(drop).ok_or_else(|| missing(CALL, &key))
    }
}
