use super::setup::{Happening, NetConfig};
use super::sight::{Fate, Judge, Sight};
use crate::kernel::wire::{Body, Packet};
use crate::kernel::{Event as KernelEvent, Kernel, Request, TICK};
use homarus_proto::{CallOptions, Endpoint, Event, IncomingRpc, Instant, Payload, RpcId, Unreachable};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Packets of the trace that are kept.
const TRACE: usize = 2_000;

/// Packets of it that are shown.
const SHOWN: usize = 40;

/// Packets that an endpoint may send without time passing before it counts as stuck.
const MOST_PACKETS_AT_ONCE: usize = 100_000;

/// What is under way.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Coming {
    ToKernel { from: IpAddr, to: IpAddr, priority: u8, bytes: Vec<u8> },
    ToEndpoint { from: IpAddr, to: IpAddr, bytes: Vec<u8> },
    PortUnreachable { what: SocketAddr },
    KernelUnreachable { host: IpAddr },
    Alarm(usize),
}

/// A link with the model at one end and an endpoint at the other. It drives the endpoint as its documentation demands.
pub struct Net {
    config: NetConfig,
    now: Instant,
    next_tick: Instant,
    /// The modelled host.
    pub kernel: Kernel,
    /// The endpoint.
    pub endpoint: Endpoint,
    judge: Judge,
    /// What is under way: time, order of sending, what.
    coming: BinaryHeap<Reverse<(Instant, u64, Coming)>>,
    next_number: u64,
    /// When the link is free again, in each direction.
    free_at: [Instant; 2],
    happenings: VecDeque<Happening>,
    trace: VecDeque<(Sight, Fate)>,
    /// Whether the endpoint's host takes the protocol at all; the module's host always does.
    pub endpoint_is_up: bool,
    packets_from_endpoint: u64,
}

impl Net {
    /// A link on which nothing is lost. Panics if the configuration is not valid.
    pub fn new(config: NetConfig) -> Net {
        let now = Instant::from_nanos(1_000_000_000);
        let endpoint = Endpoint::new(config.endpoint.clone(), config.endpoint_port, config.seed);
        Net {
            now,
            next_tick: now + TICK,
            kernel: Kernel::new(config.kernel.clone()),
            endpoint: endpoint.expect("a valid configuration"),
            judge: Box::new(|_| Fate::Deliver),
            coming: BinaryHeap::new(),
            next_number: 0,
            free_at: [now; 2],
            happenings: VecDeque::new(),
            trace: VecDeque::new(),
            endpoint_is_up: true,
            packets_from_endpoint: 0,
            config,
        }
    }

