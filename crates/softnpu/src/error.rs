//! The error of every call of the software NPU: the AscendCL code, and the message that
//! `aclGetRecentErrMsg` shows.

/// Codes of `aclError` that this crate returns; the names are those of the AscendCL
/// documentation without their prefixes.
pub mod code {
    #![allow(missing_docs)]
    pub const SUCCESS: i32 = 0;
    pub const INVALID_PARAM: i32 = 100_000;
    pub const REPEAT_INITIALIZE: i32 = 100_002;
    pub const INVALID_FILE: i32 = 100_003;
    pub const PARSE_FILE: i32 = 100_006;
    pub const REPEAT_FINALIZE: i32 = 100_037;
    pub const RT_PARAM_INVALID: i32 = 107_000;
    pub const RT_INVALID_DEVICEID: i32 = 107_001;
    pub const RT_CONTEXT_NULL: i32 = 107_002;
    pub const RT_STREAM_CONTEXT: i32 = 107_003;
    pub const RT_EVENT_TIMESTAMP_INVALID: i32 = 107_006;
    pub const RT_STREAM_SUBSCRIBE: i32 = 107_011;
    pub const RT_THREAD_SUBSCRIBE: i32 = 107_012;
    pub const RT_STREAM_NO_CB_REG: i32 = 107_015;
    pub const RT_INVALID_MEMORY_TYPE: i32 = 107_016;
    pub const RT_INVALID_HANDLE: i32 = 107_017;
    pub const RT_WAIT_TIMEOUT: i32 = 107_019;
    pub const RT_SYSPARAMOPT_NOT_SET: i32 = 107_021;
    pub const RT_DEVICE_TASK_ABORT: i32 = 107_022;
    pub const RT_STREAM_ABORT: i32 = 107_023;
    pub const RT_TASK_ABORT_STOP: i32 = 107_035;
    pub const FEATURE_UNSUPPORTED: i32 = 200_006;
    pub const RT_FEATURE_NOT_SUPPORT: i32 = 207_000;
    pub const RT_MEMORY_ALLOCATION: i32 = 207_001;
    pub const RT_NO_DEVICE: i32 = 207_004;
    pub const RT_RESOURCE_ALLOC_FAIL: i32 = 207_005;
    pub const RT_NO_PERMISSION: i32 = 207_006;
    pub const RT_NO_EVENT_RESOURCE: i32 = 207_007;
    pub const RT_NO_STREAM_RESOURCE: i32 = 207_008;
    pub const RT_NO_NOTIFY_RESOURCE: i32 = 207_009;
    pub const INTERNAL_ERROR: i32 = 500_000;
    pub const RT_INTERNAL_ERROR: i32 = 507_000;
    pub const RT_CONTEXT_RELEASE_ERROR: i32 = 507_007;
    pub const RT_REPORT_TIMEOUT: i32 = 507_012;
    pub const RT_IPC_ERROR: i32 = 507_022;
    pub const RT_DEV_SETUP_ERROR: i32 = 507_033;
    pub const RT_STREAM_SYNC_TIMEOUT: i32 = 507_046;
    pub const RT_EVENT_SYNC_TIMEOUT: i32 = 507_047;
    pub const RT_HOST_MEMORY_ALREADY_REGISTERED: i32 = 507_910;
    pub const RT_HOST_MEMORY_NOT_REGISTERED: i32 = 507_911;
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (error code {code})")]
pub struct NpuError {
    /// Number of the error, see [`code`].
    pub code: i32,
    /// Identifier of the message in the error catalogue, as `EE1003`.
    pub id: &'static str,
    /// What was given, what is allowed, and where.
    pub message: String,
}

/// Result of this crate's calls.
pub type NpuResult<T> = Result<T, NpuError>;

impl NpuError {
    /// Identifier of an error whose message was kept already.
    pub const TOLD: &'static str = "";

    /// An error with its catalogue number.
    pub fn new(code: i32, id: &'static str, message: impl Into<String>) -> Self {
        Self { code, id, message: message.into() }
    }

    /// A value that a call does not accept, found by the runtime (107000).
    pub fn value(what: &str, given: impl std::fmt::Display, allowed: &str) -> Self {
        Self::new(
            code::RT_PARAM_INVALID,
            "EE1003",
            format!(
                "the value {given} for parameter {what} is invalid. Expected value: {allowed}."
            ),
        )
    }

    /// A value that the outer layer refuses before it reaches the runtime (100000).
    pub fn argument(what: &str, given: impl std::fmt::Display, allowed: &str) -> Self {
        Self::new(
            code::INVALID_PARAM,
            "EH0001",
            format!("Value {given} for {what} is invalid. Reason: it must be {allowed}."),
        )
    }

    /// A pointer that must not be NULL.
    pub fn null(what: &str) -> Self {
        Self::new(code::INVALID_PARAM, "EH0002", format!("Argument {what} must not be null."))
    }

    /// A handle that is stale, foreign or invented.
    pub fn handle(what: &str, given: *const std::ffi::c_void) -> Self {
        Self::new(
            code::RT_INVALID_HANDLE,
            "EE1001",
            format!(
                "The argument is invalid. Reason: {given:p} is not a live {what} of this process."
            ),
        )
    }

    /// A feature that this product does not have.
    pub fn unsupported(what: impl std::fmt::Display) -> Self {
        Self::new(
            code::RT_FEATURE_NOT_SUPPORT,
            "EE1005",
            format!("The current system or device does not support {what}."),
        )
    }

    /// The system refused something that the software NPU needs.
    pub fn system(code: i32, what: &str, error: &hccl_os::OsError) -> Self {
        Self::new(code, "EE9999", format!("{what}: {error}."))
    }

    /// No context is current on the calling thread.
    pub fn no_context() -> Self {
        Self::new(
            code::RT_CONTEXT_NULL,
            "EE1001",
            "The argument is invalid. Reason: the calling thread has no current context; call \
             aclrtSetDevice or aclrtSetCurrentContext on it first.",
        )
    }
}
