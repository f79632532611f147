//! Homa: the protocol core itself, [`homarus_proto::Endpoint`], that real sockets run.

mod wire;

pub use wire::HomaWire;
pub(crate) use wire::paper;

use super::{Message, Outcome, Transport};
use crate::Time;
use crate::net::{Ecn, Packet};
use homarus_proto::{CallOptions, Config, ConfigError, Endpoint, Event, IncomingRpc, Instant, Payload, Transmit};
use std::net::{Ipv4Addr, SocketAddr};

/// A host that runs Homa.
#[derive(Debug)]
pub struct Homa {
    host: u32,
    endpoint: Endpoint,
    wire: HomaWire,
    /// Ids of requests rise by two from the first.
    first_id: Option<u64>,
    /// Which message each request is.
    messages: Vec<u32>,
    /// Requests that wait for their responses, and which message each is.
    executing: Vec<(u32, IncomingRpc)>,
    one_way: bool,
}

/// What all hosts of a cluster share.
#[derive(Clone, Debug)]
pub struct HomaSetup {
    /// The endpoint's settings.
    pub config: Config,
    /// How packets look on the wire.
    pub wire: HomaWire,
    /// Whether messages are not answered. The core knows only requests with responses; then responses are empty, and they
    /// and their acks travel outside the network, for the protocol modelled has none.
    pub one_way: bool,
}

impl Homa {
    /// The Homa of host number `host`.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(host: u32, setup: &HomaSetup, seed: u64) -> Result<Homa, ConfigError> {
        Ok(Homa {
            host,
            endpoint: Endpoint::new(setup.config.clone(), PORT, seed ^ u64::from(host) << 32)?,
            wire: setup.wire,
            first_id: None,
            messages: Vec::new(),
            executing: Vec::new(),
            one_way: setup.one_way,
        })
    }

    /// The endpoint, to look at.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn answer(&mut self, now: Time, rpc: IncomingRpc, length: u32) {
        // The client may have given up meanwhile: then nobody waits for it.
        let _ = self.endpoint.send_response(instant(now), rpc, Payload::Phantom(length as usize));
    }

    fn message_of(&self, id: u64) -> u32 {
        let index = self.first_id.map(|first| (id.wrapping_sub(first) / 2) as usize);
        index.and_then(|index| self.messages.get(index)).copied().unwrap_or(Packet::<Transmit>::NO_MESSAGE)
    }
}

const PORT: u16 = 4000;

fn address(host: u32) -> SocketAddr {
    (Ipv4Addr::from_bits(0x0a00_0000 | host), PORT).into()
}

fn host_at(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(address) => address.ip().to_bits() & 0x00ff_ffff,
        SocketAddr::V6(_) => unreachable!("only IPv4 addresses are given out"),
    }
}

fn instant(now: Time) -> Instant {
    Instant::from_nanos(now.as_nanos())
}

/// A time of the core's, which counts whole nanoseconds and must not be called too early.
fn time(at: Instant) -> Time {
    if at == Instant::FAR_FUTURE { Time::NEVER } else { Time::from_nanos(at.as_nanos()) }
}

impl Transport for Homa {
    type Segment = Transmit;

    fn send(&mut self, now: Time, message: &Message) {
        let request = Payload::Phantom(message.length as usize);
        let sent = self.endpoint.send_request(instant(now), address(message.to), request, CallOptions::default());
        let id = sent.expect("a simulated endpoint has room").as_u64();
        self.first_id.get_or_insert(id);
        self.messages.push(message.id);
    }

    fn receive(&mut self, now: Time, packet: Packet<Transmit>, outcomes: &mut Vec<Outcome>) {
        let Packet { from, message, segment, .. } = packet;
        // Packets of no use are counted in the endpoint's statistics.
        let _ = self.endpoint.handle_phantom(instant(now), address(from), segment.header(), segment.payload.len());
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Request { rpc, .. } => {
                    outcomes.push(Outcome::Arrived(message));
                    if self.one_way {
                        self.answer(now, rpc, 0);
                    } else {
                        self.executing.push((message, rpc));
                    }
                }
                Event::Response { rpc, result } if result.is_ok() && !self.one_way => {
                    outcomes.push(Outcome::Answered(self.message_of(rpc.as_u64())));
                }
                Event::Response { .. } => {}
            }
        }
    }

    fn respond(&mut self, now: Time, message: &Message) {
        let found = self.executing.iter().position(|(id, _)| *id == message.id);
        if let Some(index) = found {
            let (_, rpc) = self.executing.swap_remove(index);
            self.answer(now, rpc, message.reply.unwrap_or(0));
        }
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet<Transmit>> {
        let transmit = self.endpoint.poll_transmit(instant(now))?;
        let (id, outside) = wire::look_at(&transmit);
        let outside = self.one_way && outside;
        Some(Packet {
            from: self.host,
            to: host_at(transmit.to),
            wire: if outside { 0 } else { self.wire.bytes(&transmit) },
            priority: transmit.priority,
            ecn: Ecn::Incapable,
            flow: id as u32,
            rank: 0,
            message: if id & 1 == 0 { self.message_of(id) } else { Packet::<Transmit>::NO_MESSAGE },
            segment: transmit,
        })
    }

    fn next_timeout(&self) -> Time {
        self.endpoint.poll_timeout().map_or(Time::NEVER, time)
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(instant(now));
    }
}
