use super::port::{Hop, Node, PortSpec};
use crate::{Rate, Time};

/// Which hosts, switches and links there are, and which ports lead where.
#[derive(Clone, Debug)]
pub struct Topology {
    hosts: u32,
    switches: u32,
    /// The first ones are the hosts' uplinks, in the order of the hosts.
    ports: Vec<PortSpec>,
    /// By switch and then destination.
    routes: Vec<Route>,
}

/// The ports of a switch that lead to a host by a shortest way: `count` from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// Racks whose switches are all connected to all spines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Racks; with one there are no spines.
    pub racks: u32,
    /// Hosts in each.
    pub hosts_per_rack: u32,
    /// Spine switches.
    pub spines: u32,
    /// Rate of the hosts' links.
    pub host_rate: Rate,
    /// Rate of each link between a rack's switch and a spine.
    pub fabric_rate: Rate,
    /// Fixed delays.
    pub delays: Delays,
}

/// What passes between the end of one transmission and the packet's place in the next queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Propagation on each link.
    pub link: Time,
    /// In each switch.
    pub switch: Time,
    /// In the sending host, its NIC included.
    pub transmit: Time,
    /// In the receiving host.
    pub receive: Time,
}

impl Delays {
    /// The Homa paper's (SIGCOMM'18 §5.2): 0.25 µs a switch; 1.5 µs for the hosts, of which 0.5 sending, 0.5 in the NIC and
    /// 0.5 receiving.
    pub const PAPER: Delays = Delays {
        link: Time::ZERO,
        switch: Time::from_nanos(250),
        transmit: Time::from_nanos(1_000),
        receive: Time::from_nanos(500),
    };
}

impl LeafSpine {
    /// The Homa paper's cluster: 9 racks of 16, 4 spines, 10 and 40 Gbit/s.
    pub fn paper() -> LeafSpine {
        LeafSpine {
            racks: 9,
            hosts_per_rack: 16,
            spines: 4,
            host_rate: Rate::from_gbits(10),
            fabric_rate: Rate::from_gbits(40),
            delays: Delays::PAPER,
        }
    }

    /// One switch and its hosts.
    pub fn one_rack(hosts: u32, host_rate: Rate, delays: Delays) -> LeafSpine {
        LeafSpine { racks: 1, hosts_per_rack: hosts, spines: 0, host_rate, fabric_rate: host_rate, delays }
    }

    /// All hosts.
    pub fn hosts(&self) -> u32 {
        self.racks * self.hosts_per_rack
    }

    /// Whether two hosts have the same switch.
    pub fn same_rack(&self, a: u32, b: u32) -> bool {
        a / self.hosts_per_rack == b / self.hosts_per_rack
    }

    /// Hosts, switches, links and routes.
    pub fn topology(&self) -> Topology {
        let (hosts, per_rack) = (self.hosts(), self.hosts_per_rack);
        let switch_delay = self.delays.link + self.delays.switch;
        let mut ports: Vec<PortSpec> = (0..hosts)
            .map(|host| PortSpec {
                to: Node::Switch(host / per_rack),
                rate: self.host_rate,
                delay: self.delays.transmit + switch_delay,
                hop: Hop::HostUp,
            })
            .collect();
        let mut routes = Vec::new();
        for rack in 0..self.racks {
            let down = ports.len() as u32;
            ports.extend((0..per_rack).map(|place| PortSpec {
                to: Node::Host(rack * per_rack + place),
                rate: self.host_rate,
                delay: self.delays.link + self.delays.receive,
                hop: Hop::HostDown,
            }));
            let up = ports.len() as u32;
            let spines = if self.racks > 1 { self.spines } else { 0 };
            ports.extend((0..spines).map(|spine| PortSpec {
                to: Node::Switch(self.racks + spine),
                rate: self.fabric_rate,
                delay: switch_delay,
                hop: Hop::RackUp,
            }));
            routes.extend((0..hosts).map(|to| match to / per_rack == rack {
                true => Route { first: down + to % per_rack, count: 1 },
                false => Route { first: up, count: spines },
            }));
        }
        let spines = if self.racks > 1 { self.spines } else { 0 };
        for _ in 0..spines {
            let down = ports.len() as u32;
            ports.extend((0..self.racks).map(|rack| PortSpec {
                to: Node::Switch(rack),
                rate: self.fabric_rate,
                delay: switch_delay,
                hop: Hop::RackDown,
            }));
            routes.extend((0..hosts).map(|to| Route { first: down + to / per_rack, count: 1 }));
        }
        Topology { hosts, switches: self.racks + spines, ports, routes }
    }
}

impl Topology {
    /// Hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Switches.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// All ports.
    pub fn ports(&self) -> &[PortSpec] {
        &self.ports
    }

    #[inline]
    pub(crate) fn route(&self, switch: u32, to: u32) -> Route {
        self.routes[(switch * self.hosts + to) as usize]
    }

    /// The ports of a way from one host to another, the first of those that are equal.
    pub fn path(&self, from: u32, to: u32) -> Vec<PortSpec> {
        let mut path = vec![self.ports[from as usize]];
        while let Some(PortSpec { to: Node::Switch(switch), .. }) = path.last() {
            path.push(self.ports[self.route(*switch, to).first as usize]);
        }
        path
    }

    /// The fixed delays on the way from one host to another.
    pub(crate) fn latency(&self, from: u32, to: u32) -> Time {
        let mut port = self.ports[from as usize];
        let mut latency = port.delay;
        while let Node::Switch(switch) = port.to {
            port = self.ports[self.route(switch, to).first as usize];
            latency += port.delay;
        }
        latency
    }

    /// Time that a message takes alone on an idle network whose switches store and forward: the last of its frames leaves
    /// once all have, and is stored and forwarded on the way. `frames` are bytes on the wire, one after the other.
    pub fn ideal(&self, from: u32, to: u32, frames: impl IntoIterator<Item = u32>) -> Time {
        let path = self.path(from, to);
        // When each port on the way has sent all frames so far.
        let mut sent = vec![Time::ZERO; path.len()];
        for wire in frames {
            let mut there = Time::ZERO;
            for (port, sent) in path.iter().zip(&mut sent) {
                *sent = there.max(*sent) + port.rate.time_for(wire);
                there = *sent + port.delay;
            }
        }
        path.last().zip(sent.last()).map_or(Time::ZERO, |(port, sent)| *sent + port.delay)
    }
}
