//! RPCs begin, change and end here, so that the queues, the accounts and the timers always agree with the table.

use super::{Endpoint, Event, IncomingRpc, RpcId};
use crate::peer::PeerKey;
use crate::recv::{GrantRank, Incoming};
use crate::rpc::{Rpc, RpcKey, Side, State};
use crate::send::{Outgoing, SendRank};
use crate::timers::Timers;
use crate::wire::{Ack, Header, Packet};
use crate::{Instant, Payload, RpcError, Unreachable};
use std::net::SocketAddr;
use std::time::Duration;

impl Endpoint {
    pub(super) fn begin(&mut self, now: Instant, id: u64, peer: PeerKey, port: u16, state: State) -> RpcKey {
        let born = self.next_born;
        self.next_born += 1;
        if let State::Requesting(message) | State::Responding(message) = &state {
            self.send_buffer += message.length() as usize;
        }
        if let State::Replying(message) | State::Arriving(message) = &state {
            self.receive_buffer += message.reserved();
            self.granter.incoming += message.under_way();
        }
        self.responses_awaited += u64::from(matches!(state, State::Requesting(_)));
        self.peers.begin_rpc(peer);
        let expected = self.received_total..self.received_total + self.granter.incoming;
        self.rpcs.insert(Rpc::new((id, peer, port), state, born, now, expected))
    }

    /// Where the packets of an RPC go: to the address first used, whatever address its server answers from.
    pub(super) fn remote(&self, rpc: &Rpc) -> SocketAddr {
        let mut remote = self.peers[rpc.peer].addr;
        remote.set_port(rpc.port);
        remote
    }

    /// Moves an RPC to its next state and gives the old one back.
    pub(super) fn change_state(&mut self, key: RpcKey, next: State) -> State {
        self.leave_queues(key);
        if let State::Requesting(message) | State::Responding(message) = &next {
            self.send_buffer += message.length() as usize;
        }
        if let State::Replying(message) | State::Arriving(message) = &next {
            self.receive_buffer += message.reserved();
            self.granter.incoming += message.under_way();
        }
        let rpc = &mut self.rpcs[key];
        std::mem::replace(&mut rpc.state, next)
    }

    /// Takes an RPC out of the table and of everything that refers to it.
    pub(super) fn end(&mut self, now: Instant, key: RpcKey) -> Rpc {
        self.leave_queues(key);
        let rpc = self.rpcs.remove(key);
        self.peers.end_rpc(rpc.peer);
        if self.peers[rpc.peer].resend_turn.is_held_by(key) {
            self.pass_resend_turn(now, rpc.peer);
        }
        rpc
    }

    /// Undoes what the message of the RPC's state has in queues and accounts.
    fn leave_queues(&mut self, key: RpcKey) {
        let rpc = &mut self.rpcs[key];
        self.responses_awaited -= u64::from(matches!(rpc.state, State::Requesting(_)));
        match &mut rpc.state {
            State::Requesting(message) | State::Responding(message) => {
                self.send_buffer -= message.length() as usize;
                if let Some(rank) = rpc.send_rank.take() {
                    self.send_queue.remove(rank);
                }
            }
            State::Replying(message) | State::Arriving(message) => {
                self.receive_buffer -= message.reserved();
                self.granter.incoming -= message.under_way();
                self.granter.mark_dirty();
                if let Some(rank) = message.rank.take() {
                    self.granter.remove(rpc.peer, rank);
                }
            }
            State::Executing => {}
        }
    }

    /// Changes an incoming message and keeps the account of bytes under way right.
    pub(super) fn with_incoming<R>(&mut self, key: RpcKey, change: impl FnOnce(&mut Incoming) -> R) -> Option<R> {
        let message = self.rpcs[key].incoming_mut()?;
        let before = (message.under_way(), message.reserved());
        let result = change(message);
        let after = (message.under_way(), message.reserved());
        self.granter.incoming = self.granter.incoming - before.0 + after.0;
        self.receive_buffer = self.receive_buffer - before.1 + after.1;
        Some(result)
    }

