//! Codes of HCCL, and the records of its error catalogue.

use std::ffi::{c_char, c_int};

use hccl::Error;
use hccl_fabric::JoinError;
use hccl_os::OsError;

/// `HcclResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    Para = 1,
    Ptr = 2,
    Memory = 3,
    Internal = 4,
    NotSupport = 5,
    NotFound = 6,
    Unavail = 7,
    Syscall = 8,
    Timeout = 9,
    OpenFile = 10,
    Runtime = 15,
    Network = 19,
    Again = 20,
    Remote = 21,
    Suspending = 22,
}

/// A record of the error catalogue.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: String,
    pub(crate) cause: &'static str,
    pub(crate) solution: &'static str,
    /// The two keys that stand before the line in the log.
    pub(crate) keys: &'static str,
    /// Whether the log tells it for the first call only.
    pub(crate) once: bool,
}

impl Record {
    fn new(code: &'static str, title: &'static str, keys: &'static str, text: String) -> Self {
        Self { code, title, text, cause: "", solution: "", keys, once: false }
    }

    fn advice(self, cause: &'static str, solution: &'static str) -> Self {
        Self { cause, solution, ..self }
    }

    /// Anything that the catalogue has no number for.
    pub(crate) fn internal(text: &str) -> Self {
        Self::new("EI9999", "Inner_Error", "[TaskExecStage][RunFailed]", text.to_owned())
    }

    /// A bad argument of a call.
    pub(crate) fn argument(call: &str, parameter: &str, value: &str, expect: &str) -> Self {
        let text = format!(
            "{call}: value {value} for parameter {parameter} is invalid. Expected value: {expect}."
        );
        Self::new(
            "EI0003",
            "Invalid_Argument_Collective_Communication_Operator",
            "[TaskExecStage][InvalidArgument]",
            text,
        )
    }

    /// A bad environment variable.
    pub(crate) fn environment(name: &str, value: &str, expect: &str) -> Self {
        let text = format!(
            "Value {value} for environment variable {name} is invalid. Expected value: {expect}."
        );
        Self::new(
            "EI0001",
            "Config_Error_Invalid_Environment_Variable",
            "[InitGroupStage][EnvConfig]",
            text,
        )
    }

    /// A rank table that cannot be read, or whose content is wrong.
    pub(crate) fn rank_table(code: &str, path: &str, text: &str) -> Self {
        let text = format!("rank table {path}: {text}");
        let (code, title, keys) = match code {
            "EI0017" => ("EI0017", "Config_Error_Ranktable", "[InitGroupStage][RanktableCheck]"),
            "EI0014" => ("EI0014", "Config_Error_Ranktable", "[InitGroupStage][RanktableCheck]"),
            _ => ("EI0004", "File_Operation_Error_Parse", "[InitGroupStage][RanktableConfig]"),
        };
        Self::new(code, title, keys, text)
            .advice("The rank table is wrong.", "Correct the key or the file that is named.")
    }

    /// Ranks of one communicator that were told different things.
    fn different_settings(text: &str) -> Self {
        Self::new(
            "EI0005",
            "Invalid_Argument",
            "[InitChannelStage][ParameterConflict]",
            format!("CMD information config check fail: {text}."),
        )
        .advice(
            "The ranks have different configurations or environments.",
            "Give all ranks what is named the same value.",
        )
    }

    /// A meeting place that somebody else has.
    fn taken(text: String) -> Self {
        Self::new(
            "EI0019",
            "Communication_Error_Bind_IP_Port",
            "[InitGroupStage][RanktableDetect]",
            text,
        )
        .advice(
            "Two jobs of one user play the same ranks.",
            "End the other job, or give each a rank table or communicators of its own.",
        )
    }

    fn negotiation(text: String) -> Self {
        Self::new(
            "EI0015",
            "Communication_Error_Ranktable_Detect",
            "[InitGroupStage][RanktableDetect]",
            text,
        )
        .advice(
            "A rank was not started, failed earlier, or was given another rank, rank count, root \
             info, rank table or list of ranks than the rest.",
            "Look for an earlier error of the ranks that are named; HCCL_CONNECT_TIMEOUT sets how \
             long the others wait.",
        )
    }
}

/// A call that failed: its code, and what the user should read.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) record: Record,
}

impl Failure {
    pub(crate) fn new(status: Status, record: Record) -> Self {
        Self { status, record }
    }

    /// A pointer that must not be NULL.
    pub(crate) fn null(call: &str, parameter: &str) -> Self {
        let record = Record::argument(call, parameter, "nullptr", "non-null pointer");
        Self::new(Status::Ptr, record)
    }

    /// A value outside its range.
    pub(crate) fn argument(call: &str, parameter: &str, value: &str, expect: &str) -> Self {
        Self::new(Status::Para, Record::argument(call, parameter, value, expect))
    }

    /// A value that exists and is not supported.
    pub(crate) fn unsupported(call: &str, parameter: &str, value: &str, expect: &str) -> Self {
        Self::new(Status::NotSupport, Record::argument(call, parameter, value, expect))
    }
}

impl Failure {
    /// A call that nothing can answer: what it needs is not there, whatever it is given.
    pub(crate) fn absent(call: &str, why: &str) -> Self {
        let record = Record::internal(&format!("{call} is not supported: {why}."));
        Self::new(Status::NotSupport, Record { once: true, ..record })
    }

    /// Something that was not made, or is gone.
    pub(crate) fn not_found(call: &str, parameter: &str, value: &str, expect: &str) -> Self {
        Self::new(Status::NotFound, Record::argument(call, parameter, value, expect))
    }

