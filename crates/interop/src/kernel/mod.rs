//! A model of the Linux Homa module: what it was observed to send and to expect, and no more than that.
//!
//! | file | what it does |
//! |---|---|
//! | [`wire`] | packets as bytes, from the table of the wire format |
//! | `config` | the module's constants, and how a modelled host can differ |
//! | `rx` | packets come in |
//! | `tx` | packets go out |
//! | `grants` | which incoming messages may send how much |
//! | `timer` | what happens at a tick |
//! | `incoming`, `outgoing` | messages |
//! | `account` | what the peer did that Linux does not take, or would not do |
//! | `rules` | finds the latter |
//! | `puppet` | a host that does what a capture says, and only judges by itself |
//!
//! The model is as deterministic as it can be: it sends at once what it may send, so that the order of packets follows
//! from the calls alone. It is not optimised: a tick looks at every RPC.

mod account;
mod config;
mod dress;
mod grants;
mod incoming;
mod outgoing;
mod peer;
mod puppet;
mod rpc;
mod rules;
mod rx;
mod timer;
mod tx;
pub mod wire;

pub use account::{Breach, Drop, Rule, Why};
pub use config::{
    ACK_TICKS, CONTROL_PRIORITY, CUTOFFS, Dress, FIFO_INCREMENT, FIFO_PERCENT, FIFO_PRIORITY, FIRST_PRIORITY, Form,
    JIFFY, KernelConfig, MAX_INCOMING, MAX_MESSAGE, MAX_SCHEDULED_PRIORITY, OVERCOMMITMENT, RESEND_TICKS, TICK,
    TIMEOUT_TICKS, UNSCHEDULED, WAITING_ACKS,
};
pub use incoming::Incoming;

use homarus_proto::Instant;
use outgoing::Outgoing;
use peer::Peer;
use rpc::{Key, Rpc, State};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// A modelled host.
#[derive(Clone, Debug)]
pub struct Kernel {
    config: KernelConfig,
    ticks: u64,
    rpcs: BTreeMap<Key, Rpc>,
    /// RPCs that there were once.
    ended: BTreeSet<Key>,
    /// RPCs of which a client was told that they are not known here.
    disowned: BTreeSet<Key>,
    peers: BTreeMap<IpAddr, Peer>,
    /// For the account: versions of others' cutoffs that our DATA has named.
    versions_named: BTreeSet<u16>,
    next_id: u64,
    next_born: u64,
    /// Hundredths of bytes owed to the oldest incoming message.
    fifo_credit: u64,
    out: VecDeque<Sent>,
    icmp: VecDeque<PortUnreachable>,
    events: VecDeque<Event>,
    drops: Vec<Drop>,
    breaches: Vec<Breach>,
    /// Whether somebody else says what it sends.
    is_puppet: bool,
}

/// A packet that leaves.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its priority.
    pub priority: u8,
    /// From the first Homa byte on.
    pub bytes: Vec<u8>,
}

/// An ICMP message that leaves: nobody has opened a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortUnreachable {
    /// Who is told.
    pub to: IpAddr,
    /// The address and the port.
    pub what: SocketAddr,
}

/// A request that waits for its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client.
    pub client: SocketAddr,
    /// The client's id.
    pub id: u64,
}

/// What the application is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request has come.
    Request {
        /// Which.
        request: Request,
        /// Its contents.
        message: Vec<u8>,
    },
    /// A request has ended.
    Response {
        /// Its id.
        id: u64,
        /// The response, or why there is none.
        result: Result<Vec<u8>, Failure>,
    },
}

/// Why a request ended without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing came for too many ticks.
    TimedOut,
    /// ICMP said that nobody has opened the port.
    PortUnreachable,
    /// ICMP said that the host does not take the protocol.
    ProtocolUnreachable,
}

impl Kernel {
    /// A host that has just loaded the module.
    pub fn new(config: KernelConfig) -> Kernel {
        Kernel {
            config,
            ticks: 0,
            rpcs: BTreeMap::new(),
            ended: BTreeSet::new(),
            disowned: BTreeSet::new(),
            peers: BTreeMap::new(),
            versions_named: BTreeSet::new(),
            next_id: 2,
            next_born: 0,
            fifo_credit: 0,
            out: VecDeque::new(),
            icmp: VecDeque::new(),
            events: VecDeque::new(),
            drops: Vec::new(),
            breaches: Vec::new(),
            is_puppet: false,
        }
    }

    /// Sends a request. Panics where the system call would fail: for an empty message, and for one that is too long.
    pub fn call(&mut self, to: SocketAddr, message: Vec<u8>) -> u64 {
        let id = self.next_id;
        self.call_as(id, to, message);
        id
    }