    /// Puts an incoming message into its place in the order of grants.
    pub(super) fn update_grant_rank(&mut self, key: RpcKey) {
        let rpc = &mut self.rpcs[key];
        let (peer, born) = (rpc.peer, rpc.born);
        let Some(message) = rpc.incoming_mut() else {
            return;
        };
        let ungranted = message.length() - message.granted();
        let stalled = message.stalled;
        let new = (ungranted > 0).then_some(GrantRank::new(stalled, ungranted, born, key));
        match (message.rank, new) {
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) => self.granter.update(peer, old, new),
            (Some(old), None) => self.granter.remove(peer, old),
            (None, Some(new)) => self.granter.insert(peer, new),
            (None, None) => {}
        }
        message.rank = new;
    }

    /// Puts an outgoing message into its place in the order of sending.
    pub(super) fn update_send_rank(&mut self, key: RpcKey) {
        let rpc = &mut self.rpcs[key];
        let born = rpc.born;
        let rank = |message: &Outgoing| SendRank::new(message.remaining(), born, message.is_long(), key);
        let new = rpc.outgoing().filter(|message| message.sendable()).map(rank);
        let old = std::mem::replace(&mut rpc.send_rank, new);
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.send_queue.remove(old);
        }
        if let Some(new) = new {
            let rpcs = &self.rpcs;
            self.send_queue.insert(new, |rank| rpcs.has_send_rank(rank));
        }
    }

    /// Makes sure that the RPC is looked at when its next timer expires.
    pub(super) fn arm(&mut self, key: RpcKey) {
        if let Some(at) = self.next_check(&self.rpcs[key]) {
            self.arm_at(key, at);
        }
    }

    pub(super) fn arm_at(&mut self, key: RpcKey, at: Instant) {
        let at = Timers::rounded(at);
        let rpc = &mut self.rpcs[key];
        if at < rpc.timer {
            rpc.timer = at;
            self.timers.insert(at, key);
        }
    }

    /// A message that has arrived whole: a request goes to the application, a response ends the RPC.
    pub(super) fn complete_incoming(&mut self, now: Instant, key: RpcKey) {
        if self.rpcs[key].side() == Side::Client {
            let mut rpc = self.end(now, key);
            if let State::Replying(response) = std::mem::replace(&mut rpc.state, State::Executing) {
                self.succeed(&rpc, response.into_payload());
            }
        } else if let State::Arriving(request) = self.change_state(key, State::Executing) {
            self.announce_request(key, request.into_payload());
            self.arm(key);
        }
    }

    /// Tells the application the response of a request that has ended.
    pub(super) fn succeed(&mut self, rpc: &Rpc, response: Payload) {
        self.queue_ack(rpc);
        self.stats.requests_answered += 1;
        self.events.push_back(Event::Response { rpc: RpcId(rpc.id), result: Ok(response) });
    }

    pub(super) fn announce_request(&mut self, key: RpcKey, message: Payload) {
        let rpc = &self.rpcs[key];
        self.stats.requests_received += 1;
        let incoming = IncomingRpc { slot: key.slot(), id: rpc.id, from: self.remote(rpc) };
        self.events.push_back(Event::Request { rpc: incoming, message });
    }

    /// Notes that the server may forget an RPC; a sixth such note makes an ACK packet of them all.
    pub(super) fn queue_ack(&mut self, rpc: &Rpc) {
        let ack = Ack { client_id: rpc.id, server_port: rpc.port };
        if !self.peers[rpc.peer].acks.push(ack) {
            self.send_ack(rpc.peer, self.remote(rpc), rpc.id);
        }
    }

    /// Sends an ACK packet about one RPC, with the acks that wait for the same peer.
    pub(super) fn send_ack(&mut self, peer: PeerKey, remote: SocketAddr, id: u64) {
        let (count, acks) = self.peers[peer].acks.take();
        self.stats.acks_sent += 1;
        self.send_control(remote, id, 0, Packet::Ack { count, acks });
    }

    /// Ends a request with an error, and lets the server forget it.
    pub(super) fn fail(&mut self, now: Instant, key: RpcKey, error: RpcError) {
        let rpc = self.end(now, key);
        self.stats.requests_failed += 1;
        self.tell_server_of_end(&rpc);
        self.events.push_back(Event::Response { rpc: RpcId(rpc.id), result: Err(error) });
    }

    /// An ACK for a request that ends without a response, if the server may have heard of it.
    pub(super) fn tell_server_of_end(&mut self, rpc: &Rpc) {
        let begun = rpc.outgoing().is_none_or(|request| request.sent() > 0 || request.length() == 0);
        if begun {
            self.send_ack(rpc.peer, self.remote(rpc), rpc.id);
        }
    }

    /// Ends an RPC as its server. One that may have been executed must not be executed again.
    pub(super) fn end_as_server(&mut self, now: Instant, key: RpcKey) -> Rpc {
        let rpc = self.end(now, key);
        if !matches!(rpc.state, State::Arriving(_)) {
            self.peers[rpc.peer].finished.insert(rpc.id);
        }
        rpc
    }

    /// Ends an RPC as its server and tells the client that no response will come.
    pub(super) fn refuse(&mut self, now: Instant, key: RpcKey) {
        let rpc = self.end_as_server(now, key);
        self.peers[rpc.peer].finished.insert_unseen(rpc.id);
        let remote = self.remote(&rpc);
        // Who does not understand the reason would send all of the request again, and each time it hears so.
        if self.may_extend(remote) {
            self.send_unknown(remote, rpc.id | 1, Header::ENDED);
        }
    }

    pub(super) fn end_unreachable(&mut self, now: Instant, key: RpcKey, why: Unreachable) {
        match self.rpcs[key].side() {
            Side::Client => {
                let rpc = self.end(now, key);
                self.stats.requests_failed += 1;
                let result = Err(RpcError::Unreachable(why));
                self.events.push_back(Event::Response { rpc: RpcId(rpc.id), result });
            }
            Side::Server => {
                self.stats.server_rpcs_abandoned += 1;
                self.end_as_server(now, key);
            }
        }
    }

    /// Gives the turn to ask a peer for retransmission to the next RPC, which is then looked at.
    pub(super) fn pass_resend_turn(&mut self, now: Instant, peer: PeerKey) {
        let rpcs = &mut self.rpcs;
        let next = self.peers[peer].resend_turn.pass(|key, born| match rpcs.get_mut(key) {
            Some(rpc) if rpc.born == born => {
                rpc.doubt_mut().waits_for_turn = false;
                true
            }
            _ => false,
        });
        let Some(next) = next else { return };
        self.arm_at(next, now);
        let companions: Vec<_> = self.peers[peer].resend_turn.companions().collect();
        for (key, born) in companions {
            if let Some(rpc) = self.rpcs.get_mut(key).filter(|rpc| rpc.born == born) {
                let doubt = rpc.doubt_mut();
                doubt.waits_for_turn = false;
                doubt.asks_along = true;
                self.arm_at(key, now);
            }
        }
    }

    /// Notes that something about the RPC is under way, behind all that is under way already.
    pub(super) fn expect(&mut self, key: RpcKey) {
        let limit = self.incoming_limit();
        let rpc = &mut self.rpcs[key];
        let ahead = match &rpc.state {
            // Of responses that have not begun to arrive the usual size is assumed.
            State::Requesting(_) => self.granter.incoming + self.responses_awaited * u64::from(self.usual_response),
            // What is granted later to others may pass it in the switches.
            State::Replying(message) | State::Arriving(message) if message.granted() > message.unscheduled() => {
                self.granter.incoming.max(limit)
            }
            _ => self.granter.incoming,
        };
        rpc.expected_from = self.received_total;
        rpc.expected_by = self.received_total + ahead;
    }

    /// The time that silence is waited for before the next question about an RPC.
    pub(super) fn patience(&self, rpc: &Rpc) -> Duration {
        let timeout = self.peers[rpc.peer].rtt.timeout(&self.config);
        let first = match &rpc.state {
            // The client acks when it has something else to say; asking costs two packets.
            State::Responding(response) if response.all_sent() => timeout.max(Endpoint::ACK_PATIENCE),
            State::Responding(_) => self.config.resend_max,
            State::Executing if rpc.doubt().asked == 0 => return self.config.dead_after,
            _ => timeout,
        };
        let backoff = rpc.doubt().backoff;
        if backoff == 0 {
            return first;
        }
        (first * (1 << backoff.min(16))).min(self.config.resend_max.max(timeout))
    }

    /// Least time that a server waits for an ack before it asks for one, as Linux does.
    const ACK_PATIENCE: Duration = Duration::from_millis(3);
}
