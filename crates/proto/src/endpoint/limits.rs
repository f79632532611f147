//! How much may be under way, from what has been measured.

use super::Endpoint;
use crate::peer::PeerKey;
use crate::{Instant, Unreachable};
use std::net::SocketAddr;
use std::time::Duration;

impl Endpoint {
    /// Bytes that the link carries in a round trip to the peer, once both have been measured.
    fn rtt_bytes(&self, peer: PeerKey) -> Option<f64> {
        let shortest = self.peers[peer].rtt.shortest()?;
        Some(self.pacer.rate()? * shortest.as_nanos() as f64)
    }

    /// Bytes of a new message to `peer` that are sent without grants: those that keep the link busy until the first
    /// grant can be there, a quarter more because too many cost some queueing and too few an idle link.
    pub(super) fn unscheduled_limit(&self, peer: PeerKey) -> u32 {
        match self.rtt_bytes(peer) {
            Some(bytes) => {
                let limit = 1.25 * bytes + self.peers[peer].mtu as f64;
                (limit as u32).clamp(self.config.unscheduled_min, self.config.unscheduled_max)
            }
            None => self.config.unscheduled_start,
        }
    }

    /// Packets by which a grant window exceeds two round trips' worth, so that on slow links, too, one grant serves
    /// several packets: a grant for each would cost six per cent of the link.
    const WINDOW_PACKETS: u64 = 12;

    /// Bytes that may be under way at any time, as far as the link's rate is known.
    pub(super) fn in_flight(&self, round_trip: Duration) -> u32 {
        self.pacer.in_flight(round_trip, self.config.mtu as u32).min(u64::from(u32::MAX)) as u32
    }

    /// Longest message that can be received at all.
    pub(super) fn longest_accepted(&self) -> u32 {
        self.config.max_message_len.min(u32::try_from(self.config.max_receive_buffer).unwrap_or(u32::MAX))
    }

    /// Whether new requests are turned away for the time being.
    pub(super) fn is_full(&self) -> bool {
        let room = self.config.max_receive_buffer - self.receive_buffer;
        self.rpcs.servers() >= self.config.max_server_rpcs || room < self.config.max_receive_buffer / 2
    }

    /// Bytes of one message that may be granted and not received, when `active` messages are granted at once: the
    /// Linux module's share, but no more than two round trips' worth and a few packets once that is known.
    pub(super) fn grant_window(&self, peer: PeerKey, active: usize) -> u32 {
        let share = self.max_incoming / (active as u64 + 1);
        let mtu = self.peers[peer].mtu as u64;
        let window = match self.rtt_bytes(peer) {
            Some(bytes) => share.min((2.0 * bytes) as u64 + Endpoint::WINDOW_PACKETS * mtu),
            None => share,
        };
        window.max(mtu).min(u64::from(u32::MAX)) as u32
    }

    /// Sets the MTU of the path to a peer, bytes of IP packet (200 to 65,535; values outside are clamped). Messages
    /// that have begun shrink their packets if they must, and do not grow them.
    pub fn set_path_mtu(&mut self, peer: SocketAddr, mtu: usize) {
        if let Some(key) = self.peers.find_or_add(peer, &self.config, self.now) {
            self.peers[key].mtu = mtu.clamp(200, 65_535);
        }
    }

    /// Bounds the bytes under way toward this endpoint by what its socket can hold; [`Config::max_incoming`] remains
    /// the upper bound.
    ///
    /// [`Config::max_incoming`]: crate::Config::max_incoming
    pub fn set_max_incoming(&mut self, bytes: u32) {
        self.max_incoming = u64::from(bytes.clamp(2000, self.config.max_incoming));
    }

    /// Whether the driver should tell the length of the device queue before the next
    /// [`poll_transmit`](Self::poll_transmit). Only with [`Config::pacing`](crate::Config::pacing).
    pub fn wants_device_queue(&self) -> bool {
        !self.send_queue.is_empty() && self.pacer.wants_report()
    }

    /// Tells how many bytes of ours wait in this host's device queue.
    pub fn report_device_queue(&mut self, now: Instant, bytes: u64) {
        let now = self.advance(now);
        self.pacer.report(now, bytes);
    }

    /// Takes an ICMP error: every request to that peer ends with [`RpcError::Unreachable`](crate::RpcError::Unreachable),
    /// and what it asked of us is forgotten. Costs a look at all RPCs, so it is for errors that end an association.
    pub fn handle_unreachable(&mut self, now: Instant, peer: SocketAddr, why: Unreachable) {
        let now = self.advance(now);
        let Some(peer) = self.peers.find(peer) else {
            return;
        };
        if self.peers[peer].rpcs == 0 {
            return;
        }
        let concerned: Vec<_> = self.rpcs.iter().filter(|(_, rpc)| rpc.peer == peer).map(|(key, _)| key).collect();
        for key in concerned {
            self.end_unreachable(now, key, why);
        }
    }
}
