use homarus_proto::wire::{ACK_LEN, Data, ExtensionBits, Header, Packet};
use homarus_proto::{
    CallOptions, Config, Discard, Endpoint, Event, Framing, IncomingRpc, Instant, Payload, RpcError, RpcId,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

/// The id that the peer uses for its own requests.
pub(crate) const PEER_ID: u64 = 0x1000;

/// Payload bytes in a full packet over IP at 1500 bytes, as Linux sends.
pub(crate) const FULL: u32 = 1_424;

/// The endpoint under test, the time, and what its application has been told.
pub(crate) struct Script {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    pub(crate) requests: VecDeque<(IncomingRpc, Payload)>,
    pub(crate) outcomes: VecDeque<(RpcId, Result<Payload, RpcError>)>,
}

/// A packet that the endpoint sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) to: SocketAddr,
    pub(crate) priority: u8,
    pub(crate) header: Header,
    pub(crate) payload: Vec<u8>,
}

impl Sent {
    /// The fields of DATA. Panics for another packet.
    pub(crate) fn data(&self) -> Data {
        match self.header.packet {
            Packet::Data(data) => data,
            other => panic!("expected DATA, sent {other:?}"),
        }
    }

    /// Part of the message that DATA carries.
    pub(crate) fn range(&self) -> Range<u32> {
        let start = self.header.data_offset(&self.data());
        start..start + self.payload.len() as u32
    }

    pub(crate) fn len(&self) -> usize {
        self.header.packet.packet_type().header_len() + self.payload.len()
    }
}

pub(crate) fn peer() -> SocketAddr {
    "10.0.0.9:4000".parse().expect("an address")
}

/// As Linux is: over IP.
pub(crate) fn linux_like() -> Config {
    Config { framing: Framing::Ip, unscheduled_start: 40_000, ..Config::default() }
}

/// Contents by which a wrong place would be noticed.
pub(crate) fn contents(len: usize) -> Vec<u8> {
    (0..len).map(|at| ((at * 31) >> 3) as u8 ^ at as u8).collect()
}

impl Script {
    pub(crate) fn new(config: Config) -> Script {
        Script {
            endpoint: Endpoint::new(config, 4_000, 5).expect("a valid configuration"),
            now: Instant::from_nanos(1_000_000_000),
            requests: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }

    /// The application sends the peer a request; gives its id on the wire.
    pub(crate) fn calls(&mut self, message: Vec<u8>) -> u64 {
        self.calls_at(peer(), message)
    }

    /// The same to another address.
    pub(crate) fn calls_at(&mut self, to: SocketAddr, message: Vec<u8>) -> u64 {
        self.endpoint.send_request(self.now, to, message, CallOptions::default()).expect("an accepted request").as_u64()
    }

    /// The application answers the oldest request that it has.
    pub(crate) fn responds(&mut self, message: Vec<u8>) {
        let (rpc, _) = self.requests.pop_front().expect("a request");
        self.endpoint.send_response(self.now, rpc, message).expect("an accepted response");
    }

    /// A packet comes from the peer.
    pub(crate) fn gets(&mut self, sender_id: u64, packet: Packet) -> Result<(), Discard> {
        self.gets_with(sender_id, packet, &[])
    }

    /// DATA comes from the peer: a part of a message.
    pub(crate) fn gets_data(&mut self, sender_id: u64, message: &[u8], part: Range<usize>) -> Result<(), Discard> {
        self.gets_with(sender_id, Packet::Data(data(message.len(), part.start)), &message[part])
    }

    pub(crate) fn gets_with(&mut self, sender_id: u64, packet: Packet, payload: &[u8]) -> Result<(), Discard> {
        let header = Header::new(peer().port(), 4_000, sender_id, packet);
        self.gets_bytes(peer(), &emit(&header, payload))
    }

    pub(crate) fn gets_bytes(&mut self, from: SocketAddr, bytes: &[u8]) -> Result<(), Discard> {
        let result = self.endpoint.handle_packet(self.now, from, bytes);
        self.hears();
        result
    }

    /// Takes what the application is told.
    pub(crate) fn hears(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Request { rpc, message } => self.requests.push_back((rpc, message)),
                Event::Response { rpc, result } => self.outcomes.push_back((rpc, result)),
            }
        }
        self.endpoint.check_invariants();
    }

    /// The next packet that the endpoint sends.
    pub(crate) fn sends(&mut self) -> Sent {
        self.may_send().expect("a packet to send")
    }

    pub(crate) fn may_send(&mut self) -> Option<Sent> {
        let transmit = self.endpoint.poll_transmit(self.now)?;
        Some(Sent {
            to: transmit.to,
            priority: transmit.priority,
            header: Header::parse(transmit.header()).expect("a well-formed packet"),
            payload: transmit.payload.into_bytes().to_vec(),
        })
    }

    /// All that it has to send now.
    pub(crate) fn sends_all(&mut self) -> Vec<Sent> {
        std::iter::from_fn(|| self.may_send()).collect()
    }

    #[track_caller]
    pub(crate) fn sends_nothing(&mut self) {
        if let Some(sent) = self.may_send() {
            panic!("sent {sent:?}");
        }
    }

    /// Time passes, and timers fire when they are due. Gives the packets sent meanwhile, and when.
    pub(crate) fn waits(&mut self, time: Duration) -> Vec<(Instant, Sent)> {
        let end = self.now + time;
        let mut sent = Vec::new();
        loop {
            sent.extend(self.sends_all().into_iter().map(|packet| (self.now, packet)));
            match self.endpoint.poll_timeout() {
                Some(at) if at <= end => self.now = self.now.max(at),
                _ => break,
            }
            self.endpoint.handle_timeout(self.now);
            self.hears();
        }
        self.now = end;
        sent
    }

    /// The only outcome there is. Panics if there is none, or another.
    pub(crate) fn outcome(&mut self, id: u64) -> Result<Payload, RpcError> {
        let (rpc, result) = self.outcomes.pop_front().expect("an outcome");
        assert_eq!(rpc.as_u64(), id);
        assert!(self.outcomes.is_empty(), "one outcome");
        result
    }
}

/// Fields of DATA as a sender has them that sends everything unscheduled.
pub(crate) fn data(message_length: usize, offset: usize) -> Data {
    Data {
        message_length: message_length as u32,
        incoming: message_length as u32,
        cutoff_version: 1,
        pad: ExtensionBits::default(),
        segment_offset: offset as u32,
        ..Data::default()
    }
}

pub(crate) fn emit(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [0; ACK_LEN];
    let len = header.emit(&mut bytes);
    [&bytes[..len], payload].concat()
}
