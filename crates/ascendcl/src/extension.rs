//! What this `libascendcl.so` offers beyond the public interface; see `include/softnpu/softnpu.h`.

use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_void};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::Arc;
use std::time::Duration;

use hccl_abi::extension::{self, Memory, POLL_DONE, POLL_PENDING, POLL_PROGRESS, Task, Wake};
use hccl_os::wait::{Scope, Watch};
use softnpu::arena::{Arena, Pages, softnpuMemoryChanges};
use softnpu::health::softnpuPendingTasks;
use softnpu::log::{Level, write};
use softnpu::messages::{Message, push};
use softnpu::runtime::runtime;
use softnpu::task::{Poll, PollTask, Work};
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, Text, acl, ask};

/// Keeps the counters in the library: nothing here reads them, programs do.
#[used]
static KEEP: [&hccl_os::sync::AtomicU64; 2] = [&softnpuPendingTasks, &softnpuMemoryChanges];

/// Bytes of a task's name that are kept.
const NAME_BYTES: usize = 32;

struct ForeignTask {
    name: [u8; NAME_BYTES],
    data: *mut c_void,
    poll: extension::Poll,
    release: extension::Release,
}

// SAFETY: the interface says that the functions are called from any thread, one at a time.
unsafe impl Send for ForeignTask {}

impl PollTask for ForeignTask {
    fn poll(&mut self, arm: bool) -> Poll {
        let mut wake = Wake::NONE;
        // SAFETY: the function came with this data and has not been released.
        match unsafe { (self.poll)(self.data, arm.into(), &raw mut wake) } {
            POLL_DONE => Poll::Done,
            POLL_PROGRESS => Poll::Progress,
            POLL_PENDING => {
                let scope = if wake.shared == 0 { Scope::Private } else { Scope::Shared };
                let watch = (!wake.word.is_null()).then_some(Watch {
                    word: wake.word.cast(),
                    seen: wake.seen,
                    scope,
                });
                let sleep = u64::from(wake.sleep_us);
                let sleep = (sleep > 0).then(|| Duration::from_micros(sleep));
                Poll::Pending { watch, spin: wake.spin != 0, sleep }
            }
            code => Poll::Failed(code),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8_lossy(&self.name[..end])
    }
}

impl Drop for ForeignTask {
    fn drop(&mut self) {
        // SAFETY: called once, after the last poll.
        unsafe { (self.release)(self.data) };
    }
}

acl! {
    /// Queues a task on a stream.
    fn softnpuStreamSubmit(stream: StreamHandle, task: In<Task>) {
        let task = task.get("task")?;
        if task.size < size_of::<Task>() {
            let allowed = format!("at least {}", size_of::<Task>());
            return Err(NpuError::argument("task.size", task.size, &allowed));
        }
        let (Some(poll), Some(release)) = (task.poll, task.release) else {
            return Err(NpuError::null("task.poll and task.release"));
        };
        // From here on the task is ours, and is released whatever happens.
        let mut name = [0; NAME_BYTES];
        if !task.name.is_null() {
            // SAFETY: a C string by the contract of this function.
            let given = unsafe { CStr::from_ptr(task.name) }.to_bytes();
            let len = given.len().min(NAME_BYTES);
            name[..len].copy_from_slice(&given[..len]);
        }
        let work = ForeignTask { name, data: task.data, poll, release };
        let stream = stream.get()?;
        stream.submit(Work::Poll(Box::new(work)))
    }
}

fn describe(device: u32, arena: &Arc<Arena>) -> Memory {
    let segment = arena.segment();
    Memory {
        device: device as i32,
        fd: segment.as_fd().as_raw_fd(),
        base: segment.base(),
        length: segment.len() as u64,
        ..Memory::EMPTY
    }
}

/// Refuses a caller whose structure is shorter than ours.
fn check_size(out: Out<Memory>, given: In<usize>) -> NpuResult<()> {
    out.check("memory")?;
    let size = given.get("memory")?;
    if size < size_of::<Memory>() {
        let allowed = format!("at least {}", size_of::<Memory>());
        return Err(NpuError::argument("memory.size", size, &allowed));
    }
    Ok(())
}

/// Tells where a device pointer lives. That an address is no device memory is an answer: nothing
/// is logged or kept as an error.
///
/// # Safety
/// 1. `memory` is NULL or a structure that begins with its size.
// SAFETY: the name is this project's own.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn softnpuMemoryOf(pointer: *const c_void, memory: Out<Memory>) -> c_int {
    ask(|| {
        check_size(memory, memory.as_size())?;
        let allowed = "an address in a live allocation of device memory";
        let unknown = || NpuError::value("pointer", format!("{pointer:p}"), allowed);
        let found = runtime()?.locate(pointer.cast()).ok_or_else(unknown)?;
        let block = found.block.ok_or_else(unknown)?;
        let described = describe(found.device, &found.arena);
        let place = Memory {
            allocation: block.offset,
            allocated: block.len,
            offset: found.offset,
            ..described
        };
        memory.put("memory", place)
    })
}

