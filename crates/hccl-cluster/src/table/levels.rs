//! Version 2.0: a list of ranks, each with the networks that it is in.
//!
//! There are no servers in it by name: ranks of one instance of layer 0 are on one server.

use std::collections::BTreeMap;

use super::{Address, AddressKind, Found, FoundRank, Level, NetType, RANKS_MAX, Rank, Server};
use super::{check_count, port};
use crate::error::RankTableError;
use crate::node::Node;

type Result<T> = std::result::Result<T, RankTableError>;

const LOCAL_MAX: u64 = 64;
const LEVELS_MAX: usize = 8;
const LAYER_MAX: u64 = 7;
const INSTANCE_CHARS: usize = 1024;
const ADDRESSES_MAX: usize = 24;
const ADDRESS_CHARS: usize = 256;
const PORTS_MAX: usize = 16;

/// A port of a network card of the host, which may have several addresses.
const HOST_CARD: &str = "d2h";

pub(super) fn read(root: &Node<'_>) -> Result<Found> {
    let list = root.need("rank_list")?;
    let nodes = list.items(1..=RANKS_MAX as usize)?;
    check_count(&root.need("rank_count")?, "rank_list", nodes.len())?;

    let mut ranks = Vec::with_capacity(nodes.len());
    let mut servers: Vec<Server> = Vec::new();
    let mut by_id = BTreeMap::new();
    for node in nodes {
        let id = node.need("rank_id")?.rank_id(u32::MAX)?;
        let local = node.need("local_id")?.whole(0..=LOCAL_MAX)? as u32;
        let device = node.need("device_id")?.whole(0..=LOCAL_MAX)? as u32;
        let levels = read_levels(&node.need("level_list")?)?;
        // `read_levels` lets no empty list pass.
        let Some(first) = levels.first() else { return Err(node.missing("level_list")) };
        let server = *by_id.entry(first.instance.clone()).or_insert_with(|| {
            servers.push(Server { id: first.instance.clone(), host_ip: None, super_pod: None });
            servers.len() as u32 - 1
        });
        let rank = Rank {
            server,
            device,
            device_port: port(&node, "device_port")?,
            host_port: port(&node, "host_port")?,
            local_id: Some(local),
            levels,
            ..Rank::default()
        };
        ranks.push(FoundRank { id, way: node.way(), rank });
    }
    let in_pods = vec![None; servers.len()];
    Ok(Found { ranks, servers, in_pods, super_pods: Vec::new() })
}

/// Layers go up from 0; some may be left out.
fn read_levels(list: &Node<'_>) -> Result<Vec<Level>> {
    let mut levels: Vec<Level> = Vec::new();
    for node in list.items(1..=LEVELS_MAX)? {
        let layer_node = node.need("net_layer")?;
        let layer = layer_node.whole(0..=LAYER_MAX)? as u8;
        match levels.last() {
            None if layer != 0 => return Err(layer_node.bad("0, since layers begin there")),
            Some(before) if before.layer >= layer => {
                return Err(layer_node.bad(format!("more than {}, the one before", before.layer)));
            }
            _ => {}
        }
        let topo = ("TOPO_FILE_DESC", NetType::TopoFileDesc);
        let types: &[_] = if layer == 0 { &[topo] } else { &[("CLOS", NetType::Clos), topo] };
        levels.push(Level {
            layer,
            instance: node.need("net_instance_id")?.text(1..=INSTANCE_CHARS)?,
            net_type: node.need("net_type")?.word(types)?,
            addresses: read_addresses(&node.need("rank_addr_list")?)?,
        });
    }
    Ok(levels)
}

/// The addresses of a rank in one layer. A port of a die belongs to one of them.
fn read_addresses(list: &Node<'_>) -> Result<Vec<Address>> {
    let mut addresses = Vec::new();
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    for (index, node) in list.items(1..=ADDRESSES_MAX)?.enumerate() {
        let kinds =
            [("EID", AddressKind::Eid), ("IPV4", AddressKind::Ipv4), ("IPV6", AddressKind::Ipv6)];
        let kind = node.need("addr_type")?.word(&kinds)?;
        let mut ports = Vec::new();
        for port_node in node.need("ports")?.items(0..=PORTS_MAX)? {
            let port = port_node.text(1..=usize::MAX)?;
            if port != HOST_CARD {
                if !is_port(&port) {
                    return Err(port_node.bad("<die>/<port>, or d2h"));
                }
                let owner = *owners.entry(port.clone()).or_insert(index);
                if owner != index {
                    let expect = format!("of one address, and {}[{owner}] has it too", list.way());
                    return Err(port_node.bad(expect));
                }
            }
            ports.push(port);
        }
        let plane = node.find("plane_id")?.map(|plane| plane.text(1..=usize::MAX)).transpose()?;
        addresses.push(Address {
            kind,
            address: read_address(&node.need("addr")?, kind)?,
            ports,
            plane: plane.unwrap_or_else(|| "0".to_owned()),
        });
    }
    Ok(addresses)
}

fn read_address(node: &Node<'_>, kind: AddressKind) -> Result<String> {
    let address = node.text(1..=ADDRESS_CHARS)?;
    let (fits, expect) = match kind {
        AddressKind::Eid => {
            let digits = address.bytes().all(|byte| byte.is_ascii_hexdigit());
            (digits && address.len() == 32, "32 hexadecimal digits")
        }
        AddressKind::Ipv4 => (address.parse::<std::net::Ipv4Addr>().is_ok(), "an IPv4 address"),
        AddressKind::Ipv6 => (address.parse::<std::net::Ipv6Addr>().is_ok(), "an IPv6 address"),
    };
    if fits { Ok(address) } else { Err(node.bad(expect)) }
}

/// A die and a port of it, both as numbers.
fn is_port(text: &str) -> bool {
    let number = |part: &str| {
        !part.is_empty() && part.len() <= 5 && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.split_once('/').is_some_and(|(die, port)| number(die) && number(port))
}
