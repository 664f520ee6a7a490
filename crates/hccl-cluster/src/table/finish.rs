//! What concerns several ranks at once: their order, and what no two of them may share.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{Found, FoundRank, RankTable, Server, Version};
use crate::error::RankTableError;
use crate::node::shown;

type Result<T> = std::result::Result<T, RankTableError>;

/// Where the sockets of devices listen if nobody says where.
const DEVICE_PORT_DEFAULT: u16 = 16666;

/// `AF_INET` and `AF_INET6`, as messages number them.
const FAMILIES: [u8; 2] = [2, 10];

pub(super) fn finish(version: Version, found: Found) -> Result<RankTable> {
    let Found { ranks, servers, in_pods, super_pods } = found;
    let ranks = in_order(ranks)?;
    check_devices(&ranks)?;
    check_local_ids(&ranks)?;
    check_addresses(&ranks)?;
    check_host_ports(&ranks)?;
    check_backups(&ranks)?;
    renumber(version, ranks, servers, &in_pods, super_pods)
}

/// Ranks by their ids, which must be 0 to N-1, each once.
fn in_order(mut ranks: Vec<FoundRank>) -> Result<Vec<FoundRank>> {
    let count = ranks.len();
    let mut seen: Vec<Option<usize>> = vec![None; count];
    for (index, this) in ranks.iter().enumerate() {
        let expect = match seen.get_mut(this.id as usize) {
            None => format!("a number from 0 to {}, since there are {count} ranks", count - 1),
            Some(slot) => match slot.replace(index) {
                None => continue,
                Some(other) => format!("unlike that of {}", ranks[other].way),
            },
        };
        return Err(bad(this, "rank_id", this.id, expect));
    }
    ranks.sort_unstable_by_key(|found| found.id);
    Ok(ranks)
}

/// Several ranks may share a device if each has a port of its own there.
fn check_devices(ranks: &[FoundRank]) -> Result<()> {
    let mut first: BTreeMap<(u32, u32), &FoundRank> = BTreeMap::new();
    let mut ports = BTreeSet::new();
    for this in ranks {
        let place = (this.rank.server, this.rank.device);
        let port = this.rank.device_port;
        let fresh = port.is_some_and(|port| ports.insert((place, port)));
        let Some(other) = first.get(&place) else {
            first.insert(place, this);
            continue;
        };
        if let (Some(port), false) = (port, fresh) {
            let expect = "unlike those of other ranks of the same device";
            return Err(bad(this, "device_port", port, expect.to_owned()));
        }
        if port.is_none() || other.rank.device_port.is_none() {
            let expect = format!(
                "unlike that of {} on the same server, unless each has a device_port of its own",
                other.way
            );
            return Err(bad(this, "device_id", this.rank.device, expect));
        }
    }
    Ok(())
}

fn check_local_ids(ranks: &[FoundRank]) -> Result<()> {
    let mut seen: BTreeMap<_, &FoundRank> = BTreeMap::new();
    for this in ranks {
        let Some(local) = this.rank.local_id else { continue };
        if let Some(other) = seen.insert((this.rank.server, local), this) {
            let expect = format!("unlike that of {} on the same server", other.way);
            return Err(bad(this, "local_id", local, expect));
        }
    }
    Ok(())
}

/// One device has an address, and all addresses are of one family.
fn check_addresses(ranks: &[FoundRank]) -> Result<()> {
    let mut seen: BTreeMap<IpAddr, &FoundRank> = BTreeMap::new();
    let mut others = None;
    for this in ranks {
        let Some(ip) = this.rank.device_ip else { continue };
        if let Some(other) = seen.insert(ip, this)
            && (other.rank.server, other.rank.device) != (this.rank.server, this.rank.device)
        {
            let expect = format!("unlike that of {}", other.way);
            return Err(bad(this, "device_ip", ip, expect));
        }
        let family = FAMILIES[usize::from(ip.is_ipv6())];
        let others = *others.get_or_insert(family);
        if family != others {
            let variable = format!("{}.device_ip", this.way);
            return Err(RankTableError::MixedFamilies { rank: this.id, family, others, variable });
        }
    }
    Ok(())
}

