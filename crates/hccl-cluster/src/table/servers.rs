//! Versions 1.0 and 1.2: a list of servers with their devices, and in 1.2 one of superpods.
//!
//! What a version does not know is not looked at: a 1.0 table may have superpods and means none.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Found, FoundRank, RANKS_MAX, Rank, Server, Version};
use super::{address, check_count, check_room, port};
use crate::error::RankTableError;
use crate::node::{Node, shown};

/// The longest name of a server.
pub(super) const SERVER_ID_CHARS: usize = 64;

/// Devices are counted with 32 bits and a sign.
pub(super) const DEVICE_MAX: u64 = i32::MAX as u64;

pub(super) fn read(root: &Node<'_>, version: Version) -> Result<Found, RankTableError> {
    let list = root.need("server_list")?;
    let nodes = list.items(1..=RANKS_MAX as usize)?;
    let count = nodes.len();
    match root.find("server_count")? {
        Some(node) => check_count(&node, "server_list", count)?,
        None if version == Version::V1_2 => {}
        None => return Err(root.missing("server_count")),
    }

    let mut found = Found {
        ranks: Vec::new(),
        servers: Vec::with_capacity(count),
        in_pods: vec![None; count],
        super_pods: Vec::new(),
    };
    let mut by_id = BTreeMap::new();
    for node in nodes {
        let id_node = node.need("server_id")?;
        let id = id_node.text(1..=SERVER_ID_CHARS)?;
        if let Some(other) = by_id.insert(id.clone(), found.servers.len()) {
            return Err(id_node.bad(format!("unlike that of server_list[{other}]")));
        }
        let host_ip = match address(&node, "host_ip")? {
            None => None,
            Some(IpAddr::V4(ip)) => Some(ip),
            Some(IpAddr::V6(_)) => return Err(node.need("host_ip")?.bad("an IPv4 address")),
        };
        found.servers.push(Server { id, host_ip, super_pod: None });
    }

    // Superpods before ranks, since their number says whether addresses are required.
    if version == Version::V1_2
        && let Some(pods) = root.find("super_pod_list")?
    {
        read_pods(&pods, &by_id, &list, &mut found)?;
    }
    let required = match version {
        Version::V1_2 => found.super_pods.len() > 1,
        _ => count > 1,
    };
    for (server, node) in list.items(0..=usize::MAX)?.enumerate() {
        for device in node.need("device")?.items(1..=RANKS_MAX as usize)? {
            check_room(found.ranks.len(), &device)?;
            found.ranks.push(read_device(&device, version, server as u32, required)?);
        }
    }
    check_super_devices(&mut found)?;
    Ok(found)
}

fn read_device(
    node: &Node<'_>,
    version: Version,
    server: u32,
    ip_required: bool,
) -> Result<FoundRank, RankTableError> {
    let id = node.need("rank_id")?.rank_id(u32::MAX)?;
    let mut rank = Rank {
        server,
        device: node.need("device_id")?.whole(0..=DEVICE_MAX)? as u32,
        device_ip: address(node, "device_ip")?,
        device_port: port(node, "device_port")?,
        host_port: port(node, "host_port")?,
        ..Rank::default()
    };
    if ip_required && rank.device_ip.is_none() {
        // An empty text is no address, and a key that is not there is another fault.
        rank.device_ip = Some(node.need("device_ip")?.ip()?);
    }
    if version == Version::V1_2 {
        rank.backup_device_ip = address(node, "backup_device_ip")?;
        rank.backup_device_port = port(node, "backup_device_port")?;
        let super_device = node.find("super_device_id")?;
        rank.super_device_id = super_device.map(|id| id.text(1..=usize::MAX)).transpose()?;
    }
    Ok(FoundRank { id, way: node.way(), rank })
}

/// Reads which superpod each server is in.
fn read_pods(
    pods: &Node<'_>,
    by_id: &BTreeMap<String, usize>,
    servers: &Node<'_>,
    found: &mut Found,
) -> Result<(), RankTableError> {
    let mut seen = BTreeMap::new();
    for (index, pod) in pods.items(1..=RANKS_MAX as usize)?.enumerate() {
        let id_node = pod.need("super_pod_id")?;
        let id = id_node.text(1..=usize::MAX)?;
        if let Some(other) = seen.insert(id.clone(), index) {
            return Err(id_node.bad(format!("unlike that of super_pod_list[{other}]")));
        }
        found.super_pods.push(id);
        for entry in pod.need("server_list")?.items(1..=RANKS_MAX as usize)? {
            let id_node = entry.need("server_id")?;
            let id = id_node.text(1..=SERVER_ID_CHARS)?;
            let Some(&server) = by_id.get(&id) else {
                return Err(id_node.bad("the server_id of an entry of server_list"));
            };
            if let Some(before) = found.in_pods[server].replace(id_node.way()) {
                return Err(id_node.bad(format!("in one superpod once, and {before} has it too")));
            }
            found.servers[server].super_pod = Some(index as u32);
        }
    }
    for (node, server) in servers.items(0..=usize::MAX)?.zip(&found.servers) {
        if server.super_pod.is_none() {
            return Err(node.need("server_id")?.bad("in a superpod of super_pod_list"));
        }
    }
    Ok(())
}

/// Superpods act only where devices say who they are there: all of them, or none.
fn check_super_devices(found: &mut Found) -> Result<(), RankTableError> {
    let named = |found: &FoundRank| found.rank.super_device_id.is_some();
    if !found.ranks.iter().any(named) {
        found.super_pods.clear();
        found.servers.iter_mut().for_each(|server| server.super_pod = None);
        return Ok(());
    }
    if let Some(without) = found.ranks.iter().find(|found| !named(found)) {
        let key = format!("{}.super_device_id", without.way);
        return Err(RankTableError::MissingKey { key });
    }
    // Ranks that share a device share its name; these are told apart by port, see `finish`.
    let mut seen: BTreeMap<_, &FoundRank> = BTreeMap::new();
    for this in &found.ranks {
        let (server, device) = (this.rank.server, this.rank.device);
        // Without superpods nothing is known but that the devices of one server are in one.
        let pod = found.servers[server as usize].super_pod;
        let scope = (pod, if pod.is_none() { server } else { 0 });
        let Some(id) = &this.rank.super_device_id else { continue };
        let Some(other) = seen.insert((scope, id.as_str()), this) else { continue };
        if (other.rank.server, other.rank.device) != (server, device) {
            let name = pod.map_or("", |pod| &found.super_pods[pod as usize]);
            return Err(RankTableError::BadValue {
                variable: format!("{}.super_device_id", this.way),
                value: shown(id),
                expect: format!(
                    "unlike that of {} in the same superpod [{}]: ranks {} and {}",
                    other.way,
                    shown(name),
                    other.id,
                    this.id
                ),
            });
        }
    }
    Ok(())
}
