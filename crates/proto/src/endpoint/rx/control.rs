//! Everything but DATA.

use crate::endpoint::Endpoint;
use crate::peer::PeerKey;
use crate::rpc::{Doubt, RpcKey, State};
use crate::send::{ResendOutcome, UnderWay};
use crate::wire::{ACK_LEN, Ack, COMMON_LEN, Header, Packet};
use crate::{Discard, Instant, RpcError};
use std::net::SocketAddr;

impl Endpoint {
    pub(super) fn on_grant(
        &mut self,
        now: Instant,
        peer: Option<PeerKey>,
        header: &Header,
        offset: u32,
        priority: u8,
    ) -> Result<(), Discard> {
        let key = self.find_rpc(peer, header)?;
        let rpc = &mut self.rpcs[key];
        let peer = rpc.peer;
        let Some(message) = rpc.outgoing_mut() else {
            return Err(Discard::WrongSide);
        };
        let news = message.grant(offset, priority & 7);
        let probe = if news { message.rtt_probe.take() } else { None };
        rpc.known_to_server = true;
        rpc.progressed(now);
        if let Some(sent_at) = probe {
            self.sample_rtt(now, peer, sent_at);
        }
        self.resend_answered(now, key);
        self.update_send_rank(key);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn on_resend(
        &mut self,
        now: Instant,
        from: SocketAddr,
        peer: Option<PeerKey>,
        header: &Header,
        offset: u32,
        length: i32,
        priority: u8,
    ) -> Result<(), Discard> {
        let Ok(key) = self.find_rpc(peer, header) else {
            return self.resend_of_unknown(from, peer, header);
        };
        let under_way = self.under_way(self.rpcs[key].peer);
        let remote = self.remote(&self.rpcs[key]);
        let rpc = &mut self.rpcs[key];
        rpc.known_to_server = true;
        if rpc.incoming().is_none() {
            // Not while the sender of the RESEND itself owes us something: its asking must not keep us from asking.
            rpc.heard(now);
        } else {
            // But it lives, and what it sent may be starved by higher priorities: it is not to be given up.
            rpc.doubt_mut().asking_since = now;
        }
        let sender_id = rpc.sender_id();
        let wanted = (offset, length);
        let outcome = rpc.outgoing_mut().map(|message| message.resend(now, under_way, wanted, priority));
        self.update_send_rank(key);
        if outcome != Some(ResendOutcome::Queued) {
            self.send_busy(remote, sender_id, false);
        }
        if matches!(self.rpcs[key].state, State::Arriving(_)) {
            // The client has sent all that it may: what is missing was lost.
            self.ask_at_once(now, key);
        }
        self.arm(key);
        Ok(())
    }

    /// What may be under way to a peer, and for how long.
    fn under_way(&self, peer: PeerKey) -> UnderWay {
        let config = &self.config;
        let longest = (config.dead_after / 8).max(config.resend_min);
        let round_trip = self.peers[peer].rtt.smoothed().unwrap_or(config.resend_start);
        let usual = round_trip.clamp(config.resend_min, longest);
        UnderWay { usual, longest, longest_whole: config.dead_after, bytes: self.in_flight(usual) }
    }

    fn resend_of_unknown(&mut self, from: SocketAddr, peer: Option<PeerKey>, header: &Header) -> Result<(), Discard> {
        if !self.may_reply(peer, COMMON_LEN) {
            return Err(Discard::NoRoom);
        }
        let reply_id = header.sender_id ^ 1;
        let full = self.is_full() || (peer.is_none() && self.peers.is_full());
        let ended = peer.is_some_and(|peer| self.peers[peer].finished.contains(header.client_id()));
        if header.from_client() && !ended && full {
            self.send_busy(from, reply_id, true);
        } else if !header.from_client() || !ended {
            self.send_unknown(from, reply_id, 0);
        } else if self.may_extend(from) {
            self.send_unknown(from, reply_id, Header::ENDED);
        }
        // Who does not understand that it has ended would send all of the request again, each time; it will give up.
        Err(Discard::UnknownRpc)
    }

    pub(super) fn on_unknown(&mut self, now: Instant, peer: Option<PeerKey>, header: &Header) -> Result<(), Discard> {
        let key = self.find_rpc(peer, header)?;
        if header.from_client() {
            // The client has forgotten the RPC, so its response is of no use.
            let rpc = self.end_as_server(now, key);
            self.peers[rpc.peer].finished.insert_unseen(rpc.id);
            return Ok(());
        }
        self.resend_answered(now, key);
        let under_way = self.under_way(self.rpcs[key].peer);
        let rpc = &mut self.rpcs[key];
        let known = rpc.known_to_server;
        let &Doubt { asked, was_stopped, only_busy, .. } = rpc.doubt();
        match &mut rpc.state {
            _ if header.sequence == Header::ENDED => self.fail(now, key, RpcError::Dropped),
            State::Requesting(request) if header.sequence == Header::TOO_LONG => {
                let length = request.length();
                self.fail(now, key, RpcError::RequestTooLong { length });
            }
            // UNKNOWN answers only a RESEND. One that was not asked for is a copy, or from before the last question was
            // answered: to start over for each of them would be a flood.
            State::Requesting(request) if (!known || request.remaining() > 0) && asked == 0 => {
                return Err(Discard::Duplicate);
            }
            State::Requesting(request) if request.all_sent() && was_stopped && !only_busy => {
                self.fail(now, key, RpcError::ServerRestarted);
            }
            State::Requesting(request) if !known || request.remaining() > 0 => {
                // The server lives, whether or not the request goes out again at once.
                let restarted = request.restart(now, under_way);
                rpc.doubt_mut().asked = 0;
                if restarted {
                    rpc.known_to_server = false;
                    self.update_send_rank(key);
                } else {
                    self.arm(key);
                }
            }
            _ => return self.doubt(now, key),
        }
        Ok(())
    }

    /// A server that had the whole request says that it does not know it. It may have restarted, or the packet may be
    /// an old one, from before the request reached the server; so the server is asked again before that is believed, and
    /// each question counts for one answer, however late the others are.
    fn doubt(&mut self, now: Instant, key: RpcKey) -> Result<(), Discard> {
        let rpc = &mut self.rpcs[key];
        let doubt = rpc.doubt_mut();
        if u32::from(doubt.unknowns) >= doubt.asked {
            return Err(Discard::Duplicate);
        }
        doubt.unknowns += 1;
        doubt.backoff = 0;
        if doubt.unknowns >= Endpoint::UNKNOWNS_BELIEVED {
            self.fail(now, key, RpcError::ServerRestarted);
        } else {
            self.arm(key);
        }
        Ok(())
    }

    /// UNKNOWN packets in a row, without any sign that the server knows the RPC, after which it counts as forgotten.
    const UNKNOWNS_BELIEVED: u8 = 3;

    pub(super) fn on_busy(&mut self, now: Instant, peer: Option<PeerKey>, header: &Header) -> Result<(), Discard> {
        let key = self.find_rpc(peer, header)?;
        let no_room = header.sequence == Header::NO_ROOM;
        self.resend_answered(now, key);
        let rpc = &mut self.rpcs[key];
        rpc.heard(now);
        rpc.doubt_mut().only_busy = no_room;
        rpc.known_to_server |= !no_room;
        self.expect(key);
        self.arm(key);
        Ok(())
    }

    pub(super) fn on_cutoffs(&mut self, peer: Option<PeerKey>, cutoffs: [u32; 8], version: u16) -> Result<(), Discard> {
        let peer = peer.ok_or(Discard::UnknownRpc)?;
        self.peers[peer].cutoffs = cutoffs;
        self.peers[peer].cutoff_version = version;
        Ok(())
    }

    pub(super) fn on_need_ack(
        &mut self,
        from: SocketAddr,
        peer: Option<PeerKey>,
        header: &Header,
    ) -> Result<(), Discard> {
        if header.from_client() {
            return Err(Discard::WrongSide);
        }
        if let Ok(key) = self.find_rpc(peer, header) {
            // The response is not complete. The packets may be under way behind this one, which has the highest
            // priority; so the first time this only ends the back-off of the time when the server was still executing,
            // and if nothing comes in the usual time it is asked for. Later ones say nothing new: did they end the
            // back-off too, the two sides would drive each other to flood a slow link.
            let rpc = &mut self.rpcs[key];
            let said_before = std::mem::replace(&mut rpc.response_sent, true);
            let doubt = rpc.doubt_mut();
            doubt.asked = 0;
            if !said_before {
                doubt.backoff = 0;
            }
            let sender_id = rpc.sender_id();
            self.arm(key);
            self.send_busy(self.remote(&self.rpcs[key]), sender_id, false);
            return Ok(());
        }
        if !self.may_reply(peer, ACK_LEN) {
            return Err(Discard::NoRoom);
        }
        match peer {
            Some(peer) => self.send_ack(peer, from, header.client_id()),
            None => {
                self.stats.acks_sent += 1;
                self.send_control(from, header.client_id(), 0, Packet::Ack { count: 0, acks: Default::default() });
            }
        }
        Ok(())
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        peer: Option<PeerKey>,
        header: &Header,
        acks: &[Ack],
    ) -> Result<(), Discard> {
        if !header.from_client() {
            return Err(Discard::WrongSide);
        }
        let peer = peer.ok_or(Discard::UnknownRpc)?;
        self.on_one_ack(now, peer, header.client_id());
        for ack in acks {
            self.on_one_ack(now, peer, ack.client_id & !1);
        }
        Ok(())
    }

    /// The client has the response of an RPC, or no longer wants it.
    pub(super) fn on_one_ack(&mut self, now: Instant, peer: PeerKey, id: u64) {
        if let Some(key) = self.rpcs.find_server(peer, id) {
            self.end_as_server(now, key);
        }
        // Packets of a cancelled request may still be under way.
        self.peers[peer].finished.insert_unseen(id);
    }
}
