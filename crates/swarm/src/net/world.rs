use super::bounds;
use super::host::{Host, Process, host_at};
use super::schedule::{Happening, Schedule};
use super::{Fate, HostId, HostSpec, Judge, Observer, Packet, Sight, TraceHash, link};
use homarus_proto::{CallOptions, Config, Endpoint, Event, IncomingRpc, Instant, Payload, RpcError};
use homarus_proto::{RpcId, SendError, Unreachable};
use slab::Slab;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Packets that an endpoint may send in one turn before it counts as stuck.
const MOST_PACKETS_A_TURN: usize = 1_000_000;

/// Turns between two full checks of an endpoint's invariants, at most.
const TURNS_BETWEEN_CHECKS: u64 = 512;

/// Events that a world may see for each packet that its endpoints may send, and besides: what happens to a packet and
/// its copies, and timers that send nothing.
const EVENTS_A_PACKET: u64 = 16;
const IDLE_EVENTS: u64 = 2_000_000;

/// What the caller of [`World::next`] has to see to.
#[derive(Debug)]
pub enum Occurrence {
    /// A request has arrived whole.
    Request {
        /// The server.
        host: HostId,
        /// For the answer.
        rpc: IncomingRpc,
        /// Contents.
        message: Payload,
    },
    /// A request has ended.
    Response {
        /// The client.
        host: HostId,
        /// The request.
        rpc: RpcId,
        /// Its outcome.
        result: Result<Payload, RpcError>,
    },
    /// An alarm rings that was set with [`World::alarm`].
    Alarm(u64),
}

/// Hosts around one switch, and the time. It drives every endpoint as a correct driver does and panics if one breaks
/// the contract between them: if polling does not end, if a timer stays due after it was handled,
/// if it holds more than its configuration allows, or if it sends more packets than the caller allows.
pub struct World {
    now: Instant,
    hosts: Vec<Host>,
    packets: Slab<Packet>,
    schedule: Schedule,
    occurrences: VecDeque<Occurrence>,
    judge: Judge,
    observer: Option<Observer>,
    trace: TraceHash,
    packets_sent: u64,
    packet_limit: u64,
    events: u64,
    strangers_bytes: u64,
    replies_to_strangers: u64,
    scratch: Vec<u8>,
}

impl Default for World {
    fn default() -> Self {
        World::new()
    }
}

impl World {
    /// No hosts yet, no faults, and a time of one second.
    pub fn new() -> World {
        World {
            now: Instant::from_nanos(1_000_000_000),
            hosts: Vec::new(),
            packets: Slab::new(),
            schedule: Schedule::default(),
            occurrences: VecDeque::new(),
            judge: Box::new(|_, _| Fate::Deliver),
            observer: None,
            trace: TraceHash::default(),
            packets_sent: 0,
            packet_limit: u64::MAX / EVENTS_A_PACKET - IDLE_EVENTS,
            events: 0,
            strangers_bytes: 0,
            replies_to_strangers: 0,
            scratch: Vec::new(),
        }
    }

    /// Adds a host. Panics if its configuration is not valid.
    pub fn add_host(&mut self, spec: HostSpec) -> HostId {
        let id = self.hosts.len();
        self.hosts.push(Host::new(id, spec));
        id
    }

    /// Decides the fate of packets from now on.
    pub fn set_judge(&mut self, judge: Judge) {
        self.judge = judge;
    }

