//! PUBLIC API SKELETON (bodies are being written)
use crate::*;
use std::net::SocketAddr;
use std::time::Duration;

/// Identifies a request of this endpoint among all that it ever sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RpcId(pub(crate) u64);
impl RpcId {
    /// As it is on the wire.
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

/// A request that waits for its response. Not `Clone`: answering twice does not compile.
#[derive(Debug, PartialEq, Eq)]
pub struct IncomingRpc {
    pub(crate) slot: u32,
    pub(crate) id: u64,
    pub(crate) from: SocketAddr,
}
impl IncomingRpc {
    /// Who asks.
    pub fn client(&self) -> SocketAddr {
        self.from
    }
    /// The client's id of the RPC.
    pub fn id(&self) -> u64 {
        self.id
    }
}

/// Choices for one request.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// End the request with an error after this time; `None` takes the endpoint's default.
    pub deadline: Option<Duration>,
}

/// What the application is told.
#[derive(Debug)]
pub enum Event {
    /// A whole request has arrived.
    Request {
        /// For the response.
        rpc: IncomingRpc,
        /// Contents.
        message: Payload,
    },
    /// A request has ended: exactly one for each `send_request` that succeeded and was not cancelled.
    Response {
        /// The request.
        rpc: RpcId,
        /// Its outcome.
        result: Result<Payload, RpcError>,
    },
}

/// Counters, all since the endpoint began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// DATA bytes etc.: see the real one
    pub packets_sent: u64,
}

/// The state machine.
pub struct Endpoint {}

impl Endpoint {
    /// `port` goes into headers as this side's; `seed` makes RPC ids unique: use a random one.
    pub fn new(_config: Config, _port: u16, _seed: u64) -> Result<Endpoint, ConfigError> {
        todo!()
    }
    /// One Homa packet.
    pub fn handle_packet(
        &mut self,
        _now: Instant,
        _from: SocketAddr,
        _packet: &[u8],
    ) -> Result<(), Discard> {
        todo!()
    }
    /// One UDP datagram: one or several Homa packets. Discards are counted in stats.
    pub fn handle_datagram(&mut self, _now: Instant, _from: SocketAddr, _datagram: &[u8]) {
        todo!()
    }
    /// One packet whose contents are phantom (simulator).
    pub fn handle_phantom(
        &mut self,
        _now: Instant,
        _from: SocketAddr,
        _header: &[u8],
        _payload_len: usize,
    ) -> Result<(), Discard> {
        todo!()
    }
    /// ICMP says that packets to `peer` do not arrive: ends its RPCs.
    pub fn handle_unreachable(&mut self, _now: Instant, _peer: SocketAddr, _why: Unreachable) {
        todo!()
    }
    /// Call at or after `poll_timeout`; early calls are harmless.
    pub fn handle_timeout(&mut self, _now: Instant) {
        todo!()
    }
    /// Starts an RPC.
    pub fn send_request(
        &mut self,
        _now: Instant,
        _to: SocketAddr,
        _message: impl Into<Payload>,
        _options: CallOptions,
    ) -> Result<RpcId, SendError> {
        todo!()
    }
    /// Answers one.
    pub fn send_response(
        &mut self,
        _now: Instant,
        _rpc: IncomingRpc,
        _message: impl Into<Payload>,
    ) -> Result<(), SendError> {
        todo!()
    }
    /// Forgets a request; no event follows. Whether it was still outstanding.
    pub fn cancel(&mut self, _now: Instant, _rpc: RpcId) -> bool {
        todo!()
    }
    /// Drops an incoming request without answer: the client is told (UNKNOWN).
    pub fn reject(&mut self, _now: Instant, _rpc: IncomingRpc) {
        todo!()
    }
    /// Ends everything: open requests end with `RpcError::Closed`, peers are told; then only poll_transmit/poll_event give what is left.
    pub fn close(&mut self, _now: Instant) {
        todo!()
    }
    /// Next packet to send, if the pacer allows one now.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmit> {
        todo!()
    }
    /// Next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }
    /// When handle_timeout (and then poll_transmit) must be called, if nothing else happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        todo!()
    }
    /// Whether the driver should read the device queue and report it before the next poll_transmit (pacing).
    pub fn wants_device_queue(&self) -> bool {
        todo!()
    }
    /// Bytes of ours that wait in this host's device queue (SIOCOUTQ).
    pub fn report_device_queue(&mut self, _now: Instant, _bytes: u64) {
        todo!()
    }
    /// MTU of the path to a peer, bytes of IP packet.
    pub fn set_path_mtu(&mut self, _peer: SocketAddr, _mtu: usize) {
        todo!()
    }
    /// Most bytes granted and not yet received over all messages, e.g. what the socket's receive buffer can hold.
    pub fn set_max_incoming(&mut self, _bytes: u32) {
        todo!()
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        todo!()
    }
    /// Sizes of what is held now.
    pub fn view(&self) -> View {
        todo!()
    }
    /// Estimates about a peer.
    pub fn peer_view(&self, _peer: SocketAddr) -> Option<PeerView> {
        todo!()
    }
    /// Panics if the state contradicts itself. For tests: costs O(everything).
    pub fn check_invariants(&self) {
        todo!()
    }
}

/// A look at what an endpoint holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Requests outstanding as a client.
    pub client_rpcs: usize,
    /// Requests held as a server: arriving, executing, or with a response not yet acked.
    pub server_rpcs: usize,
    /// Peers remembered.
    pub peers: usize,
    /// Bytes reserved for incomplete incoming messages.
    pub receive_buffer: usize,
    /// Bytes of outgoing messages held.
    pub send_buffer: usize,
    /// Timers armed.
    pub timers: usize,
    /// Bytes granted or expected unscheduled and not received yet.
    pub incoming: u64,
}

/// What is known of a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerView {
    /// Shortest round trip lately, if measured.
    pub rtt_min: Option<Duration>,
    /// Smoothed round trip, if measured.
    pub rtt_smoothed: Option<Duration>,
    /// Bytes that a new message to this peer sends unscheduled.
    pub unscheduled_limit: u32,
    /// Measured rate of the link, bits per second.
    pub link_rate: Option<f64>,
}
