//! What holds for every table that is read.

use std::collections::{BTreeMap, BTreeSet};

use hccl_cluster::{AddressKind, NetType, Rank, RankTable, Version};

/// What must hold for every table, found without the parser's help.
pub(crate) fn check(table: &RankTable) {
    let ranks = &table.ranks;
    assert!((1..=65536).contains(&ranks.len()));
    let servers: Vec<u32> = ranks.iter().map(|rank| rank.server).collect();
    in_one_piece(&servers, table.servers.len());
    let ids: BTreeSet<&str> = table.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids.len(), table.servers.len());
    let chars_max = if table.version == Version::V2_0 { 1024 } else { 64 };
    assert!(ids.iter().all(|id| (1..=chars_max).contains(&id.chars().count())));
    let pods: Vec<u32> = table.servers.iter().filter_map(|server| server.super_pod).collect();
    assert!(pods.len() == table.servers.len() || (pods.is_empty() && table.super_pods.is_empty()));
    in_one_piece(&pods, table.super_pods.len());
    assert_eq!(table.super_pods.iter().collect::<BTreeSet<_>>().len(), table.super_pods.len());

    check_pairs(table);
    for rank in ranks {
        let several = match table.version {
            Version::Groups => true,
            Version::V1_0 => table.servers.len() > 1,
            _ => table.super_pods.len() > 1,
        };
        assert!(!several || rank.device_ip.is_some());
        let ports = [rank.device_port, rank.backup_device_port, rank.host_port];
        assert!(!ports.contains(&Some(0)));
        assert!(rank.super_device_id.as_deref() != Some(""));
        assert_eq!(rank.local_id.is_some(), table.version == Version::V2_0);
        assert_eq!(!rank.levels.is_empty(), table.version == Version::V2_0);
        check_levels(rank, &table.servers[rank.server as usize].id);
    }
    let families: BTreeSet<bool> =
        ranks.iter().filter_map(|rank| rank.device_ip).map(|ip| ip.is_ipv4()).collect();
    assert!(families.len() <= 1);

    // Each tier holds the groups of the one before, and the last is one group.
    let mut members = ranks.len() as u32;
    for sizes in table.groups() {
        assert!(sizes.iter().all(|&size| size > 0));
        assert_eq!(sizes.iter().sum::<u32>(), members);
        members = sizes.len() as u32;
    }
    assert_eq!(members, 1);
    assert_eq!(table.groups()[0].len(), table.servers.len());
}

/// No two ranks, taken pair by pair, have what only one may have.
fn check_pairs(table: &RankTable) {
    for (i, a) in table.ranks.iter().enumerate() {
        for b in &table.ranks[i + 1..] {
            let same_server = a.server == b.server;
            let same_device = same_server && a.device == b.device;
            if same_device {
                assert!(a.device_port.is_some() && b.device_port.is_some());
                assert_ne!(a.device_port, b.device_port);
            } else {
                assert!(a.device_ip.is_none() || a.device_ip != b.device_ip);
                let pod = |server: u32| table.servers[server as usize].super_pod;
                if same_server || (pod(a.server).is_some() && pod(a.server) == pod(b.server)) {
                    assert!(a.super_device_id.is_none() || a.super_device_id != b.super_device_id);
                }
            }
            if same_server {
                assert!(a.host_port.is_none() || a.host_port != b.host_port);
                assert!(a.local_id.is_none() || a.local_id != b.local_id);
            }
            for (one, other) in [(a, b), (b, a)] {
                let main = (one.device_ip, Some(one.device_port.unwrap_or(16666)));
                let backup = (other.backup_device_ip, other.backup_device_port);
                assert!(main.0.is_none() || main != backup);
            }
        }
    }
}

fn check_levels(rank: &Rank, server: &str) {
    assert!(rank.levels.len() <= 8);
    assert!(rank.levels.windows(2).all(|pair| pair[0].layer < pair[1].layer));
    for (index, level) in rank.levels.iter().enumerate() {
        assert!(level.layer <= 7 && (index == 0) == (level.layer == 0));
        assert!(index > 0 || (level.instance == server && level.net_type == NetType::TopoFileDesc));
        assert!((1..=1024).contains(&level.instance.chars().count()));
        assert!((1..=24).contains(&level.addresses.len()));
        let mut owners = BTreeMap::new();
        for (index, address) in level.addresses.iter().enumerate() {
            assert!(address.ports.len() <= 16);
            let text = address.address.as_str();
            match address.kind {
                AddressKind::Eid => {
                    assert!(text.len() == 32 && u128::from_str_radix(text, 16).is_ok());
                    assert!(!text.starts_with('+'));
                }
                AddressKind::Ipv4 => assert!(text.split('.').count() == 4),
                AddressKind::Ipv6 => assert!(text.contains(':')),
            }
            for port in address.ports.iter().filter(|port| *port != "d2h") {
                let (die, port_of_die) = port.split_once('/').expect("a slash");
                assert!(die.parse::<u32>().is_ok() && port_of_die.parse::<u32>().is_ok());
                assert_eq!(*owners.entry(port).or_insert(index), index);
            }
        }
    }
}

/// Are these the numbers from 0 on, each in one run, in rising order?
fn in_one_piece(numbers: &[u32], count: usize) {
    let mut runs = numbers.to_vec();
    runs.dedup();
    assert_eq!(runs, (0..count as u32).collect::<Vec<_>>());
}
