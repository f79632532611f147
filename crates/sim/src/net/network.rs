use super::control::{Admission, Control, FlowControl, Notice, Signal};
use super::packet::{Packet, Packets, Slot};
use super::port::{Hop, Node, Order, Port, PortCounters, PortRules};
use super::topology::Topology;
use crate::Time;
use crate::agenda::Agenda;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet has passed a port and the link behind it.
    Arrive { port: u32, slot: Slot },
    /// A port has sent its packet and may send the next.
    Free { port: u32 },
    /// A packet that travels outside the network is there.
    Outside { slot: Slot },
    /// A host's transport wants to be called.
    Wake { host: u32 },
    /// The application wants to be called.
    Alarm { token: u32 },
    /// The other end of a link tells a port something.
    Signal { port: u32, class: u8, signal: Signal },
}

/// How one of several equal ports is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// At random for each packet.
    Spray,
    /// By the packet's flow: packets of one flow stay in order.
    ByFlow,
}

/// What all switches do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkRules {
    /// The switches' ports.
    pub switch: PortRules,
    /// How one of several equal ways is chosen.
    pub paths: Paths,
}

impl NetworkRules {
    /// Eight strict priorities, room without bounds, each packet its own way: what the Homa paper assumes.
    pub const UNBOUNDED: NetworkRules = NetworkRules {
        switch: PortRules { buffer: u64::MAX / 2, order: Order::Priority, marking: None },
        paths: Paths::Spray,
    };
}

/// What a network has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that finished a link.
    pub hops: u64,
    /// Packets given to the network by hosts, and packets handed to hosts.
    pub sent: u64,
    /// Packets handed to hosts.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u64,
}

/// Links and switches with the packets in them, and the agenda of all that happens.
#[derive(Debug)]
pub struct Network<S> {
    topology: Topology,
    paths: Paths,
    ports: Vec<Port>,
    packets: Packets<S>,
    pub(crate) agenda: Agenda<Event>,
    control: Option<Control>,
    /// How many of 2³² packets are lost on each link.
    loss: u32,
    rng: Pcg64Mcg,
    counts: Counts,
    /// A running hash of everything that has happened: the same in equal runs.
    trace: u64,
}

impl<S> Network<S> {
    /// An idle network. The seed chooses ways and marks.
    pub fn new(topology: Topology, rules: NetworkRules, seed: u64) -> Network<S> {
        let unbounded = NetworkRules::UNBOUNDED.switch;
        let rules_of = |hop| if hop == Hop::HostUp { unbounded } else { rules.switch };
        let ports = topology.ports().iter().map(|spec| Port::new(*spec, rules_of(spec.hop))).collect();
        Network {
            topology,
            paths: rules.paths,
            ports,
            packets: Packets::new(),
            agenda: Agenda::default(),
            control: None,
            loss: 0,
            rng: Pcg64Mcg::seed_from_u64(seed),
            counts: Counts::default(),
            trace: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// Keeps senders from overrunning the buffers at the ends of their links. The ports' own buffers should then be without
    /// bounds: it is at its entrance that a switch runs out of room.
    pub fn with_flow_control(mut self, rules: FlowControl) -> Network<S> {
        self.control = Some(Control::new(rules, self.topology.ports(), self.topology.switches()));
        self
    }

    /// Loses packets on links into switches, at random: this share of them, 0 to 1.
    pub fn with_loss(mut self, share: f64) -> Network<S> {
        self.loss = (share * f64::from(u32::MAX)) as u32;
        self
    }

    /// The plan that it follows.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What has been done.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A hash of all that has happened so far.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Takes a message's arrival into the hash.
    pub(crate) fn note(&mut self, now: Time, message: u32) {
        self.trace = mix(self.trace, now.as_picos() ^ u64::from(message) << 40);
    }

    /// Packets in queues and on links.
    pub fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// What each port has seen until `now`, with the hop that it is.
    pub fn ports(&self, now: Time) -> impl Iterator<Item = (Hop, PortCounters)> + '_ {
        self.ports.iter().map(move |port| (port.spec.hop, port.counters(now)))
    }

    /// For how long the links to hosts have been sending, all together.
    pub(crate) fn busy_downlinks(&self) -> Time {
        let to_hosts = self.ports.iter().filter(|port| port.spec.hop == Hop::HostDown);
        let busy = to_hosts.map(|port| port.spec.rate.time_for_many(port.counters.bytes));
        busy.fold(Time::ZERO, |all, busy| all + busy)
    }

    /// Whether a host's uplink could take a packet now.
    #[inline]
    pub(crate) fn uplink_is_free(&self, now: Time, host: u32) -> bool {
        let port = &self.ports[host as usize];
        port.is_empty() && port.busy_until <= now
    }

    /// Asks for an event when a host's uplink is free.
    #[inline]
    pub(crate) fn wake_when_free(&mut self, host: u32) {
        let port = &mut self.ports[host as usize];
        // A port whose packets are all stopped is woken when the other end lets it go on.
        if !port.wakes && (port.may_send() || port.is_empty()) {
            port.wakes = true;
            self.agenda.push(port.busy_until, Event::Free { port: host });
        }
    }

    /// A host sends a packet.
    pub(crate) fn send(&mut self, now: Time, packet: Packet<S>) {
        self.counts.sent += 1;
        let host = packet.from;
        let outside = packet.wire == 0;
        let slot = self.packets.insert(packet);
        if outside {
            let packet = self.packets.get(slot);
            let delay = self.topology.latency(packet.from, packet.to);
            self.agenda.push(now + delay, Event::Outside { slot });
        } else {
            self.enqueue(now, host, slot);
        }
    }

    /// A packet has passed `port`: takes it out if its destination is reached, and otherwise sends it on.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, port: u32, slot: Slot) -> Option<Packet<S>> {
        self.counts.hops += 1;
        self.trace = mix(self.trace, now.as_picos() ^ u64::from(port) << 48 ^ u64::from(self.packets.get(slot).wire));
        match self.ports[port as usize].spec.to {
            Node::Host(_) => {
                if let Some(control) = &mut self.control {
                    let Packet { priority, wire, .. } = *self.packets.get(slot);
                    let notice = control.taken(port, priority, wire);
                    self.tell(now, notice);
                }
                self.take(slot)
            }
            Node::Switch(switch) => {
                if self.enters(now, switch, port, slot) {
                    self.forward(now, switch, slot);
                } else {
                    self.counts.dropped += 1;
                    self.packets.remove(slot);
                }
                None
            }
        }
    }

