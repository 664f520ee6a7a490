//! What HCCL's environment variables may be set to.
//!
//! Most of them choose among things of which there is only one here. Their values are checked all
//! the same, so that a script that is wrong is told so here as it is on a device. This is the
//! table; how lists and pairs are written stands in `grammar`. `HCCL_ALGO` has words enough for a
//! parser of its own, which belongs to the algorithms.
//!
//! Where products differ, what is allowed on one of them is allowed.

mod grammar;

use grammar::{Module, Rule};

/// A variable, and what it may be set to.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may be, in the words of HCCL's error catalogue where these are known.
    pub expect: &'static str,
    rule: Rule,
}

/// A variable has a value that it may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is set to [{value}]; allowed is: {expect}")]
pub struct InvalidVariable {
    /// The variable.
    pub name: &'static str,
    /// What it is set to.
    pub value: String,
    /// What it may be set to.
    pub expect: &'static str,
}

impl InvalidVariable {
    /// The code that HCCL's error catalogue has for it.
    pub fn code(&self) -> &'static str {
        "EI0001"
    }
}

/// Checks the value of a variable. One that is not in the table may have any.
///
/// An empty value and the text `EmptyString`, which tools write for one, mean unset.
///
/// ```
/// use hccl_cluster::environment::check;
///
/// assert!(check("HCCL_RDMA_TC", "132").is_ok());
/// assert_eq!(
///     check("HCCL_RDMA_TC", "133").unwrap_err().expect,
///     "range[0, 255], Must be a multiple of 4"
/// );
/// ```
///
/// # Errors
/// What is allowed instead.
pub fn check(name: &str, value: &str) -> Result<(), InvalidVariable> {
    match VARIABLES.iter().find(|variable| variable.name == name) {
        Some(variable) => variable.check(value),
        None => Ok(()),
    }
}

/// Checks all variables, and those that may not go together.
///
/// # Errors
/// The first that is not as it may be.
pub fn check_all(lookup: impl Fn(&str) -> Option<String>) -> Result<(), InvalidVariable> {
    for variable in VARIABLES {
        if let Some(value) = lookup(variable.name) {
            variable.check(&value)?;
            let other = "HCCL_INTRA_PCIE_ENABLE";
            let both = variable.name == "HCCL_INTRA_ROCE_ENABLE" && is_one(&value);
            if both && lookup(other).is_some_and(|value| is_one(&value)) {
                return Err(variable.invalid(&value));
            }
        }
    }
    Ok(())
}

fn is_one(value: &str) -> bool {
    value.parse() == Ok(1_u32)
}

impl Variable {
    fn check(&self, value: &str) -> Result<(), InvalidVariable> {
        let unset = value.is_empty() || value == "EmptyString";
        if unset || self.rule.allows(value) { Ok(()) } else { Err(self.invalid(value)) }
    }

    fn invalid(&self, value: &str) -> InvalidVariable {
        InvalidVariable { name: self.name, value: value.to_owned(), expect: self.expect }
    }
}

const fn variable(name: &'static str, rule: Rule, expect: &'static str) -> Variable {
    Variable { name, expect, rule }
}

const SWITCH: Rule = Rule::Number(0, 1);
const TRUE_FALSE: Rule = Rule::AnyCase(&["true", "false"]);
const PORTS_EXPECT: &str = "a valid port range port1-port2 within 0-65535";

