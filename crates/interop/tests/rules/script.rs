use homarus_interop::kernel::CUTOFFS;
use homarus_interop::kernel::wire::{Body, Data, Packet};
use homarus_interop::net::{as_linux_peer, contents};
use homarus_proto::{CallOptions, Config, Discard, Endpoint, Event, IncomingRpc, Instant, Payload, RpcError};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// An RPC of a Linux client.
pub(crate) const THEIR_ID: u64 = 0x1a4;

/// Payload bytes in a full packet.
pub(crate) const FULL: u32 = 1_424;

/// An endpoint, and a Linux host of which every packet is written by hand.
pub(crate) struct Script {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    pub(crate) requests: VecDeque<(IncomingRpc, Payload)>,
    pub(crate) outcomes: VecDeque<Result<Payload, RpcError>>,
}

/// What the endpoint sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) priority: u8,
    pub(crate) packet: Packet,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    /// DATA's fields, and its part of the message.
    pub(crate) fn data(&self) -> (&Data, std::ops::Range<u32>) {
        let Body::Data(data) = &self.packet.body else { panic!("expected DATA, sent {:?}", self.packet.body) };
        let offset = self.packet.offset(data);
        (data, offset..offset + data.contents.len() as u32)
    }
}

pub(crate) fn host() -> SocketAddr {
    "10.0.0.2:4000".parse().expect("an address")
}

/// Another address of the same host.
pub(crate) fn second_address() -> SocketAddr {
    "10.0.0.88:4000".parse().expect("an address")
}

impl Script {
    /// With as many unscheduled bytes as Linux has.
    pub(crate) fn new() -> Script {
        let config =
            Config { unscheduled_start: 40_000, unscheduled_min: 40_000, unscheduled_max: 40_000, ..as_linux_peer() };
        Script {
            endpoint: Endpoint::new(config, 33_000, 3).expect("a valid configuration"),
            now: Instant::from_nanos(1_000_000_000),
            requests: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }

    /// The endpoint sends a request of which only the length matters; gives its id.
    pub(crate) fn calls(&mut self, length: u32) -> u64 {
        let sent = self.endpoint.send_request(self.now, host(), contents(0, length), CallOptions::default());
        sent.expect("an accepted request").as_u64()
    }

    /// A Linux client sends a whole request, and the application has it.
    pub(crate) fn is_called(&mut self, id: u64, length: u32) {
        for (start, end) in cuts(length) {
            let _ = self.gets(id, data(length, start, end));
        }
        assert_eq!(self.requests.back().expect("a request").1.as_slice(), contents(0, length));
    }

    /// The application answers the oldest request.
    pub(crate) fn responds(&mut self, length: u32) {
        let (rpc, _) = self.requests.pop_front().expect("a request");
        self.endpoint.send_response(self.now, rpc, contents(0, length)).expect("an accepted response");
    }

    pub(crate) fn gets(&mut self, sender_id: u64, body: Body) -> Result<(), Discard> {
        self.gets_packet(host(), &packet(sender_id, body))
    }

    pub(crate) fn gets_packet(&mut self, from: SocketAddr, packet: &Packet) -> Result<(), Discard> {
        self.gets_bytes(from, &packet.encode())
    }

    pub(crate) fn gets_bytes(&mut self, from: SocketAddr, bytes: &[u8]) -> Result<(), Discard> {
        let result = self.endpoint.handle_packet(self.now, from, bytes);
        self.hears();
        result
    }

    fn hears(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Request { rpc, message } => self.requests.push_back((rpc, message)),
                Event::Response { result, .. } => self.outcomes.push_back(result),
            }
        }
        self.endpoint.check_invariants();
    }

    /// All that it has to send now.
    pub(crate) fn sends(&mut self) -> Vec<Sent> {
        std::iter::from_fn(|| self.endpoint.poll_transmit(self.now))
            .map(|transmit| {
                let bytes = [transmit.header(), transmit.payload.as_slice()].concat();
                let packet = Packet::decode(&bytes).expect("a packet that Linux can read");
                Sent { priority: transmit.priority, packet, bytes }
            })
            .collect()
    }

    /// What it has to send now, without the fields that all packets have.
    pub(crate) fn says(&mut self) -> Vec<Body> {
        self.sends().into_iter().map(|sent| sent.packet.body).collect()
    }

    #[track_caller]
    pub(crate) fn sends_nothing(&mut self) {
        let sent = self.says();
        assert!(sent.is_empty(), "sent {sent:?}");
    }

    /// Time passes; gives what was sent meanwhile.
    pub(crate) fn waits(&mut self, time: Duration) -> Vec<Sent> {
        let end = self.now + time;
        let mut sent = self.sends();
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.endpoint.handle_timeout(self.now);
            self.hears();
            sent.extend(self.sends());
        }
        self.now = end;
        sent
    }

    /// RPCs held: as a client, as a server.
    pub(crate) fn held(&self) -> (usize, usize) {
        let view = self.endpoint.view();
        (view.client_rpcs, view.server_rpcs)
    }
}

pub(crate) fn packet(sender_id: u64, body: Body) -> Packet {
    let doff = if matches!(body, Body::Data(_)) { 0xe0 } else { 0x50 };
    Packet {
        sport: host().port(),
        dport: 33_000,
        sequence: 0,
        doff,
        flags: 0x06,
        checksum: 0,
        urgent: 0xb97d,
        sender_id,
        body,
    }
}

/// A part of a message of which all contents are [`contents`]' with key 0.
pub(crate) fn data(length: u32, start: u32, end: u32) -> Body {
    Body::Data(Data {
        message_length: length,
        incoming: length.min(40_000),
        ack: (0, 0),
        cutoff_version: 1,
        retransmit: false,
        pad: [0; 3],
        segment_offset: Some(start),
        contents: contents(0, length)[start as usize..end as usize].to_vec(),
    })
}

/// Where packets of a message begin and end.
pub(crate) fn cuts(length: u32) -> Vec<(u32, u32)> {
    let part = |from: u32, to: u32| (from..to).step_by(FULL as usize).map(move |start| (start, (start + FULL).min(to)));
    part(0, length.min(40_000)).chain(part(length.min(40_000), length)).collect()
}

pub(crate) fn resend(offset: u32, length: i32) -> Body {
    Body::Resend { offset, length, priority: 7 }
}

pub(crate) fn grant(offset: u32) -> Body {
    Body::Grant { offset, priority: 0 }
}

/// Linux's cutoffs.
pub(crate) fn cutoffs() -> Body {
    Body::Cutoffs { cutoffs: CUTOFFS.0, version: CUTOFFS.1 }
}
