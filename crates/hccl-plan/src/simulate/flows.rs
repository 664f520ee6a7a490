//! Transfers under way, and how they share ports.
//!
//! A flow passes one port or two: the link of a pair, or the ports of the sender and of the
//! receiver into a tier, or the copy engine of a rank. It gets the smaller of its equal shares there.
//! What one end leaves over is not given to others; so only the flows of a port where one begins
//! or ends change, and a port is looked at once for all that happens at one time.

use super::path::Node;

/// No flow, no port.
const NONE: u32 = u32::MAX;

/// Who waits for a flow, and since when it is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) rank: u32,
    pub(super) message: u32,
    pub(super) bytes: u64,
    /// When it was asked for.
    pub(super) from_ps: u64,
    /// What was the last thing before.
    pub(super) after: Node,
}

struct Flow {
    owner: Owner,
    ports: [u32; 2],
    /// Neighbours among the flows of each port.
    next: [u32; 2],
    previous: [u32; 2],
    /// Bytes that were left at `since_ps`.
    left: f64,
    /// Bytes a picosecond.
    rate: f64,
    since_ps: u64,
    /// Which of its announced ends is the valid one.
    stamp: u32,
}

#[derive(Clone, Copy)]
struct Port {
    /// Bytes a picosecond.
    capacity: f64,
    count: u32,
    first: u32,
    is_stale: bool,
}

/// An end that was announced: it holds if nothing changes until then.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    flow: u32,
    stamp: u32,
}

pub(super) struct Flows {
    flows: Vec<Flow>,
    free: Vec<u32>,
    ports: Vec<Port>,
    stale: Vec<u32>,
}

