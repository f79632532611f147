use super::segment::TcpSegment;
use crate::net::Packet;
use std::collections::VecDeque;

/// What a host is about to send: packets in order, and behind them connections that take turns.
#[derive(Debug, Default)]
pub(super) struct Egress {
    packets: VecDeque<Packet<TcpSegment>>,
    /// Connections that can send, each once.
    turns: VecDeque<u32>,
}

impl Egress {
    /// A packet that leaves before everything that comes later.
    #[inline]
    pub(super) fn push(&mut self, packet: Packet<TcpSegment>) {
        self.packets.push_back(packet);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet<TcpSegment>> {
        self.packets.pop_front()
    }

    /// A connection can send, and does not stand in the queue.
    #[inline]
    pub(super) fn enter(&mut self, slot: u32) {
        self.turns.push_back(slot);
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn turn(&self) -> Option<u32> {
        self.turns.front().copied()
    }

    /// The turn is over; `more`: the connection could send more.
    #[inline]
    pub(super) fn end_turn(&mut self, more: bool) {
        if more && self.turns.len() == 1 {
            return;
        }
        let slot = self.turns.pop_front();
        self.turns.extend(slot.filter(|_| more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_turns() {
        let mut egress = Egress::default();
        (0..3).for_each(|slot| egress.enter(slot));
        let mut segments = [3, 1, 2];
        let mut order = Vec::new();
        while let Some(slot) = egress.turn() {
            let left = &mut segments[slot as usize];
            *left -= 1;
            egress.end_turn(*left > 0);
            order.push(slot);
        }
        assert_eq!(order, [0, 1, 2, 0, 2, 0]);
    }
}
