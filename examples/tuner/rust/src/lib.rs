//! An example of a tuner plugin. Rules in a JSON file say for which calls which algorithm gets which
//! cost; the first file that can be read counts: `$HCCL_TUNER_CONFIG_FILE`,
//! `./hccl_tuner_config.json`, `/etc/hccl/hccl_tuner_config.json`.
//!
//! It decides by what the library tells it and by the file, so ranks that have the same file choose
//! the same. What it must remember of a communicator is in memory that the library keeps for it and
//! gives back with the communicator.

#![allow(missing_docs, reason = "the interface is C's, and documented there")]
#![allow(unreachable_pub, reason = "C programs reach what Rust modules do not")]

mod abi;
mod config;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use abi::{AlgoEntry, CollInfo, Comm, CommInfo, Functions, HostFunctions};
use config::{Call, Config, OpType};

const SUCCESS: c_int = 0;
const BAD_POINTER: c_int = 2;
const NOT_FOUND: c_int = 6;

/// Levels of the log.
const ERROR: c_int = 0;
const INFO: c_int = 2;

/// The tag of what is remembered of a communicator.
const TAG: &CStr = c"tuner-example";
const NAME_BYTES: usize = 128;

static HOST: OnceLock<HostFunctions> = OnceLock::new();
static CONFIG: OnceLock<Result<Config, String>> = OnceLock::new();

// SAFETY: the name is that of the plugin interface.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is that of the plugin interface")]
pub static hcclTunerPlugin_v1: Functions =
    Functions { init, get_coll_info, struct_size: size_of::<Functions>() as u32 };

/// What is remembered of a communicator, in memory of the library's.
#[derive(Clone, Copy)]
#[repr(C)]
struct Known {
    ranks: u32,
    npus_per_server: u32,
    servers: u32,
    pods: u32,
    super_pods: u32,
    name_len: u32,
    buffer_size: u64,
    name: [u8; NAME_BYTES],
}

/// # Safety
/// 1. Both structures are those of the interface.
unsafe extern "C" fn init(comm: Comm, info: *const CommInfo, host: *const HostFunctions) -> c_int {
    if info.is_null() || host.is_null() {
        return BAD_POINTER;
    }
    // SAFETY: not NULL, and (1).
    let (info, host) = unsafe { (&*info, *HOST.get_or_init(|| *host)) };
    match CONFIG.get_or_init(read_config) {
        Ok(_) => {}
        Err(why) => {
            log(ERROR, why);
            return NOT_FOUND;
        }
    }
    let mut memory: *mut c_void = ptr::null_mut();
    // SAFETY: a function of the library, with a C string and a place for the result.
    let code =
        unsafe { (host.create)(comm, TAG.as_ptr(), size_of::<Known>() as u64, &raw mut memory) };
    if code != SUCCESS {
        return code;
    }
    // SAFETY: the library gave as many bytes, aligned for any type, and nobody else has them yet.
    unsafe { memory.cast::<Known>().write(known(info)) };
    SUCCESS
}

fn known(info: &CommInfo) -> Known {
    let mut name = [0; NAME_BYTES];
    // SAFETY: NULL is not looked at; otherwise a C string, by the interface.
    let text = if info.name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.name) } };
    let len = text.count_bytes().min(NAME_BYTES);
    name[..len].copy_from_slice(&text.to_bytes()[..len]);
    Known {
        ranks: info.ranks,
        npus_per_server: info.npus_per_server,
        servers: info.servers,
        pods: info.pods,
        super_pods: info.super_pods,
        name_len: len as u32,
        buffer_size: info.buffer_size,
        name,
    }
}

/// # Safety
/// 1. Structures are those of the interface, and there are `count` entries.
unsafe extern "C" fn get_coll_info(
    comm: Comm,
    info: *const CollInfo,
    entries: *mut AlgoEntry,
    count: c_int,
    matched: *mut c_int,
) -> c_int {
    if info.is_null() || entries.is_null() || matched.is_null() {
        return BAD_POINTER;
    }
    let (Some(host), Some(Ok(config))) = (HOST.get(), CONFIG.get()) else {
        return NOT_FOUND;
    };
    let mut memory: *mut c_void = ptr::null_mut();
    // SAFETY: a function of the library, with a C string and a place for the result.
    let code = unsafe { (host.get)(comm, TAG.as_ptr(), &raw mut memory, ptr::null_mut()) };
    if code != SUCCESS {
        return code;
    }
    // SAFETY: `init` wrote it there; nobody changes it.
    let known = unsafe { *memory.cast::<Known>() };
    // SAFETY: not NULL, and (1).
    let info = unsafe { &*info };
    // SAFETY: not NULL, and (1).
    let entries =
        unsafe { std::slice::from_raw_parts_mut(entries, usize::try_from(count).unwrap_or(0)) };
    let Some(rule) = OpType::from_code(info.coll_type)
        .and_then(|op_type| config.rule(op_type, &call(info, &known, &name(&known))))
    else {
        return SUCCESS;
    };
    let mut found = false;
    for entry in entries {
        // SAFETY: C strings that live until this function returns.
        let [engine, executor, template] =
            [entry.engine, entry.executor, entry.template].map(|text| unsafe { word(text) });
        if rule.means(engine, executor, template) {
            entry.cost = rule.cost();
            found = true;
        }
    }
    if found {
        // SAFETY: not NULL, and (1).
        unsafe { matched.write(1) };
    } else {
        log(INFO, &format!("the library has nothing that {rule:?} means"));
    }
    SUCCESS
}

fn name(known: &Known) -> String {
    let len = (known.name_len as usize).min(NAME_BYTES);
    String::from_utf8_lossy(&known.name[..len]).into_owned()
}

fn call<'a>(info: &CollInfo, known: &Known, comm_name: &'a str) -> Call<'a> {
    Call {
        bytes: info.bytes as u64,
        data_type: info.data_type,
        comm_name,
        ranks: known.ranks,
        npus_per_server: known.npus_per_server,
        servers: known.servers,
        pods: known.pods,
        super_pods: known.super_pods,
        buffer_size: known.buffer_size,
    }
}

/// # Safety
/// 1. The text is NULL or a C string that lives as long as the result is used.
unsafe fn word<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: not NULL, and (1).
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// The first file of the list that can be read.
fn read_config() -> Result<Config, String> {
    let named = std::env::var("HCCL_TUNER_CONFIG_FILE").ok().filter(|path| !path.is_empty());
    let usual = ["./hccl_tuner_config.json", "/etc/hccl/hccl_tuner_config.json"];
    let paths: Vec<String> = named.into_iter().chain(usual.map(str::to_owned)).collect();
    for path in &paths {
        if let Ok(text) = std::fs::read_to_string(path) {
            let config = Config::parse(&text).map_err(|why| format!("{path}: {why}"))?;
            log(INFO, &format!("rules are those of {path}"));
            return Ok(config);
        }
    }
    Err(format!("no configuration can be read: {}", paths.join(", ")))
}

/// Writes into the library's log.
fn log(level: c_int, text: &str) {
    let (Some(host), Ok(text)) = (HOST.get(), CString::new(text)) else { return };
    let file = c"tuner-example";
    // SAFETY: a function of the library; C strings, and one text for the one `%s`.
    unsafe { (host.log)(level, file.as_ptr(), 0, c"%s".as_ptr(), text.as_ptr()) };
}
