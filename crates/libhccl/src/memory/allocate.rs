//! Device memory for windows, in one call: addresses are reserved, memory is taken, both are joined.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::border::hccl_call;
use crate::communicators::check_process;
use crate::errors::Failure;
use crate::runtime::{current_device, runtime_failed, symbol};

/// `aclrtPhysicalMemProp`: huge pages of the memory of a device.
#[repr(C)]
struct Properties {
    handle_type: c_int,
    allocation_type: c_int,
    attribute: c_int,
    /// First the number of the device, then the kind of place.
    location: (i32, c_int),
    reserve: u64,
}
const _: () = assert!(size_of::<Properties>() == 32);

const HBM_HUGE: c_int = 4;
const DEVICE: c_int = 1;
/// Whether reserved addresses are for huge pages.
const HUGE_PAGES: u64 = 1;

type Reserve = unsafe extern "C" fn(*mut *mut c_void, usize, usize, *mut c_void, u64) -> c_int;
type Release = unsafe extern "C" fn(*mut c_void) -> c_int;
type Take = unsafe extern "C" fn(*mut *mut c_void, usize, *const Properties, u64) -> c_int;
type Map = unsafe extern "C" fn(*mut c_void, usize, usize, *mut c_void, u64) -> c_int;
type Granularity = unsafe extern "C" fn(*const Properties, c_int, *mut usize) -> c_int;

/// The runtime's functions for virtual memory.
struct Functions {
    reserve: Reserve,
    release: Release,
    take: Take,
    give_back: Release,
    map: Map,
    unmap: Release,
    granularity: Granularity,
}

fn functions() -> Result<&'static Functions, Failure> {
    static FUNCTIONS: OnceLock<Result<Functions, Failure>> = OnceLock::new();
    let load = || {
        // SAFETY: the names belong to functions of these types, by `acl/acl_rt.h`.
        unsafe {
            Ok(Functions {
                reserve: std::mem::transmute::<*mut c_void, Reserve>(symbol(
                    c"aclrtReserveMemAddress",
                )?),
                release: std::mem::transmute::<*mut c_void, Release>(symbol(
                    c"aclrtReleaseMemAddress",
                )?),
                take: std::mem::transmute::<*mut c_void, Take>(symbol(c"aclrtMallocPhysical")?),
                give_back: std::mem::transmute::<*mut c_void, Release>(symbol(
                    c"aclrtFreePhysical",
                )?),
                map: std::mem::transmute::<*mut c_void, Map>(symbol(c"aclrtMapMem")?),
                unmap: std::mem::transmute::<*mut c_void, Release>(symbol(c"aclrtUnmapMem")?),
                granularity: std::mem::transmute::<*mut c_void, Granularity>(symbol(
                    c"aclrtMemGetAllocationGranularity",
                )?),
            })
        }
    };
    FUNCTIONS.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// Handles of the memory behind addresses, as numbers.
static TAKEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn succeeded(call: &str, code: c_int) -> Result<(), Failure> {
    match code {
        0 => Ok(()),
        code => Err(runtime_failed(call, code, "there is no such memory")),
    }
}

/// Undoes a step unless it is kept. What comes of that does not matter: the call has failed.
struct Undo<F: FnMut() -> c_int>(F);

impl<F: FnMut() -> c_int> Drop for Undo<F> {
    fn drop(&mut self) {
        let _ = (self.0)();
    }
}

hccl_call! {
    /// Device memory of at least so many bytes that can be a window.
    fn HcommMemAlloc(out: *mut *mut c_void, size: usize) {
        const CALL: &str = "HcommMemAlloc";
        check_process()?;
        if out.is_null() || size == 0 {
            let (name, value) = if out.is_null() { ("ptr", "nullptr") } else { ("size", "0") };
            return Err(Failure::argument(CALL, name, value, "a place for the result, and a size \
                above 0"));
        }
        let functions = functions()?;
        let properties = Properties {
            handle_type: 0,
            allocation_type: 0,
            attribute: HBM_HUGE,
            location: (current_device()?, DEVICE),
            reserve: 0,
        };
        let mut granule = 0usize;
        // SAFETY: the structure is complete, the result has a place.
        let code = unsafe { (functions.granularity)(&raw const properties, 0, &raw mut granule) };
        succeeded("aclrtMemGetAllocationGranularity", code)?;
        let size = size.checked_next_multiple_of(granule.max(1)).ok_or_else(|| {
            Failure::argument(CALL, "size", &size.to_string(), "a size that a device can have")
        })?;
        let (mut address, mut memory) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the result has a place.
        let code = unsafe {
            (functions.reserve)(&raw mut address, size, 0, std::ptr::null_mut(), HUGE_PAGES)
        };
        succeeded("aclrtReserveMemAddress", code)?;
        // SAFETY: the addresses were reserved just now.
        let release = Undo(|| unsafe { (functions.release)(address) });
        // SAFETY: the structure is complete, the result has a place.
        let code = unsafe { (functions.take)(&raw mut memory, size, &raw const properties, 0) };
        succeeded("aclrtMallocPhysical", code)?;
        // SAFETY: the memory was taken just now.
        let give_back = Undo(|| unsafe { (functions.give_back)(memory) });
        // SAFETY: addresses and memory are as long as is said, and nobody uses them yet.
        let code = unsafe { (functions.map)(address, size, 0, memory, 0) };
        succeeded("aclrtMapMem", code)?;
        keep(give_back);
        keep(release);
        TAKEN.lock().insert(address.addr(), memory.addr());
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { out.write(address) };
        Ok(())
    }
}

/// All went well: nothing is undone.
fn keep<F: FnMut() -> c_int>(undo: Undo<F>) {
    let _kept = std::mem::ManuallyDrop::new(undo);
}

hccl_call! {
    /// Gives memory of `HcommMemAlloc` back. NULL is nothing.
    fn HcommMemFree(address: *mut c_void) {
        const CALL: &str = "HcommMemFree";
        check_process()?;
        if address.is_null() {
            return Ok(());
        }
        let functions = functions()?;
        let memory = TAKEN.lock().remove(&address.addr());
        let Some(memory) = memory else {
            let expect = "memory of HcommMemAlloc that was not given back";
            return Err(Failure::argument(CALL, "ptr", &format!("{address:p}"), expect));
        };
        let memory = std::ptr::with_exposed_provenance_mut(memory);
        // SAFETY: both came from the runtime, once; nobody uses them any more by the contract of
        // this function. A step that fails keeps none of the others from being done.
        let codes = unsafe {
            [
                ("aclrtUnmapMem", (functions.unmap)(address)),
                ("aclrtReleaseMemAddress", (functions.release)(address)),
                ("aclrtFreePhysical", (functions.give_back)(memory)),
            ]
        };
        codes.into_iter().try_for_each(|(call, code)| succeeded(call, code))
    }
}
