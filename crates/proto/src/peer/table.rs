use super::Peer;
use crate::{Config, Framing, Instant};
use foldhash::fast::FixedState;
use slab::Slab;
use std::cell::Cell;
use std::collections::HashMap;
use std::net::SocketAddr;

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
    /// Where the search for a peer to forget goes on.
    hand: usize,
    max: usize,
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
            hand: 0,
            max: config.max_peers,
            framing: config.framing,
        }
    }

    /// Over IP a peer is a host, whatever the port.
    fn address_of(&self, addr: SocketAddr) -> SocketAddr {
        match self.framing {
            Framing::Udp => addr,
            Framing::Ip => SocketAddr::new(addr.ip(), 0),
        }
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
        if self.peers.len() >= self.max && !self.forget_one() {
            return None;
        }
        let addr = self.address_of(addr);
        let key = PeerKey(self.peers.insert(Peer::new(addr, config, now)) as u32);
        self.by_addr.insert(addr, key);
        Some(key)
    }

    fn forget_one(&mut self) -> bool {
        for _ in 0..Peers::LOOKS.max(2 * self.peers.len().min(Peers::LOOKS)) {
            self.hand = (self.hand + 1) % self.peers.capacity().max(1);
            let Some(peer) = self.peers.get_mut(self.hand) else {
                continue;
            };
            if peer.rpcs > 0 {
                continue;
            }
            if std::mem::take(&mut peer.touched) {
                continue;
            }
            self.by_addr.remove(&peer.addr);
            self.last.set(None);
            self.peers.remove(self.hand);
            return true;
        }
        false
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
