use crate::rpc::RpcKey;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Messages with something to send, shortest remaining first, and the oldest among the long ones.
///
/// SRPT alone could starve a long message for as long as shorter ones keep coming, so a configured share of the
/// bytes goes to the oldest message that needs more than one packet.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// Also holds ranks that no longer count: taking them out lazily costs half of what an ordered set does. A rank
    /// counts if the RPC has it now, which is what the callers' `is_current` says.
    by_remaining: BinaryHeap<Reverse<SendRank>>,
    /// Ranks that count.
    len: usize,
    by_age: BTreeSet<(u64, RpcKey)>,
    fifo_percent: u64,
    /// Hundredths of bytes owed to the oldest message.
    fifo_credit: u64,
}

/// Place of a message in the order of sending: fewest remaining bytes first, the oldest among equals.
///
/// One number, because comparing field by field was a sixth of the core's time. From the top: 32 bits remaining
/// bytes, 63 bits birth, 1 bit long, 32 bits RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SendRank(u128);

impl SendRank {
    /// `long` messages also take part in the FIFO share.
    pub(crate) fn new(remaining: u32, born: u64, long: bool, rpc: RpcKey) -> SendRank {
        let age = born << 1 | u64::from(long);
        SendRank(u128::from(remaining) << 96 | u128::from(age) << 32 | u128::from(rpc.slot()))
    }

    pub(crate) fn remaining(self) -> u32 {
        (self.0 >> 96) as u32
    }

    pub(crate) fn is_long(self) -> bool {
        self.0 >> 32 & 1 == 1
    }

    pub(crate) fn rpc(self) -> RpcKey {
        RpcKey::new(self.0 as u32 as usize)
    }

    fn age(self) -> (u64, RpcKey) {
        ((self.0 >> 33) as u64 & (u64::MAX >> 1), self.rpc())
    }
}

impl SendQueue {
    /// The FIFO share never saves up more than this, hundredths of bytes.
    const MAX_CREDIT: u64 = 100 * 100_000;

    /// Ranks that do not count and are tolerated, besides as many as do.
    const MOST_STALE: usize = 64;

    pub(crate) fn new(fifo_percent: u8) -> SendQueue {
        SendQueue {
            by_remaining: BinaryHeap::new(),
            len: 0,
            by_age: BTreeSet::new(),
            fifo_percent: u64::from(fifo_percent),
            fifo_credit: 0,
        }
    }

    pub(crate) fn insert(&mut self, rank: SendRank, is_current: impl Fn(SendRank) -> bool) {
        if self.by_remaining.len() > 2 * self.len + SendQueue::MOST_STALE {
            self.by_remaining.retain(|Reverse(rank)| is_current(*rank));
        }
        self.by_remaining.push(Reverse(rank));
        self.len += 1;
        if rank.is_long() {
            self.by_age.insert(rank.age());
        }
    }

    /// Takes out a rank that does not count any more.
    pub(crate) fn remove(&mut self, rank: SendRank) {
        if self.by_remaining.peek() == Some(&Reverse(rank)) {
            self.by_remaining.pop();
        }
        self.len -= 1;
        if rank.is_long() {
            self.by_age.remove(&rank.age());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The message to send a packet of, if any.
    pub(crate) fn next(&mut self, packet_len: u32, is_current: impl Fn(SendRank) -> bool) -> Option<RpcKey> {
        if self.fifo_credit >= 100 * u64::from(packet_len)
            && let Some((_, oldest)) = self.by_age.first()
        {
            return Some(*oldest);
        }
        self.shortest(is_current).map(|rank| rank.rpc())
    }

    /// The rank of the message with the fewest remaining bytes.
    pub(crate) fn shortest(&mut self, is_current: impl Fn(SendRank) -> bool) -> Option<SendRank> {
        while let Some(Reverse(rank)) = self.by_remaining.peek() {
            if is_current(*rank) {
                return Some(*rank);
            }
            self.by_remaining.pop();
        }
        None
    }

    /// Accounts for a packet of `rpc`.
    pub(crate) fn sent(&mut self, rpc: RpcKey, bytes: u32) {
        let oldest = self.by_age.first().map(|(_, oldest)| *oldest);
        if oldest == Some(rpc) {
            self.fifo_credit = self.fifo_credit.saturating_sub(100 * u64::from(bytes));
        } else if oldest.is_some() {
            let earned = u64::from(bytes) * self.fifo_percent;
            self.fifo_credit = (self.fifo_credit + earned).min(SendQueue::MAX_CREDIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(remaining: u32, born: u64) -> SendRank {
        SendRank::new(remaining, born, remaining > 1424, RpcKey::new(born as usize))
    }

    #[test]
    fn shortest_first_then_oldest() {
        let mut queue = SendQueue::new(0);
        let mut current = vec![rank(5000, 1), rank(100, 3), rank(100, 2)];
        current.iter().for_each(|rank| queue.insert(*rank, |_| true));
        for expected in [2, 3, 1] {
            let next = queue.shortest(|rank| current.contains(&rank)).unwrap();
            assert_eq!(next.rpc(), RpcKey::new(expected));
            current.retain(|rank| *rank != next);
            queue.remove(next);
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn ranks_that_do_not_count_are_skipped_and_bounded() {
        let mut queue = SendQueue::new(0);
        queue.insert(rank(1, 1), |_| true);
        for born in 2..10_000 {
            let cancelled = rank(100, born);
            queue.insert(cancelled, |rank| rank.remaining() == 1);
            queue.remove(cancelled);
        }
        assert!(queue.by_remaining.len() < 100);
        queue.remove(rank(1, 1));
        assert_eq!(queue.next(1424, |_| false), None);
    }

    #[test]
    fn the_oldest_gets_its_share() {
        let mut queue = SendQueue::new(10);
        queue.insert(rank(1_000_000, 1), |_| true);
        queue.insert(rank(500_000, 2), |_| true);
        let mut oldest = 0;
        for _ in 0..1000 {
            let rpc = queue.next(1000, |_| true).unwrap();
            oldest += u32::from(rpc == RpcKey::new(1));
            queue.sent(rpc, 1000);
        }
        assert!((80..=100).contains(&oldest), "{oldest} of 1000 packets");
    }
}
