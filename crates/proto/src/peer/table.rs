use super::Peer;
use crate::{Config, Framing, Instant};
use foldhash::fast::FixedState;
use slab::Slab;
use std::cell::Cell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Place of a peer in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PeerKey(u32);

/// All peers. When there are too many, one without RPCs that was not used lately makes room.
#[derive(Debug)]
pub(crate) struct Peers {
    peers: Slab<Peer>,
    by_addr: HashMap<SocketAddr, PeerKey, FixedState>,
    /// The peer found last: packets come in runs from one.
    last: Cell<Option<(SocketAddr, PeerKey)>>,
    /// Peers without RPCs, which could be forgotten.
    idle: usize,
    /// Where the search for a peer to forget goes on.
    hand: usize,
    max: usize,
    /// How long a peer that made requests is remembered after its last packet.
    remember_for: Duration,
    framing: Framing,
}

impl Peers {
    /// Peers looked at for one to forget; more would make one packet expensive.
    const LOOKS: usize = 64;

    pub(crate) fn new(config: &Config, seed: u64) -> Peers {
        Peers {
            peers: Slab::new(),
            by_addr: HashMap::with_hasher(FixedState::with_seed(seed)),
            last: Cell::new(None),
            idle: 0,
            hand: 0,
            max: config.max_peers,
            remember_for: config.dead_after,
            framing: config.framing,
        }
    }

    /// Over IP a peer is a host, whatever the port.
    fn address_of(&self, mut addr: SocketAddr) -> SocketAddr {
        if self.framing == Framing::Ip {
            addr.set_port(0);
        }
        addr
    }

    pub(crate) fn find(&self, addr: SocketAddr) -> Option<PeerKey> {
        let addr = self.address_of(addr);
        if let Some((_, key)) = self.last.get().filter(|(last, _)| *last == addr) {
            return Some(key);
        }
        let key = self.by_addr.get(&addr).copied()?;
        self.last.set(Some((addr, key)));
        Some(key)
    }

    /// The peer at `addr`, made if need be; `None` if there is no room.
    pub(crate) fn find_or_add(&mut self, addr: SocketAddr, config: &Config, now: Instant) -> Option<PeerKey> {
        if let Some(key) = self.find(addr) {
            return Some(key);
        }
        if self.peers.len() >= self.max && !self.forget_one(now) {
            return None;
        }
        let addr = self.address_of(addr);
        let key = PeerKey(self.peers.insert(Peer::new(addr, config, now)) as u32);
        self.by_addr.insert(addr, key);
        self.idle += 1;
        Some(key)
    }

    fn forget_one(&mut self, now: Instant) -> bool {
        let mut used_lately = None;
        for _ in 0..Peers::LOOKS {
            self.hand = (self.hand + 1) % self.peers.capacity().max(1);
            let Some(peer) = self.peers.get_mut(self.hand) else {
                continue;
            };
            // A duplicate of an executed request may still be under way: it must find that out.
            let remembered = !peer.finished.is_empty() && now.saturating_since(peer.heard) < self.remember_for;
            if peer.rpcs > 0 || remembered {
                continue;
            }
            if std::mem::take(&mut peer.touched) {
                used_lately.get_or_insert(self.hand);
                continue;
            }
            self.forget(self.hand);
            return true;
        }
        used_lately.inspect(|slot| self.forget(*slot)).is_some()
    }

    fn forget(&mut self, slot: usize) {
        let peer = self.peers.remove(slot);
        self.by_addr.remove(&peer.addr);
        self.last.set(None);
        self.idle -= 1;
    }

    /// Whether there is no room for another peer, nor one that could be forgotten.
    pub(crate) fn is_full(&self) -> bool {
        self.peers.len() >= self.max && self.idle == 0
    }

    /// Notes that an RPC with the peer begins.
    pub(crate) fn begin_rpc(&mut self, key: PeerKey) {
        let peer = &mut self[key];
        peer.touched = true;
        peer.rpcs += 1;
        if peer.rpcs == 1 {
            self.idle -= 1;
        }
    }

    /// Notes that an RPC with the peer has ended.
    pub(crate) fn end_rpc(&mut self, key: PeerKey) {
        let peer = &mut self[key];
        peer.rpcs -= 1;
        if peer.rpcs == 0 {
            self.idle += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().map(|(_, peer)| peer)
    }
}

impl std::ops::Index<PeerKey> for Peers {
    type Output = Peer;

    fn index(&self, key: PeerKey) -> &Peer {
        &self.peers[key.0 as usize]
    }
}

impl std::ops::IndexMut<PeerKey> for Peers {
    fn index_mut(&mut self, key: PeerKey) -> &mut Peer {
        &mut self.peers[key.0 as usize]
    }
}
