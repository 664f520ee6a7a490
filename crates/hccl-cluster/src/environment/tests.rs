//! For every variable: values that it may have, and values next to these that it may not.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Name, allowed values, others; with `|` between.
const CASES: &[(&str, &str, &str)] = &[
    ("HCCL_CONNECT_TIMEOUT", "120|7200|0120", "119|7201|120s|-120|1e3| 120|99999999999999999999"),
    ("HCCL_EXEC_TIMEOUT", "0|1836|2147483647", "2147483648|-1|never|0x10"),
    ("HCCL_BUFFSIZE", "1|200", "0|-1|200M"),
    (
        "HCCL_OP_EXPANSION_MODE",
        "HOST|HOST_TS|AI_CPU|AICPU_TS|AICPU_CacheDisable|AIV|CCU_MS|CCU_SCHED",
        "aiv|AI_CPU |CPU|HOST,AIV",
    ),
    ("HCCL_DETERMINISTIC", "true|FALSE|Strict", "yes|1|strict "),
    ("HCCL_INTRA_PCIE_ENABLE", "0|1", "2|true|-0"),
    ("HCCL_INTRA_ROCE_ENABLE", "0|1", "2|true"),
    ("HCCL_INTER_HCCS_DISABLE", "TRUE|FALSE|true", "0|1|on"),
    ("HCCL_LOGIC_SUPERPOD_ID", "7|any name", ""),
    ("HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", "0|1|0.25|7|-1|1e-3", "half|0.5.1|inf|nan|1/2"),
    ("HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", "TRUE|FALSE", "0|yes"),
    ("HCCL_RDMA_QPS_PER_CONNECTION", "1|32", "0|33"),
    ("HCCL_RDMA_QP_PORT_CONFIG_PATH", "/etc/qp|qp", ""),
    ("HCCL_MULTI_QP_THRESHOLD", "1|8192", "0|8193"),
    (
        "HCCL_IF_IP",
        "10.0.0.1|fe80::1|fe80::1%eth0|10.0.0.1%eth0",
        "10.0.0|eth0|%eth0|10.0.0.1%|10.0.0.1,10.0.0.2",
    ),
    (
        "HCCL_SOCKET_IFNAME",
        "eth|eth,enp|^eth,enp|=eth0|=eth0,enp0|^=eth0|^=eth0,enp0",
        "=|^|^=|,|eth,|,eth|=^eth|eth,=enp|^^eth",
    ),
    ("HCCL_SOCKET_FAMILY", "AF_INET|AF_INET6", "af_inet|AF_INET4|6"),
    ("HCCL_IF_BASE_PORT", "1024|65520", "1023|65521|auto"),
    (
        "HCCL_HOST_SOCKET_PORT_RANGE",
        "auto|1|65535|60000-60050|1,3-5,7|7,1-6",
        "0|65536|AUTO|5-3|1-|-5|1--5|1,1|1-5,5|3,1-5|1,,2|1, 2|auto,1",
    ),
    ("HCCL_NPU_SOCKET_PORT_RANGE", "auto|16666|61000-61050", "0-5|60000-70000|x"),
    ("HCCL_RDMA_TC", "0|132|252", "133|255|256|-4"),
    ("HCCL_RDMA_SL", "0|7", "8"),
    ("HCCL_RDMA_TIMEOUT", "0|5|20|24|31", "32|x"),
    ("HCCL_RDMA_RETRY_CNT", "1|7", "0|8"),
    ("HCOMM_TA_CTP_UB_TIMEOUT", "0|31", "32"),
    ("HCOMM_TA_RTP_UB_TIMEOUT", "0|31", "32"),
    ("HCOMM_TA_RTP_UBOE_TIMEOUT", "0|31", "32"),
    ("HCCL_DIAGNOSE_ENABLE", "0|1", "2"),
    ("HCCL_ENTRY_LOG_ENABLE", "0|1", "2|on"),
    (
        "HCCL_DEBUG_CONFIG",
        "ALG|alg|TASK,resource|^ALG|^alg,TASK",
        "Alg|ALG, TASK|ALG,^TASK|^|ALG,|DATA_OP|^^ALG",
    ),
    ("HCOMM_DEBUG_CONFIG", "TASK|data_op|^task,DATA_OP", "ALG|task,"),
    (
        "HCCL_DFS_CONFIG",
        "cluster_heartbeat:on|stuck_detection:off,inconsistent_check:first|\
         connection_fault_detection_time:0|connection_fault_detection_time:20|\
         connection_fault_detection_time:7200|task_monitor_interval:7200000|\
         task_exception:on",
        "cluster_heartbeat|cluster_heartbeat:|cluster_heartbeat:first|heartbeat:on|\
         connection_fault_detection_time:19|connection_fault_detection_time:7201|\
         task_monitor_interval:7200001|task_exception:on,|task_exception: on|\
         task_exception:on, stuck_detection:on",
    ),
    (
        "HCCL_OP_RETRY_ENABLE",
        "L1:0,L2:0|L1:1,L2:1|L0:0,L1:1,L2:0|L1:1",
        "1|L1:2|L3:0|L1:0,L1:1|L1:0, L2:0|L1|l1:0",
    ),
    (
        "HCCL_OP_RETRY_PARAMS",
        "MaxCnt:1,HoldTime:5000,IntervalTime:1000|MaxCnt:10,HoldTime:0,IntervalTime:60000",
        "MaxCnt:0,HoldTime:0,IntervalTime:0|MaxCnt:11,HoldTime:0,IntervalTime:0|\
         MaxCnt:1,HoldTime:60001,IntervalTime:0|MaxCnt:1,HoldTime:0|\
         HoldTime:0,MaxCnt:1,IntervalTime:0|MaxCnt:1, HoldTime:0, IntervalTime:0|\
         MaxCnt:1,HoldTime:0,IntervalTime:0,",
    ),
    ("HCCL_WHITELIST_DISABLE", "0|1", "2"),
    ("HCCL_WHITELIST_FILE", "/etc/whitelist", "whitelist|./whitelist"),
    ("CM_CHIEF_IP", "10.0.0.1|::1", "host|10.0.0.1%eth0"),
    ("CM_CHIEF_PORT", "0|65520", "65521|-1"),
    ("CM_CHIEF_DEVICE", "0|7", "-1|x"),
    ("CM_WORKER_SIZE", "0|32768", "32769"),
    ("CM_WORKER_IP", "10.0.0.1|fd00::1", "10.0.0.256"),
];

