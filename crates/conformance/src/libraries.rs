//! The C interface as a program sees it: functions found by name, results as codes.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

/// `HcclSendRecvItem`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub(crate) kind: c_int,
    pub(crate) buffer: *mut c_void,
    pub(crate) count: u64,
    pub(crate) data_type: c_int,
    pub(crate) remote_rank: u32,
}

/// Bytes of a root info.
pub(crate) const ROOT_INFO_BYTES: usize = 4108;

macro_rules! functions {
    ($($field:ident = $symbol:literal : fn($($type:ty),*);)*) => {
        /// Functions of the two libraries that the tests call. Each returns a code, 0 for success.
        #[derive(Clone, Copy)]
        pub(crate) struct Libraries {
            $(pub(crate) $field: unsafe extern "C" fn($($type),*) -> c_int,)*
            recent_message: unsafe extern "C" fn() -> *const c_char,
        }

        impl Libraries {
            fn find(acl: *mut c_void, hccl: *mut c_void) -> anyhow::Result<Self> {
                Ok(Self {
                    $($field: {
                        let library = if $symbol.starts_with('H') { hccl } else { acl };
                        let found = symbol(library, $symbol)?;
                        // SAFETY: the symbol is the function of that prototype in the headers.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(found) }
                    },)*
                    recent_message: {
                        let found = symbol(acl, "aclGetRecentErrMsg")?;
                        // SAFETY: as above.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(found)
                        }
                    },
                })
            }
        }
    };
}

functions! {
    init = "aclInit": fn(*const c_char);
    set_device = "aclrtSetDevice": fn(i32);
    malloc = "aclrtMalloc": fn(*mut *mut c_void, usize, c_int);
    memcpy = "aclrtMemcpy": fn(*mut c_void, usize, *const c_void, usize, c_int);
    create_stream = "aclrtCreateStream": fn(*mut *mut c_void);
    synchronize = "aclrtSynchronizeStream": fn(*mut c_void);
    query = "aclrtStreamQuery": fn(*mut c_void, *mut c_int);
    join_all = "HcclCommInitAll": fn(u32, *const i32, *mut *mut c_void);
    root_info = "HcclGetRootInfo": fn(*mut u8);
    join = "HcclCommInitRootInfo": fn(u32, *const u8, u32, *mut *mut c_void);
    world = "HcomInitByString": fn(*const c_char, *const c_char, c_int, *const c_void);
    destroy = "HcclCommDestroy": fn(*mut c_void);
    async_error = "HcclGetCommAsyncError": fn(*mut c_void, *mut c_int);
    all_reduce = "HcclAllReduce":
        fn(*mut c_void, *mut c_void, u64, c_int, c_int, *mut c_void, *mut c_void);
    reduce = "HcclReduce":
        fn(*mut c_void, *mut c_void, u64, c_int, c_int, u32, *mut c_void, *mut c_void);
    reduce_scatter = "HcclReduceScatter":
        fn(*mut c_void, *mut c_void, u64, c_int, c_int, *mut c_void, *mut c_void);
    broadcast = "HcclBroadcast": fn(*mut c_void, u64, c_int, u32, *mut c_void, *mut c_void);
    all_gather = "HcclAllGather":
        fn(*mut c_void, *mut c_void, u64, c_int, *mut c_void, *mut c_void);
    scatter = "HcclScatter":
        fn(*mut c_void, *mut c_void, u64, c_int, u32, *mut c_void, *mut c_void);
    all_to_all = "HcclAlltoAll":
        fn(*const c_void, u64, c_int, *const c_void, u64, c_int, *mut c_void, *mut c_void);
    all_to_all_v = "HcclAlltoAllV":
        fn(*const c_void, *const u64, *const u64, c_int, *const c_void, *const u64, *const u64, c_int, *mut c_void, *mut c_void);
    all_gather_v = "HcclAllGatherV":
        fn(*mut c_void, u64, *mut c_void, *const u64, *const u64, c_int, *mut c_void, *mut c_void);
    reduce_scatter_v = "HcclReduceScatterV":
        fn(*mut c_void, *const u64, *const u64, *mut c_void, u64, c_int, c_int, *mut c_void, *mut c_void);
    all_to_all_vc = "HcclAlltoAllVC":
        fn(*const c_void, *const u64, c_int, *const c_void, c_int, *mut c_void, *mut c_void);
    send = "HcclSend": fn(*mut c_void, u64, c_int, u32, *mut c_void, *mut c_void);
    receive = "HcclRecv": fn(*mut c_void, u64, c_int, u32, *mut c_void, *mut c_void);
    batch = "HcclBatchSendRecv": fn(*const Item, u32, *mut c_void, *mut c_void);
    barrier = "HcclBarrier": fn(*mut c_void, *mut c_void);
}

fn open(path: &Path) -> anyhow::Result<*mut c_void> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: a C string; loading the library under test is the purpose.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        // SAFETY: after a failure `dlerror` gives a string.
        let why = unsafe { CStr::from_ptr(libc::dlerror()) };
        bail!("{}: {}", path.display(), why.to_string_lossy());
    }
    Ok(handle)
}

fn symbol(library: *mut c_void, name: &str) -> anyhow::Result<*mut c_void> {
    let c_name = CString::new(name)?;
    // SAFETY: the handle is open and never closed.
    let found = unsafe { libc::dlsym(library, c_name.as_ptr()) };
    ensure!(!found.is_null(), "{name} is not exported");
    Ok(found)
}

/// A function of either library, once they are loaded.
pub(crate) fn symbol_of(name: &str) -> anyhow::Result<*mut c_void> {
    symbol(libc::RTLD_DEFAULT, name)
}

impl Libraries {
    /// Loads both libraries.
    pub(crate) fn load(folder: &Path) -> anyhow::Result<Self> {
        let acl = open(&folder.join("libascendcl.so"))?;
        let hccl = open(&folder.join("libhccl.so"))?;
        Self::find(acl, hccl).context("the libraries lack a function")
    }

    /// Turns a code into an error with the library's own message.
    pub(crate) fn check(&self, what: &str, code: c_int) -> anyhow::Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: gives NULL or a string that stays until the next call on this thread.
        let message = unsafe {
            let text = (self.recent_message)();
            if text.is_null() {
                "no message".into()
            } else {
                CStr::from_ptr(text).to_string_lossy()
            }
        };
        bail!("{what} returned {code}: {message}")
    }
}
