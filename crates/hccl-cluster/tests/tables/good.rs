//! Tables that are right: what is read from them, and when two say the same.

use hccl_cluster::{AddressKind, NetType, RankTable, Version};
use serde_json::{Value, json};

use crate::invariants;
use crate::texts::{ALL, GROUPS, LENIENT, LEVELS, SERVERS, SHARED, SUPER_PODS};

fn parse(text: &str) -> RankTable {
    let table = RankTable::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    invariants::check(&table);
    table
}

/// The devices of ranks with their servers.
fn places(table: &RankTable) -> Vec<(&str, u32)> {
    let id = |server: u32| table.servers[server as usize].id.as_str();
    table.ranks.iter().map(|rank| (id(rank.server), rank.device)).collect()
}

#[test]
fn servers_with_their_devices() {
    let table = parse(SERVERS);
    assert_eq!(table.version, Version::V1_0);
    let expected = [("10.0.0.1", 0), ("10.0.0.1", 5), ("10.0.0.2", 0), ("10.0.0.2", 1)];
    assert_eq!(places(&table), expected);
    assert_eq!(table.groups(), [vec![2, 2], vec![2]]);
    let rank = &table.ranks[3];
    assert_eq!(rank.device_ip, Some("192.168.1.4".parse().unwrap()));
    assert_eq!((rank.device_port, rank.host_port), (Some(65535), None));
    assert_eq!(table.ranks[1].host_port, Some(60002));
    assert_eq!(table.servers[0].host_ip, Some("10.0.0.1".parse().unwrap()));
    assert_eq!(table.servers[1].host_ip, None);
}

#[test]
fn processes_share_a_device_by_ports() {
    let table = parse(SHARED);
    assert_eq!(places(&table), [("box", 0), ("box", 0), ("box", 1), ("box", 1)]);
    assert_eq!(table.groups(), [[4]]);
}

