//! The structures of `hccl/hccl_tuner.h`.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};

/// `init`.
pub(super) type Init =
    unsafe extern "C" fn(*mut c_void, *const CommInfo, *const HostFunctions) -> c_int;
/// `getCollInfo`.
pub(super) type GetCollInfo =
    unsafe extern "C" fn(*mut c_void, *const CollInfo, *mut AlgoEntry, c_int, *mut c_int) -> c_int;
pub(super) type CtxCreate =
    unsafe extern "C" fn(*mut c_void, *const c_char, u64, *mut *mut c_void) -> c_int;
pub(super) type CtxGet =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_void, *mut u64) -> c_int;
pub(super) type CtxDestroy = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
pub(super) type Log = unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, ...);

/// `hcclTunerFuncs_v1_t`, as a plugin has it: each function may be missing.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Functions {
    pub(super) init: Option<Init>,
    pub(super) get_coll_info: Option<GetCollInfo>,
    pub(super) struct_size: u32,
}

/// `hcclTunerCommInfo_t`.
#[repr(C)]
pub(super) struct CommInfo {
    pub(super) ranks: u32,
    pub(super) npus_per_server: u32,
    pub(super) servers: u32,
    pub(super) pods: u32,
    pub(super) super_pods: u32,
    pub(super) name: *const c_char,
    pub(super) buffer_size: u64,
    pub(super) struct_size: u32,
}

/// `hcclTunerCollInfo_t`.
#[repr(C)]
pub(super) struct CollInfo {
    pub(super) coll_type: c_int,
    pub(super) bytes: usize,
    pub(super) data_type: c_int,
    pub(super) struct_size: u32,
}

/// `hcclTunerAlgoEntry_t`.
#[repr(C)]
pub(super) struct AlgoEntry {
    pub(super) algorithm: *const c_char,
    pub(super) engine: *const c_char,
    pub(super) executor: *const c_char,
    pub(super) template: *const c_char,
    pub(super) cost: f32,
    pub(super) struct_size: u32,
}

/// `hcclTunerHostFunctions_t`.
#[repr(C)]
pub(super) struct HostFunctions {
    pub(super) create: CtxCreate,
    pub(super) get: CtxGet,
    pub(super) destroy: CtxDestroy,
    pub(super) log: Log,
    pub(super) struct_size: u32,
}

/// The size of a structure, as its `structSize` says it.
pub(super) const fn size_of_u32<T>() -> u32 {
    size_of::<T>() as u32
}

const _: () = {
    assert!(size_of::<Functions>() == 24 && offset_of!(Functions, struct_size) == 16);
    assert!(offset_of!(Functions, init) == 0 && offset_of!(Functions, get_coll_info) == 8);
    assert!(size_of::<CommInfo>() == 48 && offset_of!(CommInfo, struct_size) == 40);
    assert!(offset_of!(CommInfo, ranks) == 0 && offset_of!(CommInfo, npus_per_server) == 4);
    assert!(offset_of!(CommInfo, servers) == 8 && offset_of!(CommInfo, pods) == 12);
    assert!(offset_of!(CommInfo, super_pods) == 16 && offset_of!(CommInfo, name) == 24);
    assert!(offset_of!(CommInfo, buffer_size) == 32);
    assert!(size_of::<CollInfo>() == 24 && offset_of!(CollInfo, struct_size) == 20);
    assert!(offset_of!(CollInfo, coll_type) == 0 && offset_of!(CollInfo, bytes) == 8);
    assert!(offset_of!(CollInfo, data_type) == 16);
    assert!(size_of::<AlgoEntry>() == 40 && offset_of!(AlgoEntry, struct_size) == 36);
    assert!(offset_of!(AlgoEntry, algorithm) == 0 && offset_of!(AlgoEntry, engine) == 8);
    assert!(offset_of!(AlgoEntry, executor) == 16 && offset_of!(AlgoEntry, template) == 24);
    assert!(offset_of!(AlgoEntry, cost) == 32);
    assert!(size_of::<HostFunctions>() == 40 && offset_of!(HostFunctions, struct_size) == 32);
    assert!(offset_of!(HostFunctions, create) == 0 && offset_of!(HostFunctions, get) == 8);
    assert!(offset_of!(HostFunctions, destroy) == 16 && offset_of!(HostFunctions, log) == 24);
};
