//! Hosts with applications that do one simple thing each, and a record of what happened.

use homarus_proto::wire::{Header, PacketType};
use homarus_proto::{CallOptions, Config, IncomingRpc, Instant, Payload, RpcError, RpcId};
use homarus_swarm::net::{HostId, HostSpec, LinkSpec, Occurrence, Packet, Sight, World, host_at};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Stands for an address where no host lives.
const NOBODY: HostId = HostId::MAX;

/// What servers do with requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// Send the request back.
    Echo,
    /// Send so many bytes.
    Bytes(usize),
    /// Keep it in [`Stage::held`].
    Hold,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) at: Instant,
    pub(crate) result: Result<Payload, RpcError>,
}

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Sent,
    Downlink,
    Arrived,
}

/// A packet at some place and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) place: Place,
    pub(crate) at: Instant,
    /// On a downlink, when its last bit has been sent; otherwise as `at`.
    pub(crate) until: Instant,
    pub(crate) header: Header,
    pub(crate) priority: u8,
    /// Bytes of contents.
    pub(crate) len: usize,
    pub(crate) to: HostId,
}

impl Seen {
    pub(crate) fn kind(&self) -> PacketType {
        self.header.packet.packet_type()
    }
}

/// The hosts of one test.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) answer: Answer,
    pub(crate) outcomes: Vec<Outcome>,
    /// Requests executed: the server and the id.
    pub(crate) executed: Vec<(HostId, u64)>,
    pub(crate) held: Vec<(HostId, IncomingRpc)>,
    seen: Rc<RefCell<Vec<Seen>>>,
}

impl Stage {
    /// `hosts` hosts with the same link and configuration.
    pub(crate) fn new(hosts: usize, link: LinkSpec, config: &Config) -> Stage {
        let mut world = World::new();
        for host in 0..hosts {
            let config = config.clone();
            world.add_host(HostSpec {
                config,
                link,
                clock_ahead: Duration::ZERO,
                seed: host as u64 + 1,
                takes_datagrams: false,
            });
        }
        let seen = Rc::new(RefCell::new(Vec::new()));
        let record = Rc::clone(&seen);
        world.set_observer(Box::new(move |at, sight| record.borrow_mut().extend(see(at, &sight))));
        Stage { world, answer: Answer::Echo, outcomes: Vec::new(), executed: Vec::new(), held: Vec::new(), seen }
    }

    /// Starts a request with phantom contents.
    pub(crate) fn call(&mut self, from: HostId, to: HostId, len: usize) -> RpcId {
        self.call_with(from, to, Payload::Phantom(len))
    }

    pub(crate) fn call_with(&mut self, from: HostId, to: HostId, message: Payload) -> RpcId {
        self.world.call(from, to, message, CallOptions::default()).expect("an accepted request")
    }

    /// Plays for so long.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let limit = self.world.now() + time;
        while self.step(limit) {}
    }

    /// Plays until so many requests have ended in all; panics if that takes longer than `limit`.
    pub(crate) fn run_until_ended(&mut self, count: usize, limit: Duration) {
        let limit = self.world.now() + limit;
        while self.outcomes.len() < count {
            assert!(self.step(limit), "{} of {count} requests have ended in time", self.outcomes.len());
        }
    }

    /// One request and its response; gives the time that they took. Panics if it fails.
    pub(crate) fn round_trip(&mut self, from: HostId, to: HostId, len: usize) -> Duration {
        let begun = self.world.now();
        self.call(from, to, len);
        self.run_until_ended(self.outcomes.len() + 1, Duration::from_secs(600));
        let outcome = self.outcomes.last().expect("it has ended");
        assert!(outcome.result.is_ok(), "{outcome:?}");
        outcome.at.saturating_since(begun)
    }

    fn step(&mut self, limit: Instant) -> bool {
        let Some(occurrence) = self.world.next(limit) else { return false };
        let at = self.world.now();
        match occurrence {
            Occurrence::Request { host, rpc, message } => self.request(host, rpc, message),
            Occurrence::Response { result, .. } => self.outcomes.push(Outcome { at, result }),
            Occurrence::Alarm(_) => {}
        }
        true
    }

    fn request(&mut self, host: HostId, rpc: IncomingRpc, message: Payload) {
        self.executed.push((host, rpc.id()));
        let message = match self.answer {
            Answer::Echo => message,
            Answer::Bytes(len) => Payload::Phantom(len),
            Answer::Hold => return self.held.push((host, rpc)),
        };
        // A response may find that its client has given up: that is the client's affair.
        let _ = self.world.respond(host, rpc, message);
    }

    /// Everything seen since the last call.
    pub(crate) fn take_seen(&mut self) -> Vec<Seen> {
        self.seen.take()
    }

    /// Panics unless every endpoint has forgotten every RPC.
    pub(crate) fn assert_idle(&self) {
        for host in 0..self.world.host_count() {
            let view = self.world.endpoint(host).view();
            let rpcs = (view.client_rpcs, view.server_rpcs, view.receive_buffer, view.send_buffer, view.incoming);
            assert_eq!(rpcs, (0, 0, 0, 0, 0), "host {host}: {view:?}");
            self.world.endpoint(host).check_invariants();
        }
    }
}

fn see(at: Instant, sight: &Sight<'_>) -> Option<Seen> {
    let (place, packet, until): (Place, &Packet, Instant) = match sight {
        Sight::Sent(packet) => (Place::Sent, packet, at),
        Sight::Downlink { packet, until, .. } => (Place::Downlink, packet, *until),
        Sight::Delivered { packet, .. } => (Place::Arrived, packet, at),
        Sight::Lost(_) | Sight::Overflow(_) | Sight::Outside(_) => return None,
    };
    let header = Header::parse(packet.transmit.header()).ok()?;
    Some(Seen {
        place,
        at,
        until,
        header,
        priority: packet.transmit.priority,
        len: packet.transmit.payload.len(),
        to: host_at(packet.to()).unwrap_or(NOBODY),
    })
}
