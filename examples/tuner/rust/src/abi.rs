//! The structures of `hccl/hccl_tuner.h`, as far as the plugin uses them.

use std::ffi::{c_char, c_int, c_void};

/// A communicator's handle.
pub type Comm = *mut c_void;

/// `hcclTunerCommInfo_t`.
#[repr(C)]
pub struct CommInfo {
    pub ranks: u32,
    pub npus_per_server: u32,
    pub servers: u32,
    pub pods: u32,
    pub super_pods: u32,
    pub name: *const c_char,
    pub buffer_size: u64,
    pub struct_size: u32,
}

/// `hcclTunerCollInfo_t`.
#[repr(C)]
pub struct CollInfo {
    pub coll_type: c_int,
    pub bytes: usize,
    pub data_type: c_int,
    pub struct_size: u32,
}

/// `hcclTunerAlgoEntry_t`.
#[repr(C)]
pub struct AlgoEntry {
    pub algorithm: *const c_char,
    pub engine: *const c_char,
    pub executor: *const c_char,
    pub template: *const c_char,
    pub cost: f32,
    pub struct_size: u32,
}

/// `hcclTunerHostFunctions_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HostFunctions {
    pub create: unsafe extern "C" fn(Comm, *const c_char, u64, *mut *mut c_void) -> c_int,
    pub get: unsafe extern "C" fn(Comm, *const c_char, *mut *mut c_void, *mut u64) -> c_int,
    pub destroy: unsafe extern "C" fn(Comm, *const c_char) -> c_int,
    pub log: unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, ...),
    pub struct_size: u32,
}

/// `hcclTunerFuncs_v1_t`.
#[repr(C)]
pub struct Functions {
    pub init: unsafe extern "C" fn(Comm, *const CommInfo, *const HostFunctions) -> c_int,
    pub get_coll_info:
        unsafe extern "C" fn(Comm, *const CollInfo, *mut AlgoEntry, c_int, *mut c_int) -> c_int,
    pub struct_size: u32,
}

const _: () = {
    assert!(size_of::<CommInfo>() == 48 && size_of::<CollInfo>() == 24);
    assert!(size_of::<AlgoEntry>() == 40 && size_of::<HostFunctions>() == 40);
    assert!(size_of::<Functions>() == 24);
};
