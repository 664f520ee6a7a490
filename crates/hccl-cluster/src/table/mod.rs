//! What a rank table says, whichever version it is written in.
//!
//! A table goes three ways: one of the readers (`servers`, `groups`, `levels`) takes what its
//! version writes, `finish` puts the ranks in order and checks what concerns several of them, and
//! the result is a [`RankTable`] that holds all it promises.

mod digest;
mod finish;
mod groups;
mod levels;
mod servers;
mod tiers;

use std::net::{IpAddr, Ipv4Addr};

use crate::error::RankTableError;
use crate::json::Json;
use crate::node::Node;

/// The most ranks that a table may have.
pub const RANKS_MAX: u32 = 65536;

/// The most bytes that the text of a table may have.
pub const TEXT_MAX: u64 = 1 << 30;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Groups of instances, without a key `version`: the oldest form.
    Groups,
    /// Version 1.0: servers with their devices.
    V1_0,
    /// Version 1.2: servers with their devices, and superpods of servers.
    V1_2,
    /// Version 2.0: ranks with their networks, layer by layer.
    V2_0,
}

/// What a rank table says.
///
/// Ranks are numbered from 0 without gaps; those of one server follow each other, and so do the
/// servers of one superpod. No two ranks share a device unless they have ports of their own there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankTable {
    /// How it was written.
    pub version: Version,
    /// The ranks, by their ids.
    pub ranks: Vec<Rank>,
    /// The servers, in the order in which ranks name them.
    pub servers: Vec<Server>,
    /// The ids of the superpods, in the order in which ranks are in them. None if the table has
    /// no list of them or the devices have no `super_device_id`: then servers stand alone.
    pub super_pods: Vec<String>,
}

/// A rank of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rank {
    /// Its server, as an index.
    pub server: u32,
    /// The physical id of its device.
    pub device: u32,
    /// The address of the device's own network card.
    pub device_ip: Option<IpAddr>,
    /// The port of the device's sockets.
    pub device_port: Option<u16>,
    /// The network card of the other die of the same NPU.
    pub backup_device_ip: Option<IpAddr>,
    /// The port to use there.
    pub backup_device_port: Option<u16>,
    /// The port of the sockets of its host.
    pub host_port: Option<u16>,
    /// Which device of the superpod it is.
    pub super_device_id: Option<String>,
    /// Version 2.0: its place in the topology of its server.
    pub local_id: Option<u32>,
    /// Version 2.0: its networks, innermost first, the first of layer 0.
    pub levels: Vec<Level>,
}

/// A server of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// Its name. In version 2.0 that is its instance of layer 0.
    pub id: String,
    /// The address of the host.
    pub host_ip: Option<Ipv4Addr>,
    /// Its superpod, as an index.
    pub super_pod: Option<u32>,
}

/// A network that a rank is in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The layer, 0 to 7.
    pub layer: u8,
    /// Ranks with the same instance are in the same network.
    pub instance: String,
    /// What describes the network.
    pub net_type: NetType,
    /// The addresses of the rank there.
    pub addresses: Vec<Address>,
}

/// What describes a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetType {
    /// The topology file of the server.
    TopoFileDesc,
    /// Nothing: all reach all through switches.
    Clos,
}

/// An address of a rank in a network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// What kind of address it is.
    pub kind: AddressKind,
    /// The address, as written.
    pub address: String,
    /// The ports behind it: `<die>/<port>`, or `d2h` for a network card of the host.
    pub ports: Vec<String>,
    /// The plane that it belongs to.
    pub plane: String,
}

/// Kinds of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// 32 hexadecimal digits.
    Eid,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
}

impl RankTable {
    /// Reads a table of any version.
    ///
    /// An address that is an empty text, and any value that is null, counts as not given.
    ///
    /// # Errors
    /// The first fault that is found, with the key that it is about.
    pub fn parse(text: &str) -> Result<Self, RankTableError> {
        let bytes = text.len() as u64;
        if bytes > TEXT_MAX {
            return Err(RankTableError::TooLong { bytes, limit: TEXT_MAX });
        }
        // Some editors begin a file with a mark of its byte order, which says nothing here.
        let json = Json::parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
        let root = Node::root(&json);
        let version = version(&root)?;
        check_status(&root, version)?;
        let found = match version {
            Version::Groups => groups::read(&root)?,
            Version::V1_0 | Version::V1_2 => servers::read(&root, version)?,
            Version::V2_0 => levels::read(&root)?,
        };
        finish::finish(version, found)
    }
}

/// Tables of the oldest form have no version. Elsewhere it is a text; the number with the same
/// digits is taken too.
fn version(root: &Node<'_>) -> Result<Version, RankTableError> {
    let Some(node) = root.find("version")? else {
        return match root.find("group_list")? {
            Some(_) => Ok(Version::Groups),
            None => Err(first_missing(root)),
        };
    };
    let known =
        [("1.0", 1.0, Version::V1_0), ("1.2", 1.2, Version::V1_2), ("2.0", 2.0, Version::V2_0)];
    let found = known.iter().find(|(text, number, _)| node.is(text) || node.is_number(*number));
    found.map(|(_, _, version)| *version).ok_or_else(|| node.bad("1.0, 1.2 or 2.0"))
}

/// A table that is being written may have a status and nothing else yet.
fn first_missing(root: &Node<'_>) -> RankTableError {
    match check_status(root, Version::V1_0) {
        Err(error @ RankTableError::NotReady { .. }) => error,
        _ => root.missing("version"),
    }
}

fn check_status(root: &Node<'_>, version: Version) -> Result<(), RankTableError> {
    let Some(status) = root.find("status")? else {
        return if version == Version::V2_0 { Ok(()) } else { Err(root.missing("status")) };
    };
    if status.is("initializing") {
        return Err(RankTableError::NotReady { value: status.shown() });
    }
    status.word(&[("completed", ())])
}

/// What a reader takes from a table.
struct Found {
    ranks: Vec<FoundRank>,
    servers: Vec<Server>,
    /// The way to each server's place in a list of superpods, if it has one.
    in_pods: Vec<Option<String>>,
    /// The ids of superpods, as listed.
    super_pods: Vec<String>,
}

/// A rank as found: its `server` and its server's `super_pod` count in the order of the lists.
struct FoundRank {
    id: u32,
    /// The way to the object that it was read from.
    way: String,
    rank: Rank,
}

/// Compares a count with the length of the list that it counts.
fn check_count(count: &Node<'_>, list: &'static str, length: usize) -> Result<(), RankTableError> {
    match count.whole(0..=u64::from(u32::MAX)) {
        Ok(value) if value == length as u64 => Ok(()),
        _ => Err(count.bad(format!("{length}, the number of entries of {list}"))),
    }
}

/// The fault of one rank too many.
fn check_room(ranks: usize, node: &Node<'_>) -> Result<(), RankTableError> {
    if ranks < RANKS_MAX as usize {
        return Ok(());
    }
    Err(node.bad(format!("absent: at most {RANKS_MAX} ranks are allowed")))
}

/// An address that may be left out, or left empty.
fn address(node: &Node<'_>, key: &'static str) -> Result<Option<IpAddr>, RankTableError> {
    match node.find(key)? {
        Some(ip) if !ip.is("") => ip.ip().map(Some),
        _ => Ok(None),
    }
}

fn port(node: &Node<'_>, key: &'static str) -> Result<Option<u16>, RankTableError> {
    node.find(key)?.map(|port| port.port()).transpose()
}
