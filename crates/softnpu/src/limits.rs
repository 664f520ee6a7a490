//! How many cores a device, a stream or a thread may use. The software NPU has no such cores: the
//! numbers are kept, checked and told, which is what libraries above ask for.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use crate::context::current;
use crate::error::{NpuError, NpuResult};
use crate::runtime::runtime;
use crate::stream::Stream;

/// A kind of core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Core {
    Cube = 0,
    Vector = 1,
}

/// Limits by [`Core`]; none where nothing was set.
pub type Limits = [Option<u32>; 2];

thread_local! {
    /// The stream whose limits this thread works under.
    static USED: RefCell<Weak<Stream>> = const { RefCell::new(Weak::new()) };
}

/// Cores that the product has.
fn hardware(core: Core) -> NpuResult<u32> {
    let soc = runtime()?.config().soc;
    Ok(match core {
        Core::Cube => soc.cube_cores,
        Core::Vector => soc.vector_cores,
    })
}

fn check(core: Core, value: u32) -> NpuResult<()> {
    let most = hardware(core)?;
    if value == 0 || value > most {
        return Err(NpuError::value("value", value, &format!("1 to the cores there are, {most}")));
    }
    Ok(())
}

/// Cores that a device may use.
///
/// # Errors
/// 107001 for a device that does not exist.
pub fn of_device(device: i32, core: Core) -> NpuResult<u32> {
    let set = runtime()?.device_of(device)?.limits.lock()[core as usize];
    set.map_or_else(|| hardware(core), Ok)
}

/// Limits a device.
///
/// # Errors
/// 107000 for more cores than there are, or none.
pub fn limit_device(device: i32, core: Core, value: u32) -> NpuResult<()> {
    let device = runtime()?.device_of(device)?;
    check(core, value)?;
    device.limits.lock()[core as usize] = Some(value);
    Ok(())
}

/// Takes the limits of a device back.
///
/// # Errors
/// 107001 for a device that does not exist.
pub fn free_device(device: i32) -> NpuResult<()> {
    *runtime()?.device_of(device)?.limits.lock() = Limits::default();
    Ok(())
}

/// Cores that a stream may use: its own limit, else that of its device.
///
/// # Errors
/// As [`of_device`].
pub fn of_stream(stream: &Stream, core: Core) -> NpuResult<u32> {
    let set = stream.limits().lock()[core as usize];
    set.map_or_else(|| of_device(stream.device() as i32, core), Ok)
}

/// Limits a stream.
///
/// # Errors
/// As [`limit_device`].
pub fn limit_stream(stream: &Stream, core: Core, value: u32) -> NpuResult<()> {
    check(core, value)?;
    stream.limits().lock()[core as usize] = Some(value);
    Ok(())
}

/// Takes the limits of a stream back.
pub fn free_stream(stream: &Stream) {
    *stream.limits().lock() = Limits::default();
}

/// Lets the calling thread work under the limits of a stream.
pub fn use_in_thread(stream: &Arc<Stream>) {
    let _ = USED.try_with(|used| *used.borrow_mut() = Arc::downgrade(stream));
}

/// Ends [`use_in_thread`].
///
/// # Errors
/// 107000 when the thread works under the limits of no or another stream.
pub fn unuse_in_thread(stream: &Arc<Stream>) -> NpuResult<()> {
    let matches = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        let matches = std::ptr::eq(used.as_ptr(), Arc::as_ptr(stream));
        if matches {
            *used = Weak::new();
        }
        matches
    });
    if matches == Ok(true) {
        return Ok(());
    }
    let allowed = "the stream that this thread uses (aclrtUseStreamResInCurrentThread)";
    Err(NpuError::value("stream", "another stream", allowed))
}

/// Cores that the calling thread may use: those of the stream that it uses, else those of the
/// current device.
///
/// # Errors
/// 107002 without a context.
pub fn of_thread(core: Core) -> NpuResult<u32> {
    let device = current()?.device();
    let used = USED.try_with(|used| used.borrow().upgrade()).ok().flatten();
    match used.filter(|stream| !stream.is_dead()) {
        Some(stream) => of_stream(&stream, core),
        None => of_device(device as i32, core),
    }
}
