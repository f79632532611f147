//! Which incoming messages may send how much.

use super::Endpoint;
use crate::Instant;
use crate::rpc::RpcKey;
use crate::wire::Packet;

impl Endpoint {
    /// Grants what there is to grant since the last look. Called before packets are sent, so that one look serves
    /// a whole batch of received packets.
    pub(super) fn issue_grants(&mut self, now: Instant) {
        if !self.granter.take_dirty() {
            return;
        }
        let mut active = std::mem::take(&mut self.active);
        active.extend(self.granter.active(self.config.overcommitment).map(|rank| rank.rpc()));
        for (rank, key) in active.iter().enumerate() {
            self.grant_active(now, *key, rank, active.len());
        }
        self.grant_oldest(now, &active);
        active.clear();
        self.active = active;
    }

    /// Tops up the window of one of the active messages.
    fn grant_active(&mut self, now: Instant, key: RpcKey, rank: usize, active: usize) {
        let rpc = &self.rpcs[key];
        let window = self.grant_window(rpc.peer, active);
        let packet_len = self.peers[rpc.peer].packet_len(self.config.framing);
        let Some(message) = rpc.incoming() else {
            return;
        };
        let wanted = message.received().saturating_add(window).min(message.length());
        // The best message may take a quarter more, so that it need not wait until what others were granted has come.
        let limit = self.incoming_limit();
        let limit = limit + if rank == 0 { limit / 4 } else { 0 };
        let room = limit.saturating_sub(self.granter.incoming).min(u64::from(u32::MAX)) as u32;
        let allowed = wanted.min(message.granted().saturating_add(room));
        // A grant costs a packet on both sides: not for a few bytes, unless they are the last or nothing is under way.
        let step = (window / 4).max((Endpoint::STEP_PACKETS * packet_len).min(window / 2));
        let news = allowed.saturating_sub(message.granted());
        if news == 0 || (news < step && allowed < message.length() && message.outstanding() > 0) {
            return;
        }
        let priority = self.cutoffs.scheduled_priority(rank, active);
        self.grant(now, key, allowed, priority);
        self.granter.earn_fifo(news);
    }

    /// Gives the oldest message its share of the grants, lest shorter ones starve it.
    fn grant_oldest(&mut self, now: Instant, active: &[RpcKey]) {
        let Some(oldest) = self.granter.oldest().filter(|oldest| !active.contains(oldest)) else {
            return;
        };
        let rpc = &self.rpcs[oldest];
        let window = self.grant_window(rpc.peer, active.len());
        let Some(message) = rpc.incoming() else {
            return;
        };
        if message.outstanding() >= window || !self.granter.spend_fifo(window) {
            return;
        }
        let allowed = message.granted().saturating_add(window).min(message.length());
        let priority = self.cutoffs.highest_scheduled();
        self.grant(now, oldest, allowed, priority);
    }

    /// Packets that a grant should call, where half the window has room for them.
    const STEP_PACKETS: u32 = 8;

    fn grant(&mut self, now: Instant, key: RpcKey, offset: u32, priority: u8) {
        self.with_incoming(key, |message| {
            let idle = message.outstanding() == 0;
            message.rtt_probe = idle.then_some((message.granted(), now));
            message.set_granted(offset, priority);
            message.granted_at = now;
        });
        self.granted_at[usize::from(priority & 7)] = now;
        self.expect(key);
        self.update_grant_rank(key);
        let rpc = &self.rpcs[key];
        let (to, sender_id) = (self.remote(rpc), rpc.sender_id());
        self.stats.grants_sent += 1;
        self.send_control(to, sender_id, 0, Packet::Grant { offset, priority });
        self.arm(key);
        if self.rpcs[key].incoming().is_some_and(|message| message.rank.is_some()) {
            // The rank changed because of this grant, which is no news. A message that needs no more makes room for
            // another, which is.
            self.granter.take_dirty();
        }
    }
}
