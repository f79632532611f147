//! What the application may do.

use super::{CallOptions, Endpoint, Event, IncomingRpc, RpcId};
use crate::peer::PeerKey;
use crate::rpc::{RpcKey, Side, State};
use crate::send::Outgoing;
use crate::{Instant, Payload, RpcError, SendError};
use std::net::SocketAddr;

impl Endpoint {
    /// Sends a request to the server at `to`. An [`Event::Response`] follows, exactly one, unless the request is
    /// cancelled.
    pub fn send_request(
        &mut self,
        now: Instant,
        to: SocketAddr,
        message: impl Into<Payload>,
        options: CallOptions,
    ) -> Result<RpcId, SendError> {
        let now = self.advance(now);
        let message = message.into();
        self.check_sendable(&message)?;
        if self.rpcs.clients() >= self.config.max_client_rpcs {
            return Err(SendError::TooManyRpcs { limit: self.config.max_client_rpcs });
        }
        let Some(peer) = self.peers.find_or_add(to, &self.config, now) else {
            return Err(SendError::TooManyPeers { limit: self.config.max_peers });
        };
        let incast = self.config.incast_optimisation && self.rpcs.clients() >= self.incast_threshold(peer);
        let id = self.next_id;
        self.next_id += 2;
        let outgoing = self.outgoing(peer, message, u32::MAX);
        let key = self.begin(now, id, peer, to.port(), State::Requesting(outgoing));
        let rpc = &mut self.rpcs[key];
        rpc.incast = incast;
        let patience = options.deadline.or(self.config.default_deadline);
        if let Some(patience) = patience {
            rpc.deadline = now + patience;
            rpc.deadline_nanos = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        }
        self.stats.requests_sent += 1;
        self.stats.incast_marked += u64::from(incast);
        self.update_send_rank(key);
        if patience.is_some() {
            self.arm(key);
        }
        Ok(RpcId(id))
    }

    /// Answers a request. With an error the client is told that no response will come, unless it is
    /// [`SendError::Gone`]: then it no longer waits.
    pub fn send_response(
        &mut self,
        now: Instant,
        rpc: IncomingRpc,
        message: impl Into<Payload>,
    ) -> Result<(), SendError> {
        let now = self.advance(now);
        let message = message.into();
        if self.closed {
            return Err(SendError::Closed);
        }
        let key = self.executing(&rpc).ok_or(SendError::Gone)?;
        if let Err(error) = self.check_sendable(&message) {
            self.refuse(now, key);
            return Err(error);
        }
        let rpc = &self.rpcs[key];
        let limit = if rpc.incast { self.config.incast_unscheduled } else { u32::MAX };
        let outgoing = self.outgoing(rpc.peer, message, limit);
        self.change_state(key, State::Responding(outgoing));
        self.rpcs[key].heard = now;
        self.stats.responses_sent += 1;
        self.update_send_rank(key);
        Ok(())
    }

    /// Drops a request without an answer; the client is told.
    pub fn reject(&mut self, now: Instant, rpc: IncomingRpc) {
        let now = self.advance(now);
        if let Some(key) = self.executing(&rpc) {
            self.refuse(now, key);
        }
    }

    /// Gives a request up: no event follows, and the server may forget it. Returns whether it was outstanding. The
    /// server may have executed it, or may still.
    pub fn cancel(&mut self, now: Instant, rpc: RpcId) -> bool {
        let now = self.advance(now);
        let Some(key) = self.rpcs.find_client(rpc.0) else {
            return false;
        };
        let rpc = self.end(now, key);
        self.stats.requests_cancelled += 1;
        self.tell_server_of_end(&rpc);
        true
    }

    /// Ends everything: outstanding requests end with [`RpcError::Closed`], and peers are told that they need not
    /// wait. What is left to do is to take the last events and packets; nothing new is accepted.
    pub fn close(&mut self, now: Instant) {
        let now = self.advance(now);
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let all: Vec<RpcKey> = self.rpcs.iter().map(|(key, _)| key).collect();
        for key in all {
            match self.rpcs[key].side() {
                Side::Client => self.fail(now, key, RpcError::Closed),
                Side::Server => self.refuse(now, key),
            }
        }
        self.events.retain(|event| matches!(event, Event::Response { .. }));
    }

    fn check_sendable(&self, message: &Payload) -> Result<(), SendError> {
        if self.closed {
            return Err(SendError::Closed);
        }
        let length = message.len();
        if length > self.config.max_message_len as usize {
            return Err(SendError::TooLong { length, limit: self.config.max_message_len });
        }
        let limit = self.config.max_send_buffer;
        if self.send_buffer + length > limit {
            return Err(SendError::BufferFull { limit });
        }
        Ok(())
    }

    fn outgoing(&self, peer: PeerKey, message: Payload, most_unscheduled: u32) -> Outgoing {
        let unscheduled = self.unscheduled_limit(peer).min(most_unscheduled);
        Outgoing::new(message, self.peers[peer].packet_len(self.config.framing), unscheduled)
    }

    /// The RPC that the application means, if it still waits for its response.
    fn executing(&self, rpc: &IncomingRpc) -> Option<RpcKey> {
        let key = RpcKey::new(rpc.slot as usize);
        let found = self.rpcs.get(key)?;
        let same = found.id == rpc.id && self.remote(found) == rpc.from && matches!(found.state, State::Executing);
        same.then_some(key)
    }
}
