use crate::rpc::RpcKey;
use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU16;

/// Messages with something to send, shortest remaining first, and the oldest among the long ones.
///
/// Remaining bytes are told apart to an eighth of an octave, each step of that being a queue: a long message then keeps
/// its place for many packets, and short ones cost the same whatever their number.
///
/// SRPT alone could starve a long message for as long as shorter ones keep coming, so a configured share of the
/// bytes goes to the oldest message that needs more than one packet.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// By class of remaining bytes. Also hold ranks that no longer count, which is cheaper than to take them out at
    /// once. A rank counts if the RPC has it now, which is what the callers' `is_current` says.
    queues: Vec<VecDeque<SendRank>>,
    /// One bit a queue that is not empty.
    occupied: [u64; CLASSES / 64],
    /// Ranks in all queues, and those of them that count.
    entries: usize,
    len: usize,
    by_age: BTreeSet<(u64, RpcKey)>,
    fifo_percent: u64,
    /// Hundredths of bytes owed to the oldest message.
    fifo_credit: u64,
}

/// Classes of remaining bytes: eight for each power of two.
const CLASSES: usize = 256;

/// The class of a number of bytes; rises with it.
fn class_of(bytes: u32) -> usize {
    if bytes < 8 {
        return bytes as usize;
    }
    let octave = bytes.ilog2();
    (octave as usize - 2) * 8 + (bytes >> (octave - 3)) as usize % 8
}

/// Place of a message in the order of sending: fewest remaining bytes first, those that came first among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendRank {
    /// When the RPC began, and whether the message is a long one, which also takes part in the FIFO share.
    age: u64,
    rpc: RpcKey,
    /// Not zero, so that it costs nothing to have no rank.
    class_plus_one: NonZeroU16,
}

impl SendRank {
    /// `long` messages also take part in the FIFO share.
    pub(crate) fn new(remaining: u32, born: u64, long: bool, rpc: RpcKey) -> SendRank {
        let class_plus_one = NonZeroU16::MIN.saturating_add(class_of(remaining) as u16);
        SendRank { age: born << 1 | u64::from(long), rpc, class_plus_one }
    }

    fn class(self) -> usize {
        usize::from(self.class_plus_one.get()) - 1
    }

    pub(crate) fn is_long(self) -> bool {
        self.age & 1 == 1
    }

    pub(crate) fn rpc(self) -> RpcKey {
        self.rpc
    }

    fn age(self) -> (u64, RpcKey) {
        (self.age >> 1, self.rpc)
    }
}

impl SendQueue {
    /// The FIFO share never saves up more than this, hundredths of bytes.
    const MAX_CREDIT: u64 = 100 * 100_000;

    /// Ranks that do not count and are tolerated, besides as many as do.
    const MOST_STALE: usize = 64;

    pub(crate) fn new(fifo_percent: u8) -> SendQueue {
        SendQueue {
            queues: vec![VecDeque::new(); CLASSES],
            occupied: [0; CLASSES / 64],
            entries: 0,
            len: 0,
            by_age: BTreeSet::new(),
            fifo_percent: u64::from(fifo_percent),
            fifo_credit: 0,
        }
    }

    pub(crate) fn insert(&mut self, rank: SendRank, is_current: impl Fn(SendRank) -> bool) {
        if self.entries > 2 * self.len + SendQueue::MOST_STALE {
            self.discard_stale(is_current);
        }
        let class = rank.class();
        self.queues[class].push_back(rank);
        self.occupied[class / 64] |= 1 << (class % 64);
        self.entries += 1;
        self.len += 1;
        if rank.is_long() {
            self.by_age.insert(rank.age());
        }
    }

    fn discard_stale(&mut self, is_current: impl Fn(SendRank) -> bool) {
        for (class, queue) in self.queues.iter_mut().enumerate() {
            queue.retain(|rank| is_current(*rank));
            if queue.is_empty() {
                self.occupied[class / 64] &= !(1 << (class % 64));
            }
        }
        self.entries = self.queues.iter().map(VecDeque::len).sum();
    }

    /// Takes out a rank that does not count any more.
    pub(crate) fn remove(&mut self, rank: SendRank) {
        let class = rank.class();
        if self.queues[class].front() == Some(&rank) {
            self.drop_first(class);
        }
        self.len -= 1;
        if rank.is_long() {
            self.by_age.remove(&rank.age());
        }
    }

    fn drop_first(&mut self, class: usize) {
        self.queues[class].pop_front();
        self.entries -= 1;
        if self.queues[class].is_empty() {
            self.occupied[class / 64] &= !(1 << (class % 64));
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
        while let Some(class) = self.first_class() {
            let rank = *self.queues[class].front()?;
            if is_current(rank) {
                return Some(rank);
            }
            self.drop_first(class);
        }
        None
    }

    fn first_class(&self) -> Option<usize> {
        let word = self.occupied.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
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
    fn classes_rise_with_the_bytes_by_an_eighth_of_an_octave() {
        let mut last = 0;
        for bytes in (0..100_000).chain((100_000..=u32::MAX - 30_000).step_by(30_011)) {
            let class = class_of(bytes);
            assert!(class == last || class > last && f64::from(bytes) < 1.2 * f64::from(bytes.max(8) - 1), "{bytes}");
            last = class;
        }
        assert!(class_of(u32::MAX) < CLASSES);
    }

    #[test]
    fn shortest_first_then_first_come() {
        let mut queue = SendQueue::new(0);
        let mut current = vec![rank(5000, 1), rank(100, 2), rank(100, 3)];
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
            queue.insert(cancelled, |rank| rank.class() == 1);
            queue.remove(cancelled);
        }
        assert!(queue.entries < 100);
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
