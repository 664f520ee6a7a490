//! The oldest form, without a version: groups of instances with their devices. All groups are one
//! communicator, and ranks are numbered as devices appear.

use std::collections::{BTreeMap, BTreeSet};

use super::servers::{DEVICE_MAX, SERVER_ID_CHARS};
use super::{Found, FoundRank, RANKS_MAX, Rank, Server, check_count, check_room};
use crate::error::RankTableError;
use crate::node::Node;

pub(super) fn read(root: &Node<'_>) -> Result<Found, RankTableError> {
    let list = root.need("group_list")?;
    let groups = list.items(1..=RANKS_MAX as usize)?;
    check_count(&root.need("group_count")?, "group_list", groups.len())?;

    let mut found = Found {
        ranks: Vec::new(),
        servers: Vec::new(),
        in_pods: Vec::new(),
        super_pods: Vec::new(),
    };
    let mut by_id = BTreeMap::new();
    let mut pods = BTreeSet::new();
    for group in groups {
        let before = found.ranks.len();
        let list = group.need("instance_list")?;
        let instances = list.items(1..=RANKS_MAX as usize)?;
        check_count(&group.need("instance_count")?, "instance_list", instances.len())?;
        for instance in instances {
            let pod = instance.need("pod_name")?;
            if !pods.insert(pod.text(1..=usize::MAX)?) {
                return Err(pod.bad("unlike that of every other instance"));
            }
            // Several instances may be on one server.
            let id = instance.need("server_id")?.text(1..=SERVER_ID_CHARS)?;
            let server = *by_id.entry(id.clone()).or_insert_with(|| {
                found.servers.push(Server { id, host_ip: None, super_pod: None });
                found.servers.len() as u32 - 1
            });
            for device in instance.need("devices")?.items(1..=RANKS_MAX as usize)? {
                check_room(found.ranks.len(), &device)?;
                let rank = Rank {
                    server,
                    device: device.need("device_id")?.whole(0..=DEVICE_MAX)? as u32,
                    device_ip: Some(device.need("device_ip")?.ip()?),
                    ..Rank::default()
                };
                found.ranks.push(FoundRank {
                    id: found.ranks.len() as u32,
                    way: device.way(),
                    rank,
                });
            }
        }
        let devices = found.ranks.len() - before;
        check_count(&group.need("device_count")?, "all devices of the group", devices)?;
    }
    found.in_pods = vec![None; found.servers.len()];
    Ok(found)
}
