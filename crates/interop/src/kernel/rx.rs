//! Packets come in.

use super::account::Why;
use super::config::{JIFFY, MAX_MESSAGE};
use super::rpc::{Key, State};
use super::wire::{Ack, Body, Data, Kind, NotAPacket, Packet};
use super::{Drop, Event, Incoming, Kernel, PortUnreachable, Request};
use homarus_proto::Instant;
use std::net::{IpAddr, SocketAddr};

impl Kernel {
    /// Takes a packet: whence, to which of this host's addresses, at which priority.
    pub fn handle(&mut self, now: Instant, from: IpAddr, to: IpAddr, priority: u8, bytes: &[u8]) {
        let packet = match Packet::decode(bytes) {
            Ok(packet) => packet,
            Err(why) => {
                let why = match why {
                    NotAPacket::TooShort => Why::TooShort,
                    NotAPacket::UnknownType => Why::UnknownType,
                    NotAPacket::TooManyAcks => Why::TooManyAcks,
                };
                self.drops.push(Drop { at: now, kind: None, id: 0, why });
                return;
            }
        };
        let key = Key::of(from, packet.sender_id);
        let open = match key {
            Key::Client(_) => packet.dport == self.config.client_port,
            Key::Server(..) => self.config.server_ports.contains(&packet.dport),
        };
        if !open {
            let port = packet.dport;
            if packet.kind() == Kind::Resend || !self.config.late_icmp {
                self.icmp.push_back(PortUnreachable { to: from, what: SocketAddr::new(to, port) });
            }
            return self.drop_packet(now, &packet, Why::NoSuchPort(port));
        }
        self.check_rules(now, key, from, priority, &packet);
        if matches!(packet.kind(), Kind::Data | Kind::Grant | Kind::Busy)
            && let Some(rpc) = self.rpcs.get_mut(&key)
        {
            rpc.silent = 0;
        }
        let remote = SocketAddr::new(from, packet.sport);
        let local =
            SocketAddr::new(if self.config.answers_from_first { self.config.addresses[0] } else { to }, packet.dport);
        match &packet.body {
            Body::Data(data) => self.on_data(now, key, local, remote, &packet, data),
            Body::Grant { offset, priority } => self.on_grant(now, key, &packet, *offset, *priority),
            Body::Resend { offset, length, priority } => {
                self.on_resend(key, local, remote, packet.sender_id, (*offset, *length), *priority);
            }
            Body::Unknown => self.on_unknown(now, key, &packet),
            Body::Busy | Body::Freeze => self.expect_known(now, key, &packet),
            Body::Cutoffs { cutoffs, version } => self.peer(from).cutoffs = (*cutoffs, *version),
            Body::NeedAck => self.on_need_ack(key, local, remote),
            Body::Ack(acks) => {
                self.on_ack(key);
                acks.iter().for_each(|ack| self.on_listed_ack(now, from, &packet, *ack));
            }
        }
    }

    fn on_data(&mut self, now: Instant, key: Key, local: SocketAddr, remote: SocketAddr, packet: &Packet, data: &Data) {
        if data.message_length > MAX_MESSAGE {
            return self.drop_packet(now, packet, Why::TooLong(data.message_length));
        }
        if data.ack.0 != 0 && !key.is_client() {
            self.on_listed_ack(now, remote.ip(), packet, data.ack);
        }
        if data.cutoff_version != self.config.cutoffs.1 {
            self.tell_cutoffs(now, key, local, remote);
        }
        if !self.rpcs.contains_key(&key) {
            if key.is_client() {
                return self.expect_known(now, key, packet);
            }
            let message = Incoming::new(data.message_length, data.incoming);
            self.begin(key, remote, local, State::Incoming(message), None);
            let knows = data.cutoff_version == self.config.cutoffs.1;
            if let Some(rpc) = self.rpcs.get_mut(&key).filter(|_| !data.retransmit) {
                rpc.declared = Some((data.incoming, knows));
            }
        }
        let Some(rpc) = self.rpcs.get_mut(&key) else { return };
        if key.is_client() && rpc.is_outgoing() {
            rpc.state = State::Incoming(Incoming::new(data.message_length, data.incoming));
        }
        let Some(message) = rpc.incoming_mut() else {
            return self.drop_packet(now, packet, Why::Duplicate);
        };
        if message.length() != data.message_length {
            let why = Why::OtherLength { first: message.length(), now: data.message_length };
            return self.drop_packet(now, packet, why);
        }
        let accepted = message.accept(packet.offset(data), data.incoming, &data.contents);
        let complete = message.is_complete();
        if let Err(why) = accepted {
            self.drop_packet(now, packet, why);
        } else if complete {
            self.complete(key);
        }
        self.issue_grants(key);
    }

