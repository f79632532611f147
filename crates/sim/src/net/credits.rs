use super::control::{Notice, Signal};
use super::port::PortSpec;
use crate::Time;

/// Credits (InfiniBand's link layer): a port sends only into room that the other end has said to be free, counted for each
/// virtual lane in blocks. The values by default are chosen here, not read in a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRules {
    /// Bytes of input buffer for each link and virtual lane. 32 KB. There must be room for a round trip at the link's
    /// rate, or the link stands still between credits.
    pub buffer: u32,
    /// Bytes of the longest packet: a lane with less room than this waits.
    pub longest: u32,
    /// From a packet's departure to its room's being known at the other end. 500 ns.
    pub delay: Time,
}

/// Credits count blocks of so many bytes (InfiniBand's FCTBS and FCCL).
const BLOCK: u32 = 64;

impl Default for CreditRules {
    fn default() -> CreditRules {
        CreditRules { buffer: 32_768, longest: 2_100, delay: Time::from_nanos(500) }
    }
}

/// Credits at all ports.
#[derive(Debug)]
pub(super) struct Credits {
    rules: CreditRules,
    /// Blocks that may be sent, by port and virtual lane.
    blocks: Vec<u32>,
}

impl Credits {
    pub(super) fn new(rules: CreditRules, ports: &[PortSpec]) -> Credits {
        Credits { rules, blocks: vec![rules.buffer / BLOCK; ports.len() * 8] }
    }

    fn of(&mut self, port: u32, lane: u8) -> &mut u32 {
        &mut self.blocks[port as usize * 8 + usize::from(lane & 7)]
    }

    /// A port sends a packet. Returns whether the lane has to wait now.
    pub(super) fn spend(&mut self, port: u32, lane: u8, wire: u32) -> bool {
        let least = self.rules.longest.div_ceil(BLOCK);
        let blocks = self.of(port, lane);
        *blocks = blocks.saturating_sub(wire.div_ceil(BLOCK));
        *blocks < least
    }

    /// The room of a packet that came through `port` is free.
    pub(super) fn give(&self, port: u32, lane: u8, wire: u32) -> Notice {
        let blocks = u16::try_from(wire.div_ceil(BLOCK)).unwrap_or(u16::MAX);
        Notice { port, class: lane, signal: Signal::Credit(blocks), delay: self.rules.delay }
    }

    /// Credits have come. Returns whether the lane still has to wait.
    pub(super) fn receive(&mut self, port: u32, lane: u8, blocks: u16) -> bool {
        let least = self.rules.longest.div_ceil(BLOCK);
        let credits = self.of(port, lane);
        *credits += u32::from(blocks);
        *credits < least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::LeafSpine;

    #[test]
    fn what_is_spent_comes_back() {
        let topology = LeafSpine::paper().topology();
        let mut credits = Credits::new(CreditRules::default(), topology.ports());
        let sent = (1..).find(|_| credits.spend(3, 1, 2_100)).unwrap_or(0);
        assert_eq!(sent, 15, "32,768 bytes hold fifteen packets of 33 blocks and some more");
        assert!(!credits.spend(3, 2, 2_100), "another lane has its own");
        let Signal::Credit(blocks) = credits.give(3, 1, 2_100).signal else { panic!("credits are given") };
        assert!(!credits.receive(3, 1, blocks));
    }
}