acl! {
    /// Tells the arena of a device.
    fn softnpuDeviceArena(device: i32, memory: Out<Memory>) {
        check_size(memory, memory.as_size())?;
        let runtime = runtime()?;
        let device = runtime.device_of(device)?;
        let arena = runtime.arena_of(device)?;
        memory.put("memory", describe(device.user(), &arena))
    }
}

acl! {
    /// Allocates memory of a device, whatever the calling thread's context is.
    fn softnpuDeviceMalloc(device: i32, bytes: u64, memory: Out<Memory>) {
        check_size(memory, memory.as_size())?;
        if bytes == 0 {
            return Err(NpuError::argument("bytes", bytes, "greater than 0"));
        }
        let runtime = runtime()?;
        let device = runtime.device_of(device)?;
        let arena = runtime.arena_of(device)?;
        let epoch = arena.epoch();
        let block = arena.allocate(bytes, 0, Pages::HugeFirst)?;
        let described = describe(device.user(), &arena);
        let (allocation, allocated, offset) = (block.offset, block.len, block.offset);
        memory.put("memory", Memory { allocation, allocated, offset, epoch, ..described })
    }
}

acl! {
    /// Frees what `softnpuDeviceMalloc` gave, unless the device was reset since.
    fn softnpuDeviceFree(memory: In<Memory>) {
        let memory = memory.get("memory")?;
        let runtime = runtime()?;
        let arena = runtime.arena_of(runtime.device_of(memory.device)?)?;
        arena.free_of_epoch(memory.allocation, memory.epoch);
        Ok(())
    }
}

/// Tells the device of a stream, and whether the stream has nothing queued and takes tasks.
///
/// # Safety
/// 1. `device` and `at_rest` are NULL or writable.
// SAFETY: the name is this project's own.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn softnpuStreamState(
    stream: StreamHandle,
    device: Out<i32>,
    at_rest: Out<i32>,
) -> c_int {
    ask(|| {
        device.check("device")?;
        at_rest.check("atRest")?;
        let stream = stream.get()?;
        device.put("device", stream.device() as i32)?;
        at_rest.put("atRest", stream.is_at_rest().into())
    })
}

/// Adds a message to the calling thread's.
// SAFETY: the name is this project's own.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub extern "C" fn softnpuReportError(
    code: Text,
    title: Text,
    message: Text,
    cause: Text,
    solution: Text,
) {
    let [code, title, message, cause, solution] =
        [code, title, message, cause, solution].map(|text| text.get().unwrap_or_default());
    push(Message::new(&code, &title, &message, &cause, &solution));
}

/// Writes a log line of a module.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub extern "C" fn softnpuLog(
    module: Text,
    level: i32,
    file: Text,
    line: u32,
    function: Text,
    message: Text,
) {
    let Some(level) = Level::from_number(level) else {
        return;
    };
    let [module, file, function, message] =
        [module, file, function, message].map(|text| text.get().unwrap_or_default());
    write(level, &module, &file, line, &function, &message);
}