/// The variables that are known here.
pub const VARIABLES: &[Variable] = &[
    variable(
        "HCCL_CONNECT_TIMEOUT",
        Rule::Number(120, 7200),
        "a number greater than or equal to 120s and less than or equal to 7200s",
    ),
    variable(
        "HCCL_EXEC_TIMEOUT",
        Rule::Number(0, 2_147_483_647),
        "a number greater than or equal to 0s and less than or equal to 2147483647s",
    ),
    variable("HCCL_BUFFSIZE", Rule::Number(1, u32::MAX as u64), "equal to or greater than 1(MB)"),
    variable(
        "HCCL_OP_EXPANSION_MODE",
        Rule::Words(&[
            "AI_CPU",
            "AICPU_TS",
            "AICPU_CacheDisable",
            "AIV",
            "HOST",
            "HOST_TS",
            "CCU_MS",
            "CCU_SCHED",
        ]),
        "AI_CPU, AICPU_TS, AICPU_CacheDisable, AIV, HOST, HOST_TS, CCU_MS or CCU_SCHED",
    ),
    variable(
        "HCCL_DETERMINISTIC",
        Rule::AnyCase(&["true", "false", "strict"]),
        "true, false or strict",
    ),
    variable("HCCL_INTRA_PCIE_ENABLE", SWITCH, "0 or 1 (but not both 1)"),
    variable("HCCL_INTRA_ROCE_ENABLE", SWITCH, "0 or 1 (but not both 1)"),
    variable("HCCL_INTER_HCCS_DISABLE", TRUE_FALSE, "true or false"),
    variable("HCCL_LOGIC_SUPERPOD_ID", Rule::Shorter(128), "length must be less than 128"),
    // A number outside 0 to 1 is no error: it stands for the default.
    variable(
        "HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO",
        Rule::Is(grammar::fraction),
        "a number from 0 to 1",
    ),
    variable("HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", TRUE_FALSE, "true or false"),
    variable("HCCL_RDMA_QPS_PER_CONNECTION", Rule::Number(1, 32), "[1, 32], recommended [1, 8]"),
    variable(
        "HCCL_RDMA_QP_PORT_CONFIG_PATH",
        Rule::Shorter(4097),
        "a path of a folder with at most 4096 characters",
    ),
    variable("HCCL_MULTI_QP_THRESHOLD", Rule::Number(1, 8192), "larger than 0, less than 8193(KB)"),
    variable("HCCL_IF_IP", Rule::Is(grammar::ip_of_interface), "\"ip[%ifname]\""),
    variable(
        "HCCL_SOCKET_IFNAME",
        Rule::Is(grammar::interfaces),
        "Format: [=|^=|<interface>[,<interface>...]]",
    ),
    variable("HCCL_SOCKET_FAMILY", Rule::Words(&["AF_INET", "AF_INET6"]), "AF_INET or AF_INET6"),
    variable("HCCL_IF_BASE_PORT", Rule::Number(1024, 65520), "range[1024,65520]"),
    variable("HCCL_HOST_SOCKET_PORT_RANGE", Rule::Is(grammar::ports), PORTS_EXPECT),
    variable("HCCL_NPU_SOCKET_PORT_RANGE", Rule::Is(grammar::ports), PORTS_EXPECT),
    variable(
        "HCCL_RDMA_TC",
        Rule::Is(grammar::traffic_class),
        "range[0, 255], Must be a multiple of 4",
    ),
    variable("HCCL_RDMA_SL", Rule::Number(0, 7), "range[0, 7]"),
    // The widest of all products; the others have 5 to 20 and 5 to 24.
    variable("HCCL_RDMA_TIMEOUT", Rule::Number(0, 31), "range[0, 31]"),
    variable("HCCL_RDMA_RETRY_CNT", Rule::Number(1, 7), "range[1, 7]"),
    variable("HCOMM_TA_CTP_UB_TIMEOUT", Rule::Number(0, 31), "range[0, 31]"),
    variable("HCOMM_TA_RTP_UB_TIMEOUT", Rule::Number(0, 31), "range[0, 31]"),
    variable("HCOMM_TA_RTP_UBOE_TIMEOUT", Rule::Number(0, 31), "range[0, 31]"),
    variable("HCCL_DIAGNOSE_ENABLE", SWITCH, "0 or 1"),
    variable("HCCL_ENTRY_LOG_ENABLE", SWITCH, "0 or 1"),
    variable(
        "HCCL_DEBUG_CONFIG",
        Rule::Modules(&[
            Module { upper: "ALG", lower: "alg" },
            Module { upper: "TASK", lower: "task" },
            Module { upper: "RESOURCE", lower: "resource" },
        ]),
        "ALG,TASK,RESOURCE, optionally prefixed with ^",
    ),
    variable(
        "HCOMM_DEBUG_CONFIG",
        Rule::Modules(&[
            Module { upper: "TASK", lower: "task" },
            Module { upper: "DATA_OP", lower: "data_op" },
        ]),
        "TASK,DATA_OP, optionally prefixed with ^",
    ),
    variable("HCCL_DFS_CONFIG", Rule::Is(grammar::dfs), "comma-separated key-value pairs"),
    variable("HCCL_OP_RETRY_ENABLE", Rule::Is(grammar::retry_levels), "0 or 1"),
    variable(
        "HCCL_OP_RETRY_PARAMS",
        Rule::Is(grammar::retry_params),
        "MaxCnt:<1-10>,HoldTime:<0-60000>,IntervalTime:<0-60000>, in this order",
    ),
    variable("HCCL_WHITELIST_DISABLE", SWITCH, "0 or 1"),
    variable(
        "HCCL_WHITELIST_FILE",
        Rule::Is(grammar::absolute_path),
        "absolute file path with length less than 4096",
    ),
    variable("CM_CHIEF_IP", Rule::Is(grammar::ip), "an IPv4 or IPv6 address"),
    variable("CM_CHIEF_PORT", Rule::Number(0, 65520), "range[0, 65520]"),
    variable(
        "CM_CHIEF_DEVICE",
        Rule::Number(0, i32::MAX as u64),
        "a logical device of the server, from 0",
    ),
    variable("CM_WORKER_SIZE", Rule::Number(0, 32768), "range[0, 32768]"),
    variable("CM_WORKER_IP", Rule::Is(grammar::ip), "an IPv4 or IPv6 address"),
];

#[cfg(test)]
mod tests;
