//! Tables that are wrong: the code, the key that is named, and words that help.

use hccl_cluster::{RankTable, RankTableError};
use serde_json::{Value, json};

use crate::texts::{ALL, GROUPS, LENIENT, LEVELS, SERVERS, SHARED, SUPER_PODS};

/// Checks the fault of a good table that is changed at one place; `Value::Null` takes it away.
#[track_caller]
fn fault(good: &str, at: &str, new: Value, code: &str, key: &str, words: &str) {
    let mut table: Value = serde_json::from_str(good).unwrap();
    let pointer = format!("/{}", at.replace(['.', '['], "/").replace(']', ""));
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = table.pointer_mut(parent).unwrap();
    match (parent, new) {
        (Value::Object(object), Value::Null) => assert!(object.remove(last).is_some(), "{at}"),
        (Value::Object(object), new) => drop(object.insert(last.to_owned(), new)),
        (parent, new) => parent[last.parse::<usize>().unwrap()] = new,
    }
    let error = RankTable::parse(&table.to_string()).expect_err("a fault");
    let text = error.to_string();
    assert_eq!((error.code(), error.key()), (code, Some(key)), "{text}");
    assert!(text.contains(key) && text.contains(words), "{text}");
}

/// The fault of a value, at the place where it is.
#[track_caller]
fn bad(good: &str, at: &str, new: Value, words: &str) {
    fault(good, at, new.clone(), "EI0014", at, words);
    if let Some(text) = new.as_str() {
        fault(good, at, new.clone(), "EI0014", at, &format!("[{text}] is invalid"));
    }
}

#[track_caller]
fn missing(good: &str, at: &str) {
    fault(good, at, Value::Null, "EI0017", at, "has no key");
}

#[test]
fn what_is_no_json() {
    let deep = "[".repeat(1_000_000);
    let twice =
        SERVERS.replacen("\"device_id\": \"5\"", "\"device_id\": \"5\", \"device_id\": 1", 1);
    let rows = [
        ("", 1, "EOF"),
        ("{\n\"status\": completed}", 2, "expected"),
        (&SERVERS[..300], SERVERS[..300].lines().count(), "EOF"),
        (&deep, 1, "recursion"),
        ("{} {}", 1, "trailing"),
        ("{\"status\": 1e999}", 1, "range"),
        ("// no comments\n{}", 1, "expected"),
        (&twice, 6, "device_id stands there twice"),
    ];
    for (text, at, words) in rows {
        let error = RankTable::parse(text).unwrap_err();
        let RankTableError::NotJson { line, why, .. } = &error else { panic!("{error}") };
        assert_eq!((*line, error.code(), error.key()), (at, "EI0004", None), "{error}");
        assert!(why.contains(words) && !why.contains(" line "), "{error}");
    }
}

#[test]
fn what_is_no_table() {
    for text in ["[]", "3", "null", "\"completed\""] {
        let error = RankTable::parse(text).unwrap_err();
        assert_eq!((error.code(), error.key()), ("EI0014", Some("rank table")), "{error}");
    }
}

#[test]
fn required_keys() {
    for at in ["status", "version", "server_count", "server_list"] {
        missing(SERVERS, at);
    }
    missing(SERVERS, "server_list[1].server_id");
    missing(SERVERS, "server_list[1].device");
    for key in ["rank_id", "device_id", "device_ip"] {
        missing(SERVERS, &format!("server_list[1].device[0].{key}"));
        if key != "device_ip" {
            missing(LENIENT, &format!("server_list[0].device[1].{key}"));
        }
        missing(SUPER_PODS, &format!("server_list[2].device[1].{key}"));
    }
    missing(SUPER_PODS, "server_list[2].device[0].super_device_id");
    missing(SUPER_PODS, "super_pod_list[1].super_pod_id");
    missing(SUPER_PODS, "super_pod_list[1].server_list");
    missing(SUPER_PODS, "super_pod_list[1].server_list[1].server_id");
    for at in ["status", "group_count"] {
        missing(GROUPS, at);
    }
    fault(GROUPS, "group_list", Value::Null, "EI0017", "version", "has no key");
    for key in ["instance_count", "device_count", "instance_list"] {
        missing(GROUPS, &format!("group_list[1].{key}"));
    }
    for key in ["pod_name", "server_id", "devices", "devices[0].device_id", "devices[0].device_ip"]
    {
        missing(GROUPS, &format!("group_list[0].instance_list[1].{key}"));
    }
    for at in ["version", "rank_count", "rank_list"] {
        missing(LEVELS, at);
    }
    for key in ["rank_id", "local_id", "device_id", "level_list"] {
        missing(LEVELS, &format!("rank_list[2].{key}"));
    }
    for key in ["net_layer", "net_instance_id", "net_type", "rank_addr_list"] {
        missing(LEVELS, &format!("rank_list[2].level_list[1].{key}"));
    }
    for key in ["addr_type", "addr", "ports"] {
        missing(LEVELS, &format!("rank_list[0].level_list[0].rank_addr_list[1].{key}"));
    }
}

