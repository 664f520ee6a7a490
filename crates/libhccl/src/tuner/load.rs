//! The plugin of the process: loaded once, and never again after a failure.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use super::abi::{Functions, GetCollInfo, Init, size_of_u32};
use super::{host, inside};
use crate::runtime::{c_string, loader_error, log_line};

/// A plugin that has all that it needs.
pub(super) struct Plugin {
    pub(super) init: Init,
    pub(super) get_coll_info: GetCollInfo,
}

/// The variable that a plugin exports.
const SYMBOL: &CStr = c"hcclTunerPlugin_v1";

/// What a structure's size may be that later versions add to.
const SIZE_MAX: u32 = 4096;

/// The plugin, if it could be loaded; the first path counts.
pub(super) fn plugin(path: &str) -> Option<&'static Plugin> {
    static PLUGIN: OnceLock<Option<Plugin>> = OnceLock::new();
    let load = || match load(path) {
        Ok(plugin) => {
            log_line!(Event, "tuner", "[HCCL_TUNER] plugin {path} is loaded");
            Some(plugin)
        }
        Err(why) => {
            log_line!(
                Warning,
                "tuner",
                "[HCCL_TUNER] HCCL_TUNER_PLUGIN {path} is left out: {why}. The library chooses \
                 algorithms by itself."
            );
            None
        }
    };
    PLUGIN.get_or_init(load).as_ref()
}

fn load(path: &str) -> Result<Plugin, String> {
    let file = c_string(path);
    // SAFETY: the name is a C string; to run the plugin's code is what the user asked for.
    let handle =
        inside(|| unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) });
    if handle.is_null() {
        return Err(format!("it cannot be loaded: {}", loader_error()));
    }
    // SAFETY: the handle is open and never closed.
    let symbol: *mut c_void = unsafe { libc::dlsym(handle, SYMBOL.as_ptr()) };
    if symbol.is_null() {
        return Err(format!("it has no variable {}", SYMBOL.to_string_lossy()));
    }
    if !symbol.cast::<Functions>().is_aligned() {
        return Err(format!("its {} is no table of functions", SYMBOL.to_string_lossy()));
    }
    // SAFETY: a variable of this name is such a structure, by the plugin interface; any bytes are
    // one, since functions may be missing.
    let functions = unsafe { symbol.cast::<Functions>().read() };
    host::install_log();
    check(functions)
}

/// A table of functions must be complete, and of a size that one can have.
fn check(functions: Functions) -> Result<Plugin, String> {
    let Functions { init, get_coll_info, struct_size } = functions;
    let least = size_of_u32::<Functions>();
    if struct_size != 0 && !(least..=SIZE_MAX).contains(&struct_size) {
        return Err(format!(
            "structSize of its functions is {struct_size}; at least {least} is expected, or 0"
        ));
    }
    Ok(Plugin {
        init: init.ok_or("its function init is NULL")?,
        get_coll_info: get_coll_info.ok_or("its function getCollInfo is NULL")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::abi::{AlgoEntry, CollInfo, CommInfo, HostFunctions};
    use super::*;
    use std::ffi::c_int;

    unsafe extern "C" fn init(
        _: *mut c_void,
        _: *const CommInfo,
        _: *const HostFunctions,
    ) -> c_int {
        0
    }

    unsafe extern "C" fn info(
        _: *mut c_void,
        _: *const CollInfo,
        _: *mut AlgoEntry,
        _: c_int,
        _: *mut c_int,
    ) -> c_int {
        0
    }

    #[test]
    fn a_table_of_functions_must_be_complete() {
        let whole = Functions { init: Some(init), get_coll_info: Some(info), struct_size: 24 };
        let why = |functions| check(functions).err().unwrap_or_default();
        assert_eq!(why(whole), "");
        assert_eq!(why(Functions { struct_size: 0, ..whole }), "");
        assert_eq!(why(Functions { struct_size: 4096, ..whole }), "");
        for struct_size in [1, 23, 4097, u32::MAX] {
            assert!(why(Functions { struct_size, ..whole }).contains("structSize"));
        }
        assert!(why(Functions { init: None, ..whole }).contains("init"));
        assert!(why(Functions { get_coll_info: None, ..whole }).contains("getCollInfo"));
    }

    #[test]
    fn what_cannot_be_loaded_says_why() {
        let why = |path| load(path).err().unwrap();
        assert!(why("no/such/plugin.so").contains("cannot be loaded"));
        assert!(why("libc.so.6").contains("has no variable hcclTunerPlugin_v1"));
    }
}