    /// The same with an id that is given: even, and higher than those before.
    fn call_as(&mut self, id: u64, to: SocketAddr, message: Vec<u8>) {
        self.next_id = id + 2;
        let key = Key::Client(id);
        let local = SocketAddr::new(self.config.addresses[0], self.config.client_port);
        let outgoing = self.outgoing(to.ip(), message);
        self.begin(key, to, local, State::Outgoing, Some(outgoing));
        self.send_data(key);
    }

    /// Sends a response, unless the RPC has ended meanwhile; says whether it did.
    pub fn respond(&mut self, request: Request, message: Vec<u8>) -> bool {
        let key = Key::Server(request.client.ip(), request.id);
        let outgoing = self.outgoing(request.client.ip(), message);
        let Some(rpc) = self.rpcs.get_mut(&key).filter(|rpc| matches!(rpc.state, State::InService)) else {
            return false;
        };
        rpc.state = State::Outgoing;
        rpc.outgoing = Some(outgoing);
        self.send_data(key);
        true
    }

    /// Takes an ICMP error about a host: about one port of it, or about the whole protocol. RPCs end at once.
    pub fn handle_unreachable(&mut self, host: IpAddr, port: Option<u16>) {
        let concerned = |rpc: &Rpc| rpc.remote.ip() == host && port.is_none_or(|port| rpc.remote.port() == port);
        let keys: Vec<Key> = self.rpcs.iter().filter(|(_, rpc)| concerned(rpc)).map(|(key, _)| *key).collect();
        let failure = if port.is_some() { Failure::PortUnreachable } else { Failure::ProtocolUnreachable };
        for key in keys {
            self.fail(key, failure);
        }
    }

    /// Next packet to the network.
    pub fn poll_transmit(&mut self) -> Option<Sent> {
        self.out.pop_front()
    }

    /// Next ICMP message to the network.
    pub fn poll_icmp(&mut self) -> Option<PortUnreachable> {
        self.icmp.pop_front()
    }

    /// Next thing that the application should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Packets that Linux would have dropped, so far.
    pub fn drops(&self) -> &[Drop] {
        &self.drops
    }

    /// Packets that no Linux peer would have sent, so far.
    pub fn breaches(&self) -> &[Breach] {
        &self.breaches
    }

    /// RPCs held: as a client, as a server. Those do not count that a late copy of a request has begun anew after the
    /// RPC had ended: Linux executes such a request again, and as the client never grants what it no longer waits for,
    /// it keeps a long response for ever.
    pub fn held(&self) -> (usize, usize) {
        let clients = self.rpcs.keys().filter(|key| key.is_client()).count();
        let servers = self.rpcs.iter().filter(|(key, rpc)| !key.is_client() && !rpc.reborn).count();
        (clients, servers)
    }

    /// How it is set up.
    pub fn config(&self) -> &KernelConfig {
        &self.config
    }

    fn outgoing(&self, to: IpAddr, message: Vec<u8>) -> Outgoing {
        let length = message.len() as u32;
        assert!((1..=MAX_MESSAGE).contains(&length), "Linux sends 1 to {MAX_MESSAGE} bytes, not {length}");
        let ip_header = if to.is_ipv4() { 20 } else { 40 };
        let full = self.config.mtu - ip_header - wire::Kind::Data.header_len() as u32;
        let together = if let Form::Segmented(segments) = self.config.form { segments } else { 1 };
        Outgoing::new(message, full, together, UNSCHEDULED)
    }

    fn begin(&mut self, key: Key, remote: SocketAddr, local: SocketAddr, state: State, outgoing: Option<Outgoing>) {
        let born = self.next_born;
        self.next_born += 1;
        let rpc = Rpc {
            remote,
            local,
            state,
            outgoing,
            silent: 0,
            done_at: None,
            born,
            asked: false,
            disowned: self.disowned.contains(&key),
            reborn: self.ended.contains(&key),
            declared: None,
        };
        self.rpcs.insert(key, rpc);
        self.ended.remove(&key);
    }

    /// Ends an RPC, and gives what was held of it.
    fn end(&mut self, key: Key) -> Option<Rpc> {
        let rpc = self.rpcs.remove(&key)?;
        self.ended.insert(key);
        if rpc.incoming().is_some() {
            // What it had been granted is free for others.
            self.issue_grants(key);
        }
        Some(rpc)
    }

    /// Ends an RPC with an error; servers are not told.
    fn fail(&mut self, key: Key, failure: Failure) {
        self.end(key);
        if let Key::Client(id) = key {
            self.events.push_back(Event::Response { id, result: Err(failure) });
        }
    }

    /// What is known of a host.
    fn peer(&mut self, host: IpAddr) -> &mut Peer {
        self.peers.entry(host).or_default()
    }

    /// Notes that the module would have dropped a packet.
    fn drop_packet(&mut self, at: Instant, packet: &wire::Packet, why: Why) {
        self.drops.push(Drop { at, kind: Some(packet.kind()), id: packet.sender_id, why });
    }
}
