//! Packets go out.

use super::config::{CONTROL_PRIORITY, Form};
use super::dress::dressed;
use super::rpc::Key;
use super::wire::{Ack, Body, Data, Packet};
use super::{Kernel, Sent};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// TCP's data offset, as the module fills it in.
const DOFF_DATA: u8 = 0xe0;
const DOFF_SEGMENT: u8 = 0xd0;
const DOFF_CONTROL: u8 = 0x50;

impl Kernel {
    /// Sends all of an RPC's message that may be sent.
    pub(super) fn send_data(&mut self, key: Key) {
        let Some(to) = self.rpcs.get(&key).map(|rpc| rpc.remote.ip()) else { return };
        while let Some(burst) = self.rpcs.get_mut(&key).and_then(|rpc| rpc.outgoing.as_mut()?.next_burst()) {
            // One ack in each packet that leaves, and so the same in all segments of it.
            let ack = if key.is_client() { self.peer(to).pop_ack() } else { None }.unwrap_or_default();
            for part in &burst {
                self.send_part(key, part, burst[0].start, burst.len() > 1, ack, None);
            }
        }
        let ticks = self.ticks;
        if let Some(rpc) = self.rpcs.get_mut(&key).filter(|_| !key.is_client()) {
            let all_sent = rpc.outgoing.as_ref().is_some_and(|message| message.sent() == message.length());
            if all_sent && rpc.done_at.is_none() {
                rpc.done_at = Some(ticks);
            }
        }
    }

    /// Sends again the packets, as they were, that overlap a range.
    pub(super) fn resend(&mut self, key: Key, range: Range<u32>, priority: u8) {
        let Some(message) = self.rpcs.get(&key).and_then(|rpc| rpc.outgoing.as_ref()) else { return };
        let end = range.end.min(message.sent());
        for part in message.resent(range) {
            self.send_part(key, &part, part.start, false, Ack::default(), Some((end.max(part.end), priority)));
        }
    }

    /// Sends one part of a message: for the first time, or again with the end of the range and a priority.
    fn send_part(
        &mut self,
        key: Key,
        part: &Range<u32>,
        first_offset: u32,
        segment: bool,
        ack: Ack,
        again: Option<(u32, u8)>,
    ) {
        let form = self.config.form;
        let Some(rpc) = self.rpcs.get(&key) else { return };
        let Some(message) = &rpc.outgoing else { return };
        let (local, remote) = (rpc.local, rpc.remote);
        let (length, unscheduled, scheduled_priority) =
            (message.length(), message.unscheduled(), message.scheduled_priority);
        let contents = message.contents(part);
        let peer = self.peer(remote.ip());
        let version = peer.cutoffs.1;
        let first = if part.start < unscheduled { peer.unscheduled_priority(length) } else { scheduled_priority };
        self.versions_named.insert(version);
        let explicit = segment || again.is_some() || form == Form::Explicit;
        let data = Data {
            message_length: length,
            incoming: again.map_or(unscheduled, |(end, _)| end),
            ack,
            cutoff_version: version,
            retransmit: again.is_some(),
            pad: [0; 3],
            segment_offset: explicit.then_some(part.start),
            contents,
        };
        let doff = if segment { DOFF_SEGMENT } else { DOFF_DATA };
        let priority = again.map_or(first, |(_, priority)| priority);
        self.push(local, remote, key.sender_id(), first_offset, doff, Body::Data(data), priority);
    }

    /// Sends a control packet about an RPC that is held.
    pub(super) fn send_control(&mut self, key: Key, body: Body) {
        if let Some(rpc) = self.rpcs.get(&key) {
            let (local, remote) = (rpc.local, rpc.remote);
            self.send_control_to(local, remote, key.sender_id(), body);
        }
    }

    /// Sends a control packet about any RPC.
    pub(super) fn send_control_to(&mut self, local: SocketAddr, remote: SocketAddr, sender_id: u64, body: Body) {
        self.push(local, remote, sender_id, 0, DOFF_CONTROL, body, CONTROL_PRIORITY);
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        sender_id: u64,
        sequence: u32,
        doff: u8,
        body: Body,
        priority: u8,
    ) {
        if self.is_puppet {
            return;
        }
        let packet = Packet {
            sport: local.port(),
            dport: remote.port(),
            sequence,
            doff,
            flags: 0,
            checksum: 0,
            urgent: 0,
            sender_id,
            body,
        };
        let ends: [IpAddr; 2] = [local.ip(), remote.ip()];
        let bytes = dressed(packet, self.config.dress, ends);
        self.out.push_back(Sent { from: ends[0], to: ends[1], priority, bytes });
    }
}