#[test]
fn every_variable_has_cases_once() {
    let cases: Vec<&str> = CASES.iter().map(|(name, ..)| *name).collect();
    let variables: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(cases, variables);
}

#[test]
fn allowed_values_and_others() {
    for (name, allowed, others) in CASES {
        for value in allowed.split('|').chain(["", "EmptyString"]) {
            assert_eq!(check(name, value), Ok(()));
        }
        for value in others.split('|').filter(|value| !value.is_empty()) {
            let error = check(name, value).expect_err(&format!("{name}={value}"));
            assert_eq!((error.name, error.value.as_str(), error.code()), (*name, value, "EI0001"));
            let text = error.to_string();
            assert!(text.contains(name) && text.contains(value) && text.contains(error.expect));
        }
    }
    assert_eq!(check("HCCL_OF_NOBODY", "anything"), Ok(()));
}

#[test]
fn the_longest_texts() {
    for (name, prefix, limit) in [
        ("HCCL_LOGIC_SUPERPOD_ID", "x", 127),
        ("HCCL_RDMA_QP_PORT_CONFIG_PATH", "/", 4096),
        ("HCCL_WHITELIST_FILE", "/", 4095),
    ] {
        let text = |length: usize| format!("{prefix}{}", "x".repeat(length - 1));
        assert_eq!(check(name, &text(limit)), Ok(()));
        assert_eq!(check(name, &text(limit + 1)).unwrap_err().name, name);
    }
}

#[test]
fn not_both_ways_inside_a_server() {
    let all = |pairs: &[(&'static str, &'static str)]| {
        let set: BTreeMap<_, _> = pairs.iter().copied().collect();
        check_all(|name| set.get(name).map(|value| (*value).to_owned()))
    };
    let (pcie, roce) = ("HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE");
    assert_eq!(all(&[]), Ok(()));
    for (one, other) in [("0", "1"), ("1", "0"), ("0", "0"), ("", "1")] {
        assert_eq!(all(&[(pcie, one), (roce, other)]), Ok(()));
    }
    assert_eq!(all(&[(roce, "1")]), Ok(()));
    let error = all(&[(pcie, "1"), (roce, "1")]).unwrap_err();
    assert_eq!((error.name, error.expect), (roce, "0 or 1 (but not both 1)"));
    assert_eq!(all(&[("HCCL_RDMA_SL", "9"), (pcie, "1")]).unwrap_err().name, "HCCL_RDMA_SL");
}

proptest! {
    /// Whatever stands there gets an answer; for numbers it is that of a plain comparison.
    #[test]
    fn any_text_gets_an_answer(
        index in 0..VARIABLES.len(),
        text in prop_oneof![
            ".{0,40}",
            "[0-9]{1,6}",
            "[0-9a-zA-Z:,=^%/._-]{0,40}",
            "[0-9]{0,30}([-,][0-9]{0,30}){0,4}",
        ],
    ) {
        let variable = &VARIABLES[index];
        let answer = check(variable.name, &text);
        if let Rule::Number(least, most) = variable.rule {
            let number = text.chars().all(|digit| digit.is_ascii_digit())
                && text.parse::<u128>().is_ok_and(|n| n >= least.into() && n <= most.into());
            prop_assert_eq!(answer.is_ok(), number || text.is_empty());
        }
        if let Err(error) = answer {
            prop_assert_eq!(error.value, text);
        }
    }
}