impl Flows {
    pub(super) fn new(capacities: impl Iterator<Item = f64>) -> Self {
        let port = |capacity| Port { capacity, count: 0, first: NONE, is_stale: false };
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            ports: capacities.map(port).collect(),
            stale: Vec::new(),
        }
    }

    /// Begins a flow. It moves when [`Self::share`] has been called.
    pub(super) fn begin(&mut self, owner: Owner, ports: (u32, Option<u32>), now_ps: u64) {
        let id = self.free.pop().unwrap_or(self.flows.len() as u32);
        let mut flow = Flow {
            owner,
            ports: [ports.0, ports.1.unwrap_or(NONE)],
            next: [NONE; 2],
            previous: [NONE; 2],
            left: owner.bytes as f64,
            rate: 0.0,
            since_ps: now_ps,
            stamp: self.flows.get(id as usize).map_or(0, |flow| flow.stamp.wrapping_add(1)),
        };
        for side in 0..2 {
            if flow.ports[side] != NONE {
                let port = flow.ports[side];
                flow.next[side] = self.ports[port as usize].first;
                self.touch(port);
            }
        }
        let next = flow.next;
        let ports = flow.ports;
        if id as usize == self.flows.len() {
            self.flows.push(flow);
        } else {
            self.flows[id as usize] = flow;
        }
        for side in 0..2 {
            if ports[side] == NONE {
                continue;
            }
            let port = &mut self.ports[ports[side] as usize];
            port.first = id;
            port.count += 1;
            if next[side] != NONE {
                let after = self.side_of(next[side], ports[side]);
                self.flows[next[side] as usize].previous[after] = id;
            }
        }
    }

    /// Ends a flow whose announced end has come, and gives who waits for it; nothing if that end
    /// was called off.
    pub(super) fn end(&mut self, end: End) -> Option<Owner> {
        let flow = self.flows.get_mut(end.flow as usize).filter(|flow| flow.stamp == end.stamp)?;
        flow.stamp = flow.stamp.wrapping_add(1);
        let (owner, ports, next, previous) = (flow.owner, flow.ports, flow.next, flow.previous);
        for side in 0..2 {
            if ports[side] == NONE {
                continue;
            }
            if previous[side] == NONE {
                self.ports[ports[side] as usize].first = next[side];
            } else {
                let before = self.side_of(previous[side], ports[side]);
                self.flows[previous[side] as usize].next[before] = next[side];
            }
            if next[side] != NONE {
                let after = self.side_of(next[side], ports[side]);
                self.flows[next[side] as usize].previous[after] = previous[side];
            }
            self.ports[ports[side] as usize].count -= 1;
            self.touch(ports[side]);
        }
        self.free.push(end.flow);
        Some(owner)
    }

    /// Shares the ports anew where flows have begun or ended, and announces the ends of the flows
    /// that this changes.
    pub(super) fn share(&mut self, now_ps: u64, mut announce: impl FnMut(u64, End)) {
        for port in std::mem::take(&mut self.stale) {
            self.ports[port as usize].is_stale = false;
            let mut id = self.ports[port as usize].first;
            while id != NONE {
                let next = self.flows[id as usize].next[self.side_of(id, port)];
                self.share_one(id, now_ps, &mut announce);
                id = next;
            }
        }
    }

    fn share_one(&mut self, id: u32, now_ps: u64, announce: &mut impl FnMut(u64, End)) {
        let flow = &mut self.flows[id as usize];
        let rate = flow
            .ports
            .iter()
            .filter(|port| **port != NONE)
            .map(|port| {
                let port = &self.ports[*port as usize];
                port.capacity / f64::from(port.count.max(1))
            })
            .fold(f64::INFINITY, f64::min);
        if rate == flow.rate {
            return;
        }
        flow.left = (flow.left - flow.rate * (now_ps - flow.since_ps) as f64).max(0.0);
        flow.since_ps = now_ps;
        flow.rate = rate;
        flow.stamp = flow.stamp.wrapping_add(1);
        // A cast of too large a number gives the largest, which is past the end of all time.
        let lasts_ps = (flow.left / rate).ceil().max(1.0) as u64;
        announce(now_ps.saturating_add(lasts_ps), End { flow: id, stamp: flow.stamp });
    }

    fn touch(&mut self, port: u32) {
        if !std::mem::replace(&mut self.ports[port as usize].is_stale, true) {
            self.stale.push(port);
        }
    }

    /// Which of the ports of a flow this is.
    fn side_of(&self, flow: u32, port: u32) -> usize {
        usize::from(self.flows[flow as usize].ports[0] != port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A flow of the oracle: begin, bytes, ports.
    type Wish = (u64, u64, (u32, Option<u32>));

    /// When each flow ends, by going from event to event and looking at all flows each time.
    fn plainly(capacities: &[f64], wishes: &[Wish]) -> Vec<f64> {
        let mut left: Vec<f64> = wishes.iter().map(|wish| wish.1 as f64).collect();
        let mut ends = vec![f64::NAN; wishes.len()];
        let mut now = 0.0;
        while ends.iter().any(|end| end.is_nan()) {
            let active = |i: usize| wishes[i].0 as f64 <= now && ends[i].is_nan();
            let ports = |i: usize| [Some(wishes[i].2.0), wishes[i].2.1].into_iter().flatten();
            let rate = |i: usize| {
                let share = |port: u32| {
                    let on_port =
                        (0..wishes.len()).filter(|&j| active(j) && ports(j).any(|p| p == port));
                    capacities[port as usize] / on_port.count() as f64
                };
                ports(i).map(share).fold(f64::INFINITY, f64::min)
            };
            let rates: Vec<f64> =
                (0..wishes.len()).map(|i| if active(i) { rate(i) } else { 0.0 }).collect();
            let begins = wishes.iter().map(|wish| wish.0 as f64).filter(|begin| *begin > now);
            let over = (0..wishes.len()).filter(|&i| active(i)).map(|i| now + left[i] / rates[i]);
            let next = begins.chain(over).fold(f64::INFINITY, f64::min);
            for i in (0..wishes.len()).filter(|&i| rates[i] > 0.0) {
                left[i] -= rates[i] * (next - now);
                if left[i] < 1e-6 {
                    ends[i] = next;
                }
            }
            now = next;
        }
        ends
    }

    fn simulated(capacities: &[f64], wishes: &[Wish]) -> Vec<u64> {
        let mut flows = Flows::new(capacities.iter().copied());
        let mut agenda = super::super::agenda::Agenda::new();
        for (index, wish) in wishes.iter().enumerate() {
            agenda.push(wish.0, Err(index));
        }
        let mut ends = vec![0; wishes.len()];
        while let Some(now_ps) = agenda.next_ps() {
            for event in agenda.take() {
                match event {
                    Err(index) => {
                        let owner = Owner {
                            rank: 0,
                            message: index as u32,
                            bytes: wishes[index].1,
                            from_ps: 0,
                            after: Node::START,
                        };
                        flows.begin(owner, wishes[index].2, now_ps);
                    }
                    Ok(end) => {
                        if let Some(owner) = flows.end(end) {
                            ends[owner.message as usize] = now_ps;
                        }
                    }
                }
            }
            flows.share(now_ps, |at_ps, end| agenda.push(at_ps, Ok(end)));
        }
        ends
    }

    proptest! {
        #[test]
        fn ports_are_shared_as_in_a_plain_run(
            capacities in prop::collection::vec(1u32..9, 4),
            wishes in prop::collection::vec(
                (0u64..4, 1u64..50, 0u32..4, prop::option::of(0u32..4)), 1..14),
        ) {
            let capacities: Vec<f64> = capacities.iter().map(|&c| f64::from(c) / 1e4).collect();
            let wishes: Vec<Wish> = wishes
                .iter()
                .map(|&(begin, bytes, a, b)| (begin * 20_000, bytes, (a, b.filter(|b| *b != a))))
                .collect();
            let (found, expected) = (simulated(&capacities, &wishes), plainly(&capacities, &wishes));
            for (found, expected) in found.iter().zip(expected) {
                // Ends are rounded up to a picosecond, each a little later than the one before.
                prop_assert!((*found as f64 - expected).abs() < 40.0, "{found} {expected}");
            }
        }
    }

    #[test]
    fn two_flows_on_a_port_take_twice_as_long() {
        let ends = simulated(&[0.5, 1.0], &[(0, 100, (0, None)), (0, 100, (1, None))]);
        assert_eq!(ends, [200, 100]);
        let ends = simulated(&[0.5, 1.0], &[(0, 100, (0, Some(1))), (0, 100, (0, None))]);
        assert_eq!(ends, [400, 400]);
        // One that comes when the other is half through: 100 alone, 100 shared, 50 alone.
        let ends = simulated(&[0.5], &[(0, 100, (0, None)), (100, 75, (0, None))]);
        assert_eq!(ends, [300, 350]);
    }
}