#[test]
fn a_table_that_is_not_complete() {
    let texts = ALL.map(|text| text.replace("completed", "initializing"));
    let short = r#"{"status": "initializing"}"#.to_owned();
    for text in texts.iter().filter(|text| text.contains("status")).chain([&short]) {
        let error = RankTable::parse(text).unwrap_err();
        assert!(matches!(error, RankTableError::NotReady { .. }), "{error}");
        assert_eq!((error.code(), error.key()), ("EI0014", Some("status")));
    }
    bad(SERVERS, "status", json!("complete"), "must be completed");
    bad(LEVELS, "status", json!("ready"), "must be completed");
}

#[test]
fn versions() {
    for version in [json!("1.1"), json!("2"), json!(1), json!(1.5), json!(""), json!(["1.0"])] {
        bad(SERVERS, "version", version, "1.0, 1.2 or 2.0");
    }
}

#[test]
fn counts_match_their_lists() {
    bad(SERVERS, "server_count", json!("3"), "must be 2, the number of entries of server_list");
    bad(SUPER_PODS, "server_count", json!("2"), "must be 3");
    bad(SERVERS, "server_count", json!("two"), "must be 2");
    bad(GROUPS, "group_count", json!("1"), "must be 2");
    bad(GROUPS, "group_list[0].instance_count", json!("3"), "must be 2");
    bad(GROUPS, "group_list[0].device_count", json!("2"), "must be 3");
    bad(LEVELS, "rank_count", json!(5), "must be 4");
    bad(LEVELS, "rank_count", json!(-4), "rank_count[-4]");
    bad(LEVELS, "rank_count", json!(4.5), "rank_count[4.5]");
    bad(LEVELS, "rank_count", json!(18_446_744_073_709_551_615_u64), "must be 4");
}

#[test]
fn lists_are_lists_and_not_empty() {
    bad(SERVERS, "server_list", json!("a"), "a list");
    bad(SERVERS, "server_list", json!([]), "[a list of 0] is invalid");
    bad(SERVERS, "server_list[0]", json!(3), "an object");
    bad(SERVERS, "server_list[1].device", json!([]), "1 to 65536 entries");
    bad(SERVERS, "server_list[1].device[1]", json!([]), "an object");
    bad(SUPER_PODS, "super_pod_list", json!([]), "1 to 65536 entries");
    bad(SUPER_PODS, "super_pod_list[0].server_list", json!([]), "1 to 65536 entries");
    bad(GROUPS, "group_list[1].instance_list[0].devices", json!({}), "a list");
    bad(LEVELS, "rank_list", json!([]), "1 to 65536 entries");
    bad(LEVELS, "rank_list[1].level_list", json!([]), "1 to 8 entries");
    let level =
        serde_json::from_str::<Value>(LEVELS).unwrap()["rank_list"][1]["level_list"][1].clone();
    bad(LEVELS, "rank_list[1].level_list", json!(vec![level.clone(); 9]), "1 to 8 entries");
    let address = &level["rank_addr_list"][0];
    let at = "rank_list[1].level_list[1].rank_addr_list";
    bad(LEVELS, at, json!(vec![address; 25]), "1 to 24 entries");
    bad(LEVELS, at, json!([]), "1 to 24 entries");
    bad(LEVELS, &format!("{at}[0].ports"), json!(vec!["d2h"; 17]), "0 to 16 entries");
}

