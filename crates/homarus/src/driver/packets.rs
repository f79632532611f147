use super::LINUX_MAX_MESSAGE;
use crate::Error;
use crate::peers::KnownPeers;
use bytes::Bytes;
use homarus_io::{PacketIo, Received};
use homarus_proto::{CallOptions, Endpoint as Core, Event, Framing, IncomingRpc, Instant, RpcId, SendError, Transmit};
use std::io;
use std::net::SocketAddr;

/// Packets polled from the core for one send. Many short ones to a peer leave as one entry, so more pays off.
const SEND_BATCH: usize = 256;

/// The protocol core and a socket for its packets.
pub(crate) struct Packets {
    core: Core,
    io: Box<dyn PacketIo>,
    peers: KnownPeers,
    /// Polled from the core and not yet taken by the socket; at most [`SEND_BATCH`].
    unsent: Vec<Transmit>,
    /// Whether the socket was full when it was last tried.
    full: bool,
    /// Packets polled from the core since the endpoint began.
    sent: u64,
}

impl Packets {
    pub(crate) fn new(mut core: Core, io: Box<dyn PacketIo>, max_peers: usize) -> Self {
        core.set_max_incoming(io.receive_capacity());
        Packets {
            core,
            io,
            peers: KnownPeers::new(max_peers),
            unsent: Vec::with_capacity(SEND_BATCH),
            full: false,
            sent: 0,
        }
    }

    pub(super) fn core(&self) -> &Core {
        &self.core
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.io.local_addr()
    }

    /// Starts a call. Nothing leaves before [`flush`](Self::flush).
    pub(super) fn request(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        message: Bytes,
        options: CallOptions,
    ) -> Result<RpcId, Error> {
        let peer = self.peers.check(self.core.config().framing, self.io.local_addr(), peer)?;
        self.learn_mtu(peer);
        self.core.send_request(now, peer, message, options).map_err(|error| self.explain(error))
    }

    /// Answers a request. Nothing leaves before [`flush`](Self::flush).
    pub(super) fn respond(&mut self, now: Instant, rpc: IncomingRpc, message: Bytes) -> Result<(), Error> {
        self.learn_mtu(rpc.client());
        self.core.send_response(now, rpc, message).map_err(|error| self.explain(error))
    }

    /// Over IP the limit on messages is the Linux module's, unless it was set lower or lifted.
    fn explain(&self, error: SendError) -> Error {
        match error {
            SendError::TooLong { length, limit: LINUX_MAX_MESSAGE } if self.core.config().framing == Framing::Ip => {
                Error::TooLongForLinux { length }
            }
            other => other.into(),
        }
    }

    pub(super) fn reject(&mut self, now: Instant, rpc: IncomingRpc) {
        self.core.reject(now, rpc);
    }

    pub(super) fn cancel(&mut self, now: Instant, rpc: RpcId) {
        self.core.cancel(now, rpc);
    }

    fn learn_mtu(&mut self, peer: SocketAddr) {
        if self.peers.is_new(peer) {
            let mtu = self.io.path_mtu(peer);
            self.core.set_path_mtu(peer, mtu);
        }
    }

    /// Takes one batch of what has arrived into the core and returns how many items it had; 0 if nothing waits.
    pub(super) fn receive(&mut self, now: Instant) -> io::Result<usize> {
        let core = &mut self.core;
        self.io.recv(&mut |received| match received {
            Received::Datagram { from, bytes } => core.handle_datagram(now, from, bytes),
            Received::Unreachable { peer, why } => core.handle_unreachable(now, peer, why),
            Received::PathMtu { peer, mtu } => core.set_path_mtu(peer, mtu),
        })
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.core.poll_event()
    }

    /// Lets the core do what has become due, if anything.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let due = self.core.poll_timeout().is_some_and(|due| due <= now);
        if due {
            self.core.handle_timeout(now);
        }
        due
    }

    /// Whether time counts in microseconds: for a gap in a message, or for the next packet of a paced one. Otherwise what
    /// the core waits for is the usual response, which it would ask for again only after many round trips.
    pub(super) fn is_time_critical(&self) -> bool {
        self.core.wants_device_queue() || self.core.view().incoming > 0
    }

    /// When [`expire`](Self::expire) and [`flush`](Self::flush) are due, if nothing happens before.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.core.poll_timeout()
    }

    /// Sends all that may leave now. What a full socket did not take is kept: see [`is_full`](Self::is_full).
    pub(super) fn flush(&mut self, now: Instant) -> io::Result<()> {
        loop {
            self.fill(now);
            let polled = self.unsent.len();
            if polled == 0 {
                self.full = false;
                return Ok(());
            }
            let sent = self.io.send(&self.unsent)?;
            self.unsent.drain(..sent);
            self.full = sent < polled;
            // A core that stopped at the length of the device queue goes on if that has drained already.
            if self.full || (polled < SEND_BATCH && !self.core.wants_device_queue()) {
                return Ok(());
            }
        }
    }

    fn fill(&mut self, now: Instant) {
        if self.core.wants_device_queue()
            && let Some(bytes) = self.io.device_queue()
        {
            self.core.report_device_queue(now, bytes);
        }
        while self.unsent.len() < SEND_BATCH
            && let Some(packet) = self.core.poll_transmit(now)
        {
            self.unsent.push(packet);
            self.sent += 1;
        }
    }

    /// Packets sent since the endpoint began, or about to be.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether packets wait for the socket to become writable.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Ends every call, tells the peers as far as the socket takes it, and lets go of the socket.
    pub(super) fn close(&mut self, now: Instant) -> io::Result<()> {
        self.core.close(now);
        let told = self.flush(now);
        self.unsent.clear();
        self.full = false;
        self.io = Box::new(Unplugged { local: self.io.local_addr() });
        told
    }
}

/// Stands in for the socket of a closed endpoint, so that its port is free again.
struct Unplugged {
    local: SocketAddr,
}

impl PacketIo for Unplugged {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        Ok(batch.len())
    }

    fn recv(&mut self, _sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        Ok(0)
    }

    fn device_queue(&self) -> Option<u64> {
        None
    }

    fn path_mtu(&self, _peer: SocketAddr) -> usize {
        1500
    }

    fn receive_capacity(&self) -> u32 {
        0
    }
}
