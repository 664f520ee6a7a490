//! HCCL's environment variables: read once, checked, and where one cannot act here, said so.

use std::sync::OnceLock;
use std::time::Duration;

use hccl::{BUFFER_BYTES, HcclAlgo, Topology};
use hccl_kernels::Isa;

use crate::errors::{Failure, Record, Status};
use crate::runtime::log_line;

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Environment {
    /// How long ranks wait for each other at creation.
    pub(crate) connect_timeout: Duration,
    /// How long an operation waits for other ranks; `None` for as long as it takes.
    pub(crate) exec_timeout: Option<Duration>,
    /// Bytes that a call may have on its way before it is cut into rounds.
    pub(crate) buffer_bytes: u64,
    /// Which algorithms operators run.
    pub(crate) algo: Option<HcclAlgo>,
    /// How the devices of this host play at being servers of several.
    pub(crate) topology: Option<Topology>,
    /// A log line for each operator call.
    pub(crate) entry_log: bool,
}

const CONNECT_DEFAULT: u64 = 120;
const EXEC_DEFAULT: u64 = 1836;

/// Variables that are known and choose among things of which there is only one here.
const WITHOUT_EFFECT: &[&str] = &[
    "HCCL_OP_EXPANSION_MODE",
    "HCCL_INTRA_PCIE_ENABLE",
    "HCCL_INTRA_ROCE_ENABLE",
    "HCCL_INTER_HCCS_DISABLE",
    "HCCL_LOGIC_SUPERPOD_ID",
    "HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO",
    "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT",
    "HCCL_RDMA_QPS_PER_CONNECTION",
    "HCCL_RDMA_QP_PORT_CONFIG_PATH",
    "HCCL_MULTI_QP_THRESHOLD",
    "HCCL_IF_IP",
    "HCCL_SOCKET_IFNAME",
    "HCCL_SOCKET_FAMILY",
    "HCCL_IF_BASE_PORT",
    "HCCL_HOST_SOCKET_PORT_RANGE",
    "HCCL_NPU_SOCKET_PORT_RANGE",
    "HCCL_RDMA_TC",
    "HCCL_RDMA_SL",
    "HCCL_RDMA_TIMEOUT",
    "HCCL_RDMA_RETRY_CNT",
    "HCCL_DIAGNOSE_ENABLE",
    "HCCL_DEBUG_CONFIG",
    "HCCL_DFS_CONFIG",
    "HCCL_OP_RETRY_ENABLE",
    "HCCL_OP_RETRY_PARAMS",
    "HCCL_WHITELIST_DISABLE",
    "HCCL_WHITELIST_FILE",
    "HCCL_TUNER_PLUGIN",
];

/// The variable that groups the devices of this host into servers, and these into superpods.
const TOPOLOGY: &str = "SOFTNPU_TOPOLOGY";

/// Reads the words of `HCCL_ALGO`, or of a configuration's `hcclAlgo`.
pub(crate) fn parse_algo(name: &str, text: &str) -> Result<HcclAlgo, Failure> {
    HcclAlgo::parse(name, text).map_err(|error| {
        let expect = format!("{} ({}; allowed is {})", HcclAlgo::EXPECT, error.why, error.allowed);
        Failure::new(Status::Para, Record::environment(name, text, &expect))
    })
}

/// The environment of this process.
pub(crate) fn environment() -> Result<&'static Environment, Failure> {
    static ENVIRONMENT: OnceLock<Result<Environment, Failure>> = OnceLock::new();
    let read = || {
        let environment = Environment::from_lookup(|name| std::env::var(name).ok())?;
        let tell = |name: &str, value: &dyn std::fmt::Display| {
            let source = if std::env::var_os(name).is_some() { "environment" } else { "default" };
            log_line!(Event, "environment", "[HCCL_ENV] {name} set by {source} to [{value}]");
        };
        let seconds = |time: Duration| format!("{}s", time.as_secs());
        tell("HCCL_CONNECT_TIMEOUT", &seconds(environment.connect_timeout));
        let exec = environment.exec_timeout;
        tell("HCCL_EXEC_TIMEOUT", &exec.map_or_else(|| "never".to_owned(), seconds));
        let megabytes = format!("{}MB", environment.buffer_bytes >> 20);
        tell("HCCL_BUFFSIZE", &megabytes);
        if let Some(algo) = &environment.algo {
            tell("HCCL_ALGO", &algo.text());
        }
        tell(Isa::VARIABLE, &Isa::chosen());
        tell("HCCL_ENTRY_LOG_ENABLE", &u8::from(environment.entry_log));
        for name in WITHOUT_EFFECT {
            if let Ok(value) = std::env::var(name) {
                log_line!(
                    Warning,
                    "environment",
                    "[HCCL_ENV] {name} is set to [{value}] and has no effect in this version"
                );
            }
        }
        Ok(environment)
    };
    ENVIRONMENT.get_or_init(read).as_ref().map_err(Clone::clone)
}

impl Environment {
    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        // An empty value, and the literal that tools write for one, mean unset.
        let get = |name: &str| lookup(name).filter(|v| !v.is_empty() && v != "EmptyString");
        let number = |name: &str, range: std::ops::RangeInclusive<u64>, default, expect: &str| {
            let Some(text) = get(name) else {
                return Ok(default);
            };
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let value = text.parse().ok().filter(|value| digits && range.contains(value));
            value
                .ok_or_else(|| Failure::new(Status::Para, Record::environment(name, &text, expect)))
        };
        let connect = number(
            "HCCL_CONNECT_TIMEOUT",
            120..=7200,
            CONNECT_DEFAULT,
            "a number greater than or equal to 120s and less than or equal to 7200s",
        )?;
        let exec = number(
            "HCCL_EXEC_TIMEOUT",
            0..=2_147_483_647,
            EXEC_DEFAULT,
            "a number greater than or equal to 0s and less than or equal to 2147483647s",
        )?;
        let buffer = number(
            "HCCL_BUFFSIZE",
            1..=u64::from(u32::MAX),
            BUFFER_BYTES >> 20,
            "equal to or greater than 1(MB)",
        )?;
        let algo = match get("HCCL_ALGO") {
            Some(text) => Some(parse_algo("HCCL_ALGO", &text)?),
            None => None,
        };
        let topology = match get(TOPOLOGY) {
            Some(text) => Some(text.parse::<Topology>().map_err(|error| {
                let expect = format!("a topology such as 8x4 or 2+3+5 ({})", error.why);
                Failure::new(Status::Para, Record::environment(TOPOLOGY, &text, &expect))
            })?),
            None => None,
        };
        let entry_log = number("HCCL_ENTRY_LOG_ENABLE", 0..=1, 0, "0 or 1")?;
        if let Some(word) = get("HCCL_DETERMINISTIC") {
            // Reductions are in rank order always, which is what the strictest word asks for.
            let known = ["true", "false", "strict"];
            if !known.contains(&word.to_ascii_lowercase().as_str()) {
                let record =
                    Record::environment("HCCL_DETERMINISTIC", &word, "true, false or strict");
                return Err(Failure::new(Status::Para, record));
            }
        }
        Ok(Self {
            connect_timeout: Duration::from_secs(connect),
            exec_timeout: (exec > 0).then(|| Duration::from_secs(exec)),
            buffer_bytes: buffer << 20,
            algo,
            topology,
            entry_log: entry_log == 1,
        })
    }
}