#[test]
fn ids_of_ranks() {
    let at = "server_list[1].device[0].rank_id";
    for no_number in [json!("x"), json!("-1"), json!(-1), json!(""), json!(" 1"), json!([1])] {
        fault(SERVERS, at, no_number, "EI0003", at, "non-negative decimal number");
    }
    bad(SERVERS, at, json!("4"), "from 0 to 3");
    bad(SERVERS, at, json!("4294967296"), "a decimal number");
    bad(SERVERS, at, json!("99999999999999999999999"), "a decimal number");
    bad(SERVERS, at, json!("1"), "unlike that of server_list[0].device[1]");
    bad(LEVELS, "rank_list[3].rank_id", json!(2), "unlike that of rank_list[2]");
}

#[test]
fn ranks_of_a_server_follow_each_other() {
    let swapped = SERVERS
        .replace("\"rank_id\": \"1\"", "\"rank_id\": \"x\"")
        .replace("\"rank_id\": \"2\"", "\"rank_id\": \"1\"")
        .replace("\"rank_id\": \"x\"", "\"rank_id\": \"2\"");
    let error = RankTable::parse(&swapped).unwrap_err();
    assert_eq!(error.key(), Some("server_list[0].device[1].rank_id"));
    assert_eq!(error.code(), "EI0014");
    assert!(error.to_string().contains("follow each other"), "{error}");
    // The form without rank ids: the second instance of server a comes after server b.
    let at = "group_list[1].instance_list[0].server_id";
    fault(
        &GROUPS.replace("\"p1\", \"server_id\": \"a\"", "\"p1\", \"server_id\": \"b\""),
        at,
        json!("a"),
        "EI0014",
        "group_list[1].instance_list[0].devices[0].device_id",
        "unlike that of",
    );
    let moved = GROUPS
        .replace("\"p1\", \"server_id\": \"a\"", "\"p1\", \"server_id\": \"b\"")
        .replace("\"p2\", \"server_id\": \"b\"", "\"p2\", \"server_id\": \"a\"")
        .replace(
            "\"device_id\": \"0\", \"device_ip\": \"192.168.1.4\"",
            "\"device_id\": \"7\", \"device_ip\": \"192.168.1.4\"",
        );
    let error = RankTable::parse(&moved).unwrap_err();
    assert!(error.to_string().contains("follow each other"), "{error}");
    let at = "rank_list[3].level_list[0].net_instance_id";
    fault(LEVELS, at, json!("s0"), "EI0014", "rank_list[3].rank_id", "follow each other");
}

#[test]
fn ids_of_servers() {
    bad(SERVERS, "server_list[1].server_id", json!("10.0.0.1"), "unlike that of server_list[0]");
    bad(SERVERS, "server_list[1].server_id", json!("s".repeat(65)), "1 to 64 characters");
    bad(SERVERS, "server_list[1].server_id", json!(""), "1 to 64 characters");
    bad(SERVERS, "server_list[1].server_id", json!(true), "server_id[true]");
    let at = "group_list[0].instance_list[1].server_id";
    bad(GROUPS, at, json!("s".repeat(65)), "1 to 64 characters");
    let longest = SERVERS.replace("\"10.0.0.2\"", &format!("\"{}\"", "s".repeat(64)));
    assert!(RankTable::parse(&longest).is_ok());
    bad(GROUPS, "group_list[0].instance_list[1].pod_name", json!("p0"), "every other instance");
}

#[test]
fn devices_are_not_shared_without_ports() {
    bad(SERVERS, "server_list[0].device[1].device_id", json!("0"), "server_list[0].device[0]");
    for id in [json!("x"), json!("-1"), json!("2147483648"), json!("1.0")] {
        bad(SERVERS, "server_list[0].device[1].device_id", id, "a decimal number");
    }
    bad(SHARED, "server_list[0].device[1].device_port", json!("17000"), "same device");
    let at = "server_list[0].device[1].device_port";
    fault(SHARED, at, Value::Null, "EI0014", "server_list[0].device[1].device_id", "its own");
    let at = "server_list[0].device[0].device_port";
    fault(SHARED, at, Value::Null, "EI0014", "server_list[0].device[1].device_id", "its own");
    fault(LEVELS, "rank_list[1].device_id", json!(0), "EI0014", "rank_list[1].device_id", "own");
    bad(LEVELS, "rank_list[1].device_id", json!(65), "from 0 to 64");
    bad(LEVELS, "rank_list[1].local_id", json!(65), "from 0 to 64");
    bad(LEVELS, "rank_list[1].local_id", json!(0), "unlike that of rank_list[0]");
}

