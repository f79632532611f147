//! What Linux takes, but no Linux peer sends. Each packet is held against what this host has sent so far; copies and
//! late packets can break no rule, for what justified them stays true.

use super::Kernel;
use super::account::{Breach, Rule};
use super::config::CONTROL_PRIORITY;
use super::peer::priority_by;
use super::rpc::{Key, Rpc};
use super::wire::{Ack, Body, Data, Kind, Packet};
use homarus_proto::Instant;
use std::net::IpAddr;

impl Kernel {
    pub(super) fn check_rules(&mut self, at: Instant, key: Key, from: IpAddr, priority: u8, packet: &Packet) {
        let kind = packet.kind();
        let mut broken = Vec::new();
        let control = kind != Kind::Data;
        if control && (packet.doff != 0x50 || packet.sequence != 0) || !control && packet.doff != 0xe0 {
            broken.push(Rule::Fields);
        }
        if control && priority != CONTROL_PRIORITY || priority > 7 {
            broken.push(Rule::Priority);
        }
        let listed: &[Ack] = match &packet.body {
            Body::Ack(acks) => acks,
            Body::Data(data) if data.ack.0 != 0 => &[data.ack],
            _ => &[],
        };
        let header = (kind == Kind::Ack).then_some(packet.sender_id);
        if listed.iter().map(|ack| ack.0).chain(header).any(|id| !self.may_be_acked(from, id)) {
            broken.push(Rule::Ack);
        }
        if let Body::Cutoffs { cutoffs, version } = packet.body {
            broken.extend(self.check_cutoffs(&cutoffs, version));
        }
        let cutoffs = self.config.cutoffs;
        let rpc = self.rpcs.get_mut(&key);
        match (&packet.body, rpc) {
            (Body::Data(data), rpc) => broken.extend(check_data(rpc, cutoffs, priority, packet, data)),
            (body, Some(rpc)) => broken.extend(check_control(rpc, key, body)),
            (_, None) => {}
        }
        self.breaches.extend(broken.into_iter().map(|rule| Breach { at, kind, id: packet.sender_id, rule }));
    }

    /// Whether a response was sent whole, or is no longer held, so that its client may ack it.
    fn may_be_acked(&self, from: IpAddr, id: u64) -> bool {
        let Some(rpc) = self.rpcs.get(&Key::Server(from, id & !1)) else { return true };
        let sent = rpc.outgoing.as_ref().is_some_and(|message| message.sent() == message.length());
        rpc.reborn || rpc.is_outgoing() && sent
    }

    fn check_cutoffs(&self, cutoffs: &[u32; 8], version: u16) -> Vec<Rule> {
        let mut broken = Vec::new();
        if version == 0 || cutoffs.iter().any(|cutoff| i32::try_from(*cutoff).is_err()) {
            broken.push(Rule::CutoffsValue);
        }
        if self.versions_named.iter().all(|named| *named == version) {
            broken.push(Rule::UnaskedCutoffs);
        }
        broken
    }
}

/// `rpc`: if the packet is not the first of its request.
fn check_data(
    rpc: Option<&mut Rpc>,
    cutoffs: ([u32; 8], u16),
    priority: u8,
    packet: &Packet,
    data: &Data,
) -> Vec<Rule> {
    let mut broken = Vec::new();
    let offset = packet.offset(data);
    let end = offset.saturating_add(data.contents.len() as u32);
    let knows = data.cutoff_version == cutoffs.1;
    if data.incoming > data.message_length {
        broken.push(Rule::Incoming);
    }
    if data.retransmit && data.incoming < end {
        broken.push(Rule::RetransmittedRange);
    }
    if data.retransmit && data.segment_offset.is_none() {
        broken.push(Rule::ImplicitRetransmission);
    }
    let mut declared = (data.incoming, knows);
    if let Some(rpc) = rpc {
        if data.retransmit && !rpc.asked && !rpc.disowned && !rpc.reborn {
            broken.push(Rule::UnaskedRetransmission);
        }
        if !data.retransmit {
            declared = *rpc.declared.get_or_insert(declared);
        }
        let granted = rpc.incoming().map(|message| message.granted().max(data.incoming));
        if granted.is_some_and(|granted| offset >= granted) && !rpc.reborn {
            broken.push(Rule::NotGranted);
        }
    }
    if !data.retransmit && declared.0 != data.incoming {
        broken.push(Rule::Incoming);
    }
    let follows = declared.1 && knows && !data.retransmit && offset < declared.0;
    if follows && priority != priority_by(&cutoffs.0, data.message_length) {
        broken.push(Rule::Cutoffs);
    }
    broken
}

fn check_control(rpc: &Rpc, key: Key, body: &Body) -> Option<Rule> {
    let length = rpc.outgoing.as_ref().map(|message| message.length());
    match body {
        Body::Grant { offset, priority } => {
            (length.is_some_and(|length| *offset > length) || *priority > 7).then_some(Rule::Grant)
        }
        Body::Resend { offset, length: wanted, priority } => {
            let sane = *wanted == -1 && *offset == 0
                || *wanted > 0 && length.is_none_or(|length| offset.saturating_add(*wanted as u32) <= length);
            (!sane || *priority > 7).then_some(Rule::Resend)
        }
        Body::Unknown => (!rpc.asked && !rpc.reborn).then_some(Rule::UnaskedUnknown),
        Body::Busy => (!rpc.asked && !rpc.reborn).then_some(Rule::UnaskedBusy),
        Body::NeedAck => (!key.is_client()).then_some(Rule::NeedAck),
        _ => None,
    }
}
