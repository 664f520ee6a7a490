//! A digest of what a table says, by which ranks that were given the same table find each other.

use std::net::IpAddr;

use super::{Address, AddressKind, Level, NetType, Rank, RankTable, Server, Version};

impl RankTable {
    /// A digest of what the table says: the same for any blanks, any order of keys and any order
    /// of servers and ranks in lists, on every machine. FNV-1a with 128 bits; it tells tables
    /// apart that differ by accident, and is no defence against somebody who looks for two with
    /// the same.
    ///
    /// Every field is taken apart by name here, so that one that is added cannot be forgotten.
    pub fn digest(&self) -> [u8; 16] {
        let Self { version, ranks, servers, super_pods } = self;
        let mut fnv = Fnv::new();
        fnv.number(match version {
            Version::Groups => 0,
            Version::V1_0 => 10,
            Version::V1_2 => 12,
            Version::V2_0 => 20,
        });
        fnv.list(servers, server);
        fnv.list(super_pods, |fnv, id| fnv.text(id));
        fnv.list(ranks, rank);
        fnv.state.to_le_bytes()
    }
}

fn server(fnv: &mut Fnv, server: &Server) {
    let Server { id, host_ip, super_pod } = server;
    fnv.text(id);
    fnv.ip(host_ip.map(IpAddr::V4));
    fnv.option(super_pod.map(u64::from));
}

fn rank(fnv: &mut Fnv, rank: &Rank) {
    let Rank {
        server,
        device,
        device_ip,
        device_port,
        backup_device_ip,
        backup_device_port,
        host_port,
        super_device_id,
        local_id,
        levels,
    } = rank;
    fnv.number(u64::from(*server));
    fnv.number(u64::from(*device));
    fnv.ip(*device_ip);
    fnv.option(device_port.map(u64::from));
    fnv.ip(*backup_device_ip);
    fnv.option(backup_device_port.map(u64::from));
    fnv.option(host_port.map(u64::from));
    fnv.list(super_device_id.as_slice(), |fnv, id| fnv.text(id));
    fnv.option(local_id.map(u64::from));
    fnv.list(levels, level);
}

fn level(fnv: &mut Fnv, level: &Level) {
    let Level { layer, instance, net_type, addresses } = level;
    fnv.number(u64::from(*layer));
    fnv.text(instance);
    fnv.number(match net_type {
        NetType::TopoFileDesc => 0,
        NetType::Clos => 1,
    });
    fnv.list(addresses, address);
}

fn address(fnv: &mut Fnv, address: &Address) {
    let Address { kind, address, ports, plane } = address;
    fnv.number(match kind {
        AddressKind::Eid => 0,
        AddressKind::Ipv4 => 4,
        AddressKind::Ipv6 => 6,
    });
    fnv.text(address);
    fnv.list(ports, |fnv, port| fnv.text(port));
    fnv.text(plane);
}

/// FNV-1a. Everything of no fixed length has its length before it, so that no two sequences of
/// values give the same bytes.
struct Fnv {
    state: u128,
}

impl Fnv {
    /// The offset and the prime that the authors of the function chose for 128 bits.
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = (1 << 88) + 0x13b;

    fn new() -> Self {
        Self { state: Self::OFFSET }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.state = (self.state ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    fn number(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn option(&mut self, value: Option<u64>) {
        self.list(value.as_slice(), |fnv, value| fnv.number(*value));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    fn ip(&mut self, ip: Option<IpAddr>) {
        match ip {
            None => self.number(0),
            Some(IpAddr::V4(ip)) => {
                self.number(4);
                self.bytes(&ip.octets());
            }
            Some(IpAddr::V6(ip)) => {
                self.number(6);
                self.bytes(&ip.octets());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_the_published_one() {
        let mut fnv = Fnv::new();
        fnv.bytes(b"a");
        assert_eq!(fnv.state, 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