#[test]
fn addresses_of_devices() {
    let at = "server_list[1].device[0].device_ip";
    for ip in [json!(""), json!("1.2.3"), json!("1.2.3.256"), json!(7), json!("fd00::1%eth0")] {
        bad(SERVERS, at, ip, "an IPv4 or IPv6 address");
    }
    bad(SERVERS, at, json!("192.168.1.1"), "unlike that of server_list[0].device[0]");
    bad(LENIENT, "server_list[0].device[0].device_ip", json!("none"), "IPv4 or IPv6");
    bad(SUPER_PODS, "server_list[1].device[0].device_ip", json!(""), "IPv4 or IPv6");
    bad(GROUPS, "group_list[0].instance_list[1].devices[0].device_ip", json!(""), "IPv4 or IPv6");
    let at = "group_list[0].instance_list[1].devices[0].device_ip";
    bad(GROUPS, at, json!("192.168.1.1"), "unlike that of");
    // The same address in other letters.
    let at = "server_list[0].device[2].device_ip";
    fault(SHARED, at, json!("FD00:0::1"), "EI0014", at, "unlike that of");
}

#[test]
fn families_of_addresses() {
    let at = "server_list[1].device[0].device_ip";
    fault(SERVERS, at, json!("fd00::7"), "EI0001", at, "rank[2] device ip family[10] is not same");
    let at = "server_list[0].device[3].device_ip";
    fault(SHARED, at, json!("10.0.0.7"), "EI0001", at, "family[2] is not same as others[10]");
}

#[test]
fn addresses_of_hosts() {
    bad(SERVERS, "server_list[0].host_ip", json!("host"), "an IPv4 or IPv6 address");
    bad(SERVERS, "server_list[0].host_ip", json!("fd00::1"), "an IPv4 address");
}

#[test]
fn ports() {
    let places = [
        (SERVERS, "server_list[1].device[0].device_port"),
        (SERVERS, "server_list[0].device[0].host_port"),
        (SUPER_PODS, "server_list[1].device[0].backup_device_port"),
        (LEVELS, "rank_list[0].device_port"),
        (LEVELS, "rank_list[3].host_port"),
    ];
    for (table, at) in places {
        for port in [json!("0"), json!("65536"), json!(""), json!("http"), json!("-1"), json!({})] {
            bad(table, at, port, "a decimal number from 1 to 65535");
        }
    }
    bad(SERVERS, "server_list[0].device[1].host_port", json!("60001"), "on the same server");
}

#[test]
fn backups() {
    let at = "server_list[1].device[0].backup_device_port";
    bad(SUPER_PODS, at, json!("16700"), "the port that server_list[1].device[1] uses");
    // Nothing written is the default port.
    let default = SUPER_PODS.replace("\"device_port\": \"16700\", \"backup", "\"backup");
    let default = default.replace("\n       \"device_port\": \"16700\",", "");
    fault(&default, at, json!("16666"), "EI0014", at, "uses on 192.168.1.2");
    bad(SUPER_PODS, "server_list[1].device[0].backup_device_ip", json!("x"), "IPv4 or IPv6");
}

