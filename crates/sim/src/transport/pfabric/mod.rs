//! pFabric (SIGCOMM'13): packets carry how much is left of their message, switches keep and send the most urgent ones, hosts
//! do little more than send at line rate and send again what got lost.

mod arrivals;
mod flow;

use super::{Frames, Message, Outcome, Transport};
use crate::Time;
use crate::net::{Ecn, NetworkRules, Order, Packet, Paths, PortRules};
use arrivals::Arrivals;
use flow::{Flow, Next};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// How pFabric is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PFabricSetup {
    /// How messages are cut.
    pub frames: Frames,
    /// Frames of a message that may be under way, from its beginning on. 12: what the Homa paper's comparison used
    /// (SIGCOMM'18), a round trip's worth.
    pub window: u32,
    /// Frames are given up when nothing is heard for so long. 24 µs: the Homa paper's comparison; about three round trips.
    pub timeout: Time,
    /// The timeout doubles with each in a row, so many times at most. 6: as TCP does in ns-2, in which the comparison ran.
    pub doublings: u32,
    /// After so many timeouts in a row only probes are sent. 5: pFabric's paper, §4.3.
    pub probe_after: u32,
    /// Bytes that wait at a port of a switch at most, in full packets. 13: the Homa paper's comparison.
    pub queue: u32,
    /// Bytes on the wire of acks and probes. 40: as ns-2 counts them, in which the comparison ran; there is no such Ethernet
    /// frame, and with frames of 84 bytes acks take so much more that long messages of W2 suffer.
    pub ack: u32,
}

impl PFabricSetup {
    /// As in the Homa paper's comparison.
    pub const PAPER: PFabricSetup = PFabricSetup {
        frames: Frames::PAPER,
        window: 12,
        timeout: Time::from_micros(24),
        doublings: 6,
        probe_after: 5,
        queue: 13,
        ack: 40,
    };

    /// What switches must do: short queues that keep the most urgent packets; each packet takes its own way.
    pub fn network(&self) -> NetworkRules {
        let buffer = u64::from(self.queue) * u64::from(self.frames.wire(self.frames.payload));
        NetworkRules { switch: PortRules { buffer, order: Order::Rank, marking: None }, paths: Paths::Spray }
    }

    /// So many hosts that run it.
    pub fn hosts(&self, hosts: u32) -> Vec<PFabric> {
        (0..hosts).map(|host| PFabric::new(host, *self)).collect()
    }
}

/// A host that runs pFabric.
#[derive(Debug)]
pub struct PFabric {
    host: u32,
    setup: PFabricSetup,
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
    /// Flows that may send, the least remaining first.
    ready: BTreeSet<(u32, u32)>,
    /// Flows that wait for acknowledgements.
    deadlines: BTreeSet<(Time, u32)>,
    /// Flows so far to each host.
    numbers: HashMap<u32, u32>,
    arrivals: HashMap<u32, Arrivals>,
    acks: VecDeque<(u32, Segment)>,
}

/// What packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A frame of a message.
    Data {
        /// The message among those that come from the sender, and where the sender keeps it.
        flow: FlowName,
        /// Which frame.
        frame: u32,
        /// Bytes of the message.
        length: u32,
        /// The message's number among those under way.
        message: u32,
        /// Whether it is a response.
        answer: bool,
    },
    /// That frame is there.
    Ack {
        /// Whose.
        flow: FlowName,
        /// Which.
        frame: u32,
    },
    /// Is there a way again?
    Probe {
        /// Whose.
        flow: FlowName,
    },
    /// There is.
    Alive {
        /// Whose.
        flow: FlowName,
    },
}

/// Names a message between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowName {
    slot: u32,
    number: u32,
}

impl PFabric {
    /// The pFabric of host number `host`.
    pub fn new(host: u32, setup: PFabricSetup) -> PFabric {
        PFabric {
            host,
            setup,
            flows: Vec::new(),
            free: Vec::new(),
            ready: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            numbers: HashMap::new(),
            arrivals: HashMap::new(),
            acks: VecDeque::new(),
        }
    }