    /// Whether a packet that comes through `port` finds room in the switch, and is not lost before.
    #[inline]
    fn enters(&mut self, now: Time, switch: u32, port: u32, slot: Slot) -> bool {
        let lost = self.loss > 0 && self.rng.random::<u32>() < self.loss;
        let Some(control) = &mut self.control else { return !lost };
        let Packet { priority, wire, .. } = *self.packets.get(slot);
        if lost {
            let notice = control.taken(port, priority, wire);
            self.tell(now, notice);
            return false;
        }
        match control.enter(switch, port, slot, priority, wire) {
            Admission::Admitted(notice) => {
                self.tell(now, notice);
                true
            }
            Admission::Refused => {
                self.ports[port as usize].counters.refused += 1;
                false
            }
        }
    }

    fn tell(&mut self, now: Time, notice: Option<Notice>) {
        if let Some(Notice { port, class, signal, delay }) = notice {
            self.agenda.push(now + delay, Event::Signal { port, class, signal });
        }
    }

    /// A port hears from the other end of its link. Returns the host whose uplink it is, with whether the class may be sent.
    pub(crate) fn heard(&mut self, now: Time, index: u32, class: u8, signal: Signal) -> Option<(u32, bool)> {
        let stop = self.control.as_mut().is_some_and(|control| control.heard(index, class, signal));
        let port = &mut self.ports[index as usize];
        if port.is_stopped(class) == stop {
            return None;
        }
        port.set_stopped(now, class, stop);
        self.wake_if_due(now, index);
        (index < self.topology.hosts()).then_some((index, !stop))
    }

    /// Asks for an event if a port has something to send and none is coming.
    #[inline]
    fn wake_if_due(&mut self, now: Time, index: u32) {
        let port = &mut self.ports[index as usize];
        if !port.wakes && port.may_send() {
            port.wakes = true;
            self.agenda.push(port.busy_until.max(now), Event::Free { port: index });
        }
    }

    /// Takes a packet out that has reached its destination.
    pub(crate) fn take(&mut self, slot: Slot) -> Option<Packet<S>> {
        self.counts.delivered += 1;
        self.packets.remove(slot)
    }

    fn forward(&mut self, now: Time, switch: u32, slot: Slot) {
        let packet = self.packets.get(slot);
        let route = self.topology.route(switch, packet.to);
        let choice = match (route.count, self.paths) {
            (1, _) => 0,
            (count, Paths::Spray) => self.rng.random_range(0..count),
            (count, Paths::ByFlow) => (mix(u64::from(packet.flow), u64::from(switch)) >> 32) as u32 % count,
        };
        self.enqueue(now, route.first + choice, slot);
    }

    fn enqueue(&mut self, now: Time, index: u32, slot: Slot) {
        let port = &mut self.ports[index as usize];
        let class = self.packets.get(slot).priority;
        if port.is_empty() && port.busy_until <= now && !port.wakes && !port.is_stopped(class) {
            self.transmit(now, index, slot);
            return;
        }
        while let Some(victim) = self.ports[index as usize].victim(now, &mut self.packets, slot) {
            self.counts.dropped += 1;
            self.leaves(now, victim);
            self.packets.remove(victim);
            if victim == slot {
                return;
            }
        }
        let rng = &mut self.rng;
        let port = &mut self.ports[index as usize];
        port.enqueue(now, &mut self.packets, slot, || rng.random_range(0..65_536));
        self.wake_if_due(now, index);
    }

    /// A port has sent its packet. Returns whether it has nothing more to send.
    pub(crate) fn freed(&mut self, now: Time, index: u32) -> bool {
        let port = &mut self.ports[index as usize];
        port.wakes = false;
        let Some(slot) = port.dequeue(now, &mut self.packets) else {
            return true;
        };
        self.transmit(now, index, slot);
        self.wake_if_due(now, index);
        false
    }

    /// A packet leaves the buffer that it was in.
    #[inline]
    fn leaves(&mut self, now: Time, slot: Slot) {
        if let Some(control) = &mut self.control {
            let Packet { priority, wire, .. } = *self.packets.get(slot);
            let notice = control.leave(slot, priority, wire);
            self.tell(now, notice);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, index: u32, slot: Slot) {
        self.leaves(now, slot);
        let port = &mut self.ports[index as usize];
        let Packet { wire, priority, .. } = *self.packets.get(slot);
        if let Some(control) = &mut self.control
            && control.spend(index, priority, wire)
        {
            port.set_stopped(now, priority, true);
        }
        port.busy_until = now + port.spec.rate.time_for(wire);
        port.counters.packets += 1;
        port.counters.bytes += u64::from(wire);
        self.agenda.push(port.busy_until + port.spec.delay, Event::Arrive { port: index, slot });
    }
}

/// One step of a hash.
#[inline]
fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
