//! The device's side: functions of the loaded `libascendcl.so`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use hccl::{Piece, Product, Workspace};
use hccl_abi::extension::{Memory, Task};
use hccl_fabric::Region;
use hccl_os::shm::segment_id;
use hccl_os::sync::{AtomicU64, Ordering};
use parking_lot::Mutex;

use crate::errors::{Failure, Record, Status};

/// Severity of log lines, as `softnpuLog` takes it.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Level {
    Debug = 0,
    Info = 1,
    Warning = 2,
    Error = 3,
    Event = 16,
}

type GetDevice = unsafe extern "C" fn(*mut i32) -> c_int;
type PhysicalDevice = unsafe extern "C" fn(i32, *mut i32) -> c_int;
type Submit = unsafe extern "C" fn(*mut c_void, *const Task) -> c_int;
type MemoryOf = unsafe extern "C" fn(*const c_void, *mut Memory) -> c_int;
type DeviceArena = unsafe extern "C" fn(i32, *mut Memory) -> c_int;
type SocName = unsafe extern "C" fn() -> Text;
type DeviceMalloc = unsafe extern "C" fn(i32, u64, *mut Memory) -> c_int;
type DeviceFree = unsafe extern "C" fn(*const Memory) -> c_int;
type StreamState = unsafe extern "C" fn(*mut c_void, *mut i32, *mut i32) -> c_int;
type Text = *const c_char;
type ReportError = unsafe extern "C" fn(Text, Text, Text, Text, Text);
type Log = unsafe extern "C" fn(Text, i32, Text, u32, Text, Text);

/// Functions of the loaded runtime.
struct Functions {
    get_device: GetDevice,
    physical_device: PhysicalDevice,
    soc_name: SocName,
    submit: Submit,
    memory_of: MemoryOf,
    device_arena: DeviceArena,
    device_malloc: DeviceMalloc,
    device_free: DeviceFree,
    stream_state: StreamState,
    memory_changes: &'static AtomicU64,
    report_error: ReportError,
    log: Log,
}

/// The runtime, or what is missing.
static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();

fn functions() -> Result<&'static Functions, Failure> {
    let functions = FUNCTIONS.get_or_init(load);
    functions
        .as_ref()
        .map_err(|missing| Failure::new(Status::NotSupport, Record::internal(missing)))
}

/// Why the loader could not do what this thread asked of it last.
pub(crate) fn loader_error() -> String {
    // SAFETY: `dlerror` gives NULL or a string that stays until the next call on this thread.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "no reason given".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// The loaded runtime, opened once and never closed.
fn library() -> Result<*mut c_void, String> {
    static LIBRARY: OnceLock<Result<usize, String>> = OnceLock::new();
    let open = || {
        let library = c"libascendcl.so";
        // SAFETY: the name is a C string; loading the device's runtime is what the caller wants.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(handle.expose_provenance());
        }
        Err(format!("libascendcl.so cannot be loaded: {}", loader_error()))
    };
    LIBRARY.get_or_init(open).clone().map(std::ptr::with_exposed_provenance_mut)
}

/// A function of the runtime.
fn find(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the handle is open and never closed.
    let found = unsafe { libc::dlsym(library()?, name.as_ptr()) };
    if found.is_null() {
        return Err(format!(
            "the loaded libascendcl.so has no {}: this version of libhccl.so runs on the software \
             NPU's runtime only",
            name.to_string_lossy()
        ));
    }
    Ok(found)
}

/// A function of the runtime, for calls that not every program makes.
pub(crate) fn symbol(name: &CStr) -> Result<*mut c_void, Failure> {
    find(name).map_err(|missing| Failure::new(Status::NotSupport, Record::internal(&missing)))
}

/// An address as C programs take it.
pub(crate) fn c_pointer(address: *mut u8) -> *mut c_void {
    address.cast()
}

