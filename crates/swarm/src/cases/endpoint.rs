use super::tape::Tape;
use homarus_proto::wire::{self, ACK_LEN, Ack, Data, ExtensionBits, Header, MAX_ACKS, Packet};
use homarus_proto::{CallOptions, Config, Endpoint, Event, Framing, IncomingRpc, Instant, Payload, RpcId, Unreachable};
use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Packets that one poll may give at most, for the few short messages of a case.
const MOST_PACKETS: usize = 20_000;

/// Timers that may fire until an endpoint without friends has given everything up.
const MOST_TIMERS: usize = 20_000;

/// One endpoint between an application and a network that both do whatever `bytes` say. Whatever comes, it does not
/// panic, keeps to its bounds, gives each request one outcome, and forgets everything once left alone.
pub fn endpoint(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let mut case = Case::new(&mut tape);
    while !tape.is_empty() {
        case.act(&mut tape);
        case.check();
    }
    case.leave_alone();
}

struct Case {
    endpoint: Endpoint,
    config: Config,
    now: Instant,
    /// Requests without outcome.
    open: HashSet<RpcId>,
    /// Every id that the endpoint gave, for forgeries.
    ids: Vec<RpcId>,
    held: Vec<IncomingRpc>,
}

impl Case {
    fn new(tape: &mut Tape<'_>) -> Case {
        let config = config(tape);
        Case {
            endpoint: Endpoint::new(config.clone(), 4_000, 7).expect("a valid configuration"),
            config,
            now: Instant::from_nanos(1_000_000_000),
            open: HashSet::new(),
            ids: Vec::new(),
            held: Vec::new(),
        }
    }

    fn act(&mut self, tape: &mut Tape<'_>) {
        match tape.u8() % 20 {
            0..=6 => self.packet(tape),
            7 => {
                let from = peer(tape);
                let len = tape.below(100);
                let _ = self.endpoint.handle_packet(self.now, from, tape.bytes(len));
            }
            8 => self.datagram(tape),
            9 => self.wait(Duration::from_micros(u64::from(tape.u16()))),
            10 => self.wait_for_timer(),
            11 | 12 => self.call(tape),
            13 => self.respond(tape),
            14 => self.reject(tape),
            15 => self.cancel(tape),
            16 => {
                let why = tape.pick(&[Unreachable::Port, Unreachable::Protocol, Unreachable::Host]);
                self.endpoint.handle_unreachable(self.now, peer(tape), why);
            }
            17 => self.drive(tape),
            18 => self.now = Instant::from_nanos(tape.u64() >> tape.below(64)),
            _ => self.close(tape),
        }
    }

    fn packet(&mut self, tape: &mut Tape<'_>) {
        let from = peer(tape);
        let mut bytes = [0; ACK_LEN];
        let header = self.header(tape);
        let len = header.emit(&mut bytes);
        let payload = payload_len(tape, &header);
        // Discards are expected: only the consequences count.
        let _ = if tape.u8().is_multiple_of(4) {
            self.endpoint.handle_phantom(self.now, from, &bytes[..len], payload)
        } else {
            let packet = [&bytes[..len], &vec![0x5a; payload]].concat();
            self.endpoint.handle_packet(self.now, from, &packet)
        };
    }

    fn datagram(&mut self, tape: &mut Tape<'_>) {
        let mut datagram = Vec::new();
        for _ in 0..tape.below(4) {
            let mut bytes = [0; ACK_LEN];
            let header = self.header(tape);
            let len = header.emit(&mut bytes);
            datagram.extend_from_slice(&bytes[..len]);
            datagram.resize(datagram.len() + payload_len(tape, &header), 0xa5);
        }
        self.endpoint.handle_datagram(self.now, peer(tape), &datagram);
    }

    fn header(&self, tape: &mut Tape<'_>) -> Header {
        let id = self.id(tape);
        let packet = self.fields(tape);
        let mut header = Header::new(tape.pick(&[4_000, 0, 40_000]), 4_000, id, packet);
        header.sequence = tape.pick(&[0, 0, 1, 2, 1_416]);
        header
    }

