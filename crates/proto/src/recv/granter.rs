use crate::peer::PeerKey;
use crate::rpc::RpcKey;
use foldhash::fast::FixedState;
use std::collections::{BTreeSet, HashMap};

/// Place of an incoming message in the order of grants: fewest ungranted bytes first, then the oldest.
///
/// One number, for speed. From the top: 1 bit stalled, 31 bits ungranted bytes, 64 bits birth, 32 bits RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GrantRank(u128);

impl GrantRank {
    /// `stalled`: the sender has not reacted to repeated RESENDs, so others go first.
    pub(crate) fn new(stalled: bool, ungranted: u32, born: u64, rpc: RpcKey) -> GrantRank {
        debug_assert!(ungranted < 1 << 31);
        let order = u32::from(stalled) << 31 | ungranted;
        GrantRank(u128::from(order) << 96 | u128::from(born) << 32 | u128::from(rpc.slot()))
    }

    pub(crate) fn rpc(self) -> RpcKey {
        RpcKey::new(self.0 as u32 as usize)
    }

    fn age(self) -> (u64, RpcKey) {
        ((self.0 >> 32) as u64, self.rpc())
    }
}

/// Decides which incoming messages are granted: the shortest, one a sender, a few at a time (SIGCOMM'18 §3.3, §3.5).
#[derive(Debug)]
pub(crate) struct Granter {
    by_peer: HashMap<PeerKey, BTreeSet<GrantRank>, FixedState>,
    /// The first of each peer's messages.
    heads: BTreeSet<GrantRank>,
    by_age: BTreeSet<(u64, RpcKey)>,
    /// Bytes that may come in, over all messages: unscheduled or granted, and not received.
    pub(crate) incoming: u64,
    fifo_percent: u64,
    /// Hundredths of bytes owed to the oldest message.
    fifo_credit: u64,
    /// Something changed since grants were last considered.
    dirty: bool,
}

impl Granter {
    /// The FIFO share never saves up more than this, hundredths of bytes.
    const MAX_CREDIT: u64 = 100 * 200_000;

    pub(crate) fn new(fifo_percent: u8, seed: u64) -> Granter {
        Granter {
            by_peer: HashMap::with_hasher(FixedState::with_seed(seed)),
            heads: BTreeSet::new(),
            by_age: BTreeSet::new(),
            incoming: 0,
            fifo_percent: u64::from(fifo_percent),
            fifo_credit: 0,
            dirty: false,
        }
    }

    pub(crate) fn insert(&mut self, peer: PeerKey, rank: GrantRank) {
        self.by_age.insert(rank.age());
        self.change(peer, |ranks| {
            ranks.insert(rank);
        });
    }

    pub(crate) fn remove(&mut self, peer: PeerKey, rank: GrantRank) {
        self.by_age.remove(&rank.age());
        self.change(peer, |ranks| {
            ranks.remove(&rank);
        });
    }

    /// Moves a message to another place.
    pub(crate) fn update(&mut self, peer: PeerKey, old: GrantRank, new: GrantRank) {
        self.change(peer, |ranks| {
            ranks.remove(&old);
            ranks.insert(new);
        });
    }

    fn change(&mut self, peer: PeerKey, change: impl FnOnce(&mut BTreeSet<GrantRank>)) {
        let ranks = self.by_peer.entry(peer).or_default();
        let old_head = ranks.first().copied();
        change(ranks);
        let new_head = ranks.first().copied();
        if ranks.is_empty() {
            self.by_peer.remove(&peer);
        }
        if old_head != new_head {
            old_head.map(|head| self.heads.remove(&head));
            new_head.map(|head| self.heads.insert(head));
        }
        self.dirty = true;
    }

    /// The messages to be granted now, best first.
    pub(crate) fn active(&self, most: usize) -> impl Iterator<Item = GrantRank> {
        self.heads.iter().take(most).copied()
    }

    pub(crate) fn oldest(&self) -> Option<RpcKey> {
        self.by_age.first().map(|(_, rpc)| *rpc)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(crate) fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Accounts for granted bytes in the oldest message's share.
    pub(crate) fn earn_fifo(&mut self, granted: u32) {
        let earned = u64::from(granted) * self.fifo_percent;
        self.fifo_credit = (self.fifo_credit + earned).min(Granter::MAX_CREDIT);
    }

    /// Spends the oldest message's share on `bytes`, if it has grown to that.
    pub(crate) fn spend_fifo(&mut self, bytes: u32) -> bool {
        let cost = 100 * u64::from(bytes);
        let enough = self.fifo_credit >= cost;
        if enough {
            self.fifo_credit -= cost;
        }
        enough
    }
}