fn load() -> Result<Functions, String> {
    // SAFETY: the names belong to functions of these types, by `acl/acl_rt.h` and
    // `softnpu/softnpu.h`.
    unsafe {
        Ok(Functions {
            get_device: std::mem::transmute::<*mut c_void, GetDevice>(find(c"aclrtGetDevice")?),
            physical_device: std::mem::transmute::<*mut c_void, PhysicalDevice>(find(
                c"aclrtGetPhyDevIdByUserDevId",
            )?),
            soc_name: std::mem::transmute::<*mut c_void, SocName>(find(c"aclrtGetSocName")?),
            submit: std::mem::transmute::<*mut c_void, Submit>(find(c"softnpuStreamSubmit")?),
            memory_of: std::mem::transmute::<*mut c_void, MemoryOf>(find(c"softnpuMemoryOf")?),
            device_arena: std::mem::transmute::<*mut c_void, DeviceArena>(find(
                c"softnpuDeviceArena",
            )?),
            device_malloc: std::mem::transmute::<*mut c_void, DeviceMalloc>(find(
                c"softnpuDeviceMalloc",
            )?),
            device_free: std::mem::transmute::<*mut c_void, DeviceFree>(find(
                c"softnpuDeviceFree",
            )?),
            stream_state: std::mem::transmute::<*mut c_void, StreamState>(find(
                c"softnpuStreamState",
            )?),
            memory_changes: AtomicU64::from_ptr(find(c"softnpuMemoryChanges")?.cast()),
            report_error: std::mem::transmute::<*mut c_void, ReportError>(find(
                c"softnpuReportError",
            )?),
            log: std::mem::transmute::<*mut c_void, Log>(find(c"softnpuLog")?),
        })
    }
}

/// Text for C; NULs inside become blanks.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).expect("NULs were replaced")
}

pub(crate) fn runtime_failed(call: &str, code: c_int, consequence: &str) -> Failure {
    let text = format!("{call} returned {code}: {consequence}.");
    Failure::new(Status::Runtime, Record::internal(&text))
}

/// Device of the calling thread.
pub(crate) fn current_device() -> Result<i32, Failure> {
    let mut device = -1;
    // SAFETY: a function of the runtime with a writable place for its result.
    match unsafe { (functions()?.get_device)(&raw mut device) } {
        0 => Ok(device),
        code => {
            let what = "the calling thread uses no device; call aclrtSetDevice on it first";
            Err(runtime_failed("aclrtGetDevice", code, what))
        }
    }
}

/// Number that a device has on its host, whatever list of visible devices the process has.
pub(crate) fn physical_device(device: i32) -> Result<i32, Failure> {
    let mut physical = -1;
    // SAFETY: a function of the runtime with a writable place for its result.
    match unsafe { (functions()?.physical_device)(device, &raw mut physical) } {
        0 => Ok(physical),
        code => {
            let what = format!("device {device} is none of this process");
            Err(runtime_failed("aclrtGetPhyDevIdByUserDevId", code, &what))
        }
    }
}

/// Device of a stream, and whether what is done now comes after all that is queued on it; `None` for
/// a handle that is not a live one.
pub(crate) fn stream_state(stream: *mut c_void) -> Result<Option<(i32, bool)>, Failure> {
    let (mut device, mut at_rest) = (-1, 0);
    // SAFETY: the runtime checks the handle; the results have a place.
    let code = unsafe { (functions()?.stream_state)(stream, &raw mut device, &raw mut at_rest) };
    Ok((code == 0).then_some((device, at_rest == 1)))
}

/// A device's memory as ranks share it.
pub(crate) struct Arena {
    pub(crate) region: Arc<Region>,
    pub(crate) fd: OwnedFd,
    pub(crate) len: u64,
}

/// The product generation of the devices; that of most users where the name is a new one.
pub(crate) fn product() -> Product {
    let Ok(functions) = functions() else { return Product::A2 };
    // SAFETY: the function takes nothing and gives NULL or a text that stays.
    let name = unsafe {
        let name = (functions.soc_name)();
        if name.is_null() { c"" } else { CStr::from_ptr(name) }
    };
    product_of(&name.to_string_lossy())
}

fn product_of(soc: &str) -> Product {
    match soc.strip_prefix("Ascend") {
        Some(rest) if rest.starts_with("950") => Product::Ascend950,
        Some(rest) if rest.starts_with("310P") => Product::Ascend310P,
        Some(rest) if rest.starts_with("910_") => Product::A3,
        Some(rest) if rest.strip_prefix("910B").is_some_and(|more| !more.is_empty()) => Product::A2,
        Some(rest) if rest.starts_with("910") => Product::Ascend910,
        _ => Product::A2,
    }
}