    fn id(&self, tape: &mut Tape<'_>) -> u64 {
        match tape.u8() % 4 {
            0 if !self.ids.is_empty() => self.ids[tape.below(self.ids.len())].as_u64() | 1,
            0 | 1 => 0x1_0000 + 2 * u64::from(tape.u8() % 8),
            2 => 0x1_0001 + 2 * u64::from(tape.u8() % 8),
            _ => tape.u64() >> tape.below(64),
        }
    }

    fn ack(&self, tape: &mut Tape<'_>) -> Ack {
        let client_id = if tape.u8().is_multiple_of(2) { 0 } else { self.id(tape) };
        Ack { client_id, server_port: tape.pick(&[4_000, 0]) }
    }

    fn fields(&self, tape: &mut Tape<'_>) -> Packet {
        match tape.u8() % 16 {
            0..=6 => Packet::Data(Data {
                message_length: number(tape),
                incoming: number(tape),
                ack: self.ack(tape),
                cutoff_version: tape.u16() % 4,
                retransmit: tape.u8() % 2,
                pad: ExtensionBits([tape.u8(), 0, 0]),
                segment_offset: tape.pick(&[0, 0, 1_416, 2_832, 1, wire::NO_SEGMENT_OFFSET]),
            }),
            7 => Packet::Grant { offset: number(tape), priority: tape.u8() },
            8 | 9 => Packet::Resend {
                offset: number(tape),
                length: tape.pick(&[-1, 0, 1, 1_416, i32::MAX, i32::MIN]),
                priority: tape.u8(),
            },
            10 => Packet::Unknown,
            11 => Packet::Busy,
            12 => Packet::Cutoffs { cutoffs: std::array::from_fn(|_| number(tape)), version: tape.u16() },
            13 => Packet::Freeze,
            14 => Packet::NeedAck,
            _ => Packet::Ack {
                count: u16::from(tape.u8()) % (MAX_ACKS as u16 + 1),
                acks: std::array::from_fn(|_| self.ack(tape)),
            },
        }
    }

    fn call(&mut self, tape: &mut Tape<'_>) {
        let message = message(tape);
        let deadline = tape.u8().is_multiple_of(4).then(|| Duration::from_micros(tape.u16().into()));
        let to = peer(tape);
        if let Ok(id) = self.endpoint.send_request(self.now, to, message, CallOptions { deadline }) {
            assert!(self.open.insert(id), "an id is used once");
            self.ids.push(id);
        }
    }

    fn respond(&mut self, tape: &mut Tape<'_>) {
        if !self.held.is_empty() {
            let rpc = self.held.swap_remove(tape.below(self.held.len()));
            // The client may be gone by now.
            let _ = self.endpoint.send_response(self.now, rpc, message(tape));
        }
    }

    fn reject(&mut self, tape: &mut Tape<'_>) {
        if !self.held.is_empty() {
            let rpc = self.held.swap_remove(tape.below(self.held.len()));
            self.endpoint.reject(self.now, rpc);
        }
    }

    fn cancel(&mut self, tape: &mut Tape<'_>) {
        if self.ids.is_empty() {
            return;
        }
        let id = self.ids[tape.below(self.ids.len())];
        self.take_events();
        let outstanding = self.endpoint.cancel(self.now, id);
        assert_eq!(outstanding, self.open.remove(&id), "{id:?}");
    }

    fn drive(&mut self, tape: &mut Tape<'_>) {
        match tape.u8() % 3 {
            0 => self.endpoint.set_path_mtu(peer(tape), tape.u16().into()),
            1 => self.endpoint.set_max_incoming(tape.u32()),
            _ => self.endpoint.report_device_queue(self.now, number(tape).into()),
        }
    }

    fn close(&mut self, tape: &mut Tape<'_>) {
        if tape.u8().is_multiple_of(8) {
            self.endpoint.close(self.now);
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.endpoint.handle_timeout(self.now);
    }

    fn wait_for_timer(&mut self) {
        if let Some(at) = self.endpoint.poll_timeout() {
            self.now = self.now.max(at);
            self.endpoint.handle_timeout(self.now);
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Request { rpc, .. } => self.held.push(rpc),
                Event::Response { rpc, .. } => assert!(self.open.remove(&rpc), "{rpc:?} has one outcome"),
            }
        }
    }

