//! Copies and fills: what kind of memory each end is, and whether the call may return early.

use std::sync::Arc;

use crate::error::{NpuError, NpuResult};
use crate::runtime::runtime;
use crate::stream::Stream;
use crate::task::{Address, Step, Task, Work};

/// Kind of memory behind an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Memory of a device, with its user id.
    Device(u32),
    /// Pinned or registered host memory.
    Pinned,
    /// Any other memory of the process.
    Pageable,
}

/// Kind of memory behind an address, which must hold `len` bytes as far as that is known.
///
/// # Errors
/// 107000 when a device or pinned allocation ends before `len` bytes.
pub fn place(what: &str, address: *const u8, len: usize) -> NpuResult<Place> {
    if let Some(found) = runtime()?.locate(address) {
        let allocated = found.block.map_or(0, |block| block.offset + block.len - found.offset);
        let left = crate::virtual_memory::mapped_from(address).unwrap_or(allocated);
        if (len as u64) > left {
            let given = format!("{address:p} with {len} bytes");
            let allowed = format!("device memory of that size ({left} bytes are allocated there)");
            return Err(NpuError::value(what, given, &allowed));
        }
        return Ok(Place::Device(found.device));
    }
    if let Some((device, left)) = other_process(address) {
        if len > left {
            let given = format!("{address:p} with {len} bytes");
            let allowed = format!("imported memory of that size ({left} bytes are left there)");
            return Err(NpuError::value(what, given, &allowed));
        }
        return Ok(Place::Device(device));
    }
    match crate::host_memory::pinned_from(address) {
        Some(left) if len > left => {
            let given = format!("{address:p} with {len} bytes");
            let allowed = format!("pinned memory of that size ({left} bytes are left there)");
            Err(NpuError::value(what, given, &allowed))
        }
        Some(_) => Ok(Place::Pinned),
        None => Ok(Place::Pageable),
    }
}

/// The device that memory of another process counts to here, and the bytes from an address to its
/// end.
pub fn other_process(address: *const u8) -> Option<(u32, usize)> {
    if let Some(found) = crate::ipc_memory::at(address) {
        return Some((found.device, found.base + found.len - address as usize));
    }
    if !crate::virtual_memory::has_imports() {
        return None;
    }
    let (_, physical) = crate::virtual_memory::mapped_at(address)?;
    let left = crate::virtual_memory::mapped_from(address)?;
    Some((physical.device(), left as usize))
}

/// Copies at once.
///
/// # Errors
/// As [`place`].
///
/// # Safety
/// 1. Memory that is neither the device's nor pinned is valid for `len` bytes, `to` for writes.
pub unsafe fn copy_now(to: *mut u8, from: *const u8, len: usize) -> NpuResult<()> {
    place("dst", to, len)?;
    place("src", from, len)?;
    // SAFETY: known memory was checked above, other memory is the caller's word (1); `copy` takes
    // any overlap.
    unsafe { std::ptr::copy(from, to, len) };
    Ok(())
}

/// Copies in stream order. With pageable host memory at one end the copy is done on return.
///
/// # Errors
/// As [`place`]; 207000 for a copy from host to host.
///
/// # Safety
/// 1. As (1) of [`copy_now`], until the stream has passed the copy.
pub unsafe fn copy_in_order(
    to: *mut u8,
    from: *const u8,
    len: usize,
    take_source: bool,
    stream: &Arc<Stream>,
) -> NpuResult<()> {
    let ends = (place("dst", to, len)?, place("src", from, len)?);
    match ends {
        (Place::Device(_), Place::Device(_) | Place::Pinned)
        | (Place::Pinned, Place::Device(_)) => {
            let to = Address(to);
            stream.submit(Work::Copy { to, from: Address(from.cast_mut()), len })
        }
        (Place::Device(_), Place::Pageable) if take_source => {
            // SAFETY: (1): the source is readable now.
            let bytes = unsafe { std::slice::from_raw_parts(from, len) }.to_vec();
            stream.submit(Work::CopyOwned { to: Address(to), bytes })
        }
        (Place::Device(_), Place::Pageable) | (Place::Pageable, Place::Device(_)) => {
            stream.synchronize(None)?;
            // SAFETY: checked above, and (1).
            unsafe { std::ptr::copy(from, to, len) };
            Ok(())
        }
        _ => Err(NpuError::unsupported("an asynchronous copy from host to host")),
    }
}

/// Fills in stream order.
///
/// # Errors
/// As [`place`].
///
/// # Safety
/// 1. As (1) of [`copy_now`], until the stream has passed the fill.
pub unsafe fn fill_in_order(
    to: *mut u8,
    value: u8,
    len: usize,
    stream: &Arc<Stream>,
) -> NpuResult<()> {
    place("devPtr", to, len)?;
    stream.submit(Work::Set { to: Address(to), value, len })
}

/// Fills with a number of 32 bits, at once or in stream order.
///
/// # Errors
/// 100000 for memory that is not the device's or pinned, as the interface has it.
///
/// # Safety
/// 1. `to` is a multiple of 4.
pub unsafe fn fill_words(
    to: *mut u8,
    value: u32,
    count: usize,
    stream: Option<&Arc<Stream>>,
) -> NpuResult<()> {
    let len = count.checked_mul(4);
    let known =
        len.is_some_and(|len| place("devPtr", to, len).is_ok_and(|place| place != Place::Pageable));
    if !known {
        let given = format!("{to:p} with {count} numbers");
        let allowed = "memory of the device or pinned memory of that size";
        return Err(NpuError::argument("devPtr", given, allowed));
    }
    let mut fill = Words { to: Address(to), value, left: count };
    match stream {
        Some(stream) => stream.submit(Work::Task(Box::new(fill))),
        None => {
            while !matches!(fill.step(false), Step::Done) {}
            Ok(())
        }
    }
}

struct Words {
    to: Address,
    value: u32,
    left: usize,
}

impl Task for Words {
    fn step(&mut self, _arm: bool) -> Step {
        let now = self.left.min(WORDS_PER_STEP);
        let to = self.to.0.cast::<u32>();
        for i in 0..now {
            // SAFETY: the range was found to be memory that we know, and is aligned by (1) of
            // `fill_words`; the caller answers for it until the stream has passed the fill.
            unsafe { to.add(i).write(self.value) };
        }
        self.to = Address(self.to.0.wrapping_add(4 * now));
        self.left -= now;
        if self.left == 0 { Step::Done } else { Step::Progress }
    }
}

/// Numbers that one step fills before others get their turn.
const WORDS_PER_STEP: usize = 1 << 20;

/// Fills at once.
///
/// # Errors
/// As [`place`].
///
/// # Safety
/// 1. As (1) of [`copy_now`].
pub unsafe fn fill_now(to: *mut u8, value: u8, len: usize) -> NpuResult<()> {
    place("devPtr", to, len)?;
    // SAFETY: checked above, and (1).
    unsafe { to.write_bytes(value, len) };
    Ok(())
}
