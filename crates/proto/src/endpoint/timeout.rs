//! Deadlines, requests for retransmission, requests for acks, dead peers.

use super::Endpoint;
use crate::rpc::{Rpc, RpcKey, Side, State};
use crate::wire::Packet;
use crate::{Instant, RpcError};
use std::ops::Range;
use std::time::Duration;

/// Priority asked for retransmissions: they are late already.
const RESEND_PRIORITY: u8 = 7;
/// Gaps asked for in one go.
const GAPS_AT_ONCE: usize = 16;
/// Questions that a silent peer must have left unanswered, over all RPCs, before it counts as dead: a clock that
/// jumped proves nothing.
const PEER_QUESTIONS: u32 = 3;
/// The part of the time of silence in which a dead peer must have been asked, for the same reason.
const ASKED_SHARE: u32 = 4;
/// Questions about one RPC that a peer must have left unanswered while it answered others.
const RPC_QUESTIONS: u32 = 10;
/// Questions after which other messages are granted first.
const STALL_QUESTIONS: u32 = 2;

impl Endpoint {
    /// When [`handle_timeout`](Self::handle_timeout) must be called, if nothing else happens before; after it,
    /// [`poll_transmit`](Self::poll_transmit). `None`: not at all. The time may lie in the past.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let mtu = self.config.mtu as u32;
        let paced = !self.send_queue.is_empty() && !self.pacer.has_room(self.now, mtu);
        let timer = self.timers.next();
        if !paced {
            return timer;
        }
        let resume = self.pacer.retry_at(self.now, mtu);
        Some(timer.map_or(resume, |timer| timer.min(resume)))
    }

    /// Does what time demands. Early calls are harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        let mut fired = std::mem::take(&mut self.fired);
        // What one RPC does may make another one due at once.
        while self.timers.fire(now, &mut fired) {
            for (at, key) in fired.drain(..) {
                match self.rpcs.get_mut(key) {
                    Some(rpc) if rpc.timer == at => rpc.timer = Instant::FAR_FUTURE,
                    _ => continue,
                }
                self.check_rpc(now, key);
            }
        }
        self.fired = fired;
    }

    /// When an RPC is to be looked at next.
    pub(super) fn next_check(&self, rpc: &Rpc) -> Option<Instant> {
        // Timers are not cancelled, so that a distant one would outlive most RPCs: look once before. An RPC that is
        // still there then will last.
        let horizon = self.now + if rpc.lasts { self.config.dead_after } else { self.config.resend_max };
        let mut at = rpc.deadline;
        let since = rpc.waiting_since();
        if rpc.doubt().waits_for_turn {
            let patient = |since: Instant| (since + self.config.dead_after).max(self.now + self.config.resend_max);
            at = at.min(since.map_or(at, patient));
        } else {
            at = at.min(since.map_or(at, |since| self.silent_at(rpc, since)));
            at = at.min(rpc.incoming().and_then(|message| message.next_gap_at()).unwrap_or(at));
        }
        (at < Instant::FAR_FUTURE).then_some(at.min(horizon))
    }

    /// When to ask about an RPC that has been waited for since `since`.
    fn silent_at(&self, rpc: &Rpc, since: Instant) -> Instant {
        let doubt = rpc.doubt();
        (since.max(doubt.asked_at) + self.patience(rpc)).max(doubt.not_before)
    }

    fn check_rpc(&mut self, now: Instant, key: RpcKey) {
        let rpc = &self.rpcs[key];
        if rpc.deadline().is_some_and(|deadline| deadline <= now) {
            let after = Duration::from_nanos(rpc.deadline_nanos);
            let busy = rpc.doubt().only_busy;
            let error = if busy { RpcError::ServerBusy { after } } else { RpcError::Deadline { after } };
            self.fail(now, key, error);
            return;
        }
        let since = rpc.waiting_since();
        if let Some(silent_for) = since.and_then(|since| self.dead_for(now, rpc, since)) {
            self.give_up(now, key, silent_for);
            return;
        }
        let due = since.is_some_and(|since| self.silent_at(rpc, since) <= now);
        let silent = due && self.is_quiet(now, rpc);
        if due && !silent {
            let not_before = now + self.patience(rpc);
            self.rpcs[key].doubt_mut().not_before = not_before;
        }
        let rpc = &self.rpcs[key];
        let gap_due = rpc.incoming().and_then(|message| message.next_gap_at()).is_some_and(|at| at <= now);
        match rpc.state {
            State::Responding(_) | State::Executing => {
                // It may have waited for the turn while its request was arriving.
                self.resend_not_needed(now, key);
                if silent {
                    self.ask_for_ack(now, key);
                }
            }
            _ if silent || gap_due => self.ask_again(now, key, silent),
            _ => self.resend_not_needed(now, key),
        }
        if let Some(rpc) = self.rpcs.get_mut(key) {
            rpc.lasts = true;
            self.arm(key);
        }
    }

    /// Whether silence about an RPC means a loss: not while packets that were under way before it, or have a higher
    /// priority, are still coming in, for then it may only be queued behind them.
    fn is_quiet(&self, now: Instant, rpc: &Rpc) -> bool {
        let patience = self.patience(rpc);
        let waits_for_ack = matches!(rpc.state, State::Responding(_) | State::Executing);
        if waits_for_ack || now.saturating_since(self.data_at) >= patience {
            return true;
        }
        if self.is_trickle(now, rpc) {
            return true;
        }
        // What was granted later at a higher priority overtakes, for as long as that goes on; but not without end, lest
        // a lost packet of a message that is always outranked be missed.
        let higher_granted = rpc.incoming().is_some_and(|message| {
            let higher = usize::from(message.lowest_priority()) + 1;
            self.granted_at[higher..].iter().any(|at| *at > message.granted_at)
        });
        let outranked = higher_granted
            && now.saturating_since(self.granted_data_at) < patience
            && now.saturating_since(rpc.heard) < self.config.resend_max;
        self.received_total >= rpc.expected_by && !outranked
    }

    /// Whether so little has come since the RPC was last heard of that what was believed to be under way would take
    /// until the peer counts as dead: then it is not under way.
    fn is_trickle(&self, now: Instant, rpc: &Rpc) -> bool {
        let waited = now.saturating_since(rpc.heard);
        let come = self.received_total - rpc.expected_from;
        let expected = rpc.expected_by - rpc.expected_from;
        let needed = waited.as_nanos() * u128::from(expected) / u128::from(come.max(1));
        waited >= self.config.resend_max && needed >= self.config.dead_after.as_nanos()
    }

    /// Asks for what is missing of an RPC without waiting for silence, if anything is.
    pub(super) fn ask_at_once(&mut self, now: Instant, key: RpcKey) {
        let owed = self.rpcs[key].incoming().is_some_and(|message| message.outstanding() > 0);
        if owed && self.rpcs[key].doubt().asked == 0 && self.is_quiet(now, &self.rpcs[key]) {
            self.ask_again(now, key, true);
        }
    }

    /// For how long an RPC's peer has been dead, if it is.
    fn dead_for(&self, now: Instant, rpc: &Rpc, since: Instant) -> Option<Duration> {
        let silent_for = now.saturating_since(since);
        let limit = self.config.dead_after;
        let peer = &self.peers[rpc.peer];
        let peer_silent = peer.unanswered >= PEER_QUESTIONS && now.saturating_since(peer.heard) >= limit;
        // A client that waits owes nothing until it is asked.
        let asked_for = if matches!(rpc.state, State::Executing) { limit } else { limit / ASKED_SHARE };
        let doubt = rpc.doubt();
        let asked = doubt.asked > 0 && now.saturating_since(doubt.asking_since) >= asked_for;
        let dead = silent_for >= limit && asked && (peer_silent || doubt.asked >= RPC_QUESTIONS);
        dead.then_some(silent_for)
    }

    fn give_up(&mut self, now: Instant, key: RpcKey, silent_for: Duration) {
        match self.rpcs[key].side() {
            Side::Client => self.fail(now, key, RpcError::PeerDead { silent_for }),
            Side::Server => {
                self.stats.server_rpcs_abandoned += 1;
                self.end_as_server(now, key);
            }
        }
    }

    /// The RPC's turn to ask came when it had nothing to ask any more.
    fn resend_not_needed(&mut self, now: Instant, key: RpcKey) {
        let peer = self.rpcs[key].peer;
        let turn = &self.peers[peer].resend_turn;
        if turn.is_held_by(key) && !turn.was_used_by(key) {
            self.pass_resend_turn(now, peer);
        }
    }

    fn ask_for_ack(&mut self, now: Instant, key: RpcKey) {
        self.note_question(now, key, true);
        self.stats.need_acks_sent += 1;
        let rpc = &self.rpcs[key];
        self.send_control(self.remote(rpc), rpc.sender_id(), 0, Packet::NeedAck);
    }

    /// Counts a question about an RPC that the peer should answer.
    fn note_question(&mut self, now: Instant, key: RpcKey, silent: bool) {
        let rpc = &mut self.rpcs[key];
        let last_sent = rpc.outgoing().map_or(Instant::ZERO, |message| message.last_sent);
        let doubt = rpc.doubt_mut();
        doubt.was_stopped |= now.saturating_since(last_sent.max(doubt.asked_at)) >= self.config.dead_after;
        if doubt.asked == 0 {
            doubt.asking_since = now;
        }
        doubt.asked = doubt.asked.saturating_add(1);
        doubt.asked_at = now;
        if silent {
            doubt.backoff = doubt.backoff.saturating_add(1);
        }
        let peer = &mut self.peers[rpc.peer];
        peer.unanswered = peer.unanswered.saturating_add(1);
    }

    /// Asks for what is missing, when it is this RPC's turn.
    fn ask_again(&mut self, now: Instant, key: RpcKey, silent: bool) {
        let (peer, born) = (self.rpcs[key].peer, self.rpcs[key].born);
        if silent && self.peers[peer].resend_turn.was_used_by(key) {
            // The last question got no answer; others may have better luck.
            self.peers[peer].resend_turn.note_outcome(false);
            self.pass_resend_turn(now, peer);
        }
        let doubt = self.rpcs[key].doubt_mut();
        let along = std::mem::take(&mut doubt.asks_along);
        if !along && !self.peers[peer].resend_turn.acquire(key, born, &mut doubt.waits_for_turn) {
            return;
        }
        self.note_question(now, key, silent);
        if silent && self.rpcs[key].doubt().asked >= STALL_QUESTIONS {
            self.with_incoming(key, |message| message.stalled = true);
            self.update_grant_rank(key);
        }
        let (patience, longest) = (self.patience(&self.rpcs[key]), self.config.resend_max);
        let rpc = &mut self.rpcs[key];
        let Some(message) = rpc.incoming_mut() else {
            // A client that has heard nothing of the response.
            self.send_resend(key, 0, -1);
            return;
        };
        let mut missing: Vec<Range<u32>> = message.due_gaps(now, patience, longest, GAPS_AT_ONCE);
        let tail = message.tail();
        if silent && !tail.is_empty() {
            missing.push(tail);
        }
        for range in missing {
            self.send_resend(key, range.start, range.len() as i32);
        }
    }

    fn send_resend(&mut self, key: RpcKey, offset: u32, length: i32) {
        self.stats.resends_sent += 1;
        let rpc = &self.rpcs[key];
        let packet = Packet::Resend { offset, length, priority: RESEND_PRIORITY };
        self.send_control(self.remote(rpc), rpc.sender_id(), 0, packet);
    }
}