/// Memory of a device.
pub(crate) fn arena(device: i32) -> Result<Arena, Failure> {
    let mut memory = Memory::EMPTY;
    // SAFETY: the structure is writable and says its size.
    let code = unsafe { (functions()?.device_arena)(device, &raw mut memory) };
    if code != 0 {
        let what = format!("device {device} does not exist or could not start");
        return Err(runtime_failed("softnpuDeviceArena", code, &what));
    }
    let failed = |error: hccl_os::OsError| {
        let text = format!("the memory of device {device} cannot be shared: {error}");
        Failure::new(Status::Syscall, Record::internal(&text))
    };
    // SAFETY: the runtime keeps the descriptor open as long as it is loaded, which is until the
    // process ends.
    let fd = unsafe { BorrowedFd::borrow_raw(memory.fd) };
    let id = segment_id(fd).map_err(failed)?;
    let fd = fd.try_clone_to_owned().map_err(|error| {
        let text = format!("no descriptor is left to share the memory of device {device}: {error}");
        Failure::new(Status::Syscall, Record::internal(&text))
    })?;
    // SAFETY: the runtime says that its arena is mapped there, and keeps it mapped: a device that
    // is reset keeps its address space.
    let region = unsafe { Region::local(id, memory.base, memory.length as usize) };
    Ok(Arena { region, fd, len: memory.length })
}

/// Room for a communicator in the memory of its device.
pub(crate) struct DeviceRoom {
    device: i32,
    /// What the runtime gave, by offset.
    given: Mutex<HashMap<u64, Memory>>,
}

// SAFETY: the structures are descriptions; nothing here follows their addresses.
unsafe impl Send for DeviceRoom {}
// SAFETY: as above, and the map is behind a lock.
unsafe impl Sync for DeviceRoom {}

impl DeviceRoom {
    pub(crate) fn new(device: i32) -> Self {
        Self { device, given: Mutex::default() }
    }

    /// Gives all of it back, also what a communicator kept that had failed. No rank is in it.
    pub(crate) fn clear(&self) {
        let Ok(functions) = functions() else { return };
        for (_, memory) in self.given.lock().drain() {
            // SAFETY: the runtime gave this structure and checks what it stands for.
            unsafe { (functions.device_free)(&raw const memory) };
        }
    }
}

// SAFETY: the runtime gives each allocation to one owner, in the arena that the rank shares.
unsafe impl Workspace for DeviceRoom {
    fn allocate(&self, bytes: u64) -> Result<Piece, String> {
        let functions = functions().map_err(|failure| failure.record.text)?;
        let mut memory = Memory::EMPTY;
        // SAFETY: the structure is writable and says its size.
        match unsafe { (functions.device_malloc)(self.device, bytes, &raw mut memory) } {
            0 => {
                self.given.lock().insert(memory.allocation, memory);
                Ok(Piece { offset: memory.allocation, len: memory.allocated })
            }
            code => Err(format!("device {} has no such memory left ({code})", self.device)),
        }
    }

    fn free(&self, piece: Piece) {
        if let (Some(memory), Ok(functions)) =
            (self.given.lock().remove(&piece.offset), functions())
        {
            // SAFETY: the runtime gave this structure and checks what it stands for.
            unsafe { (functions.device_free)(&raw const memory) };
        }
    }
}

/// Memory of a device that this library has for a program.
pub(crate) struct DeviceBuffer(Memory);

// SAFETY: a description; whoever follows its address has the promise that was given for it.
unsafe impl Send for DeviceBuffer {}
// SAFETY: as above.
unsafe impl Sync for DeviceBuffer {}

impl DeviceBuffer {
    /// Takes so many bytes, which are zero; `None` where the device has no room.
    pub(crate) fn new(device: i32, bytes: u64) -> Result<Option<Self>, Failure> {
        let mut memory = Memory::EMPTY;
        // SAFETY: the structure is writable and says its size.
        let code = unsafe { (functions()?.device_malloc)(device, bytes, &raw mut memory) };
        // What was not given must not be given back, which a value that is dropped would do.
        Ok(if code == 0 { Some(Self(memory)) } else { None })
    }

    /// Its first byte, as an address of this process.
    pub(crate) fn address(&self) -> *mut u8 {
        self.0.base.wrapping_add(self.0.allocation as usize)
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if let Ok(functions) = functions() {
            // SAFETY: the runtime gave this structure and checks what it stands for.
            unsafe { (functions.device_free)(&raw const self.0) };
        }
    }
}

