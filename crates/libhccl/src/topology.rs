//! Where the ranks of a communicator are, in a topology of the devices of this host.

use hccl::Topology;

use crate::runtime::log_line;

/// The topology of ranks on these devices. `None` where nothing was said, where a rank's device is
/// none of the topology, or where ranks of one group do not follow each other.
pub(crate) fn of_devices(devices: Option<&Topology>, of_rank: &[i32]) -> Option<Topology> {
    let devices = devices?;
    let found = restrict(devices, of_rank);
    if found.is_none() {
        log_line!(
            Warning,
            "topology",
            "SOFTNPU_TOPOLOGY {devices} does not act on a communicator of devices {of_rank:?}: \
             each must be one of its {}, and those of a server must follow each other",
            devices.ranks()
        );
    }
    found
}

/// The topology of some ranks of a communicator. `None` where ranks of one group do not follow each
/// other: then they are taken as ranks without groups.
pub(crate) fn of_ranks(parent: &Topology, ranks: &[u32]) -> Option<Topology> {
    let ranks: Vec<i32> = ranks.iter().map(|&rank| rank.cast_signed()).collect();
    restrict(parent, &ranks)
}

fn restrict(devices: &Topology, of_rank: &[i32]) -> Option<Topology> {
    // Members of the tier before: ranks first, then servers, then superpods. Each is known by one
    // of its devices.
    let mut members: Vec<u32> = Vec::with_capacity(of_rank.len());
    for device in of_rank {
        members.push(u32::try_from(*device).ok().filter(|device| *device < devices.ranks())?);
    }
    let mut groups = Vec::new();
    for tier in 0..devices.groups.len() {
        let mut sizes: Vec<u32> = Vec::new();
        let mut seen: Vec<u32> = Vec::new();
        let mut next = Vec::new();
        for device in members {
            let (group, _) = devices.place(tier, device)?;
            if seen.last() == Some(&group) {
                *sizes.last_mut()? += 1;
                continue;
            }
            if seen.contains(&group) {
                return None;
            }
            seen.push(group);
            sizes.push(1);
            next.push(device);
        }
        groups.push(sizes);
        members = next;
    }
    Some(Topology { groups, links: devices.links.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_grouped_as_their_devices_are() {
        let of = |text: &str, ranks: &[i32]| {
            restrict(&text.parse().unwrap(), ranks).map(|topology| topology.groups)
        };
        let all: Vec<i32> = (0..8).collect();
        assert_eq!(of("4x2", &all), Some(vec![vec![4, 4], vec![2]]));
        assert_eq!(of("4x2", &[4, 5, 0, 1]), Some(vec![vec![2, 2], vec![2]]));
        assert_eq!(of("4x2", &[0, 1, 2, 4]), Some(vec![vec![3, 1], vec![2]]));
        let uneven = vec![vec![2, 1, 2, 1], vec![2, 2], vec![2]];
        assert_eq!(of("2x2x2", &[0, 1, 2, 4, 5, 6]), Some(uneven));
        assert_eq!(of("4x2", &[0, 4, 1, 5]), None);
        assert_eq!(of("4x2", &[0, 8]), None);
        assert_eq!(of("4x2", &[-1]), None);
    }
}
