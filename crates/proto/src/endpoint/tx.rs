//! Packets to the network: control first, then the message that SRPT chooses.

use super::Endpoint;
use crate::peer::PeerKey;
use crate::recv::unscheduled_priority;
use crate::rpc::{RpcKey, Side};
use crate::send::Chunk;
use crate::transmit::Transmit;
use crate::wire::{ACK_LEN, Data, ExtensionBits, Header, NO_SEGMENT_OFFSET, Packet};
use crate::{Framing, Instant, Payload};
use std::net::SocketAddr;

/// Priority of control packets.
const CONTROL_PRIORITY: u8 = 7;
/// Priority of unscheduled bytes before the receiver's cutoffs are known.
const FIRST_PRIORITY: u8 = 6;
/// Control packets kept for the driver; more than this and it does not take them at all.
const MAX_CONTROL: usize = 16_384;
/// Messages with no more than this to send may go although the device queue is long: they add little to it, and the
/// wait would be most of their time.
const SHORT: u32 = 1000;
/// Bytes on the wire around a Homa packet: Ethernet with preamble and gap, IP, UDP.
const OVERHEAD: u64 = 38 + 28;

impl Endpoint {
    /// Next packet to send. `None` means that there is nothing to send now: nothing at all, or nothing until grants
    /// come or the device queue is shorter, for which [`poll_timeout`](Self::poll_timeout) knows the time.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let now = self.advance(now);
        self.issue_grants(now);
        let transmit = self.control.pop_front().or_else(|| self.next_data(now))?;
        self.stats.packets_sent += 1;
        self.pacer.sent(transmit.len() as u64 + OVERHEAD);
        Some(transmit)
    }

    fn next_data(&mut self, now: Instant) -> Option<Transmit> {
        let mtu = self.config.mtu as u32;
        let rpcs = &self.rpcs;
        let mut key = self.send_queue.next(mtu, |rank| rpcs.has_send_rank(rank))?;
        if !self.pacer.has_room(now, mtu) {
            let shortest = self.send_queue.shortest(|rank| rpcs.has_send_rank(rank))?;
            let remaining = rpcs[shortest.rpc()].outgoing().map_or(0, |message| message.remaining());
            if shortest.is_long() || remaining > SHORT || !self.pacer.has_room_for_short(now, mtu) {
                return None;
            }
            key = shortest.rpc();
        }
        let peer = self.rpcs[key].peer;
        let most = self.peers[peer].packet_len(self.config.framing);
        let length = self.rpcs[key].outgoing()?.length();
        let priority = self.unscheduled_priority(peer, length);
        let message = self.rpcs[key].outgoing_mut()?;
        message.unscheduled_priority = priority;
        let chunk = message.next_chunk(now, most)?;
        let payload = message.slice(chunk.range.clone());
        let idle = !message.sendable();
        self.send_queue.sent(key, chunk.range.len() as u32);
        self.update_send_rank(key);
        let transmit = self.data_packet(key, &chunk, payload);
        if idle {
            self.expect(key);
            self.arm(key);
        }
        Some(transmit)
    }

    /// Priority of the unscheduled bytes of a message: chosen when they leave, like the version of the cutoffs that they
    /// name.
    fn unscheduled_priority(&self, peer: PeerKey, length: u32) -> u8 {
        let peer = &self.peers[peer];
        if peer.cutoff_version == 0 {
            // As Linux does before it has heard a peer's cutoffs.
            return FIRST_PRIORITY.max(8 - self.config.priorities);
        }
        unscheduled_priority(&peer.cutoffs, length)
    }

    fn data_packet(&mut self, key: RpcKey, chunk: &Chunk, payload: Payload) -> Transmit {
        let rpc = &self.rpcs[key];
        let remote = self.remote(rpc);
        let peer = &mut self.peers[rpc.peer];
        let mut extensions = ExtensionBits::HOMARUS;
        let mut ack = None;
        if rpc.side() == Side::Client {
            extensions |= if rpc.incast { ExtensionBits::INCAST } else { 0 };
            ack = peer.acks.pop();
        }
        let offset = chunk.range.start;
        let data = Data {
            message_length: rpc.outgoing().map_or(0, |message| message.length()),
            incoming: chunk.incoming,
            ack: ack.unwrap_or_default(),
            cutoff_version: peer.cutoff_version,
            retransmit: u8::from(chunk.retransmit),
            pad: ExtensionBits([extensions, peer.rtt.to_hint(), 0]),
            segment_offset: if chunk.retransmit { offset } else { NO_SEGMENT_OFFSET },
        };
        let mut header = Header::new(self.port, rpc.port, rpc.sender_id(), Packet::Data(data));
        header.sequence = offset;
        self.stats.bytes_sent += payload.len() as u64;
        self.stats.data_resent += u64::from(chunk.retransmit);
        to_transmit(remote, chunk.priority, &header, payload)
    }

    /// Queues a control packet about the RPC that this side knows as `sender_id`.
    pub(super) fn send_control(&mut self, to: SocketAddr, sender_id: u64, sequence: u32, packet: Packet) {
        if self.control.len() >= MAX_CONTROL {
            self.stats.control_dropped += 1;
            return;
        }
        let mut header = Header::new(self.port, to.port(), sender_id, packet);
        header.sequence = sequence;
        self.control.push_back(to_transmit(to, CONTROL_PRIORITY, &header, Payload::EMPTY));
    }

    /// Says that an RPC is not known. `why` says more to peers that understand it: 0, [`Header::ENDED`] or
    /// [`Header::TOO_LONG`].
    pub(super) fn send_unknown(&mut self, to: SocketAddr, sender_id: u64, why: u32) {
        self.stats.unknown_sent += 1;
        let sequence = if self.may_extend(to) { why } else { 0 };
        self.send_control(to, sender_id, sequence, Packet::Unknown);
    }

    pub(super) fn send_busy(&mut self, to: SocketAddr, sender_id: u64, no_room: bool) {
        self.stats.busy_sent += 1;
        let sequence = if no_room && self.may_extend(to) { Header::NO_ROOM } else { 0 };
        self.send_control(to, sender_id, sequence, Packet::Busy);
    }

    /// Whether the host at `to` knows homarus's extensions. The Linux module speaks only over IP.
    pub(super) fn may_extend(&self, to: SocketAddr) -> bool {
        let announced = || self.peers.find(to).is_some_and(|peer| self.peers[peer].knows_extensions);
        self.config.framing == Framing::Udp || announced()
    }
}

fn to_transmit(to: SocketAddr, priority: u8, header: &Header, payload: Payload) -> Transmit {
    let mut bytes = [0; ACK_LEN];
    let len = header.emit(&mut bytes);
    Transmit { to, priority, header: bytes, header_len: len as u8, payload }
}
