//! A look at the state, for metrics, tools and tests.

use super::Endpoint;
use crate::Instant;
use crate::rpc::State;
use std::net::SocketAddr;
use std::time::Duration;

/// What an endpoint holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Requests outstanding as a client.
    pub client_rpcs: usize,
    /// Requests held as a server: arriving, executing, or with a response that is not acknowledged yet.
    pub server_rpcs: usize,
    /// Peers remembered.
    pub peers: usize,
    /// Bytes reserved for incomplete incoming messages.
    pub receive_buffer: usize,
    /// Bytes of outgoing messages held.
    pub send_buffer: usize,
    /// Timers set, also those that no longer count.
    pub timers: usize,
    /// Bytes expected, unscheduled or granted, and not received yet.
    pub incoming: u64,
}

/// What is known of a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerView {
    /// Shortest round trip of the last seconds, if one was measured.
    pub rtt_min: Option<Duration>,
    /// Smoothed round trip, if one was measured.
    pub rtt_smoothed: Option<Duration>,
    /// Bytes that a new message to this peer sends without grants.
    pub unscheduled_limit: u32,
    /// Measured rate of this host's link, bits per second.
    pub link_rate: Option<f64>,
}

impl Endpoint {
    /// What is held now.
    pub fn view(&self) -> View {
        View {
            client_rpcs: self.rpcs.clients(),
            server_rpcs: self.rpcs.servers(),
            peers: self.peers.len(),
            receive_buffer: self.receive_buffer,
            send_buffer: self.send_buffer,
            timers: self.timers.len(),
            incoming: self.granter.incoming,
        }
    }

    /// What is known of the peer at this address, if it is remembered.
    pub fn peer_view(&self, addr: SocketAddr) -> Option<PeerView> {
        let key = self.peers.find(addr)?;
        let rtt = &self.peers[key].rtt;
        Some(PeerView {
            rtt_min: rtt.shortest(),
            rtt_smoothed: rtt.smoothed(),
            unscheduled_limit: self.unscheduled_limit(key),
            link_rate: self.pacer.rate().map(|bytes_per_nano| bytes_per_nano * 8e9),
        })
    }

    /// Panics if the state contradicts itself. Looks at everything: for tests.
    pub fn check_invariants(&self) {
        let mut send_buffer = 0;
        let mut receive_buffer = 0;
        let mut under_way = 0;
        let mut to_send = 0;
        let mut to_grant = 0;
        for (_, rpc) in self.rpcs.iter() {
            if let Some(message) = rpc.outgoing() {
                send_buffer += message.length() as usize;
                assert_eq!(rpc.send_rank.is_some(), message.sendable(), "sendable messages are queued: {rpc:?}");
                to_send += usize::from(message.sendable());
                assert!(message.sent() <= message.length() && message.granted() <= message.length());
            }
            if let Some(message) = rpc.incoming() {
                message.check();
                receive_buffer += message.reserved();
                under_way += message.under_way();
                assert_eq!(message.rank.is_some(), message.granted() < message.length(), "{rpc:?}");
                to_grant += usize::from(message.rank.is_some());
            }
            let waits = rpc.waiting_since().is_some() || rpc.deadline().is_some();
            assert!(!waits || rpc.timer < Instant::FAR_FUTURE, "an RPC that waits has a timer: {rpc:?}");
        }
        assert_eq!(self.send_buffer, send_buffer, "bytes to send add up");
        assert_eq!(self.receive_buffer, receive_buffer, "bytes being received add up");
        assert_eq!(self.granter.incoming, under_way, "bytes under way add up");
        assert_eq!(self.send_queue.len(), to_send, "only sendable messages are queued");
        assert_eq!(self.granter.len(), to_grant, "only messages that need grants are ranked");
        let awaited = self.rpcs.iter().filter(|(_, rpc)| matches!(rpc.state, State::Requesting(_))).count();
        assert_eq!(self.responses_awaited, awaited as u64, "responses awaited add up");
        let rpcs = self.rpcs.clients() + self.rpcs.servers();
        let of_peers: u32 = self.peers.iter().map(|peer| peer.rpcs).sum();
        assert_eq!(of_peers as usize, rpcs, "RPCs of peers add up");
        assert!(self.rpcs.clients() <= self.config.max_client_rpcs);
        assert!(self.rpcs.servers() <= self.config.max_server_rpcs);
        assert!(self.peers.len() <= self.config.max_peers);
        assert!(self.send_buffer <= self.config.max_send_buffer);
        assert!(self.receive_buffer <= self.config.max_receive_buffer);
    }
}