/// Where a device pointer lives.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) device: i32,
    /// Offset in the device's memory.
    pub(crate) offset: u64,
    /// Bytes from there to the end of the allocation.
    pub(crate) left: u64,
}

/// Places that a thread remembers: programs use the same buffers again and again.
const PLACES: usize = 8;

/// What was found, and how often memory had changed by then.
#[derive(Clone, Copy)]
struct Found {
    pointer: usize,
    changes: u64,
    place: Place,
}

thread_local! {
    static FOUND: RefCell<[Option<Found>; PLACES]> = const { RefCell::new([None; PLACES]) };
}

/// Where a device pointer lives; `None` if it is not one.
pub(crate) fn place(pointer: *const c_void) -> Result<Option<Place>, Failure> {
    let functions = functions()?;
    let changes = functions.memory_changes.load(Ordering::Acquire);
    let is_it = |one: &&Found| one.pointer == pointer.addr() && one.changes == changes;
    let known = FOUND.with_borrow(|found| found.iter().flatten().find(is_it).map(|one| one.place));
    if known.is_some() {
        return Ok(known);
    }
    let place = look_up(functions, pointer);
    if let Some(place) = place {
        FOUND.with_borrow_mut(|found| {
            found.rotate_right(1);
            found[0] = Some(Found { pointer: pointer.addr(), changes, place });
        });
    }
    Ok(place)
}

fn look_up(functions: &Functions, pointer: *const c_void) -> Option<Place> {
    let mut memory = Memory::EMPTY;
    // SAFETY: the runtime looks the address up; the structure is writable and says its size.
    if unsafe { (functions.memory_of)(pointer, &raw mut memory) } != 0 {
        return None;
    }
    let end = memory.allocation.saturating_add(memory.allocated);
    let left = end.saturating_sub(memory.offset);
    Some(Place { device: memory.device, offset: memory.offset, left })
}

/// Queues a task. The runtime takes it over in any case.
pub(crate) fn submit(stream: *mut c_void, task: &Task) -> Result<(), Failure> {
    // SAFETY: the task is complete; the runtime checks the handle.
    match unsafe { (functions()?.submit)(stream, task) } {
        0 => Ok(()),
        code => Err(runtime_failed("softnpuStreamSubmit", code, "the stream takes no tasks")),
    }
}

/// Puts a record among the calling thread's messages.
pub(crate) fn report(record: &Record) {
    let Ok(functions) = functions() else { return };
    let texts = [record.code, record.title, &record.text, record.cause, record.solution];
    let [code, title, text, cause, solution] = texts.map(c_string);
    // SAFETY: five C strings that live until the call returns.
    unsafe {
        (functions.report_error)(
            code.as_ptr(),
            title.as_ptr(),
            text.as_ptr(),
            cause.as_ptr(),
            solution.as_ptr(),
        );
    }
}

/// Writes a log line; to standard error where there is no runtime to write it.
pub(crate) fn log(level: Level, file: &str, line: u32, function: &str, message: &str) {
    let Ok(functions) = functions() else {
        if matches!(level, Level::Error) {
            eprintln!("[ERROR] HCCL: {function}: {message}");
        }
        return;
    };
    let [file, function, message] = [file, function, message].map(c_string);
    // SAFETY: C strings that live until the call returns.
    unsafe {
        (functions.log)(
            c"HCCL".as_ptr(),
            level as i32,
            file.as_ptr(),
            line,
            function.as_ptr(),
            message.as_ptr(),
        );
    }
}

/// Writes a log line with the place it comes from.
macro_rules! log_line {
    ($level:ident, $function:expr, $($format:tt)*) => {
        $crate::runtime::log(
            $crate::runtime::Level::$level, file!(), line!(), $function, &format!($($format)*),
        )
    };
}
pub(crate) use log_line;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_chips_tell_their_product() {
        for (name, product) in [
            ("Ascend910B", Product::Ascend910),
            ("Ascend910ProA", Product::Ascend910),
            ("Ascend910B4-1", Product::A2),
            ("Ascend910_9391", Product::A3),
            ("Ascend310P3", Product::Ascend310P),
            ("Ascend950PR_9579", Product::Ascend950),
            ("something new", Product::A2),
        ] {
            assert_eq!(product_of(name), product, "{name}");
        }
    }
}
