use super::Role;
use super::answers::{Reaction, captured_answer, objection};
use super::course::{Course, courses, versions};
use super::facts::{came_at, has, stays_silent, was_lost};
use super::pcap::{Capture, Content, Frame};
use crate::kernel::wire::{Body, Kind, Packet};
use crate::kernel::{Kernel, KernelConfig, Request, TICK};
use crate::net::as_linux_peer;
use homarus_proto::{CallOptions, Config, Endpoint, Event, IncomingRpc, Instant, RpcError, Unreachable};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Time after a capture in which everything must end.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// What came of a replay.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// What was not acceptable.
    pub faults: Vec<String>,
    /// Packets whose answers were held against those of the captured peer.
    pub compared: usize,
    /// RPCs in the capture.
    pub rpcs: usize,
    /// RPCs that ended with a response as it was captured.
    pub answered: usize,
    /// RPCs of the endpoint that ended with an error.
    pub failed: Vec<RpcError>,
}

/// Plays a capture to an endpoint; `None` if there is no such side in it.
pub fn replay(capture: &Capture, role: Role) -> Option<Replayed> {
    has(&capture.name, role).then(|| Stage::new(capture, role).play())
}

pub(super) struct Stage<'a> {
    pub(super) capture: &'a Capture,
    role: Role,
    pub(super) now: Instant,
    pub(super) began: Instant,
    pub(super) endpoint: Endpoint,
    endpoint_address: IpAddr,
    pub(super) puppet: Kernel,
    /// By the captured id.
    pub(super) courses: BTreeMap<u64, Course>,
    /// The endpoint's ids of captured RPCs, and back.
    ours: BTreeMap<u64, u64>,
    pub(super) theirs: BTreeMap<u64, u64>,
    /// Requests that wait for the time of their response.
    pub(super) waiting: Vec<(Duration, Waiting)>,
    pub(super) events: VecDeque<Event>,
    /// Bytes of each of the endpoint's messages that were sent, by its sender's id.
    sent: BTreeMap<u64, u32>,
    cutoffs_at: Option<Instant>,
    pub(super) outcome: Replayed,
}

/// A response whose time has not come.
pub(super) enum Waiting {
    Endpoint(IncomingRpc, Vec<u8>),
    Puppet(Request, Vec<u8>),
}