#[test]
fn one_host_needs_no_addresses() {
    let table = parse(LENIENT);
    assert_eq!(places(&table), [("127.0.0.1", 0), ("127.0.0.1", 1)]);
    assert!(table.ranks.iter().all(|rank| rank.device_ip.is_none()));
    assert_eq!(parse(&LENIENT.replace(r#", "device_ip": """#, "")), table);
    assert_eq!(parse(&LENIENT.replace(r#""device_ip": """#, r#""device_ip": null"#)), table);
}

#[test]
fn groups_are_merged() {
    let table = parse(GROUPS);
    assert_eq!(table.version, Version::Groups);
    assert_eq!(places(&table), [("a", 0), ("a", 1), ("a", 2), ("b", 0)]);
    assert_eq!(table.groups(), [vec![3, 1], vec![2]]);
}

#[test]
fn superpods_hold_servers() {
    let table = parse(SUPER_PODS);
    assert_eq!(places(&table), [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 0)]);
    assert_eq!(table.super_pods, ["3", "7"]);
    let pods: Vec<_> = table.servers.iter().map(|server| server.super_pod).collect();
    assert_eq!(pods, [Some(0), Some(0), Some(1)]);
    assert_eq!(table.groups(), [vec![2, 2, 1], vec![2, 1], vec![2]]);
    let rank = &table.ranks[1];
    assert_eq!(rank.super_device_id.as_deref(), Some("1"));
    assert_eq!(rank.backup_device_ip, Some("192.168.1.1".parse().unwrap()));
    assert_eq!(rank.backup_device_port, Some(16701));
}

#[test]
fn servers_stand_alone_without_names_of_devices_in_superpods() {
    let mut value: Value = serde_json::from_str(SUPER_PODS).unwrap();
    for server in value["server_list"].as_array_mut().unwrap() {
        for device in server["device"].as_array_mut().unwrap() {
            device.as_object_mut().unwrap().remove("super_device_id");
        }
    }
    let table = parse(&value.to_string());
    assert!(table.super_pods.is_empty());
    assert_eq!(table.groups(), [vec![2, 2, 1], vec![3]]);

    let mut value: Value = serde_json::from_str(SUPER_PODS).unwrap();
    value.as_object_mut().unwrap().remove("super_pod_list");
    value.as_object_mut().unwrap().remove("server_count");
    let table = parse(&value.to_string());
    assert_eq!(table.groups(), [vec![2, 2, 1], vec![3]]);
    assert_eq!(table.ranks[4].super_device_id.as_deref(), Some("0"));
}

#[test]
fn version_1_0_has_no_superpods() {
    let table = parse(&SUPER_PODS.replace("\"1.2\"", "\"1.0\""));
    assert!(table.super_pods.is_empty());
    assert_eq!(table.ranks[0].super_device_id, None);
}

#[test]
fn layers_of_networks() {
    let table = parse(LEVELS);
    assert_eq!(table.version, Version::V2_0);
    assert_eq!(places(&table), [("s0", 0), ("s0", 1), ("s1", 0), ("s1", 64)]);
    assert_eq!(table.groups(), [vec![2, 2], vec![2]]);
    let rank = &table.ranks[0];
    assert_eq!((rank.local_id, rank.device_port), (Some(0), Some(17000)));
    let layers: Vec<u8> = rank.levels.iter().map(|level| level.layer).collect();
    assert_eq!(layers, [0, 3]);
    let first = &rank.levels[0];
    assert_eq!(first.net_type, NetType::TopoFileDesc);
    assert_eq!(first.addresses[0].ports, ["0/0", "0/1"]);
    assert_eq!(first.addresses[1].plane, "0");
    assert_eq!(rank.levels[1].addresses[0].kind, AddressKind::Ipv4);
    assert_eq!(rank.levels[1].net_type, NetType::Clos);
}

/// A table of version 2.0 whose ranks have these instances of layers 0, 1, ...
fn layered(instances: &[&[&str]]) -> RankTable {
    let level = |(layer, instance): (usize, &&str)| {
        let address = json!({"addr_type": "IPV4", "addr": "10.0.0.1", "ports": ["d2h"]});
        json!({"net_layer": layer, "net_instance_id": instance, "net_type": "TOPO_FILE_DESC",
            "rank_addr_list": [address]})
    };
    let rank = |(id, instances): (usize, &&[&str])| {
        let levels: Vec<Value> = instances.iter().enumerate().map(level).collect();
        json!({"rank_id": id, "local_id": id, "device_id": id, "level_list": levels})
    };
    let ranks: Vec<Value> = instances.iter().enumerate().map(rank).collect();
    let count = ranks.len();
    parse(&json!({"version": "2.0", "rank_count": count, "rank_list": ranks}).to_string())
}

#[test]
fn layers_are_tiers_where_they_hold_each_other() {
    let nested = layered(&[&["a", "x"], &["a", "x"], &["b", "x"], &["c", "y"]]);
    assert_eq!(nested.groups(), [vec![2, 1, 1], vec![2, 1], vec![2]]);
    // Layer 1 cuts through server a.
    let cut = layered(&[&["a", "x"], &["a", "y"], &["b", "y"], &["c", "y"]]);
    assert_eq!(cut.groups(), [vec![2, 1, 1], vec![3]]);
    // Layer 1 comes again.
    let again = layered(&[&["a", "x"], &["b", "y"], &["c", "x"]]);
    assert_eq!(again.groups(), [vec![1, 1, 1], vec![3]]);
    // Not all ranks are in layer 1; layer 2 does not exist.
    let some = layered(&[&["a", "x"], &["b"]]);
    assert_eq!(some.groups(), [vec![1, 1], vec![2]]);
    let three = layered(&[&["a", "x", "p"], &["b", "x", "p"], &["c", "y", "p"], &["d", "z", "q"]]);
    assert_eq!(three.groups(), [vec![1, 1, 1, 1], vec![2, 1, 1], vec![2, 1], vec![2]]);
    assert_eq!(layered(&[&["a", "x", "p"]]).groups(), [[1]]);
}

#[test]
fn numbers_and_their_texts_mean_the_same() {
    let numbers = SERVERS.replace("\"1.0\"", "1.0");
    let mut value: Value = serde_json::from_str(&numbers).unwrap();
    turn(&mut value, &|text| text.as_str()?.parse::<u64>().ok().map(Value::from));
    assert!(value.to_string().contains(r#""server_count":2"#));
    assert_eq!(parse(&value.to_string()), parse(SERVERS));

    let mut value: Value = serde_json::from_str(LEVELS).unwrap();
    turn(&mut value, &|number| number.as_u64().map(|number| number.to_string().into()));
    assert!(value.to_string().contains(r#""rank_count":"4""#));
    assert_eq!(parse(&value.to_string()), parse(LEVELS));
}

/// Replaces every leaf for which there is something else.
fn turn(value: &mut Value, leaf: &impl Fn(&Value) -> Option<Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| turn(item, leaf)),
        Value::Object(items) => items.values_mut().for_each(|item| turn(item, leaf)),
        other => {
            if let Some(new) = leaf(other) {
                *other = new;
            }
        }
    }
}

#[test]
fn a_digest_is_of_what_a_table_says() {
    let digests: std::collections::BTreeSet<_> =
        ALL.iter().map(|text| parse(text).digest()).collect();
    assert_eq!(digests.len(), ALL.len());
    for text in ALL {
        // Without blanks, keys in another order, a key that nobody knows.
        let mut value: Value = serde_json::from_str(text).unwrap();
        value["unknown"] = json!({"rank_id": [1, 2]});
        if let Some(servers) = value["server_list"].as_array_mut() {
            servers.reverse();
            servers.iter_mut().for_each(|server| {
                server["device"].as_array_mut().unwrap().reverse();
            });
        } else {
            value.as_object_mut().unwrap().remove("server_list");
        }
        assert_eq!(parse(&value.to_string()).digest(), parse(text).digest());
    }
    let changes = [
        (SERVERS, "\"5\"", "\"6\""),
        (SERVERS, "\"10.0.0.2\"", "\"10.0.0.3\""),
        (SERVERS, "192.168.1.4", "192.168.1.5"),
        (SERVERS, "60002", "60003"),
        (SERVERS, "65535", "65534"),
        (SERVERS, ", \"host_ip\": \"10.0.0.1\"", ""),
        (SERVERS, "\"1.0\"", "\"1.2\""),
        (SUPER_PODS, "\"7\"", "\"8\""),
        (SUPER_PODS, "\"super_device_id\": \"3\"", "\"super_device_id\": \"4\""),
        (SUPER_PODS, "16701", "16702"),
        (LEVELS, "\"all\"", "\"most\""),
        (LEVELS, "\"1/0\"", "\"1/1\""),
        (LEVELS, "\"plane_id\": \"0\"", "\"plane_id\": \"1\""),
        (LEVELS, "10.0.0.4", "10.0.0.5"),
        (LEVELS, "\"local_id\": 64", "\"local_id\": 63"),
        (
            LEVELS,
            "\"TOPO_FILE_DESC\", \"rank_addr_list\": [\n        {\"addr_type\": \"IPV4\"",
            "\"CLOS\", \"rank_addr_list\": [\n        {\"addr_type\": \"IPV4\"",
        ),
    ];
    for (text, from, to) in changes {
        assert!(text.contains(from), "{from}");
        let changed = parse(&text.replace(from, to));
        assert_ne!(changed.digest(), parse(text).digest(), "{from} to {to}");
    }
}

#[test]
fn editors_may_leave_their_marks() {
    let text = format!("\u{feff}{}\r\n", SERVERS.replace('\n', "\r\n"));
    assert_eq!(parse(&text), parse(SERVERS));
}

#[test]
fn as_many_ranks_as_allowed() {
    let table = parse_devices(65536).unwrap();
    assert_eq!(table.groups(), [[65536]]);
    let error = parse_devices(65537).unwrap_err();
    assert_eq!((error.code(), error.key()), ("EI0014", Some("server_list[0].device")));
}

fn parse_devices(count: usize) -> Result<RankTable, hccl_cluster::RankTableError> {
    let devices: Vec<String> =
        (0..count).map(|id| format!(r#"{{"device_id":"{id}","rank_id":"{id}"}}"#)).collect();
    RankTable::parse(&format!(
        r#"{{"status":"completed","version":"1.0","server_count":"1",
        "server_list":[{{"server_id":"s","device":[{}]}}]}}"#,
        devices.join(",")
    ))
}
