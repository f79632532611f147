//! DATA: parts of requests and responses.

use super::Body;
use crate::endpoint::Endpoint;
use crate::peer::PeerKey;
use crate::recv::{Accepted, Incoming, Patience};
use crate::rpc::{RpcKey, State};
use crate::wire::{COMMON_LEN, CUTOFFS_LEN, Data, ExtensionBits, Header, Packet};
use crate::{Discard, Instant, Payload, RpcError};
use std::net::SocketAddr;
use std::time::Duration;

/// Least time between two CUTOFFS packets to one peer.
const CUTOFFS_INTERVAL: Duration = Duration::from_millis(1);

/// Contradicting packets in a row after which the message's first packet is disbelieved.
const CONTRADICTIONS_BELIEVED: u32 = 4;

impl Endpoint {
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        from: SocketAddr,
        known_peer: Option<PeerKey>,
        header: &Header,
        data: &Data,
        body: Body<'_>,
    ) -> Result<(), Discard> {
        let offset = header.data_offset(data);
        let len = u32::try_from(body.len()).map_err(|_| Discard::Malformed)?;
        let end = offset.checked_add(len).ok_or(Discard::Malformed)?;
        if end > data.message_length || (len == 0 && data.message_length > 0) {
            return Err(Discard::Malformed);
        }
        if header.from_client() {
            self.on_request(now, from, known_peer, header, data, offset, body)
        } else {
            self.on_response(now, header, data, offset, body)
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn on_request(
        &mut self,
        now: Instant,
        from: SocketAddr,
        known_peer: Option<PeerKey>,
        header: &Header,
        data: &Data,
        offset: u32,
        body: Body<'_>,
    ) -> Result<(), Discard> {
        let peer = match known_peer {
            Some(peer) => peer,
            None => {
                let Some(peer) = self.peers.find_or_add(from, &self.config, now) else {
                    self.stranger_credit.earn(crate::wire::DATA_LEN + body.len());
                    self.push_back(None, from, header.client_id(), offset);
                    return Err(Discard::NoRoom);
                };
                self.peers[peer].heard(now, crate::wire::DATA_LEN + body.len());
                peer
            }
        };
        let id = header.client_id();
        self.note_extensions(peer, data);
        if data.message_length > self.longest_accepted() {
            // Without the reason in it, UNKNOWN would have the client send everything again, at once and for ever.
            if offset == 0 && self.may_extend(from) && self.may_reply(Some(peer), COMMON_LEN) {
                self.send_unknown(from, id | 1, Header::TOO_LONG);
            }
            return Err(Discard::TooLong);
        }
        if data.ack.client_id != 0 {
            self.on_one_ack(now, peer, data.ack.client_id);
        }
        self.check_cutoff_version(now, peer, from, id | 1, data);
        if let Some(key) = self.rpcs.find_server(peer, id) {
            return match self.rpcs[key].state {
                State::Arriving(_) => self.receive(now, key, data, offset, body),
                _ => Err(Discard::Duplicate),
            };
        }
        if self.peers[peer].finished.contains(id) {
            return Err(Discard::UnknownRpc);
        }
        let whole = body.len() == data.message_length as usize;
        let fits = whole || self.check_room(data.message_length).is_ok();
        if self.rpcs.servers() >= self.config.max_server_rpcs || !fits {
            self.push_back(Some(peer), from, id, offset);
            return Err(Discard::NoRoom);
        }
        let incast = data.pad.has(ExtensionBits::INCAST);
        self.stats.incast_marked += u64::from(incast);
        if whole {
            self.note_size(data);
            let key = self.begin(now, id, peer, from.port(), State::Executing);
            self.rpcs[key].incast = incast;
            self.stats.bytes_received += body.len() as u64;
            self.note_arrival(now, body.len() as u32, false);
            self.announce_request(key, to_payload(body));
            self.arm(key);
            return Ok(());
        }
        self.note_size(data);
        let message = Box::new(Incoming::new(data.message_length, data.incoming, matches!(body, Body::Phantom(_))));
        let key = self.begin(now, id, peer, from.port(), State::Arriving(message));
        self.rpcs[key].incast = incast;
        self.receive(now, key, data, offset, body)
    }

    fn on_response(
        &mut self,
        now: Instant,
        header: &Header,
        data: &Data,
        offset: u32,
        body: Body<'_>,
    ) -> Result<(), Discard> {
        let key = self.rpcs.find_client(header.client_id()).ok_or(Discard::UnknownRpc)?;
        let peer = self.rpcs[key].peer;
        self.note_extensions(peer, data);
        let remote = self.remote(&self.rpcs[key]);
        self.check_cutoff_version(now, peer, remote, header.client_id(), data);
        if data.message_length > self.longest_accepted() {
            let limit = self.longest_accepted();
            self.fail(now, key, RpcError::ResponseTooLong { length: data.message_length, limit });
            return Err(Discard::TooLong);
        }
        if let State::Requesting(request) = &self.rpcs[key].state {
            let unscheduled = data.incoming.min(data.message_length);
            self.usual_response = (self.usual_response / 8 * 7).saturating_add(unscheduled / 8);
            if self.rpcs[key].doubt().asked == 0 && self.rpcs[key].doubt().backoff == 0 && request.all_sent() {
                let sent_at = request.last_sent;
                self.sample_rtt(now, peer, sent_at);
            }
            if body.len() == data.message_length as usize {
                self.note_size(data);
                self.resend_answered(now, key);
                self.stats.bytes_received += body.len() as u64;
                self.note_arrival(now, body.len() as u32, false);
                let rpc = self.end(now, key);
                self.succeed(&rpc, to_payload(body));
                return Ok(());
            }
            self.check_room(data.message_length)?;
            self.note_size(data);
            let message = Box::new(Incoming::new(data.message_length, data.incoming, matches!(body, Body::Phantom(_))));
            self.change_state(key, State::Replying(message));
        }
        self.receive(now, key, data, offset, body)
    }

    /// Puts a packet's contents into its message.
    fn receive(&mut self, now: Instant, key: RpcKey, data: &Data, offset: u32, body: Body<'_>) -> Result<(), Discard> {
        let message = self.rpcs[key].incoming().ok_or(Discard::Duplicate)?;
        let phantom = matches!(body, Body::Phantom(_));
        if message.length() != data.message_length || message.is_phantom() != phantom {
            self.contradict(key, data, phantom)?;
        }
        let len = body.len() as u32;
        let peer = self.rpcs[key].peer;
        let rtt = &self.peers[peer].rtt;
        let patience = Patience {
            ask_at: now + rtt.reordering_time(&self.config),
            ask_queued_at: now + self.config.resend_min + rtt.reordering_time(&self.config) + 2 * self.queue_time(),
            reordering: rtt.reordering_packets(),
            max_gaps: self.config.max_gaps,
        };
        let contents = match body {
            Body::Bytes(bytes) => bytes,
            Body::Phantom(_) => &[],
        };
        // Of the first packet nobody knows whether it was late or the application slow.
        let begun = self.rpcs[key].incoming().is_some_and(|message| message.received() > 0);
        let waited_since = self.rpcs[key].waiting_since().filter(|_| begun && self.rpcs[key].doubt().backoff > 0);
        let accepted = self
            .with_incoming(key, |message| {
                let probe = message.rtt_probe.filter(|(from, _)| offset >= *from);
                if probe.is_some() {
                    message.rtt_probe = None;
                }
                message.stalled = false;
                let accepted = message.accept(offset, contents, len, now, patience)?;
                Ok((accepted, probe, message.is_complete()))
            })
            .unwrap_or(Err(Discard::Duplicate));
        let (accepted, probe, complete) = accepted?;
        if let Some((_, granted_at)) = probe.filter(|_| data.retransmit == 0) {
            self.sample_rtt(now, peer, granted_at);
        }
        match accepted {
            Accepted::Fresh { was_asked_for, .. } => {
                if let Some(since) = waited_since.filter(|_| data.retransmit == 0) {
                    self.peers[peer].rtt.was_late(now.saturating_since(since));
                }
                self.rpcs[key].progressed(now);
                if was_asked_for && data.retransmit == 0 {
                    self.peers[peer].rtt.was_reordered();
                }
            }
            Accepted::Duplicate => self.rpcs[key].heard(now),
        }
        self.note_arrival(now, len, offset >= self.rpcs[key].incoming().map_or(0, |message| message.unscheduled()));
        self.expect(key);
        self.resend_answered(now, key);
        if complete {
            self.stats.bytes_received += u64::from(len);
            self.complete_incoming(now, key);
            return Ok(());
        }
        self.update_grant_rank(key);
        self.granter.mark_dirty();
        match accepted {
            Accepted::Duplicate => Err(Discard::Duplicate),
            Accepted::Fresh { gap, .. } => {
                self.stats.bytes_received += u64::from(len);
                if gap || self.rpcs[key].timer == Instant::FAR_FUTURE {
                    self.arm(key);
                }
                Ok(())
            }
        }
    }

    /// A packet contradicts what the message's first packet said, and is of no use. But if that goes on while nothing
    /// else comes, it was the first that was forged, so the message is begun anew with this one.
    fn contradict(&mut self, key: RpcKey, data: &Data, phantom: bool) -> Result<(), Discard> {
        let message = self.rpcs[key].incoming_mut().ok_or(Discard::Duplicate)?;
        message.contradictions += 1;
        if message.contradictions < CONTRADICTIONS_BELIEVED || data.message_length > self.longest_accepted() {
            return Err(Discard::Inconsistent);
        }
        self.check_room(data.message_length)?;
        let anew = Box::new(Incoming::new(data.message_length, data.incoming, phantom));
        let state = match self.rpcs[key].state {
            State::Replying(_) => State::Replying(anew),
            _ => State::Arriving(anew),
        };
        self.change_state(key, state);
        Ok(())
    }

    /// Tells a client, once a message, that there is no room for its request now.
    fn push_back(&mut self, peer: Option<PeerKey>, from: SocketAddr, id: u64, offset: u32) {
        if offset == 0 && self.may_reply(peer, COMMON_LEN) {
            self.send_busy(from, id | 1, true);
        }
    }

    /// Whether one more incoming message of this length fits.
    fn check_room(&self, length: u32) -> Result<(), Discard> {
        let fits = self.receive_buffer + length as usize <= self.config.max_receive_buffer;
        if fits { Ok(()) } else { Err(Discard::NoRoom) }
    }

    fn note_extensions(&mut self, peer: PeerKey, data: &Data) {
        if data.pad.has(ExtensionBits::HOMARUS) {
            self.peers[peer].knows_extensions = true;
            self.peers[peer].rtt.take_hint(data.pad.round_trip());
        }
    }

    /// Notes that contents came, and whether a grant had called them.
    fn note_arrival(&mut self, now: Instant, len: u32, granted: bool) {
        self.received_total += u64::from(len);
        self.data_at = now;
        self.arrivals.note(now, len);
        if self.granter.incoming == 0 {
            self.arrivals.rest();
        }
        if granted {
            self.granted_data_at = now;
        }
    }

    /// Lets the sizes that come choose the cutoffs.
    fn note_size(&mut self, data: &Data) {
        self.cutoffs.record(data.message_length, data.incoming.min(data.message_length));
    }

    /// Tells a peer our cutoffs if it used others.
    fn check_cutoff_version(&mut self, now: Instant, peer: PeerKey, to: SocketAddr, sender_id: u64, data: &Data) {
        let sent_at = self.peers[peer].cutoffs_sent_at;
        let recently = sent_at.is_some_and(|at| now.saturating_since(at) < CUTOFFS_INTERVAL);
        if data.cutoff_version == self.cutoffs.version() || recently {
            return;
        }
        if !self.may_reply(Some(peer), CUTOFFS_LEN) {
            return;
        }
        self.peers[peer].cutoffs_sent_at = Some(now);
        self.stats.cutoffs_sent += 1;
        let packet = Packet::Cutoffs { cutoffs: self.cutoffs.cutoffs(), version: self.cutoffs.version() };
        self.send_control(to, sender_id, 0, packet);
    }
}

fn to_payload(body: Body<'_>) -> Payload {
    match body {
        Body::Bytes(bytes) => Payload::copy_of(bytes),
        Body::Phantom(len) => Payload::Phantom(len),
    }
}
