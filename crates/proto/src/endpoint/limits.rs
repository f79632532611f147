//! How much may be under way, from what has been measured.

use super::Endpoint;
use crate::peer::PeerKey;
use crate::rpc::Rpc;
use crate::{Instant, Unreachable};
use std::net::SocketAddr;
use std::time::Duration;

impl Endpoint {
    /// Bytes that a link of this rate, bytes per nanosecond, carries in a round trip to the peer, once both have been
    /// measured.
    fn rtt_bytes(&self, peer: PeerKey, rate: Option<f64>) -> Option<f64> {
        let shortest = self.peers[peer].rtt.shortest()?;
        Some(rate? * shortest.as_nanos() as f64)
    }

    /// Notes that what left for a peer at `sent_at` was answered at once.
    pub(super) fn sample_rtt(&mut self, now: Instant, peer: PeerKey, sent_at: Instant) {
        self.peers[peer].rtt.sample(now, sent_at);
        self.rtt.sample(now, sent_at);
    }

    /// Rate of the link to this host, bytes per nanosecond. Its way out is taken to be no faster than its way in.
    fn rate_in(&self) -> Option<f64> {
        match (self.arrivals.rate(), self.pacer.rate()) {
            (Some(arrivals), Some(pacer)) => Some(arrivals.max(pacer)),
            (one, other) => one.or(other),
        }
    }

    /// Bytes of a new message to `peer` that are sent without grants: those that keep the link busy until the first
    /// grant can be there, a quarter more because too many cost some queueing and too few an idle link.
    pub(super) fn unscheduled_limit(&self, peer: PeerKey) -> u32 {
        match self.rtt_bytes(peer, self.pacer.rate()) {
            Some(bytes) => {
                let limit = 1.25 * bytes + self.peers[peer].mtu as f64;
                (limit as u32).clamp(self.config.unscheduled_min, self.config.unscheduled_max)
            }
            None => self.config.unscheduled_start,
        }
    }

    /// Bytes that may be unscheduled or granted and not received, over all messages: what the link to this host carries
    /// in [`QUEUE_TIME`](Self::QUEUE_TIME) and two round trips, so that the queue before it stays short however many
    /// send, and no more than what was set.
    pub(super) fn incoming_limit(&self) -> u64 {
        let Some(rate) = self.rate_in() else {
            return self.max_incoming.min(Endpoint::UNMEASURED);
        };
        let time = Endpoint::QUEUE_TIME + 2 * self.rtt.shortest().unwrap_or_default();
        let least = Endpoint::LEAST_PACKETS * self.config.mtu as u64;
        self.max_incoming.min(least.max((rate * time.as_nanos() as f64) as u64))
    }

    /// Outstanding requests from which on new ones are marked: their responses could otherwise bring more unscheduled
    /// bytes than may be under way. The peer is taken to send as many as we would.
    pub(super) fn incast_threshold(&self, peer: PeerKey) -> usize {
        let responses = self.incoming_limit() / u64::from(self.unscheduled_limit(peer));
        self.config.incast_threshold.min(responses.max(2) as usize)
    }

    /// Time that what is under way toward this host takes to come in, if it all came before.
    pub(super) fn queue_time(&self) -> Duration {
        let nanos = |rate: f64| self.granter.incoming as f64 / rate;
        Duration::from_nanos(self.rate_in().map_or(0.0, nanos) as u64)
    }

    /// Longest queue before this host, if nothing came but what it has granted. Round trips cannot bound it: those that
    /// were measured in a queue have the queue in them.
    const QUEUE_TIME: Duration = Duration::from_millis(20);

    /// What may be under way while the link's rate is not known, bytes: within any switch port's buffer, and a round trip
    /// of fast links.
    const UNMEASURED: u64 = 150_000;

    /// What may be under way on the slowest of links, packets.
    const LEAST_PACKETS: u64 = 16;

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
        let share = self.incoming_limit() / (active as u64 + 1);
        let mtu = self.peers[peer].mtu as u64;
        let window = match self.rtt_bytes(peer, self.rate_in()) {
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

    /// Takes an ICMP error about packets to `at`: every request to that peer ends with
    /// [`RpcError::Unreachable`](crate::RpcError::Unreachable), and what it asked of us is forgotten; if only a port is
    /// closed, over IP where a host is a peer, that port's alone. Costs a look at all RPCs, so it is for errors that end
    /// an association.
    pub fn handle_unreachable(&mut self, now: Instant, at: SocketAddr, why: Unreachable) {
        let now = self.advance(now);
        let Some(peer) = self.peers.find(at) else {
            return;
        };
        if self.peers[peer].rpcs == 0 {
            return;
        }
        let concerns = |rpc: &Rpc| rpc.peer == peer && (why != Unreachable::Port || rpc.port == at.port());
        let concerned: Vec<_> = self.rpcs.iter().filter(|(_, rpc)| concerns(rpc)).map(|(key, _)| key).collect();
        for key in concerned {
            self.end_unreachable(now, key, why);
        }
    }
}