    /// As a driver does whose device queue is empty.
    fn take_packets(&mut self) {
        if self.endpoint.wants_device_queue() {
            self.endpoint.report_device_queue(self.now, 0);
        }
        let sent = std::iter::from_fn(|| self.endpoint.poll_transmit(self.now)).take(MOST_PACKETS);
        let sent = sent.inspect(|transmit| assert!(Header::parse(transmit.header()).is_ok())).count();
        assert!(sent < MOST_PACKETS, "polling for packets does not end");
    }

    fn check(&mut self) {
        self.take_events();
        self.take_packets();
        self.endpoint.check_invariants();
        let (view, config) = (self.endpoint.view(), &self.config);
        assert!(view.client_rpcs <= config.max_client_rpcs && view.server_rpcs <= config.max_server_rpcs);
        assert!(view.peers <= config.max_peers);
        assert!(view.receive_buffer <= config.max_receive_buffer && view.send_buffer <= config.max_send_buffer);
        assert_eq!(view.client_rpcs, self.open.len(), "requests without outcome are outstanding");
    }

    /// Nobody says anything any more.
    fn leave_alone(&mut self) {
        for rpc in std::mem::take(&mut self.held) {
            self.endpoint.reject(self.now, rpc);
        }
        for _ in 0..MOST_TIMERS {
            self.take_events();
            self.take_packets();
            let view = self.endpoint.view();
            if (view.client_rpcs, view.server_rpcs) == (0, 0) || self.endpoint.poll_timeout().is_none() {
                break;
            }
            self.wait_for_timer();
        }
        let view = self.endpoint.view();
        let held = (view.client_rpcs, view.server_rpcs, view.receive_buffer, view.send_buffer, view.incoming);
        assert_eq!(held, (0, 0, 0, 0, 0), "everything is given up: {view:?}");
        assert!(self.open.is_empty(), "every request has an outcome");
        self.endpoint.check_invariants();
    }
}

fn config(tape: &mut Tape<'_>) -> Config {
    Config {
        framing: tape.pick(&[Framing::Udp, Framing::Ip]),
        max_client_rpcs: tape.pick(&[8, 1]),
        max_server_rpcs: tape.pick(&[8, 1, 3]),
        max_peers: tape.pick(&[8, 1, 2]),
        max_receive_buffer: tape.pick(&[1 << 20, 100_000, 3_000]),
        max_send_buffer: tape.pick(&[1 << 20, 100_000, 3_000]),
        max_gaps: tape.pick(&[16, 1]),
        priorities: tape.pick(&[8, 1, 2]),
        pacing: tape.u8() % 2 == 1,
        incast_threshold: tape.pick(&[32, 0]),
        ..Config::default()
    }
}

fn peer(tape: &mut Tape<'_>) -> SocketAddr {
    let number = tape.u8();
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, number % 4), if number < 128 { 4_000 } else { 0 }))
}

fn number(tape: &mut Tape<'_>) -> u32 {
    let choices =
        [0, 1, 100, 1_416, 1_417, 3_000, 40_000, 60_000, 100_000, 1 << 28, (1 << 28) + 1, i32::MAX as u32, u32::MAX];
    match tape.u8() {
        choice if usize::from(choice) < choices.len() => choices[usize::from(choice)],
        255 => tape.u32(),
        other => u32::from(other) * 20,
    }
}

fn message(tape: &mut Tape<'_>) -> Payload {
    let len = (number(tape) as usize).min(300_000);
    if tape.u8().is_multiple_of(2) { Payload::Phantom(len) } else { vec![0x3c; len].into() }
}

/// The payload that the header promises, or any other.
fn payload_len(tape: &mut Tape<'_>, header: &Header) -> usize {
    let Packet::Data(data) = header.packet else { return tape.pick(&[0, 0, 0, 5]) };
    let offset = header.data_offset(&data);
    let rest = data.message_length.saturating_sub(offset).min(1_416) as usize;
    tape.pick(&[rest, rest, rest, rest, rest, 0, 1, 1_500])
}