#[test]
fn superpods() {
    let at = "server_list[2].device[1].super_device_id";
    bad(SUPER_PODS, at, json!(""), "a text that is not empty");
    bad(SUPER_PODS, at, json!("1"), "superpod [3]: ranks 1 and 3");
    let at = "super_pod_list[1].super_pod_id";
    bad(SUPER_PODS, at, json!("7"), "unlike that of super_pod_list[0]");
    bad(SUPER_PODS, at, json!(""), "a text that is not empty");
    let at = "super_pod_list[1].server_list[1].server_id";
    bad(SUPER_PODS, at, json!("d"), "an entry of server_list");
    bad(SUPER_PODS, at, json!("c"), "super_pod_list[0].server_list[0].server_id has it too");
    let one = json!([{"server_id": "b"}]);
    let at = "super_pod_list[1].server_list";
    fault(SUPER_PODS, at, one, "EI0014", "server_list[1].server_id", "in a superpod");
    // Servers of superpod 7 before and after those of superpod 3.
    let apart = SUPER_PODS
        .replace("[{\"server_id\": \"c\"}]", "[{\"server_id\": \"c\"}, {\"server_id\": \"a\"}]")
        .replace(", {\"server_id\": \"a\"}]}]}", "]}]}")
        .replace(
            "\"super_device_id\": \"0\", \"device_ip\": \"192.168.1.5\"",
            "\"super_device_id\": \"9\", \"device_ip\": \"192.168.1.5\"",
        );
    let error = RankTable::parse(&apart).unwrap_err();
    assert_eq!(error.key(), Some("super_pod_list[0].server_list[0].server_id"), "{error}");
    assert!(error.to_string().contains("rank 4"), "{error}");
}

#[test]
fn networks() {
    let level = "rank_list[1].level_list[1]";
    bad(LEVELS, "rank_list[1].level_list[0].net_layer", json!(1), "layers begin there");
    bad(LEVELS, &format!("{level}.net_layer"), json!(0), "more than 0");
    bad(LEVELS, &format!("{level}.net_layer"), json!(8), "from 0 to 7");
    bad(LEVELS, &format!("{level}.net_type"), json!("MESH"), "CLOS or TOPO_FILE_DESC");
    bad(LEVELS, "rank_list[1].level_list[0].net_type", json!("CLOS"), "must be TOPO_FILE_DESC");
    bad(LEVELS, &format!("{level}.net_instance_id"), json!(""), "1 to 1024 characters");
    let long = json!("i".repeat(1025));
    let at = format!("{level}.net_instance_id");
    fault(LEVELS, &at, long, "EI0014", &at, "1 to 1024 characters");
    let address = "rank_list[1].level_list[1].rank_addr_list[0]";
    bad(LEVELS, &format!("{address}.addr_type"), json!("MAC"), "EID or IPV4 or IPV6");
    bad(LEVELS, &format!("{address}.addr_type"), json!("eid"), "EID or IPV4 or IPV6");
    bad(LEVELS, &format!("{address}.addr"), json!("10.0.0.1"), "an IPv6 address");
    bad(LEVELS, &format!("{address}.addr"), json!(""), "1 to 256 characters");
    bad(
        LEVELS,
        "rank_list[0].level_list[1].rank_addr_list[0].addr",
        json!("::1"),
        "an IPv4 address",
    );
    for eid in ["0".repeat(31), "0".repeat(33), format!("+{}", "0".repeat(31))] {
        let at = "rank_list[1].level_list[0].rank_addr_list[0].addr";
        bad(LEVELS, at, json!(eid), "32 hexadecimal digits");
    }
    for port in ["0", "0/", "/0", "a/0", "0/1/2", "D2H", "0/123456"] {
        bad(LEVELS, &format!("{address}.ports[0]"), json!(port), "<die>/<port>, or d2h");
    }
    let at = "rank_list[0].level_list[0].rank_addr_list[1].ports[0]";
    bad(LEVELS, at, json!("0/1"), "rank_addr_list[0] has it too");
}

#[test]
fn long_and_odd_values_stay_readable() {
    let at = "server_list[1].server_id";
    let odd = format!("a\nb\u{7}{}", "x".repeat(1 << 20));
    fault(SERVERS, at, json!(odd), "EI0014", at, r"server_id[a\nb\u{7}xxx");
    let mut table: Value = serde_json::from_str(SERVERS).unwrap();
    table["server_list"][1]["server_id"] = json!(odd);
    let error = RankTable::parse(&table.to_string()).unwrap_err().to_string();
    assert!(error.len() < 300 && error.contains("xxx...]"), "{error}");
}