    fn begin(&mut self, to: u32, message: u32, answer: bool, length: u32) {
        let count = self.numbers.entry(to).or_default();
        let number = *count;
        *count += 1;
        let flow = Flow::new(to, number, message, answer, length, &self.setup);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            (self.flows.len() - 1) as u32
        });
        self.flows[slot as usize] = Some(flow);
        self.ready.insert((length, slot));
    }

    /// Changes a flow and keeps the records of when it may send and must wait. `change` says whether it is at its end.
    fn update(&mut self, slot: u32, change: impl FnOnce(&mut Flow, &PFabricSetup) -> bool) {
        let Some(flow) = self.flows[slot as usize].as_mut() else { return };
        let (before, deadline) = (flow.remaining, flow.deadline);
        let over = change(flow, &self.setup);
        if over || flow.remaining != before || flow.next(&self.setup).is_none() {
            self.ready.remove(&(before, slot));
        }
        if !over && flow.next(&self.setup).is_some() {
            self.ready.insert((flow.remaining, slot));
        }
        if over || flow.deadline != deadline {
            self.deadlines.remove(&(deadline, slot));
            if !over && flow.deadline != Time::NEVER {
                self.deadlines.insert((flow.deadline, slot));
            }
        }
        if over {
            self.flows[slot as usize] = None;
            self.free.push(slot);
        }
    }

    /// Whether a name that came back stands for a message that is still being sent.
    fn knows(&self, name: FlowName, to: u32) -> bool {
        let flow = self.flows.get(name.slot as usize).and_then(Option::as_ref);
        flow.is_some_and(|flow| (flow.number, flow.to) == (name.number, to))
    }

    fn packet(&self, to: u32, slot: u32, wire: u32, rank: u32, message: u32, segment: Segment) -> Packet<Segment> {
        let flow = self.host.wrapping_shl(20).wrapping_add(slot);
        Packet { from: self.host, to, wire, priority: 0, ecn: Ecn::Incapable, flow, rank, message, segment }
    }
}

impl Transport for PFabric {
    type Segment = Segment;

    fn send(&mut self, _now: Time, message: &Message) {
        self.begin(message.to, message.id, false, message.length);
    }

    fn respond(&mut self, _now: Time, message: &Message) {
        self.begin(message.from, message.id, true, message.reply.unwrap_or(0));
    }

    fn receive(&mut self, now: Time, packet: Packet<Segment>, outcomes: &mut Vec<Outcome>) {
        let from = packet.from;
        match packet.segment {
            Segment::Data { flow, frame, length, message, answer } => {
                let frames = self.setup.frames.count(length);
                if self.arrivals.entry(from).or_default().add(flow.number, frame, frames) {
                    outcomes.push(if answer { Outcome::Answered(message) } else { Outcome::Arrived(message) });
                }
                self.acks.push_back((from, Segment::Ack { flow, frame }));
            }
            Segment::Probe { flow } => self.acks.push_back((from, Segment::Alive { flow })),
            Segment::Ack { flow, frame } if self.knows(flow, from) => {
                self.update(flow.slot, |flow, setup| flow.acknowledge(now, frame, setup));
            }
            Segment::Alive { flow } if self.knows(flow, from) => self.update(flow.slot, |flow, setup| {
                flow.alive(now, setup);
                false
            }),
            Segment::Ack { .. } | Segment::Alive { .. } => {}
        }
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet<Segment>> {
        if let Some((to, segment)) = self.acks.pop_front() {
            // Acks go before all data: nothing is more urgent than rank 0.
            return Some(self.packet(to, u32::MAX, self.setup.ack, 0, Packet::<Segment>::NO_MESSAGE, segment));
        }
        let (rank, slot) = *self.ready.first()?;
        let flow = self.flows[slot as usize].as_ref()?;
        let next = flow.next(&self.setup)?;
        let (to, message, name) = (flow.to, flow.message, FlowName { slot, number: flow.number });
        let (wire, segment) = match next {
            Next::Probe => (self.setup.ack, Segment::Probe { flow: name }),
            Next::Frame(frame) => {
                let Flow { length, answer, .. } = *flow;
                let wire = self.setup.frames.wire_of(length, frame);
                (wire, Segment::Data { flow: name, frame, length, message, answer })
            }
        };
        self.update(slot, |flow, setup| {
            flow.sent(now, next, setup);
            false
        });
        Some(self.packet(to, slot, wire, rank, message, segment))
    }

    fn next_timeout(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some((_, slot)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.update(slot, |flow, setup| {
                flow.time_out(setup);
                false
            });
        }
    }
}