    /// Shows everything to `observer` from now on.
    pub fn set_observer(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// From now on, panics once the endpoints have sent more than so many packets, or events go on and on: a runaway
    /// is to be reported, not waited for.
    pub fn limit_packets(&mut self, most: u64) {
        self.packet_limit = most;
    }

    /// The world's time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What a host's own clock shows.
    pub fn local_time(&self, host: HostId) -> Instant {
        self.hosts[host].clock.read(self.now)
    }

    /// Where a host lives.
    pub fn address(&self, host: HostId) -> SocketAddr {
        self.hosts[host].address
    }

    /// The host that lives at an address.
    pub fn host_at(&self, address: SocketAddr) -> Option<HostId> {
        host_at(address).filter(|&id| id < self.hosts.len() && self.hosts[id].address == address)
    }

    /// Number of hosts.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// A host's endpoint, to look at.
    pub fn endpoint(&self, host: HostId) -> &Endpoint {
        &self.hosts[host].endpoint
    }

    /// Most bytes that ever waited at the switch port before a host.
    pub fn queue_peak(&self, host: HostId) -> usize {
        self.hosts[host].downlink.peak
    }

    /// Packets that found no room at the switch port before a host.
    pub fn queue_drops(&self, host: HostId) -> u64 {
        self.hosts[host].downlink.dropped
    }

    /// Packets that all endpoints have sent.
    pub fn packets_sent(&self) -> u64 {
        self.packets_sent
    }

    /// Homa's bytes that endpoints took from addresses where nobody lives or that were of no use to them, and those of
    /// their replies to addresses where nobody lives which need no RPC.
    pub fn strangers(&self) -> (u64, u64) {
        (self.strangers_bytes, self.replies_to_strangers)
    }

    /// Hash of everything that has happened.
    pub fn trace(&self) -> TraceHash {
        self.trace
    }

    /// Whether nothing will ever happen again by itself.
    pub fn is_quiet(&self) -> bool {
        self.schedule.is_empty() && self.occurrences.is_empty()
    }

    /// Rings at a time of the world.
    pub fn alarm(&mut self, at: Instant, token: u64) {
        self.schedule.add(at.max(self.now), Happening::Alarm { token });
    }

    /// Starts an RPC.
    pub fn call(
        &mut self,
        from: HostId,
        to: HostId,
        message: impl Into<Payload>,
        options: CallOptions,
    ) -> Result<RpcId, SendError> {
        let to = self.hosts[to].address;
        self.with(from, |endpoint, now| endpoint.send_request(now, to, message, options))
    }

    /// Answers one.
    pub fn respond(&mut self, host: HostId, rpc: IncomingRpc, message: impl Into<Payload>) -> Result<(), SendError> {
        self.with(host, |endpoint, now| endpoint.send_response(now, rpc, message))
    }

    /// Does something with an endpoint, and then sends what it has to send.
    pub fn with<R>(&mut self, host: HostId, action: impl FnOnce(&mut Endpoint, Instant) -> R) -> R {
        let local = self.local_time(host);
        let result = action(&mut self.hosts[host].endpoint, local);
        self.turn(host);
        result
    }

    /// Stops a process for a while: it sees neither packets nor time.
    pub fn pause(&mut self, host: HostId) {
        if self.hosts[host].process == Process::Running {
            self.hosts[host].process = Process::Paused;
        }
    }

    /// Lets it go on with what has arrived meanwhile.
    pub fn resume(&mut self, host: HostId) {
        if self.hosts[host].process != Process::Paused {
            return;
        }
        self.hosts[host].process = Process::Running;
        while let Some(key) = self.hosts[host].socket.pop_front() {
            self.hand_over(host, key);
        }
        self.turn(host);
    }

    /// Whether a process runs.
    pub fn is_running(&self, host: HostId) -> bool {
        self.hosts[host].process == Process::Running
    }

    /// A host's configuration.
    pub fn config(&self, host: HostId) -> &Config {
        &self.hosts[host].config
    }

    /// Kills a process; `icmp` tells whether its host answers packets with errors.
    pub fn kill(&mut self, host: HostId, icmp: bool) {
        self.hosts[host].process = Process::Dead { icmp };
        for key in std::mem::take(&mut self.hosts[host].socket) {
            self.packets.remove(key);
        }
        self.occurrences.retain(|occurrence| match occurrence {
            Occurrence::Request { host: at, .. } | Occurrence::Response { host: at, .. } => *at != host,
            Occurrence::Alarm(_) => true,
        });
    }

    /// Starts a new process on a host, with nothing in memory.
    pub fn restart(&mut self, host: HostId, seed: u64) {
        self.kill(host, false);
        self.hosts[host].restart(seed);
        self.turn(host);
    }

    /// Moves a host's clock by `nanos`, backwards if negative.
    pub fn jump_clock(&mut self, host: HostId, nanos: i64) {
        self.hosts[host].clock.jump(nanos);
        self.hosts[host].timer_at = Instant::FAR_FUTURE;
        self.set_timer(host);
    }

    /// Lets a packet of anybody's making reach a host after a delay.
    pub fn inject(&mut self, delay: Duration, packet: Packet) {
        if let Some(host) = self.host_at(packet.to()) {
            let at = self.now + delay;
            let packet = self.packets.insert(packet);
            self.schedule.add(at, Happening::Arrival { packet, host });
        }
    }

    /// Goes on until something concerns the caller, but not beyond `limit`.
    pub fn next(&mut self, limit: Instant) -> Option<Occurrence> {
        loop {
            if let Some(occurrence) = self.occurrences.pop_front() {
                return Some(occurrence);
            }
            match self.schedule.pop(limit) {
                Some((at, what)) => {
                    self.now = self.now.max(at);
                    self.events += 1;
                    assert!(
                        self.events <= EVENTS_A_PACKET * self.packet_limit + IDLE_EVENTS,
                        "{} events, and no end, with {} packets at {:?}",
                        self.events,
                        self.packets_sent,
                        self.now
                    );
                    self.happen(what);
                }
                None => {
                    self.now = self.now.max(limit);
                    return None;
                }
            }
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::AtPort { packet, host } => self.reach_port(packet, host),
            Happening::PortFree { host } => {
                self.hosts[host].downlink.busy = false;
                self.start_downlink(host);
            }
            Happening::Arrival { packet, host } => self.arrive(packet, host),
            Happening::Timer { host } => self.timer(host),
            Happening::Unreachable { host, peer } => {
                let peer = self.hosts[peer].address;
                if self.hosts[host].process == Process::Running {
                    self.with(host, |endpoint, now| endpoint.handle_unreachable(now, peer, Unreachable::Port));
                }
            }
            Happening::Alarm { token } => self.occurrences.push_back(Occurrence::Alarm(token)),
        }
    }

    fn reach_port(&mut self, key: usize, host: HostId) {
        let packet = &self.packets[key];
        if self.hosts[host].downlink.push(key, packet.transmit.priority, packet.wire_len()) {
            self.start_downlink(host);
        } else {
            let packet = self.packets.remove(key);
            self.show(|| Sight::Overflow(&packet));
        }
    }

    fn start_downlink(&mut self, host: HostId) {
        let Host { downlink, link, .. } = &mut self.hosts[host];
        let Some(rate) = downlink.rate else { return };
        if downlink.busy {
            return;
        }
        let Some((packet, bytes)) = downlink.pop() else {
            return;
        };
        downlink.busy = true;
        let until = self.now + link::transmission_time(bytes, rate);
        self.schedule.add(until, Happening::PortFree { host });
        self.schedule.add(until + link.delay, Happening::Arrival { packet, host });
        if let Some(observer) = &mut self.observer {
            observer(self.now, Sight::Downlink { host, until, packet: &self.packets[packet] });
        }
    }

    fn arrive(&mut self, key: usize, host: HostId) {
        match self.hosts[host].process {
            Process::Running => {
                self.hand_over(host, key);
                self.turn(host);
            }
            Process::Paused if !self.hosts[host].socket_is_full() => self.hosts[host].socket.push_back(key),
            Process::Paused => {
                self.packets.remove(key);
            }
            Process::Dead { icmp } => {
                let packet = self.packets.remove(key);
                if let Some(sender) = self.host_at(packet.from).filter(|_| icmp) {
                    let at = self.now + self.hosts[host].link.delay + self.hosts[sender].link.delay;
                    self.schedule.add(at, Happening::Unreachable { host: sender, peer: host });
                }
            }
        }
    }

    fn hand_over(&mut self, host: HostId, key: usize) {
        let packet = self.packets.remove(key);
        let now = self.local_time(host);
        let result = if packet.is_phantom() {
            self.hosts[host].endpoint.handle_phantom(
                now,
                packet.from,
                packet.transmit.header(),
                packet.transmit.payload.len(),
            )
        } else {
            packet.write_to(&mut self.scratch);
            if self.hosts[host].takes_datagrams {
                self.hosts[host].endpoint.handle_datagram(now, packet.from, &self.scratch);
                Ok(())
            } else {
                self.hosts[host].endpoint.handle_packet(now, packet.from, &self.scratch)
            }
        };
        self.trace.add(result.is_ok().into());
        // A host that is no peer, or no longer, is a stranger too, and what it sends is of no use.
        if result.is_err() || packet.is_freeze() || self.host_at(packet.from).is_none() {
            self.strangers_bytes += packet.transmit.len() as u64;
        }
        self.show(|| Sight::Delivered { host, packet: &packet, result });
    }

    fn timer(&mut self, host: HostId) {
        if self.hosts[host].timer_at > self.now {
            return;
        }
        self.hosts[host].timer_at = Instant::FAR_FUTURE;
        if self.hosts[host].process != Process::Running {
            return;
        }
        let local = self.local_time(host);
        let state = &mut self.hosts[host];
        if state.endpoint.poll_timeout().is_some_and(|at| at <= local) {
            state.endpoint.handle_timeout(local);
            let again = state.repetitions.1 == local;
            state.repetitions = (if again { state.repetitions.0 + 1 } else { 0 }, local);
            let view = state.endpoint.view();
            let most = (view.client_rpcs + view.server_rpcs + view.peers + 10) as u64;
            assert!(
                state.repetitions.0 <= most,
                "host {host}: a timer is due still after it was handled {most} times at {local:?}"
            );
        }
        self.turn(host);
    }

    /// Everything that a driver does after each input.
    fn turn(&mut self, host: HostId) {
        if self.hosts[host].process == Process::Running {
            self.transmit(host);
            self.finish_turn(host);
        }
    }

    /// Sends until the endpoint has nothing more or the socket is full.
    fn transmit(&mut self, host: HostId) {
        let local = self.local_time(host);
        for _ in 0..MOST_PACKETS_A_TURN {
            let Host { endpoint, uplink, link, timer_at, address, .. } = &mut self.hosts[host];
            let backlog = uplink.backlog(self.now);
            if endpoint.wants_device_queue() {
                endpoint.report_device_queue(local, backlog);
            }
            if backlog >= link.send_buffer {
                let room_at = uplink.drained_to(link.send_buffer / 2).max(self.now + Duration::from_nanos(1));
                if room_at < *timer_at {
                    *timer_at = room_at;
                    self.schedule.add(room_at, Happening::Timer { host });
                }
                return;
            }
            let Some(transmit) = endpoint.poll_transmit(local) else {
                return;
            };
            let packet = Packet { from: *address, transmit };
            let leaves = uplink.send(self.now, packet.wire_len()) + link.delay;
            self.send(leaves, packet);
        }
        panic!("host {host}: poll_transmit gave {MOST_PACKETS_A_TURN} packets in one turn and did not end");
    }

    fn send(&mut self, at_switch: Instant, packet: Packet) {
        self.packets_sent += 1;
        assert!(
            self.packets_sent <= self.packet_limit,
            "more than {} packets, and no end, at {:?}",
            self.packet_limit,
            self.now
        );
        self.trace.add_packet(self.now, &packet);
        self.show(|| Sight::Sent(&packet));
        let Some(host) = self.host_at(packet.to()) else {
            if packet.needs_no_rpc() {
                self.replies_to_strangers += packet.transmit.len() as u64;
            }
            self.show(|| Sight::Outside(&packet));
            return;
        };
        match (self.judge)(self.now, &packet) {
            Fate::Deliver => self.forward(at_switch, packet, host),
            Fate::Drop => self.show(|| Sight::Lost(&packet)),
            Fate::Late(by) => self.forward(at_switch + by, packet, host),
            Fate::Twice(apart) => {
                self.forward(at_switch, packet.clone(), host);
                self.forward(at_switch + apart, packet, host);
            }
            Fate::With(other) => {
                self.forward(at_switch, packet, host);
                if let Some(host) = self.host_at(other.to()) {
                    self.forward(at_switch, *other, host);
                }
            }
            Fate::Instead(other) => self.forward(at_switch, *other, host),
        }
    }

    fn forward(&mut self, at_switch: Instant, packet: Packet, host: HostId) {
        let packet = self.packets.insert(packet);
        let Host { downlink, link, .. } = &self.hosts[host];
        match downlink.rate {
            Some(_) => self.schedule.add(at_switch, Happening::AtPort { packet, host }),
            None => self.schedule.add(at_switch + link.delay, Happening::Arrival { packet, host }),
        }
    }

    fn finish_turn(&mut self, host: HostId) {
        while let Some(event) = self.hosts[host].endpoint.poll_event() {
            self.occurrences.push_back(match event {
                Event::Request { rpc, message } => Occurrence::Request { host, rpc, message },
                Event::Response { rpc, result } => Occurrence::Response { host, rpc, result },
            });
        }
        let state = &mut self.hosts[host];
        state.turns += 1;
        if state.turns.is_power_of_two() || state.turns.is_multiple_of(TURNS_BETWEEN_CHECKS) {
            state.endpoint.check_invariants();
        }
        bounds::check(host, &state.config, &state.endpoint.view());
        self.set_timer(host);
    }

    fn set_timer(&mut self, host: HostId) {
        let state = &mut self.hosts[host];
        let Some(local) = state.endpoint.poll_timeout() else {
            return;
        };
        let at = state.clock.when(local).max(self.now);
        if at < state.timer_at {
            state.timer_at = at;
            self.schedule.add(at, Happening::Timer { host });
        }
    }

    fn show<'a>(&mut self, sight: impl FnOnce() -> Sight<'a>) {
        if let Some(observer) = &mut self.observer {
            observer(self.now, sight());
        }
    }
}