    /// Decides the fate of packets from now on.
    pub fn set_judge(&mut self, judge: impl FnMut(&Sight) -> Fate + 'static) {
        self.judge = Box::new(judge);
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Packets that the endpoint has sent.
    pub fn packets_from_endpoint(&self) -> u64 {
        self.packets_from_endpoint
    }

    /// Where the modelled host's server is.
    pub fn kernel_address(&self) -> SocketAddr {
        SocketAddr::new(self.config.kernel.addresses[0], self.config.kernel.server_ports[0])
    }

    /// Where the endpoint is.
    pub fn endpoint_address(&self) -> SocketAddr {
        SocketAddr::new(self.config.endpoint_addresses[0], self.config.endpoint_port)
    }

    /// The latest packets, one a line.
    pub fn trace(&self) -> String {
        let latest = self.trace.iter().skip(self.trace.len().saturating_sub(SHOWN));
        latest.map(|(sight, fate)| format!("{sight}  {fate:?}\n")).collect()
    }

    /// The latest packets.
    pub fn sights(&self) -> impl Iterator<Item = &Sight> {
        self.trace.iter().map(|(sight, _)| sight)
    }

    /// Reminds of something.
    pub fn alarm(&mut self, at: Instant, token: usize) {
        self.schedule(at.max(self.now), Coming::Alarm(token));
    }

    /// The endpoint sends a request. An error would be the test's.
    pub fn endpoint_calls(&mut self, to: SocketAddr, message: impl Into<Payload>) -> RpcId {
        let sent = self.endpoint.send_request(self.now, to, message, CallOptions::default());
        self.settle();
        sent.expect("an accepted request")
    }

    /// The endpoint answers.
    pub fn endpoint_responds(&mut self, rpc: IncomingRpc, message: impl Into<Payload>) {
        // A client that has gone is no error here: the books will tell if it should not have.
        let _ = self.endpoint.send_response(self.now, rpc, message);
        self.settle();
    }

    /// The endpoint's application will not answer.
    pub fn endpoint_rejects(&mut self, rpc: IncomingRpc) {
        self.endpoint.reject(self.now, rpc);
        self.settle();
    }

    /// The model sends a request.
    pub fn kernel_calls(&mut self, to: SocketAddr, message: Vec<u8>) -> u64 {
        let id = self.kernel.call(to, message);
        self.settle();
        id
    }

    /// The model answers.
    pub fn kernel_responds(&mut self, request: Request, message: Vec<u8>) {
        self.kernel.respond(request, message);
        self.settle();
    }

    /// Bytes come to the endpoint that nobody sent.
    pub fn inject(&mut self, from: SocketAddr, bytes: &[u8]) {
        // Discards are counted by the endpoint.
        let _ = self.endpoint.handle_packet(self.now, from, bytes);
        self.settle();
    }

    /// Lets time pass until something happens that concerns the applications, but not beyond `until`.
    pub fn next(&mut self, until: Instant) -> Option<Happening> {
        loop {
            if let Some(happening) = self.happenings.pop_front() {
                return Some(happening);
            }
            let arrival = self.coming.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, ..))| *at);
            let timeout = self.endpoint.poll_timeout().unwrap_or(Instant::FAR_FUTURE).max(self.now);
            let at = arrival.min(timeout).min(self.next_tick);
            if at > until {
                self.now = self.now.max(until);
                return None;
            }
            self.now = at;
            if at == arrival {
                let Some(Reverse((_, _, coming))) = self.coming.pop() else { continue };
                self.arrive(coming);
            } else if at == timeout {
                self.endpoint.handle_timeout(self.now);
            } else {
                self.next_tick += TICK;
                self.kernel.tick();
            }
            self.settle();
        }
    }

    fn arrive(&mut self, coming: Coming) {
        match coming {
            Coming::Alarm(token) => self.happenings.push_back(Happening::Alarm(token)),
            Coming::ToKernel { from, to, priority, bytes } => self.kernel.handle(self.now, from, to, priority, &bytes),
            Coming::ToEndpoint { from, to, bytes } => self.arrive_at_endpoint(from, to, &bytes),
            Coming::PortUnreachable { what } => {
                self.endpoint.handle_unreachable(self.now, what, Unreachable::Port);
            }
            Coming::KernelUnreachable { host } => self.kernel.handle_unreachable(host, None),
        }
    }

    /// Does what the driver for raw sockets does: it hands up what is for the endpoint's port, and nobody answers for
    /// other ports. Where no raw socket is open, the host says that it does not take the protocol.
    fn arrive_at_endpoint(&mut self, from: IpAddr, to: IpAddr, bytes: &[u8]) {
        if !self.endpoint_is_up {
            return self.schedule(self.now + self.config.delay, Coming::KernelUnreachable { host: to });
        }
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        if port(2) == self.config.endpoint_port {
            // Discards are counted by the endpoint.
            let _ = self.endpoint.handle_packet(self.now, SocketAddr::new(from, port(0)), bytes);
        }
    }

    /// Takes everything out that has been waiting inside.
    fn settle(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            self.happenings.push_back(match event {
                Event::Request { rpc, message } => Happening::Request(rpc, message),
                Event::Response { rpc, result } => Happening::Response(rpc, result),
            });
        }
        while let Some(event) = self.kernel.poll_event() {
            self.happenings.push_back(match event {
                KernelEvent::Request { request, message } => Happening::KernelRequest(request, message),
                KernelEvent::Response { id, result } => Happening::KernelResponse(id, result),
            });
        }
        let mut sent = 0;
        while let Some(transmit) = self.endpoint.poll_transmit(self.now) {
            sent += 1;
            assert!(sent <= MOST_PACKETS_AT_ONCE, "the endpoint sends without end:\n{}", self.trace());
            let (to, priority) = (transmit.to.ip(), transmit.priority);
            let bytes = [transmit.header(), transmit.payload.as_slice()].concat();
            let from = self.config.endpoint_addresses[0];
            self.carry(false, priority, bytes, move |bytes| Coming::ToKernel { from, to, priority, bytes });
        }
        self.packets_from_endpoint += sent as u64;
        while let Some(sent) = self.kernel.poll_transmit() {
            let (from, to) = (sent.from, sent.to);
            self.carry(true, sent.priority, sent.bytes, move |bytes| Coming::ToEndpoint { from, to, bytes });
        }
        while let Some(icmp) = self.kernel.poll_icmp() {
            self.schedule(self.now + self.config.delay, Coming::PortUnreachable { what: icmp.what });
        }
    }

    /// Puts a packet on the link.
    fn carry(&mut self, from_kernel: bool, priority: u8, bytes: Vec<u8>, coming: impl Fn(Vec<u8>) -> Coming) {
        let lane = usize::from(from_kernel);
        let busy = Duration::from_nanos(bytes.len() as u64 * self.config.picos_a_byte / 1_000);
        self.free_at[lane] = self.free_at[lane].max(self.now) + busy;
        let arrival = self.free_at[lane] + self.config.delay;
        let fate = match sight(self.now, from_kernel, priority, &bytes) {
            Some(sight) => {
                let fate = (self.judge)(&sight);
                if self.trace.len() == TRACE {
                    self.trace.pop_front();
                }
                self.trace.push_back((sight, fate));
                fate
            }
            None => Fate::Deliver,
        };
        match fate {
            Fate::Lose => {}
            Fate::Deliver => self.schedule(arrival, coming(bytes)),
            Fate::Delay(by) => self.schedule(arrival + by, coming(bytes)),
            Fate::Repeat(after) => {
                self.schedule(arrival, coming(bytes.clone()));
                self.schedule(arrival + after, coming(bytes));
            }
        }
    }

    fn schedule(&mut self, at: Instant, coming: Coming) {
        self.next_number += 1;
        self.coming.push(Reverse((at, self.next_number, coming)));
    }
}

fn sight(at: Instant, from_kernel: bool, priority: u8, bytes: &[u8]) -> Option<Sight> {
    let mut packet = Packet::decode(bytes).ok()?;
    let mut contents = 0;
    if let Body::Data(data) = &mut packet.body {
        contents = std::mem::take(&mut data.contents).len();
    }
    Some(Sight { at, from_kernel, packet, contents, priority })
}