    /// Memory of a device that is not to be had.
    pub(crate) fn no_room(call: &str, device: i32, bytes: u64) -> Self {
        let record = Record::new(
            "EI0007",
            "Resource_Error",
            "[TaskExecStage][RunFailed]",
            format!("{call}: device {device} has no {bytes} bytes of memory in one piece left."),
        )
        .advice("Device memory is taken.", "Free device memory, or make HCCL_BUFFSIZE smaller.");
        Self::new(Status::Memory, record)
    }

    /// A system call that failed before anything was tried.
    pub(crate) fn from_system(error: OsError) -> Self {
        Self::new(Status::Syscall, Record::internal(&error.to_string()))
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        if let JoinError::Taken(text) = error {
            return Self::new(Status::Unavail, Record::taken(text));
        }
        if let JoinError::Differs(text) = error {
            return Self::new(Status::Para, Record::different_settings(&text));
        }
        let status = match &error {
            JoinError::Invalid(_) => Status::Para,
            JoinError::Missing(_) => Status::Timeout,
            JoinError::Left(_) => Status::Network,
            JoinError::Unreachable(_) => Status::NotSupport,
            JoinError::System { .. } => Status::Syscall,
            _ => Status::Internal,
        };
        Self::new(status, Record::negotiation(error.to_string()))
    }
}

/// Code of a communicator's failure.
pub(crate) fn status_of(error: &Error) -> Status {
    match error {
        Error::Invalid { .. } | Error::Mismatch { .. } => Status::Para,
        Error::Peer { .. } | Error::Broken { .. } => Status::Remote,
        Error::TimedOut { .. } | Error::NotItsTurn { .. } => Status::Timeout,
        Error::NoRoom { .. } => Status::Memory,
        _ => Status::Internal,
    }
}

/// Code with which the stream of a failed operation fails.
pub(crate) fn stream_code(error: &Error) -> c_int {
    /// A task waited too long for its notify.
    const FFTS_PLUS_TIMEOUT: c_int = 507_048;
    /// A remote device may be at fault.
    const SUSPECT_REMOTE_ERROR: c_int = 507_057;
    const INTERNAL_ERROR: c_int = 507_000;
    match error {
        Error::TimedOut { .. } | Error::NotItsTurn { .. } => FFTS_PLUS_TIMEOUT,
        Error::Peer { .. } | Error::Broken { .. } => SUSPECT_REMOTE_ERROR,
        _ => INTERNAL_ERROR,
    }
}

/// Record of a failed operation.
pub(crate) fn record_of(error: &Error) -> Record {
    let text = error.to_string();
    match error {
        Error::Mismatch { .. } => Record::new(
            "EI0005",
            "Invalid_Argument",
            "[InitChannelStage][ParameterConflict]",
            format!("CMD information check fail: {text}."),
        )
        .advice(
            "The program takes different paths on the ranks.",
            "Compare what the ranks that are named called at this place; where only the plans \
             differ, compare HCCL_ALGO, HCCL_BUFFSIZE, SOFTNPU_TOPOLOGY and HCCL_TUNER_PLUGIN.",
        ),
        Error::TimedOut { .. } | Error::NotItsTurn { .. } => Record::new(
            "EI0002",
            "Communication_Error_Timeout",
            "[TaskExecStage][Timeout]",
            format!("Task run failed: {text}."),
        )
        .advice(
            "A rank hangs, is slow, or took another path.",
            "Look at what the ranks that are named are doing; HCCL_EXEC_TIMEOUT sets how long \
             operations wait.",
        ),
        Error::NoRoom { .. } => Record::new(
            "EI0007",
            "Resource_Error",
            "[TaskExecStage][RunFailed]",
            format!("Resource request failed: {text}."),
        )
        .advice(
            "The device has no memory left for what is on its way.",
            "Free device memory, or make HCCL_BUFFSIZE smaller.",
        ),
        Error::Peer { .. } | Error::Broken { .. } => Record::new(
            "EI0012",
            "Execution_Error_SDMA",
            "[TaskExecStage][HeartbeatAbnormal]",
            format!("Task run failed: {text}."),
        )
        .advice(
            "The rank that is named exited or failed first.",
            "Look for the cause in the output of that rank.",
        ),
        _ => Record::new(
            "EI9999",
            "Inner_Error",
            "[TaskExecStage][RunFailed]",
            format!("Task run failed: {text}."),
        ),
    }
}

/// Text of a code.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
pub extern "C" fn HcclGetErrorString(code: c_int) -> *const c_char {
    let text = match code {
        0 => c"no error",
        1 => c"parameter error",
        2 => c"empty pointer",
        3 => c"memory error",
        4 => c"internal error",
        5 => c"not support feature",
        6 => c"not found specific resource",
        7 => c"resource unavailable",
        8 => c"call system interface error",
        9 => c"timeout",
        10 => c"open file fail",
        11 => c"tcp connect fail",
        12 => c"roce connect fail",
        13 => c"tcp transfer fail",
        14 => c"roce transfer fail",
        15 => c"call runtime api fail",
        16 => c"call driver api fail",
        17 => c"call profiling api fail",
        18 => c"call cce api fail",
        19 => c"call network api fail",
        20 => c"try again",
        21 => c"error cqe",
        22 => c"error communicator suspending",
        23 => c"retry constraint",
        24 => c"out of memory",
        25..=1041 => c"unknown err",
        _ => c"unknown error",
    };
    text.as_ptr()
}