impl<'a> Stage<'a> {
    fn new(capture: &'a Capture, role: Role) -> Stage<'a> {
        let courses = courses(capture);
        let first = capture.frames[0].homa().expect("a capture begins with a request");
        let (client, server) = (IpAddr::V4(capture.frames[0].from), IpAddr::V4(capture.frames[0].to));
        let answered_from =
            capture.frames.iter().find(|frame| frame.homa().is_some_and(|packet| packet.sender_id & 1 == 1));
        let answered_from = answered_from.map_or(server, |frame| IpAddr::V4(frame.from));
        let (endpoint_address, other, port) = match role {
            Role::Client => (client, answered_from, first.sport),
            Role::Server => (answered_from, client, first.dport),
        };
        let mut kernel = KernelConfig::new(other);
        if role == Role::Client {
            kernel.addresses.push(server);
            kernel.server_ports = vec![first.dport];
        } else {
            kernel.client_port = first.sport;
        }
        kernel.cutoffs = (kernel.cutoffs.0, versions(capture, other));
        // Packets of the same size and with the same boundaries as then.
        let limit = crate::kernel::UNSCHEDULED;
        let limits =
            Config { unscheduled_start: limit, unscheduled_min: limit, unscheduled_max: limit, ..as_linux_peer() };
        let began = Instant::from_nanos(1_000_000_000);
        Stage {
            capture,
            role,
            now: began,
            began,
            endpoint: Endpoint::new(limits, port, 7).expect("a valid configuration"),
            endpoint_address,
            puppet: Kernel::puppet(kernel),
            outcome: Replayed { rpcs: courses.len(), ..Replayed::default() },
            courses,
            ours: BTreeMap::new(),
            theirs: BTreeMap::new(),
            waiting: Vec::new(),
            events: VecDeque::new(),
            sent: BTreeMap::new(),
            cutoffs_at: None,
        }
    }

    fn play(mut self) -> Replayed {
        let mut coming: Vec<(Duration, usize)> = Vec::new();
        for (index, frame) in self.capture.frames.iter().enumerate() {
            let at = frame.homa().map_or(frame.at, |packet| came_at(&self.capture.name, packet, frame.at));
            coming.push((at, index));
        }
        coming.sort_unstable();
        for (at, index) in coming {
            self.wait_until(at);
            self.begin_calls(at, index);
            self.feed(index);
        }
        self.finish()
    }

    /// Time passes; what is due happens in its order.
    fn wait_until(&mut self, at: Duration) {
        loop {
            let timeout = self.endpoint.poll_timeout().unwrap_or(Instant::FAR_FUTURE).max(self.now);
            let response = self.waiting.iter().map(|(at, _)| self.began + *at).min().unwrap_or(Instant::FAR_FUTURE);
            let next = timeout.min(response.max(self.now));
            if next > self.began + at {
                break;
            }
            self.now = next;
            if response <= next {
                self.respond();
            } else {
                self.endpoint.handle_timeout(self.now);
            }
            self.settle();
        }
        self.now = self.now.max(self.began + at);
    }

    /// Calls that begin with the frame at `index`.
    fn begin_calls(&mut self, at: Duration, index: usize) {
        let Some(packet) = self.capture.frames[index].homa() else { return };
        let Some(course) =
            self.courses.get(&packet.sender_id).filter(|course| course.began == self.capture.frames[index].at)
        else {
            return;
        };
        let (server, message) = (course.server, course.request.clone());
        match self.role {
            Role::Client if !self.ours.contains_key(&packet.sender_id) => {
                let options = CallOptions::default();
                let rpc = self.endpoint.send_request(self.began + at, server, message, options);
                let id = rpc.expect("an accepted request").as_u64();
                self.ours.insert(packet.sender_id, id);
                self.theirs.insert(id, packet.sender_id);
                self.settle();
            }
            Role::Server if self.ours.insert(packet.sender_id, packet.sender_id).is_none() => {
                self.theirs.insert(packet.sender_id, packet.sender_id);
                let to = SocketAddr::new(self.endpoint_address, server.port());
                self.puppet.begins(packet.sender_id, to, message);
            }
            _ => {}
        }
    }

    /// Gives the endpoint a captured packet, if it is one of the other side.
    fn feed(&mut self, index: usize) {
        let frame = &self.capture.frames[index];
        let (bytes, captured) = match &frame.content {
            Content::Unreachable(code) => return self.feed_icmp(frame, *code),
            Content::Homa(bytes, packet) => (bytes, packet),
        };
        let from_client = captured.sender_id & 1 == 0;
        if from_client == (self.role == Role::Client) {
            return;
        }
        let Some(ours) = self.ours.get(&(captured.sender_id & !1)).copied() else { return };
        let mut packet = captured.clone();
        packet.sender_id = ours | captured.sender_id & 1;
        self.puppet.has_sent(self.endpoint_address, &packet);
        if was_lost(&self.capture.name, captured) {
            return;
        }
        let mut bytes = bytes.clone();
        bytes[20..28].copy_from_slice(&packet.sender_id.to_be_bytes());
        let from = SocketAddr::new(frame.from.into(), packet.sport);
        let sent_before = self.sent.get(&(packet.sender_id ^ 1)).copied().unwrap_or(0);
        // Discards are counted by the endpoint; that it takes what it must take shows in the outcome.
        let _ = self.endpoint.handle_packet(self.now, from, &bytes);
        let sent = self.settle();
        let is_over = !self.theirs.contains_key(&ours);
        if let Some(kind) = captured_answer(&self.capture.frames, index) {
            self.outcome.compared += 1;
            let reaction = Reaction { now: self.now, sent: &sent, cutoffs_at: self.cutoffs_at, sent_before, is_over };
            let at = frame.at;
            self.outcome.faults.extend(objection(&packet, kind, &reaction).map(|why| format!("{at:?}: {why}")));
        }
    }

    fn feed_icmp(&mut self, frame: &Frame, code: u8) {
        if self.role == Role::Client {
            let why = if code == 2 { Unreachable::Protocol } else { Unreachable::Port };
            let port = self.puppet.config().server_ports[0];
            self.endpoint.handle_unreachable(self.now, SocketAddr::new(frame.from.into(), port), why);
            self.settle();
        }
    }

    /// Takes out everything that the endpoint wants to say, and gives its packets to the puppet.
    fn settle(&mut self) -> Vec<Packet> {
        let mut all = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(self.now) {
            let bytes = [transmit.header(), transmit.payload.as_slice()].concat();
            let packet = match Packet::decode(&bytes) {
                Ok(packet) => packet,
                Err(why) => {
                    self.outcome.faults.push(format!("sent what is no packet: {why:?}"));
                    continue;
                }
            };
            if let Body::Data(data) = &packet.body {
                let end = packet.offset(data) + data.contents.len() as u32;
                let sent = self.sent.entry(packet.sender_id).or_default();
                *sent = (*sent).max(end);
            }
            if packet.kind() == Kind::Cutoffs {
                self.cutoffs_at = Some(self.now);
            }
            if !was_lost(&self.capture.name, &packet) {
                let (from, to) = (self.endpoint_address, transmit.to.ip());
                self.puppet.handle(self.now, from, to, transmit.priority, &bytes);
            }
            all.push(packet);
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push_back(event);
        }
        self.take_events();
        while let Some(event) = self.puppet.poll_event() {
            self.take_puppet_event(event);
        }
        self.endpoint.check_invariants();
        all
    }

    /// Lets the puppet act by itself until nothing is left.
    fn finish(mut self) -> Replayed {
        let silent = stays_silent(&self.capture.name);
        if !silent {
            self.puppet.wake();
        }
        let over = self.now + AFTERWARDS;
        while self.now < over {
            let next = self.now.saturating_since(self.began) + TICK;
            self.wait_until(next);
            if !silent {
                self.puppet.tick();
                self.carry_from_puppet();
            }
        }
        let view = self.endpoint.view();
        if view.client_rpcs + view.server_rpcs > 0 {
            self.outcome.faults.push(format!("the endpoint still holds {view:?}"));
        }
        if !silent && self.puppet.held() != (0, 0) {
            self.outcome.faults.push(format!("the puppet still holds {:?}", self.puppet.held()));
        }
        let drops = self.puppet.drops().iter().filter(|drop| !drop.why.is_harmless());
        self.outcome.faults.extend(drops.map(|drop| format!("Linux drops {drop:?}")));
        self.outcome.faults.extend(self.puppet.breaches().iter().map(|why| format!("Linux would not send {why:?}")));
        self.outcome
    }

    fn carry_from_puppet(&mut self) {
        while let Some(sent) = self.puppet.poll_transmit() {
            let sport = u16::from_be_bytes([sent.bytes[0], sent.bytes[1]]);
            let _ = self.endpoint.handle_packet(self.now, SocketAddr::new(sent.from, sport), &sent.bytes);
            self.settle();
        }
    }
}
