//! Packets from the network.

mod control;
mod data;

use super::Endpoint;
use crate::peer::PeerKey;
use crate::rpc::RpcKey;
use crate::wire::{Header, Packet, split_datagram};
use crate::{Discard, Instant};
use std::net::SocketAddr;

/// What follows a packet's header.
#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Bytes(&'a [u8]),
    /// So many bytes without contents.
    Phantom(usize),
}

impl Body<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Body::Bytes(bytes) => bytes.len(),
            Body::Phantom(len) => len,
        }
    }
}

impl Endpoint {
    /// Takes one Homa packet. An error says why it was of no use, and has been counted.
    pub fn handle_packet(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) -> Result<(), Discard> {
        self.take(now, from, packet, |header_len| Body::Bytes(&packet[header_len..]))
    }

    /// Takes one UDP datagram: one Homa packet, or several one after the other. What is of no use is counted.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let mut rest = datagram;
        loop {
            let (packet, after) = split_datagram(rest);
            // Discards have been counted; the sender is not told.
            let _ = self.handle_packet(now, from, packet);
            rest = after;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Takes one packet whose `payload_len` bytes of contents are phantom.
    pub fn handle_phantom(
        &mut self,
        now: Instant,
        from: SocketAddr,
        header: &[u8],
        payload_len: usize,
    ) -> Result<(), Discard> {
        self.take(now, from, header, |_| Body::Phantom(payload_len))
    }

    fn take<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        body: impl FnOnce(usize) -> Body<'a>,
    ) -> Result<(), Discard> {
        let now = self.advance(now);
        self.stats.packets_received += 1;
        let result = self.dispatch(now, from, bytes, body);
        if let Err(why) = result {
            self.stats.discard(why);
        }
        result
    }

    fn dispatch<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        body: impl FnOnce(usize) -> Body<'a>,
    ) -> Result<(), Discard> {
        let header = Header::parse(bytes)?;
        if self.closed {
            return Err(Discard::Closed);
        }
        let header_len = header.packet.packet_type().header_len();
        let peer = self.peers.find(from);
        match peer {
            Some(peer) => self.peers[peer].heard(now, bytes.len()),
            // Who sends a request becomes a peer, and a response is not answered: neither may pay for replies to others.
            None if matches!(header.packet, Packet::Data(_)) => {}
            None => self.stranger_credit.earn(bytes.len()),
        }
        match header.packet {
            Packet::Data(data) => self.on_data(now, from, peer, &header, &data, body(header_len)),
            Packet::Grant { offset, priority } => self.on_grant(now, peer, &header, offset, priority),
            Packet::Resend { offset, length, priority } => {
                self.on_resend(now, from, peer, &header, offset, length, priority)
            }
            Packet::Unknown => self.on_unknown(now, peer, &header),
            Packet::Busy => self.on_busy(now, peer, &header),
            Packet::Cutoffs { cutoffs, version } => self.on_cutoffs(peer, cutoffs, version),
            Packet::Freeze => Ok(()),
            Packet::NeedAck => self.on_need_ack(from, peer, &header),
            Packet::Ack { count, acks } => self.on_ack(now, peer, &header, &acks[..usize::from(count)]),
        }
    }

    /// The RPC that a packet is about. A client's is found by id alone: a server may answer from another address.
    fn find_rpc(&self, peer: Option<PeerKey>, header: &Header) -> Result<RpcKey, Discard> {
        let found = if header.from_client() {
            peer.and_then(|peer| self.rpcs.find_server(peer, header.client_id()))
        } else {
            self.rpcs.find_client(header.client_id())
        };
        found.ok_or(Discard::UnknownRpc)
    }

    /// Notes that something came about an RPC that had been asked for, so that another RPC may ask.
    fn resend_answered(&mut self, now: Instant, key: RpcKey) {
        let peer = self.rpcs[key].peer;
        if self.peers[peer].resend_turn.is_held_by(key) {
            self.peers[peer].resend_turn.note_outcome(true);
            self.pass_resend_turn(now, peer);
        }
    }

    /// Whether a reply of `bytes` to a packet about an unknown RPC may be sent: never more bytes than came.
    fn may_reply(&mut self, peer: Option<PeerKey>, bytes: usize) -> bool {
        match peer {
            Some(peer) => self.peers[peer].reply_credit.spend(bytes),
            None => self.stranger_credit.spend(bytes),
        }
    }
}