    /// A message is whole.
    fn complete(&mut self, key: Key) {
        match key {
            Key::Client(id) => {
                let Some(rpc) = self.end(key) else { return };
                let host = rpc.remote.ip();
                if let Some(acks) = self.peer(host).add_ack((id, rpc.remote.port())) {
                    self.send_control_to(rpc.local, rpc.remote, id, Body::Ack(acks));
                }
                if let State::Incoming(message) = rpc.state {
                    self.events.push_back(Event::Response { id, result: Ok(message.into_contents()) });
                }
            }
            Key::Server(_, id) => {
                let Some(rpc) = self.rpcs.get_mut(&key) else { return };
                let request = Request { client: rpc.remote, id };
                if let State::Incoming(message) = std::mem::replace(&mut rpc.state, State::InService) {
                    self.events.push_back(Event::Request { request, message: message.into_contents() });
                }
            }
        }
    }

    /// Tells a peer the cutoffs, once in a jiffy.
    fn tell_cutoffs(&mut self, now: Instant, key: Key, local: SocketAddr, remote: SocketAddr) {
        let (cutoffs, version) = self.config.cutoffs;
        let jiffy = |at: Instant| at.as_nanos() / JIFFY.as_nanos() as u64;
        let peer = self.peer(remote.ip());
        if peer.cutoffs_sent_at.is_some_and(|at| jiffy(at) == jiffy(now)) {
            return;
        }
        peer.cutoffs_sent_at = Some(now);
        for _ in 0..self.config.cutoffs_burst {
            self.send_control_to(local, remote, key.sender_id(), Body::Cutoffs { cutoffs, version });
        }
    }

    fn on_grant(&mut self, now: Instant, key: Key, packet: &Packet, offset: u32, priority: u8) {
        let Some(rpc) = self.rpcs.get_mut(&key) else {
            return self.expect_known(now, key, packet);
        };
        if !rpc.is_outgoing() {
            // Of a client, the response is coming already; of a server, the request was not complete.
            let why = if key.is_client() || rpc.reborn { Why::Stale } else { Why::NeverKnown };
            return self.drop_packet(now, packet, why);
        }
        if let Some(message) = rpc.outgoing.as_mut() {
            message.grant(offset, priority);
        }
        self.send_data(key);
    }

    fn on_resend(
        &mut self,
        key: Key,
        local: SocketAddr,
        remote: SocketAddr,
        sender_id: u64,
        (offset, length): (u32, i32),
        priority: u8,
    ) {
        let Some(rpc) = self.rpcs.get_mut(&key) else {
            self.disowned.insert(key);
            return self.send_control_to(local, remote, sender_id ^ 1, Body::Unknown);
        };
        if !rpc.is_outgoing() {
            return self.send_control(key, Body::Busy);
        }
        let Some(message) = rpc.outgoing.as_mut() else { return };
        let sent = message.sent();
        let end = u32::try_from(length).map_or(sent, |length| offset.saturating_add(length));
        message.grant(end, priority);
        if offset >= sent {
            self.send_control(key, Body::Busy);
        } else {
            self.resend(key, offset..end.min(sent), priority);
        }
        self.send_data(key);
    }

    fn on_unknown(&mut self, now: Instant, key: Key, packet: &Packet) {
        let Some(rpc) = self.rpcs.get_mut(&key) else {
            return self.expect_known(now, key, packet);
        };
        if !key.is_client() {
            self.end(key);
        } else if rpc.is_outgoing() {
            let (sent, length) = rpc.outgoing.as_ref().map_or((0, 0), |message| (message.sent(), message.length()));
            let host = rpc.remote.ip();
            let priority = self.peer(host).unscheduled_priority(length);
            self.resend(key, 0..sent, priority);
        } else {
            self.drop_packet(now, packet, Why::Stale);
        }
    }

    fn on_need_ack(&mut self, key: Key, local: SocketAddr, remote: SocketAddr) {
        let Key::Client(id) = key else { return };
        if self.rpcs.contains_key(&key) {
            self.ask_again(key);
        } else {
            let acks = self.peer(remote.ip()).take_acks();
            self.send_control_to(local, remote, id, Body::Ack(acks));
        }
    }

    /// The RPC in an ACK's header is acked whatever else the ACK says.
    fn on_ack(&mut self, key: Key) {
        if !key.is_client() {
            self.end(key);
        }
    }

    fn on_listed_ack(&mut self, now: Instant, from: IpAddr, packet: &Packet, (id, port): Ack) {
        if !self.config.server_ports.contains(&port) {
            return self.drop_packet(now, packet, Why::NoSuchPort(port));
        }
        self.end(Key::Server(from, id & !1));
    }

    /// A packet of no use: because its RPC has ended, or because there never was such an RPC.
    fn expect_known(&mut self, now: Instant, key: Key, packet: &Packet) {
        let begun = |id: u64| id < self.next_id;
        let known = match key {
            Key::Client(id) => begun(id),
            Key::Server(..) => self.rpcs.contains_key(&key) || self.ended.contains(&key),
        };
        if !known {
            self.drop_packet(now, packet, Why::NeverKnown);
        } else if !self.rpcs.contains_key(&key) {
            self.drop_packet(now, packet, Why::Stale);
        }
    }
}