fn check_host_ports(ranks: &[FoundRank]) -> Result<()> {
    let mut seen: BTreeMap<_, &FoundRank> = BTreeMap::new();
    for this in ranks {
        let Some(port) = this.rank.host_port else { continue };
        if let Some(other) = seen.insert((this.rank.server, port), this) {
            let expect = format!("unlike that of {} on the same server", other.way);
            return Err(bad(this, "host_port", port, expect));
        }
    }
    Ok(())
}

/// The backup of one device is the card of another, which has the port of that one in use.
fn check_backups(ranks: &[FoundRank]) -> Result<()> {
    let mut main: BTreeMap<_, &FoundRank> = BTreeMap::new();
    for this in ranks {
        if let Some(ip) = this.rank.device_ip {
            main.insert((ip, this.rank.device_port.unwrap_or(DEVICE_PORT_DEFAULT)), this);
        }
    }
    for this in ranks {
        let rank = &this.rank;
        let (Some(ip), Some(port)) = (rank.backup_device_ip, rank.backup_device_port) else {
            continue;
        };
        if let Some(other) = main.get(&(ip, port)) {
            let expect = format!("unlike the port that {} uses on {ip}", other.way);
            return Err(bad(this, "backup_device_port", port, expect));
        }
    }
    Ok(())
}

/// Counts servers and superpods in the order of ranks. Each must come in one piece.
fn renumber(
    version: Version,
    found: Vec<FoundRank>,
    listed: Vec<Server>,
    in_pods: &[Option<String>],
    listed_pods: Vec<String>,
) -> Result<RankTable> {
    let mut order = Order::new(listed.len());
    let mut pod_order = Order::new(listed_pods.len());
    let mut servers: Vec<Server> = Vec::with_capacity(listed.len());
    let mut ranks = Vec::with_capacity(found.len());
    for this in found {
        let of_list = this.rank.server as usize;
        let Some(server) = order.next(of_list) else {
            let expect = format!(
                "such that ranks of one server follow each other, and server {} has ranks before \
                 rank {} of another",
                shown(&listed[of_list].id),
                this.id.saturating_sub(1)
            );
            return Err(bad(&this, "rank_id", this.id, expect));
        };
        if server as usize == servers.len() {
            let mut next = listed[of_list].clone();
            if let Some(pod) = next.super_pod {
                next.super_pod = pod_order.next(pod as usize);
                if next.super_pod.is_none() {
                    return Err(RankTableError::BadValue {
                        variable: in_pods[of_list].clone().unwrap_or_default(),
                        value: shown(&next.id),
                        expect: format!(
                            "such that servers of one superpod follow each other by rank, and \
                             rank {} on it comes after ranks of another superpod",
                            this.id
                        ),
                    });
                }
            }
            servers.push(next);
        }
        ranks.push(super::Rank { server, ..this.rank });
    }
    let super_pods = pod_order.listed.iter().map(|&pod| listed_pods[pod].clone()).collect();
    Ok(RankTable { version, ranks, servers, super_pods })
}

/// The order in which members of a list come.
struct Order {
    /// For each of the list: its place in the order, once it came.
    places: Vec<Option<u32>>,
    /// The other way round.
    listed: Vec<usize>,
}

impl Order {
    fn new(length: usize) -> Self {
        Self { places: vec![None; length], listed: Vec::new() }
    }

    /// The place of the one that comes now. None if it came before, and then others.
    fn next(&mut self, index: usize) -> Option<u32> {
        if self.listed.last() == Some(&index) {
            return self.places[index];
        }
        let place = self.listed.len() as u32;
        if self.places[index].replace(place).is_some() {
            return None;
        }
        self.listed.push(index);
        Some(place)
    }
}

fn bad(
    found: &FoundRank,
    key: &str,
    value: impl std::fmt::Display,
    expect: String,
) -> RankTableError {
    RankTableError::BadValue {
        variable: format!("{}.{key}", found.way),
        value: value.to_string(),
        expect,
    }
}
